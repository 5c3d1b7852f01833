//! Attributes of kernels.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use crate::call::{exports, set};
use crate::driver::{self, Handle};
use crate::error::Result;
use crate::registry;

/// The `CUfunction` of a kernel in the current context.
pub(crate) fn function(address: *const c_void) -> Result<Handle> {
    let kernel = registry::kernel(address)?;
    let mut function = null_mut();
    // SAFETY: the kernel exists.
    unsafe { driver::cuKernelGetFunction(&mut function, kernel) }?;
    Ok(function)
}

/// `cudaFuncAttributes`.
#[repr(C)]
struct FuncAttributes {
    shared_bytes: usize,
    constant_bytes: usize,
    local_bytes: usize,
    /// From `maxThreadsPerBlock` to `nonPortableClusterSizeAllowed`.
    numbers: [i32; 13],
    reserved: [i32; 16],
}

/// Numbers of `CUfunction_attribute`, for [`FuncAttributes`].
const SHARED_BYTES: u32 = 1;
const CONSTANT_BYTES: u32 = 2;
const LOCAL_BYTES: u32 = 3;
/// Threads of a block, registers, versions of PTX and code, caching, dynamic and preferred shared memory; then the cluster:
/// whether one is required, its three lengths, its scheduling policy, and whether it may be larger than is portable.
const NUMBERS: [u32; 13] = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14];
/// The first attribute that drivers before CUDA 11.8 do not know.
const FIRST_OF_CLUSTERS: u32 = 10;

fn attributes(function: Handle) -> Result<FuncAttributes> {
    let get = |attribute| {
        let mut value = 0;
        // SAFETY: the driver writes a number.
        let result = unsafe { driver::cuFuncGetAttribute(&mut value, attribute, function) };
        match result {
            Err(error) if attribute < FIRST_OF_CLUSTERS => Err(error),
            Err(_) => Ok(0),
            Ok(()) => Ok(value),
        }
    };
    let mut numbers = [0; NUMBERS.len()];
    for (number, attribute) in numbers.iter_mut().zip(NUMBERS) {
        *number = get(attribute)?;
    }
    Ok(FuncAttributes {
        shared_bytes: get(SHARED_BYTES)? as usize,
        constant_bytes: get(CONSTANT_BYTES)? as usize,
        local_bytes: get(LOCAL_BYTES)? as usize,
        numbers,
        reserved: [0; 16],
    })
}

exports! {
    fn cudaFuncGetAttributes(result: *mut c_void, kernel: *const c_void) {
        set(result.cast(), attributes(function(kernel)?)?)
    }
    fn cudaFuncSetAttribute(kernel: *const c_void, attribute: u32, value: i32) {
        driver::cuFuncSetAttribute(function(kernel)?, attribute, value)
    }
    fn cudaFuncSetCacheConfig(kernel: *const c_void, config: u32) {
        driver::cuFuncSetCacheConfig(function(kernel)?, config)
    }
    /// Without effect since compute capability 5.0.
    fn cudaFuncSetSharedMemConfig(kernel: *const c_void, _config: u32) { function(kernel).map(drop) }
    fn cudaFuncGetName(name: *mut *const c_char, kernel: *const c_void) {
        driver::cuFuncGetName(name, function(kernel)?)
    }
    fn cudaFuncGetParamInfo(kernel: *const c_void, index: usize, offset: *mut usize, bytes: *mut usize) {
        driver::cuFuncGetParamInfo(function(kernel)?, index, offset, bytes)
    }
    fn cudaGetFuncBySymbol(result: *mut Handle, kernel: *const c_void) { set(result, function(kernel)?) }
    fn cudaGetKernel(result: *mut Handle, kernel: *const c_void) { set(result, registry::kernel(kernel)?) }
    fn cudaKernelSetAttributeForDevice(kernel: Handle, attribute: u32, value: i32, device: i32) {
        driver::cuKernelSetAttribute(attribute, value, registry::kernel(kernel)?, device)
    }
}
