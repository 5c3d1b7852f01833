//! What all copies have in common: where the bytes are, and what the host waits for.
//!
//! The rules are those of the section "API synchronization behavior" of the driver API's documentation:
//!
//! | from → to | `cuMemcpy…` | `cuMemcpy…Async` |
//! |---|---|---|
//! | page-locked → device | waits | does not wait |
//! | pageable → device, up to 64 KiB | waits for the stream, then until the bytes are staged | until they are staged |
//! | pageable → device, above | waits | waits |
//! | device → page-locked | waits | does not wait |
//! | device → pageable | waits | waits |
//! | device → device, the same or another | does not wait | does not wait |
//! | host → host | waits | waits |
//!
//! Where the documentation says that the driver may wait, it does; but no program may count on that, so it orders nothing
//! for the checker ([`Promise::Possible`]). The same holds of what a synchronous copy from pageable memory leaves to the
//! device when it returns: whatever the size, the last of it may still be on its way.

use std::ffi::c_void;

use super::boxes::Rows;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdeviceptr, CUstream};
use crate::driver::host::call::Call;
use crate::driver::host::costs;
use crate::driver::reasons::because_freed;
use crate::driver::simulation::effects::pack;
use crate::driver::simulation::operation::{Copy, Effect, Place, Side};
use crate::driver::streams::stream::Mode;
use crate::memory::{AllocationKind, is_device_address};
use crate::own_memory;
use crate::timeline::CopyKind;

/// Up to this size a pageable source is staged whole.
const STAGED_BYTES: usize = 64 << 10;

/// What the documentation says of the copy's end when the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// The copy has ended.
    Kept,
    /// The copy may have ended; the model assumes that it has.
    Possible,
    /// The call does not wait.
    None,
}

impl Promise {
    fn of(copy: &Copy, synchronous: bool) -> Self {
        match copy.kind {
            CopyKind::HostToHost => Self::Kept,
            CopyKind::DeviceToHost if synchronous => Self::Kept,
            CopyKind::DeviceToHost if copy.pageable => Self::Possible,
            CopyKind::HostToDevice if copy.staged.is_some() => Self::None,
            CopyKind::HostToDevice if copy.pageable => Self::Possible,
            CopyKind::HostToDevice if synchronous => Self::Kept,
            _ => Self::None,
        }
    }
}

/// An address as a copy's caller gives it.
#[derive(Clone, Copy)]
pub(in crate::driver) enum Pointer {
    /// An address that the device understands: `CU_MEMORYTYPE_DEVICE`.
    Device(CUdeviceptr),
    /// A host pointer, page-locked or not: `CU_MEMORYTYPE_HOST`.
    Host(*const c_void),
    /// Whichever of the two it is: `CU_MEMORYTYPE_UNIFIED`.
    Unified(CUdeviceptr),
}

impl Call {
    /// Submits a copy, and waits as its rule says. Both sides have the same extent, which is not empty.
    ///
    /// # Errors
    /// What a kernel left behind in the stream's context, after a wait.
    pub(in crate::driver) fn copy(
        &mut self,
        mode: Mode,
        stream: CUstream,
        to: Side,
        from: Side,
    ) -> Result<(), CudaError> {
        let mut copy = self.prepared(to, from);
        copy.staged = self.staged(mode, stream, copy.kind, from)?;
        let synchronous = matches!(mode, Mode::Sync(_));
        copy.taken = synchronous && matches!(from.place, Place::Pageable(_));
        let promise = Promise::of(&copy, synchronous);
        let clock = self.clock();
        let context = self.streams.get(stream)?.context;
        let op = self.submit(stream, clock, Effect::Copy(copy))?;
        let wake_up = self.wake_up(context)?;
        match promise {
            Promise::Kept => self.wait(op, wake_up)?,
            Promise::Possible => self.linger(op, wake_up)?,
            Promise::None => return Ok(()),
        }
        self.usable(context).map(|_| ())
    }

    /// The copy of what [`side`](Self::side) has found. Both sides have the same extent, which is not empty.
    pub(in crate::driver) fn prepared(&self, to: Side, from: Side) -> Copy {
        let pageable = [to, from]
            .iter()
            .any(|side| matches!(side.place, Place::Pageable(_)));
        Copy {
            kind: self.kind_of(to.place, from.place),
            from,
            to,
            pageable,
            taken: false,
            staged: None,
            node: None,
        }
    }

