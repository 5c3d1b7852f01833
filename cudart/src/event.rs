//! Events.

use crate::call::{exports, set, stream_exports};
use crate::driver::{self, Handle};
use crate::error::Result;

/// # Safety
/// `event` has room for a handle.
unsafe fn create(event: *mut Handle, flags: u32) -> Result {
    let mut created = std::ptr::null_mut();
    // SAFETY: the driver and the caller have room for a handle.
    unsafe {
        driver::cuEventCreate(&mut created, flags)?;
        set(event, created)
    }
}

exports! {
    fn cudaEventCreate(event: *mut Handle) { create(event, 0) }
    fn cudaEventCreateWithFlags(event: *mut Handle, flags: u32) { create(event, flags) }
    fn cudaEventDestroy(event: Handle) { driver::cuEventDestroy_v2(event) }
    fn cudaEventQuery(event: Handle) { driver::cuEventQuery(event) }
    fn cudaEventSynchronize(event: Handle) { driver::cuEventSynchronize(event) }
    fn cudaEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) {
        driver::cuEventElapsedTime(milliseconds, start, end)
    }
}

#[cfg(feature = "cuda-12")]
exports! {
    fn cudaEventElapsedTime_v2(milliseconds: *mut f32, start: Handle, end: Handle) {
        driver::cuEventElapsedTime(milliseconds, start, end)
    }
}

stream_exports! {
    fn cudaEventRecord | cudaEventRecord_ptsz(event: Handle, stream: Handle) for stream {
        driver::cuEventRecord(event, stream)
    }
    fn cudaEventRecordWithFlags | cudaEventRecordWithFlags_ptsz(event: Handle, stream: Handle, flags: u32) for stream {
        driver::cuEventRecordWithFlags(event, stream, flags)
    }
}
