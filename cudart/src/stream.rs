//! Streams.

use std::ffi::c_void;

use crate::call::{exports, set, stream_exports};
use crate::driver::{self, Handle};
use crate::error::Result;

/// The legacy default stream.
pub(crate) const LEGACY: Handle = std::ptr::null_mut();
/// `CU_STREAM_PER_THREAD`: the thread's own default stream.
pub(crate) const PER_THREAD: Handle = std::ptr::without_provenance_mut(2);

/// The stream that a handle means in a program compiled with `--default-stream per-thread`.
pub(crate) fn per_thread(stream: Handle) -> Handle {
    if stream.is_null() { PER_THREAD } else { stream }
}

/// # Safety
/// `stream` has room for a handle.
unsafe fn create(stream: *mut Handle, flags: u32, priority: i32) -> Result {
    let mut created = LEGACY;
    // SAFETY: the driver and the caller have room for a handle.
    unsafe {
        driver::cuStreamCreateWithPriority(&mut created, flags, priority)?;
        set(stream, created)
    }
}

exports! {
    fn cudaStreamCreate(stream: *mut Handle) { create(stream, 0, 0) }
    fn cudaStreamCreateWithFlags(stream: *mut Handle, flags: u32) { create(stream, flags, 0) }
    fn cudaStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) { create(stream, flags, priority) }
    fn cudaStreamDestroy(stream: Handle) { driver::cuStreamDestroy_v2(stream) }
    fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        driver::cuCtxGetStreamPriorityRange(least, greatest)
    }
}

stream_exports! {
    fn cudaStreamSynchronize | cudaStreamSynchronize_ptsz(stream: Handle) for stream {
        driver::cuStreamSynchronize(stream)
    }
    fn cudaStreamQuery | cudaStreamQuery_ptsz(stream: Handle) for stream { driver::cuStreamQuery(stream) }
    fn cudaStreamWaitEvent | cudaStreamWaitEvent_ptsz(stream: Handle, event: Handle, flags: u32) for stream {
        driver::cuStreamWaitEvent(stream, event, flags)
    }
    fn cudaStreamGetPriority | cudaStreamGetPriority_ptsz(stream: Handle, priority: *mut i32) for stream {
        driver::cuStreamGetPriority(stream, priority)
    }
    fn cudaStreamGetFlags | cudaStreamGetFlags_ptsz(stream: Handle, flags: *mut u32) for stream {
        driver::cuStreamGetFlags(stream, flags)
    }
    fn cudaStreamGetId | cudaStreamGetId_ptsz(stream: Handle, id: *mut u64) for stream {
        driver::cuStreamGetId(stream, id)
    }
    fn cudaStreamGetDevice | cudaStreamGetDevice_ptsz(stream: Handle, device: *mut i32) for stream {
        driver::cuStreamGetDevice(stream, device)
    }
    fn cudaStreamGetAttribute | cudaStreamGetAttribute_ptsz(stream: Handle, attribute: u32, value: *mut c_void) for stream {
        driver::cuStreamGetAttribute(stream, attribute, value)
    }
    fn cudaStreamSetAttribute | cudaStreamSetAttribute_ptsz(stream: Handle, attribute: u32, value: *const c_void) for stream {
        driver::cuStreamSetAttribute(stream, attribute, value)
    }
    fn cudaStreamCopyAttributes | cudaStreamCopyAttributes_ptsz(to: Handle, from: Handle) for to {
        driver::cuStreamCopyAttributes(to, from)
    }
    fn cudaStreamAddCallback | cudaStreamAddCallback_ptsz(
        stream: Handle, callback: *const c_void, data: *mut c_void, flags: u32
    ) for stream {
        driver::cuStreamAddCallback(stream, callback, data, flags)
    }
    fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz(
        stream: Handle, address: *mut c_void, length: usize, flags: u32
    ) for stream {
        driver::cuStreamAttachMemAsync(stream, address as u64, length, flags)
    }
    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz(stream: Handle, function: *const c_void, data: *mut c_void) for stream {
        driver::cuLaunchHostFunc(stream, function, data)
    }
}
