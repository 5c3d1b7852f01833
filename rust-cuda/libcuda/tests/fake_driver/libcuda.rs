//! A driver of very few functions, built as `libcuda.so.1` by the tests that load it.

use std::env;
use std::ffi::{c_char, c_int, c_uint, c_void};

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_int {
    number("FAKE_CUDA_INIT", 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    unsafe { count.write(number("FAKE_CUDA_DEVICES", 2)) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    unsafe { version.write(13020) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: c_int, name: *mut *const c_char) -> c_int {
    if error != 100 {
        return 1;
    }
    unsafe { name.write(c"CUDA_ERROR_NO_DEVICE".as_ptr()) };
    0
}

/// Eleven arguments, five of them on the stack: answers with their sum, each times its place.
#[unsafe(no_mangle)]
extern "C" fn cuLaunchKernel(
    function: usize,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    stream: usize,
    parameters: usize,
    extra: usize,
) -> c_int {
    let dimensions = [
        grid_x,
        grid_y,
        grid_z,
        block_x,
        block_y,
        block_z,
        shared_bytes,
    ];
    let dimensions = (2..)
        .zip(dimensions)
        .map(|(place, value)| place * value as usize);
    let others = function + 9 * stream + 10 * parameters + 11 * extra;
    (dimensions.sum::<usize>() + others) as c_int
}

static INTERNAL_CALL: unsafe extern "C" fn(*mut c_int) -> c_int = cuDriverGetVersion;

/// Answers with the address that a call of cuDriverGetVersion from inside this library reaches.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetId(_context: *mut c_void, id: *mut u64) -> c_int {
    unsafe { id.write((&raw const INTERNAL_CALL).read_volatile() as usize as u64) };
    0
}

fn number(variable: &str, default: c_int) -> c_int {
    env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}
