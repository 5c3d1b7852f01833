//! `cuStreamWaitValue*`, `cuStreamWriteValue*` and `cuStreamBatchMemOp`: streams that wait for values in memory and
//! write them.
//!
//! A waiting stream is looked at when its value may have changed: see `value_waits`. When nothing can happen any more while
//! streams wait, other threads of the program get a moment of real time to write what is waited for; then the waits are
//! called what they are, a deadlock: their contexts fail with `CUDA_ERROR_LAUNCH_TIMEOUT`.
//!
//! What a kernel changes by `atom` and `red` counts from the kernel's end on, as what it stores. A wait comes after the write
//! that released it: see `watched_values`.

use std::ffi::c_uint;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::stream::{NullStream, Stream};
use super::value_history::Summary;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUcontext, CUdeviceptr, CUstream};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::memory::boxes::Rows;
use crate::driver::simulation::effects::Effects;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;
use crate::memory::AddressSpace;
use crate::timeline::OpId;

/// How long, on the real clock, other threads may take to write what a stream waits for when nothing else happens.
const PATIENCE: Duration = Duration::from_millis(if cfg!(fuzzing) { 5 } else { 500 });
const MOMENT: Duration = Duration::from_millis(5);

/// Bytes of the widest value.
pub(super) const WIDEST: u64 = 8;

/// A value of 4 or 8 bytes, at a multiple of its size.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct Value {
    pub(in crate::driver) address: CUdeviceptr,
    value: u64,
    wide: bool,
}

/// The condition that a stream waits for.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) struct ValueWait {
    pub(in crate::driver) value: Value,
    condition: Condition,
    context: CUcontext,
    stream: CUstream,
}

/// `CUstreamWaitValue_flags`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// The signed difference to the value is not negative.
    NotBefore,
    Equal,
    AnyBit,
    AnyBitMissing,
}

macro_rules! values {
    ($($wait:ident $wait_ptsz:ident $write:ident $write_ptsz:ident $kind:ty, $wide:literal, $flags:literal;)*) => {
        entry_points! {$(
            fn $wait | $wait_ptsz as null (stream: CUstream, address: CUdeviceptr, value: $kind, flags: c_uint) {
                let value = Value { address, value: value.into(), wide: $wide };
                perform(null, stream, &[MemoryOperation::Wait(value, flags)])
            }

            fn $write | $write_ptsz as null (stream: CUstream, address: CUdeviceptr, value: $kind, flags: c_uint) {
                let value = Value { address, value: value.into(), wide: $wide };
                // The second version of the call has no flags.
                if flags & !$flags != 0 {
                    return Err(CudaError::InvalidValue);
                }
                perform(null, stream, &[MemoryOperation::Write(value, flags)])
            }
        )*}
    };
}

values! {
    cuStreamWaitValue32 cuStreamWaitValue32_ptsz cuStreamWriteValue32 cuStreamWriteValue32_ptsz u32, false, 1;
    cuStreamWaitValue32_v2 cuStreamWaitValue32_v2_ptsz cuStreamWriteValue32_v2 cuStreamWriteValue32_v2_ptsz u32, false, 0;
    cuStreamWaitValue64 cuStreamWaitValue64_ptsz cuStreamWriteValue64 cuStreamWriteValue64_ptsz u64, true, 1;
    cuStreamWaitValue64_v2 cuStreamWaitValue64_v2_ptsz cuStreamWriteValue64_v2 cuStreamWriteValue64_v2_ptsz u64, true, 0;
}

entry_points! {
    fn cuStreamBatchMemOp | cuStreamBatchMemOp_ptsz as null (
        stream: CUstream, count: c_uint, operations: *const BatchOperation, flags: c_uint,
    ) {
        // SAFETY: the caller passes null or that many operations.
        unsafe { batch(null, stream, count, operations, flags) }
    }

    fn cuStreamBatchMemOp_v2 | cuStreamBatchMemOp_v2_ptsz as null (
        stream: CUstream, count: c_uint, operations: *const BatchOperation, flags: c_uint,
    ) {
        // SAFETY: as above.
        unsafe { batch(null, stream, count, operations, flags) }
    }
}

/// `CUstreamBatchMemOpParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct BatchOperation {
    operation: c_uint,
    address: CUdeviceptr,
    value: u64,
    flags: c_uint,
    alias: CUdeviceptr,
    padding: u64,
}

/// One operation with the flags that it was given.
#[derive(Clone, Copy, Debug)]
enum MemoryOperation {
    Wait(Value, c_uint),
    Write(Value, c_uint),
    /// A barrier, or a flush of what other devices wrote: operations of a stream are ordered here as they are.
    Nothing,
}

/// # Safety
/// `operations` is null or points to `count` operations.
unsafe fn batch(
    null: NullStream,
    stream: CUstream,
    count: c_uint,
    operations: *const BatchOperation,
    flags: c_uint,
) -> Result<(), CudaError> {
    /// The most operations of a batch.
    const MOST: c_uint = 256;
    if flags != 0 || count > MOST || count > 0 && operations.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: there are that many operations.
    let read = |index| unsafe { operations.add(index).read_unaligned() };
    let operations = (0..count as usize).map(read).map(BatchOperation::decode);
    perform(null, stream, &operations.collect::<Result<Vec<_>, _>>()?)
}

impl BatchOperation {
    fn decode(self) -> Result<MemoryOperation, CudaError> {
        let narrow = Value {
            address: self.address,
            value: self.value & u64::from(u32::MAX),
            wide: false,
        };
        let wide = Value {
            value: self.value,
            wide: true,
            ..narrow
        };
        match self.operation {
            1 => Ok(MemoryOperation::Wait(narrow, self.flags)),
            2 => Ok(MemoryOperation::Write(narrow, self.flags)),
            4 => Ok(MemoryOperation::Wait(wide, self.flags)),
            5 => Ok(MemoryOperation::Write(wide, self.flags)),
            3 | 6 => Ok(MemoryOperation::Nothing),
            _ => Err(CudaError::InvalidValue),
        }
    }
}

fn perform(
    null: NullStream,
    stream: CUstream,
    operations: &[MemoryOperation],
) -> Result<(), CudaError> {
    call(Cost::Wait, |call| {
        let stream = call.stream(stream, null)?;
        for operation in operations {
            operation.check(&call.memory)?;
        }
        if call.is_capturing(stream) {
            crate::say!(
                "software GPU: cuStreamBatchMemOp: capturing memory operations into a graph is not supported"
            );
            return Err(CudaError::NotSupported);
        }
        for operation in operations {
            match *operation {
                MemoryOperation::Wait(value, flags) => {
                    call.submit_value_wait(stream, value, flags)?
                }
                MemoryOperation::Write(value, _) => call.submit_value_write(stream, value)?,
                MemoryOperation::Nothing => {}
            }
        }
        Ok(())
    })
}

impl MemoryOperation {
    fn check(self, memory: &AddressSpace) -> Result<(), CudaError> {
        /// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`.
        const NO_BARRIER: c_uint = 1;
        let value = match self {
            Self::Wait(value, flags) => {
                Condition::of(flags)?;
                value
            }
            Self::Write(value, flags) if flags & !NO_BARRIER == 0 => value,
            Self::Write(..) => return Err(CudaError::InvalidValue),
            Self::Nothing => return Ok(()),
        };
        let aligned = value.address.is_multiple_of(value.bytes() as u64);
        let mapped = memory.storage(value.address, value.bytes()).is_some();
        if aligned && mapped {
            Ok(())
        } else {
            Err(CudaError::InvalidValue)
        }
    }
}

impl Condition {
    fn of(flags: c_uint) -> Result<Self, CudaError> {
        /// `CU_STREAM_WAIT_VALUE_FLUSH`: what other devices wrote is always seen here.
        const FLUSH: c_uint = 1 << 30;
        Ok(match flags & !FLUSH {
            0 => Self::NotBefore,
            1 => Self::Equal,
            2 => Self::AnyBit,
            3 => Self::AnyBitMissing,
            _ => return Err(CudaError::InvalidValue),
        })
    }

