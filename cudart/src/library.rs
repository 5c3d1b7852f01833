//! Libraries of kernels that the program loads itself.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use crate::call::{exports, set};
use crate::driver::{self, Handle};
use crate::error::Result;
use crate::registry;

exports! {
    fn cudaLibraryLoadData(
        library: *mut Handle, image: *const c_void, options: *mut u32, values: *mut *mut c_void, option_count: u32,
        library_options: *mut u32, library_values: *mut *mut c_void, library_option_count: u32
    ) {
        driver::cuLibraryLoadData(
            library, image, options, values, option_count, library_options, library_values, library_option_count
        )
    }
    fn cudaLibraryLoadFromFile(
        library: *mut Handle, file: *const c_char, options: *mut u32, values: *mut *mut c_void, option_count: u32,
        library_options: *mut u32, library_values: *mut *mut c_void, library_option_count: u32
    ) {
        driver::cuLibraryLoadFromFile(
            library, file, options, values, option_count, library_options, library_values, library_option_count
        )
    }
    fn cudaLibraryUnload(library: Handle) { driver::cuLibraryUnload(library) }
    fn cudaLibraryGetKernel(kernel: *mut Handle, library: Handle, name: *const c_char) {
        let mut found = null_mut();
        driver::cuLibraryGetKernel(&mut found, library, name)?;
        registry::remember(found);
        set(kernel, found)
    }
    fn cudaLibraryGetKernelCount(count: *mut u32, library: Handle) { driver::cuLibraryGetKernelCount(count, library) }
    fn cudaLibraryEnumerateKernels(kernels: *mut Handle, count: u32, library: Handle) {
        enumerate(kernels, count, library)
    }
    fn cudaLibraryGetGlobal(pointer: *mut *mut c_void, bytes: *mut usize, library: Handle, name: *const c_char) {
        let mut address = 0;
        driver::cuLibraryGetGlobal(&mut address, bytes, library, name)?;
        set(pointer, address as *mut c_void)
    }
}

/// # Safety
/// `kernels` has room for `count` handles.
unsafe fn enumerate(kernels: *mut Handle, count: u32, library: Handle) -> Result {
    let mut all = 0;
    // SAFETY: as the caller's.
    unsafe {
        driver::cuLibraryEnumerateKernels(kernels, count, library)?;
        driver::cuLibraryGetKernelCount(&mut all, library)?;
        for index in 0..all.min(count) as usize {
            registry::remember(*kernels.add(index));
        }
    }
    Ok(())
}
