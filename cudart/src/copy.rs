//! Copies of bytes.

use std::ffi::c_void;

use crate::call::{default_stream_exports, stream_exports};
use crate::driver::{self, Address, Handle};
use crate::error::{Error, Result};
use crate::stream::PER_THREAD;

/// `cudaMemcpyKind`.
pub(crate) const HOST_TO_HOST: u32 = 0;
pub(crate) const HOST_TO_DEVICE: u32 = 1;
pub(crate) const DEVICE_TO_HOST: u32 = 2;
pub(crate) const DEVICE_TO_DEVICE: u32 = 3;
/// The driver finds out from the addresses.
pub(crate) const DEFAULT: u32 = 4;

/// Copies in a default stream and waits as the driver's function does.
///
/// # Safety
/// The memory stays allocated; host memory has that many bytes.
pub(crate) unsafe fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: u32,
    stream: Handle,
) -> Result {
    let (device_to, device_from) = (to as Address, from as Address);
    if bytes == 0 && kind <= DEFAULT {
        return Ok(());
    }
    // SAFETY: as the caller's.
    unsafe {
        match (kind, stream == PER_THREAD) {
            (HOST_TO_HOST | DEFAULT, false) => driver::cuMemcpy(device_to, device_from, bytes),
            (HOST_TO_HOST | DEFAULT, true) => driver::cuMemcpy_ptds(device_to, device_from, bytes),
            (HOST_TO_DEVICE, false) => driver::cuMemcpyHtoD_v2(device_to, from, bytes),
            (HOST_TO_DEVICE, true) => driver::cuMemcpyHtoD_v2_ptds(device_to, from, bytes),
            (DEVICE_TO_HOST, false) => driver::cuMemcpyDtoH_v2(to, device_from, bytes),
            (DEVICE_TO_HOST, true) => driver::cuMemcpyDtoH_v2_ptds(to, device_from, bytes),
            (DEVICE_TO_DEVICE, false) => driver::cuMemcpyDtoD_v2(device_to, device_from, bytes),
            (DEVICE_TO_DEVICE, true) => driver::cuMemcpyDtoD_v2_ptds(device_to, device_from, bytes),
            _ => Err(Error::INVALID_COPY_DIRECTION),
        }
    }
}

/// Copies in a stream.
///
/// # Safety
/// As for [`copy`], until the stream has got there.
pub(crate) unsafe fn copy_async(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: u32,
    stream: Handle,
) -> Result {
    let (device_to, device_from) = (to as Address, from as Address);
    if bytes == 0 && kind <= DEFAULT {
        return Ok(());
    }
    // SAFETY: as the caller's.
    unsafe {
        match kind {
            HOST_TO_HOST | DEFAULT => driver::cuMemcpyAsync(device_to, device_from, bytes, stream),
            HOST_TO_DEVICE => driver::cuMemcpyHtoDAsync_v2(device_to, from, bytes, stream),
            DEVICE_TO_HOST => driver::cuMemcpyDtoHAsync_v2(to, device_from, bytes, stream),
            DEVICE_TO_DEVICE => driver::cuMemcpyDtoDAsync_v2(device_to, device_from, bytes, stream),
            _ => Err(Error::INVALID_COPY_DIRECTION),
        }
    }
}

default_stream_exports! {
    fn cudaMemcpy | cudaMemcpy_ptds(to: *mut c_void, from: *const c_void, bytes: usize, kind: u32) in stream {
        copy(to, from, bytes, kind, stream)
    }
}

stream_exports! {
    fn cudaMemcpyAsync | cudaMemcpyAsync_ptsz(
        to: *mut c_void, from: *const c_void, bytes: usize, kind: u32, stream: Handle
    ) for stream {
        copy_async(to, from, bytes, kind, stream)
    }
}
