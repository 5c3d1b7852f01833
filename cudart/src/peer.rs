//! Access to the memory of other devices, and copies between devices.

use std::ffi::c_void;

use crate::call::{call_without_device, exports};
use crate::context;
use crate::driver::{self, Address, Handle};

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceCanAccessPeer(access: *mut i32, device: i32, peer: i32) -> u32 {
    // SAFETY: the caller has room for a number.
    call_without_device(|| unsafe {
        context::check_device(device)?;
        context::check_device(peer)?;
        driver::cuDeviceCanAccessPeer(access, device, peer)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetP2PAttribute(
    value: *mut i32,
    attribute: u32,
    from: i32,
    to: i32,
) -> u32 {
    // SAFETY: the caller has room for a number.
    call_without_device(|| unsafe {
        context::check_device(from)?;
        context::check_device(to)?;
        driver::cuDeviceGetP2PAttribute(value, attribute, from, to)
    })
}

exports! {
    fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        driver::cuCtxEnablePeerAccess(context::primary(peer)?, flags)
    }
    fn cudaDeviceDisablePeerAccess(peer: i32) { driver::cuCtxDisablePeerAccess(context::primary(peer)?) }
    fn cudaMemcpyPeer(to: *mut c_void, to_device: i32, from: *const c_void, from_device: i32, bytes: usize) {
        let contexts = (context::primary(to_device)?, context::primary(from_device)?);
        driver::cuMemcpyPeer(to as Address, contexts.0, from as Address, contexts.1, bytes)
    }
    fn cudaMemcpyPeerAsync(
        to: *mut c_void, to_device: i32, from: *const c_void, from_device: i32, bytes: usize, stream: Handle
    ) {
        let contexts = (context::primary(to_device)?, context::primary(from_device)?);
        driver::cuMemcpyPeerAsync(to as Address, contexts.0, from as Address, contexts.1, bytes, stream)
    }
}
