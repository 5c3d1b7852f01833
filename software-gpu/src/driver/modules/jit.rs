//! Options of `cuModuleLoadDataEx` and `cuLinkCreate`: the log buffers are filled, and registers are bounded; other hints
//! for the compiler have no effect.

use std::ffi::{c_uint, c_void};

use crate::driver::c_abi::errors::CudaError;

/// `CUjit_option`.
const MAX_REGISTERS: c_uint = 0;
const WALL_TIME: c_uint = 2;
const INFO_LOG: c_uint = 3;
const INFO_LOG_BYTES: c_uint = 4;
const ERROR_LOG: c_uint = 5;
const ERROR_LOG_BYTES: c_uint = 6;
/// One more than the last option of CUDA 13.
const COUNT: c_uint = 35;

/// The options of one call or link. Values go in and come out through the caller's array.
pub(in crate::driver) struct JitOptions {
    values: Vec<OptionValue>,
}

#[derive(Clone, Copy)]
struct OptionValue {
    option: c_uint,
    /// Unchanged.
    value: *mut c_void,
    /// Where it comes out.
    place: *mut *mut c_void,
}

// SAFETY: the arrays are the program's, which keeps them as long as the driver may write to them, from whichever
// thread it calls.
unsafe impl Send for JitOptions {}

impl JitOptions {
    pub(in crate::driver) fn none() -> Self {
        Self { values: Vec::new() }
    }

    /// # Safety
    /// `options` and `values` are arrays of `count` elements, the values being what their options ask for.
    pub(in crate::driver) unsafe fn read(
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) -> Result<Self, CudaError> {
        if count > 0 && (options.is_null() || values.is_null()) {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: the caller's promise.
        let read = |index| unsafe {
            OptionValue {
                option: *options.add(index),
                value: *values.add(index),
                place: values.add(index),
            }
        };
        let values: Vec<_> = (0..count as usize).map(read).collect();
        if values.iter().any(|value| value.option >= COUNT) {
            return Err(CudaError::InvalidValue);
        }
        Ok(Self { values })
    }

    /// The most registers that a thread may have, if the program bounds them. 0 and what no thread can have bound nothing.
    pub(in crate::driver) fn max_registers(&self) -> Option<u32> {
        let registers = self.value(MAX_REGISTERS)?.value.addr();
        u32::try_from(registers)
            .ok()
            .filter(|registers| (1..=255).contains(registers))
    }

    /// Leaves the error log empty; what is to be known of a module that was loaded goes to the other.
    pub(in crate::driver) fn succeeded(&mut self, notes: &str) {
        self.fill(INFO_LOG, INFO_LOG_BYTES, notes);
        self.fill(ERROR_LOG, ERROR_LOG_BYTES, "");
        if let Some(wall_time) = self.value(WALL_TIME) {
            // SAFETY: the caller's array outlives the call. The time is modelled; the compiler's share is not known.
            unsafe { wall_time.place.write(std::ptr::null_mut()) };
        }
    }

    /// Puts the explanation into the error log.
    pub(in crate::driver) fn failed(&mut self, explanation: &str) {
        self.fill(INFO_LOG, INFO_LOG_BYTES, "");
        self.fill(ERROR_LOG, ERROR_LOG_BYTES, explanation);
    }

    /// Writes as much as fits, with a zero behind it, and replaces the buffer's size by what was written.
    fn fill(&mut self, log: c_uint, size: c_uint, text: &str) {
        let (Some(log), Some(size)) = (self.value(log), self.value(size)) else {
            return;
        };
        let (buffer, room) = (log.value.cast::<u8>(), size.value.addr());
        let Some(longest) = room.checked_sub(1).filter(|_| !buffer.is_null()) else {
            return;
        };
        let written = text.len().min(longest);
        // SAFETY: the buffer has `room` bytes, as its option says, and `written` and the zero are at most as many; the
        // caller's array outlives the call or link.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer, written);
            buffer.add(written).write(0);
            size.place.write(std::ptr::without_provenance_mut(written));
        }
    }

    fn value(&self, option: c_uint) -> Option<OptionValue> {
        self.values
            .iter()
            .find(|value| value.option == option)
            .copied()
    }
}