    fn holds(self, found: u64, value: Value) -> bool {
        self.holds_of_all(Summary::of(found), value)
    }

    /// Whether it holds of all these contents. The answer may be no although it does, but not for a single one.
    fn holds_of_all(self, contents: Summary, value: Value) -> bool {
        let all = if value.wide {
            u64::MAX
        } else {
            u32::MAX.into()
        };
        let ahead = |found: u64| found.wrapping_sub(value.value) & all;
        match self {
            Self::NotBefore => {
                let (least, greatest) = (ahead(contents.least), ahead(contents.greatest));
                least <= greatest && greatest <= all >> 1
            }
            Self::Equal => contents.least == value.value && contents.greatest == value.value,
            Self::AnyBit => contents.bits_of_all & value.value != 0,
            Self::AnyBitMissing => (contents.bits_of_any | value.value) & all != all,
        }
    }
}

impl Value {
    pub(in crate::driver) fn range(self) -> Range<u64> {
        self.address..self.address + self.bytes() as u64
    }

    /// Its address and width.
    pub(super) fn place(self) -> (CUdeviceptr, bool) {
        (self.address, self.wide)
    }

    pub(super) fn bytes(self) -> usize {
        if self.wide { 8 } else { 4 }
    }
}

impl Effects {
    /// What streams and the host see there now; `None` when the memory was freed.
    pub(super) fn value(&self, value: Value, memory: &AddressSpace) -> Option<u64> {
        self.read_value(value.address, value.bytes(), memory)
    }

    /// A stream has reached a write of a value.
    pub(in crate::driver) fn value_written(&mut self, value: Value, memory: &AddressSpace) {
        self.before_write(value.address, Rows::row(value.bytes()), memory);
        if let Some(to) = memory.storage(value.address, value.bytes()) {
            // SAFETY: `storage` found that many bytes, aligned.
            unsafe {
                if value.wide {
                    to.cast::<u64>().write_volatile(value.value);
                } else {
                    to.cast::<u32>().write_volatile(value.value as u32);
                }
            }
        }
    }
}

impl Call {
    fn submit_value_wait(
        &mut self,
        stream: CUstream,
        value: Value,
        flags: c_uint,
    ) -> Result<(), CudaError> {
        let condition = Condition::of(flags)?;
        let wait = ValueWait {
            value,
            condition,
            context: self.streams.get(stream)?.context,
            stream,
        };
        self.watch_value(value);
        let clock = self.clock();
        self.submit(stream, clock, Effect::WaitValue(wait))?;
        self.value_pending(value);
        Ok(())
    }

    fn submit_value_write(&mut self, stream: CUstream, value: Value) -> Result<(), CudaError> {
        self.watch_value(value);
        let clock = self.clock();
        self.submit(stream, clock, Effect::WriteValue(value))?;
        self.value_pending(value);
        Ok(())
    }

    /// Nothing happens any more: gives the program's other threads time to write what streams wait for. Returns whether
    /// something did happen.
    pub(in crate::driver) fn value_may_come(&mut self) -> bool {
        let moments = PATIENCE.as_millis() / MOMENT.as_millis();
        (0..moments).any(|_| {
            !self.value_waits.is_empty() && (self.pause_briefly(MOMENT) || self.a_value_came())
        })
    }

    /// Reports streams that wait for ever, and lets their contexts fail. Returns whether there were any.
    pub(in crate::driver) fn end_value_waits(&mut self) -> bool {
        let waits = std::mem::take(&mut self.value_waits);
        if waits.is_empty() {
            return false;
        }
        crate::say!("software GPU: deadlock: a call waits for streams that wait for ever");
        for (op, wait) in waits.iter() {
            let found = self.effects.value(wait.value, &self.memory);
            let behind = self
                .operations
                .values()
                .filter(|other| other.stream == wait.stream);
            crate::say!(
                "  {wait}: {}, and {} of the stream's operations wait behind it",
                CurrentValue(found),
                behind.count() - 1
            );
            self.poison(wait.context, CudaError::LaunchTimeout);
            let now = self.now;
            self.timeline.value_came(op, now);
        }
        crate::say!("  nothing that was given to another stream writes there");
        true
    }
}

