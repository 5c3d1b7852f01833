//! Copies between devices, and access of one device to another's memory.

use crate::result::ToResult;
use cust::context::Context;
use cust::device::Device;
use cust::error::CudaResult;
use cust::memory::{DeviceCopy, DeviceSlice};
use cust::stream::Stream;
use cust::sys;

/// Whether `device` can use `peer`'s memory directly (`cuDeviceCanAccessPeer`).
pub fn can_access(device: Device, peer: Device) -> CudaResult<bool> {
    let mut can = 0;
    // SAFETY: `can` outlives the call, which stores the answer in it.
    unsafe { sys::cuDeviceCanAccessPeer(&mut can, device.as_raw(), peer.as_raw()) }.to_result()?;
    Ok(can != 0)
}

/// Lets kernels and copies of the current context use memory of `peer`'s device directly (`cuCtxEnablePeerAccess`).
pub fn enable_access(peer: &Context) -> CudaResult<()> {
    // SAFETY: the context lives; the flags are 0, as the driver demands.
    unsafe { sys::cuCtxEnablePeerAccess(peer.as_raw(), 0) }.to_result()
}

/// Copies between the memories of two contexts, in stream order (`cuMemcpyPeerAsync`).
///
/// # Safety
/// Both buffers live, and nothing else writes them or reads `to`, until the stream has executed the copy.
///
/// # Panics
/// When the buffers are not of the same length.
pub unsafe fn copy_async<T: DeviceCopy>(
    to: (&mut DeviceSlice<T>, &Context),
    from: (&DeviceSlice<T>, &Context),
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!(
        to.0.len(),
        from.0.len(),
        "a copy between buffers of one length"
    );
    let bytes = from.0.len() * size_of::<T>();
    // SAFETY: the caller's promise; both ends span `bytes`.
    unsafe {
        sys::cuMemcpyPeerAsync(
            to.0.as_device_ptr().as_raw(),
            to.1.as_raw(),
            from.0.as_device_ptr().as_raw(),
            from.1.as_raw(),
            bytes,
            stream.as_inner(),
        )
    }
    .to_result()
}
