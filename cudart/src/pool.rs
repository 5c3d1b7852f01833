//! Stream-ordered allocation and memory pools. Structures and numbers of attributes are the driver's.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::call::{call_without_device, exports, set, stream_exports};
use crate::context;
use crate::driver::{self, Address, Handle};
use crate::error::Result;

/// # Safety
/// `pointer` has room for a pointer.
unsafe fn give(pointer: *mut *mut c_void, address: Address) -> Result {
    // SAFETY: as the caller's.
    unsafe { set(pointer, address as *mut c_void) }
}

stream_exports! {
    fn cudaMallocAsync | cudaMallocAsync_ptsz(pointer: *mut *mut c_void, bytes: usize, stream: Handle) for stream {
        let mut address = 0;
        driver::cuMemAllocAsync(&mut address, bytes, stream)?;
        give(pointer, address)
    }
    fn cudaFreeAsync | cudaFreeAsync_ptsz(pointer: *mut c_void, stream: Handle) for stream {
        driver::cuMemFreeAsync(pointer as Address, stream)
    }
    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz(
        pointer: *mut *mut c_void, bytes: usize, pool: Handle, stream: Handle
    ) for stream {
        let mut address = 0;
        driver::cuMemAllocFromPoolAsync(&mut address, bytes, pool, stream)?;
        give(pointer, address)
    }
}

exports! {
    fn cudaMemPoolCreate(pool: *mut Handle, properties: *const c_void) {
        let mut created = null_mut();
        driver::cuMemPoolCreate(&mut created, properties)?;
        set(pool, created)
    }
    fn cudaMemPoolDestroy(pool: Handle) { driver::cuMemPoolDestroy(pool) }
    fn cudaMemPoolTrimTo(pool: Handle, bytes: usize) { driver::cuMemPoolTrimTo(pool, bytes) }
    fn cudaMemPoolSetAttribute(pool: Handle, attribute: u32, value: *mut c_void) {
        driver::cuMemPoolSetAttribute(pool, attribute, value)
    }
    fn cudaMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut c_void) {
        driver::cuMemPoolGetAttribute(pool, attribute, value)
    }
    fn cudaMemPoolSetAccess(pool: Handle, access: *const c_void, count: usize) {
        driver::cuMemPoolSetAccess(pool, access, count)
    }
    fn cudaMemPoolGetAccess(flags: *mut u32, pool: Handle, location: *mut c_void) {
        driver::cuMemPoolGetAccess(flags, pool, location)
    }
    fn cudaDeviceGetGraphMemAttribute(device: i32, attribute: u32, value: *mut c_void) {
        driver::cuDeviceGetGraphMemAttribute(device, attribute, value)
    }
    fn cudaDeviceSetGraphMemAttribute(device: i32, attribute: u32, value: *mut c_void) {
        driver::cuDeviceSetGraphMemAttribute(device, attribute, value)
    }
    fn cudaDeviceGraphMemTrim(device: i32) { driver::cuDeviceGraphMemTrim(device) }
}

#[cfg(not(feature = "cuda-12"))]
exports! {
    fn cudaMemGetDefaultMemPool(pool: *mut Handle, location: *const c_void, kind: u32) {
        driver::cuMemGetDefaultMemPool(pool, location, kind)
    }
    fn cudaMemGetMemPool(pool: *mut Handle, location: *const c_void, kind: u32) {
        driver::cuMemGetMemPool(pool, location, kind)
    }
    fn cudaMemSetMemPool(location: *const c_void, kind: u32, pool: Handle) {
        driver::cuMemSetMemPool(location, kind, pool)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetDefaultMemPool(pool: *mut Handle, device: i32) -> u32 {
    // SAFETY: the caller has room for a handle.
    call_without_device(|| unsafe {
        context::check_device(device)?;
        driver::cuDeviceGetDefaultMemPool(pool, device)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetMemPool(pool: *mut Handle, device: i32) -> u32 {
    // SAFETY: the caller has room for a handle.
    call_without_device(|| unsafe {
        context::check_device(device)?;
        driver::cuDeviceGetMemPool(pool, device)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceSetMemPool(device: i32, pool: Handle) -> u32 {
    // SAFETY: the driver checks the handle.
    call_without_device(|| unsafe {
        context::check_device(device)?;
        driver::cuDeviceSetMemPool(device, pool)
    })
}
