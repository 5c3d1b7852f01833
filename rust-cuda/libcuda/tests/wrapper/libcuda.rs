//! A library that is found as `libcuda.so.1` and forwards to another one: a tracer, say.

use std::env;
use std::ffi::{c_int, c_uint};
use std::mem::transmute;

type CuInit = unsafe extern "C" fn(c_uint) -> c_int;
type CuDeviceGetCount = unsafe extern "C" fn(*mut c_int) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuInit(flags: c_uint) -> c_int {
    unsafe { transmute::<usize, CuInit>(address("WRAPPED_CU_INIT"))(flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    unsafe { transmute::<usize, CuDeviceGetCount>(address("WRAPPED_CU_DEVICE_GET_COUNT"))(count) }
}

/// Where the function is that calls are forwarded to.
fn address(variable: &str) -> usize {
    let address = env::var(variable).expect("the test says where");
    address.parse().expect("an address")
}