    /// The source's bytes, if it is pageable and small enough to be staged whole. The host takes the time of the copy
    /// to the staging buffer. A synchronous call waits for the stream before, whatever the size.
    fn staged(
        &mut self,
        mode: Mode,
        stream: CUstream,
        kind: CopyKind,
        from: Side,
    ) -> Result<Option<Vec<u8>>, CudaError> {
        let (Place::Pageable(address), Some(bytes)) = (from.place, from.rows.bytes()) else {
            return Ok(None);
        };
        if kind != CopyKind::HostToDevice || self.is_capturing(stream) {
            return Ok(None);
        }
        if let Mode::Sync(_) = mode {
            self.ordering.stream_synchronized(stream);
        }
        if bytes > STAGED_BYTES {
            return Ok(None);
        }
        if let Mode::Sync(_) = mode {
            let earlier = self.awaited(stream)?;
            self.synchronize(earlier)?;
        }
        // SAFETY: the caller passes readable memory wherever it asks to copy from.
        let staged = unsafe { pack(address as *const u8, from.rows) };
        let time = costs::memory_work(self.host(), bytes as u64);
        self.spend_time(time);
        Ok(Some(staged))
    }

    /// One side of a copy: the rows from a pointer on.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null, for device addresses with rows outside of the allocation, for device
    /// addresses in the place of host pointers, and for more bytes than an address can count.
    pub(in crate::driver) fn side(&self, pointer: Pointer, rows: Rows) -> Result<Side, CudaError> {
        let bytes = rows.span().ok_or(CudaError::InvalidValue)?;
        let place = match pointer {
            Pointer::Device(address) => self.mapped(address, bytes),
            Pointer::Unified(address) if is_device_address(address) => self.mapped(address, bytes),
            Pointer::Unified(address) => self.host_place(address, bytes),
            Pointer::Host(pointer) if is_device_address(pointer as u64) => {
                Err(CudaError::InvalidValue)
            }
            Pointer::Host(pointer) => self.host_place(pointer as u64, bytes),
        }?;
        Ok(Side { place, rows })
    }

    /// An address that the device can use, with `bytes` bytes behind it.
    pub(in crate::driver) fn mapped(
        &self,
        address: CUdeviceptr,
        bytes: usize,
    ) -> Result<Place, CudaError> {
        self.memory
            .storage(address, bytes)
            .map(|_| Place::Mapped(address))
            .ok_or(CudaError::InvalidValue)
    }

    fn host_place(&self, address: u64, bytes: usize) -> Result<Place, CudaError> {
        let end = address.checked_add(bytes as u64);
        match self.memory.storage(address, bytes) {
            Some(_) => Ok(Place::Mapped(address)),
            None if address == 0 || end.is_none_or(|end| is_device_address(end - 1)) => {
                Err(CudaError::InvalidValue)
            }
            None => match self.freed_page_locked(address) {
                Some(bytes) => Err(because_freed(address, bytes)),
                None => Ok(Place::Pageable(address as usize)),
            },
        }
    }

    /// The bytes of page-locked memory that has been freed. Where the system has given the address to others, it is theirs.
    fn freed_page_locked(&self, address: u64) -> Option<u64> {
        let freed = self.memory.freed_range(address)?;
        own_memory::is_unmapped(address as usize).then_some(freed.end - freed.start)
    }

    fn kind_of(&self, to: Place, from: Place) -> CopyKind {
        match (self.is_on_device(from), self.is_on_device(to)) {
            (false, true) => CopyKind::HostToDevice,
            (true, false) => CopyKind::DeviceToHost,
            (true, true) => self.kind_between(from, to),
            (false, false) => CopyKind::HostToHost,
        }
    }

    /// Whether a side is device memory.
    pub(in crate::driver) fn is_on_device(&self, place: Place) -> bool {
        match place {
            Place::Mapped(address) => {
                let found = self.memory.find(address);
                found.is_some_and(|allocation| allocation.kind() != AllocationKind::PageLocked)
            }
            Place::Pageable(_) => false,
        }
    }
}