impl Simulator {
    /// Lets the streams continue whose values are there.
    pub(in crate::driver) fn release_value_waits(&mut self) {
        if self.value_waits.is_empty() {
            return;
        }
        self.host_may_have_written();
        self.value_waits.removed(self.memory.removals());
        for (op, wait) in self.value_waits.take_changed() {
            let Value { address, .. } = wait.value;
            self.effects
                .before_read(address, wait.value.bytes(), &self.memory);
            // Memory that is gone cannot keep a stream waiting.
            let failed = self
                .contexts
                .get(wait.context)
                .is_ok_and(|context| context.fault.is_some());
            if failed || wait.is_over(&self.effects, &self.memory) {
                self.value_waits.remove(op);
                self.value_found(op, wait);
                self.timeline.value_came(op, self.now);
            }
        }
    }

    /// Reports to the checker which write has released the wait.
    fn value_found(&mut self, op: OpId, wait: ValueWait) {
        let wanted = |contents| wait.condition.holds_of_all(contents, wait.value);
        let write = self.watched.releasing(wait.value, wanted);
        self.ordering.value_found(op, wait.value.range(), write);
    }

    fn a_value_came(&self) -> bool {
        self.value_waits
            .iter()
            .any(|(_, wait)| wait.is_over(&self.effects, &self.memory))
    }
}

impl ValueWait {
    /// A wait for a value of 4 bytes in no context.
    #[cfg(test)]
    pub(super) fn at(address: CUdeviceptr) -> Self {
        Self {
            value: Value {
                address,
                value: 1,
                wide: false,
            },
            condition: Condition::Equal,
            context: CUcontext(0),
            stream: CUstream(0),
        }
    }

    fn is_over(&self, effects: &Effects, memory: &AddressSpace) -> bool {
        let found = effects.value(self.value, memory);
        found.is_none_or(|found| self.condition.holds(found, self.value))
    }
}

impl fmt::Display for ValueWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = Table::<CUstream, Stream>::serial(self.stream);
        let Value { address, value, .. } = self.value;
        let condition = match self.condition {
            Condition::NotBefore => "at least",
            Condition::Equal => "equal to",
            Condition::AnyBit => "with a bit of",
            Condition::AnyBitMissing => "without a bit outside of",
        };
        write!(
            f,
            "stream {stream} waits at {address:#x} for a value {condition} {value:#x}"
        )
    }
}

/// The contents of memory, for a message.
struct CurrentValue(Option<u64>);

impl fmt::Display for CurrentValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(found) => write!(f, "there is {found:#x}"),
            None => f.write_str("the memory was freed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(flags: c_uint, found: u64, value: u64, wide: bool) -> bool {
        let address = 0;
        Condition::of(flags).unwrap().holds(
            found,
            Value {
                address,
                value,
                wide,
            },
        )
    }

    #[test]
    fn conditions_are_those_of_the_driver() {
        assert!(holds(0, 5, 5, false) && holds(0, 6, 5, false) && !holds(0, 4, 5, false));
        assert!(holds(0, 1, 0xffff_ffff, false), "the comparison is cyclic");
        assert!(holds(0, 1, u64::MAX, true) && !holds(0, 1, 0xffff_ffff, true));
        assert!(holds(1, 5, 5, true) && !holds(1, 6, 5, true));
        assert!(holds(2, 6, 2, false) && !holds(2, 5, 2, false));
        assert!(holds(3, 0, 0, false) && !holds(3, 0xffff_0000, 0xffff, false));
        assert!(holds(3, 0xffff_0000, 0xffff, true));
        assert_eq!(Condition::of(1 << 30 | 1), Ok(Condition::Equal));
        assert_eq!(Condition::of(4), Err(CudaError::InvalidValue));
    }
}
