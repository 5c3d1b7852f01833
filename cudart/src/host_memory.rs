//! Page-locked host memory.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::call::{exports, set};
use crate::driver;
use crate::error::Result;

/// # Safety
/// `pointer` has room for a pointer.
unsafe fn allocate(pointer: *mut *mut c_void, bytes: usize, flags: u32) -> Result {
    let mut allocated = null_mut();
    // SAFETY: the driver and the caller have room for a pointer.
    unsafe {
        if bytes > 0 {
            driver::cuMemHostAlloc(&mut allocated, bytes, flags)?;
        }
        set(pointer, allocated)
    }
}

exports! {
    fn cudaMallocHost(pointer: *mut *mut c_void, bytes: usize) { allocate(pointer, bytes, 0) }
    fn cudaHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: u32) { allocate(pointer, bytes, flags) }
    fn cudaFreeHost(pointer: *mut c_void) {
        if pointer.is_null() { Ok(()) } else { driver::cuMemFreeHost(pointer) }
    }
    fn cudaHostGetFlags(flags: *mut u32, pointer: *mut c_void) { driver::cuMemHostGetFlags(flags, pointer) }
    fn cudaHostGetDevicePointer(device: *mut *mut c_void, host: *mut c_void, flags: u32) {
        let mut address = 0;
        driver::cuMemHostGetDevicePointer_v2(&mut address, host, flags)?;
        set(device, address as *mut c_void)
    }
    fn cudaHostRegister(pointer: *mut c_void, bytes: usize, flags: u32) {
        driver::cuMemHostRegister_v2(pointer, bytes, flags)
    }
    fn cudaHostUnregister(pointer: *mut c_void) { driver::cuMemHostUnregister(pointer) }
}
