//! Options of `cuModuleLoadDataEx`: the log buffers are filled, wishes for the compiler have no effect.

use std::ffi::{c_uint, c_void};

use super::errors::CudaError;

/// `CUjit_option`.
const WALL_TIME: c_uint = 2;
const INFO_LOG: c_uint = 3;
const INFO_LOG_BYTES: c_uint = 4;
const ERROR_LOG: c_uint = 5;
const ERROR_LOG_BYTES: c_uint = 6;
/// One more than the last option that CUDA 13 knows.
const COUNT: c_uint = 35;

/// The options of one call. Values go in and come out through the caller's array.
pub(super) struct Options {
    values: Vec<(c_uint, *mut *mut c_void)>,
}

impl Options {
    pub(super) fn none() -> Self {
        Self { values: Vec::new() }
    }

    /// # Safety
    /// `options` and `values` are arrays of `count` elements, the values being what their options ask for.
    pub(super) unsafe fn read(
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) -> Result<Self, CudaError> {
        if count > 0 && (options.is_null() || values.is_null()) {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: the caller's promise.
        let read = |index| unsafe { (*options.add(index), values.add(index)) };
        let values: Vec<_> = (0..count as usize).map(read).collect();
        if values.iter().any(|(option, _)| *option >= COUNT) {
            return Err(CudaError::InvalidValue);
        }
        Ok(Self { values })
    }

    /// Leaves both logs empty.
    pub(super) fn succeeded(&mut self) {
        self.fill(INFO_LOG, INFO_LOG_BYTES, "");
        self.fill(ERROR_LOG, ERROR_LOG_BYTES, "");
        if let Some(wall_time) = self.value(WALL_TIME) {
            // SAFETY: the caller's array outlives the call. The time is modelled; the compiler's share is not known.
            unsafe { wall_time.write(std::ptr::null_mut()) };
        }
    }

    /// Puts the explanation into the error log.
    pub(super) fn failed(&mut self, explanation: &str) {
        self.fill(INFO_LOG, INFO_LOG_BYTES, "");
        self.fill(ERROR_LOG, ERROR_LOG_BYTES, explanation);
    }

    /// Writes as much as fits, with a zero behind it, and replaces the buffer's size by what was written.
    fn fill(&mut self, log: c_uint, size: c_uint, text: &str) {
        let (Some(log), Some(size)) = (self.value(log), self.value(size)) else {
            return;
        };
        // SAFETY: the caller's array outlives the call.
        let (buffer, room) = unsafe { (log.read().cast::<u8>(), size.read() as usize) };
        let Some(longest) = room.checked_sub(1).filter(|_| !buffer.is_null()) else {
            return;
        };
        let written = text.len().min(longest);
        // SAFETY: the buffer has `room` bytes, as its option says, and `written` and the zero are at most as many.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer, written);
            buffer.add(written).write(0);
            size.write(std::ptr::without_provenance_mut(written));
        }
    }

    fn value(&self, option: c_uint) -> Option<*mut *mut c_void> {
        self.values
            .iter()
            .find(|(candidate, _)| *candidate == option)
            .map(|(_, value)| *value)
    }
}
