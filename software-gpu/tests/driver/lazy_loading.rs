//! When the code of a kernel goes to the device. Without `CUDA_MODULE_LOADING=EAGER` the call that loads it waits for the work under way.

use std::ffi::{c_int, c_uint};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry first() { ret; }\n.visible .entry second() { ret; }\n";
const BYTES: usize = 64 << 20;

/// Work in a stream that takes longer than any call that does not wait for it.
fn busy(driver: &Driver) -> Handle {
    let stream = driver.stream(NON_BLOCKING);
    let memory = driver.allocate(BYTES).expect("fits");
    driver.set(memory, 1, BYTES, stream).expect("is set");
    assert_eq!(driver.stream_query(stream), Err(NOT_READY));
    stream
}

fn is_loaded(function: Handle) -> c_uint {
    let mut state = 7;
    cu!(cuFuncIsLoaded(&mut state => *mut c_uint, function => Handle)).expect("is a function");
    state
}

#[test]
fn the_first_request_for_a_kernel_waits_for_the_device_and_no_other_does() {
    let driver = Driver::new();
    let module = driver.module(PTX).expect("loads");
    let stream = busy(&driver);
    let first = driver.function(module, "first").expect("exists");
    assert_eq!(driver.stream_query(stream), Ok(()), "the call has waited");
    assert_eq!(is_loaded(first), 1);
    let stream = busy(&driver);
    driver.function(module, "first").expect("exists");
    assert_eq!(driver.stream_query(stream), Err(NOT_READY), "it is loaded");
    driver.function(module, "second").expect("exists");
    assert_eq!(driver.stream_query(stream), Ok(()), "each kernel is loaded");
}

#[test]
fn a_kernel_from_a_list_is_loaded_by_its_first_launch() {
    let driver = Driver::new();
    let module = driver.module(PTX).expect("loads");
    let mut functions = [0, 0];
    cu!(cuModuleEnumerateFunctions(functions.as_mut_ptr() => *mut Handle, 2 => c_uint, module => Handle)).expect("is a module");
    let other = driver.stream(NON_BLOCKING);
    for (index, function) in functions.into_iter().enumerate() {
        assert_eq!(is_loaded(function), 0);
        let stream = busy(&driver);
        match index {
            0 => driver.launch(function, 1, 1, other, &[]).expect("starts"),
            _ => cu!(cuFuncLoad(function => Handle)).expect("is a function"),
        }
        assert_eq!(driver.stream_query(stream), Ok(()), "the call has waited");
        assert_eq!(is_loaded(function), 1);
        let stream = busy(&driver);
        driver.launch(function, 1, 1, other, &[]).expect("starts");
        assert_eq!(driver.stream_query(stream), Err(NOT_READY), "it is loaded");
    }
}

#[test]
fn loading_is_lazy_unless_the_environment_says_otherwise() {
    let _driver = Driver::new();
    let mut mode = 0;
    cu!(cuModuleGetLoadingMode(&mut mode => *mut c_int)).expect("is known");
    assert_eq!(mode, 2);
}
