//! Where the documentation is silent: what the software GPU does.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use crate::driver_support::*;
use crate::pool_support::Pool;
use software_gpu::driver::entry_point;

/// Handles of objects that were destroyed, or that never were.
#[test]
fn stale_handles_are_refused() {
    let driver = Driver::new();
    let (mut other, mut before, mut after, mut total) = (0, 0_usize, 0_usize, 0_usize);
    let event = driver.event();
    cu!(cuEventDestroy_v2(event => Handle)).unwrap();
    assert_eq!(driver.event_query(event), Err(INVALID_HANDLE));
    assert_eq!(driver.stream_query(77), Err(INVALID_HANDLE));
    // A context takes its objects with it.
    cu!(cuMemGetInfo_v2(&mut before => *mut usize, &mut total => *mut usize)).unwrap();
    cu!(cuCtxCreate_v2(&mut other => *mut Handle, 0 => c_uint, 0 => c_int)).unwrap();
    driver.allocate(MIB).unwrap();
    let (stream, event) = (driver.stream(0), driver.event());
    cu!(cuCtxPushCurrent_v2(other => Handle)).unwrap();
    cu!(cuCtxDestroy_v2(other => Handle)).unwrap();
    // One of its two places on the stack is left.
    assert_eq!(driver.allocate(8), Err(709));
    driver.set_current(driver.context);
    cu!(cuMemGetInfo_v2(&mut after => *mut usize, &mut total => *mut usize)).unwrap();
    assert_eq!(before, after);
    assert_eq!(driver.stream_query(stream), Err(INVALID_HANDLE));
    assert_eq!(driver.event_query(event), Err(INVALID_HANDLE));
    assert_eq!(cu!(cuCtxSetCurrent(other => Handle)), Err(INVALID_CONTEXT));
}

/// The same for objects of the other kinds: contexts as peers, modules, libraries, links and pools.
#[test]
fn handles_of_what_is_gone_are_refused() {
    let driver = Driver::new();
    let text = CString::new(include_str!("../driver_support/kernels.ptx")).expect("no zero inside");
    let image = text.as_ptr();
    let module = driver.module(text.to_str().unwrap()).unwrap();
    let function = driver.function(module, "bounded").unwrap();
    let (stream, pool) = (driver.stream(0), Pool::new());
    let (mut library, mut kernel, mut link) = (0, 0, 0);
    let none = std::ptr::null::<c_void>();
    cu!(cuLibraryLoadData(
        &mut library => *mut Handle, image => *const c_char, none => *const c_void, none => *const c_void, 0 => c_uint,
        none => *const c_void, none => *const c_void, 0 => c_uint,
    ))
    .unwrap();
    let name = c"bounded".as_ptr();
    let find = |library: Handle, kernel: &mut Handle| cu!(cuLibraryGetKernel(kernel => *mut Handle, library => Handle, name => *const c_char));
    find(library, &mut kernel).unwrap();
    cu!(cuLinkCreate_v2(0 => c_uint, none => *const c_void, none => *const c_void, &mut link => *mut Handle)).unwrap();
    let context = driver.context_on(0);
    for result in [
        cu!(cuCtxDestroy_v2(context => Handle)),
        cu!(cuStreamDestroy_v2(stream => Handle)),
        cu!(cuModuleUnload(module => Handle)),
        cu!(cuLibraryUnload(library => Handle)),
        cu!(cuLinkDestroy(link => Handle)),
        pool.destroy(),
    ] {
        assert_eq!(result, Ok(()));
    }
    driver.set_current(driver.context);
    let (mut out, mut address) = (0, 0_u64);
    for (number, (result, error)) in [
        (
            cu!(cuCtxEnablePeerAccess(context => Handle, 0 => c_uint)),
            INVALID_CONTEXT,
        ),
        (
            cu!(cuCtxDisablePeerAccess(context => Handle)),
            INVALID_CONTEXT,
        ),
        (
            cu!(cuStreamWriteValue32_v2(stream => Handle, 0 => u64, 0 => u32, 0 => c_uint)),
            INVALID_HANDLE,
        ),
        (driver.function(module, "bounded").map(drop), INVALID_HANDLE),
        (driver.launch(function, 1, 1, 0, &[]), INVALID_HANDLE),
        (cu!(cuFuncLoad(function => Handle)), INVALID_HANDLE),
        (find(library, &mut kernel), INVALID_HANDLE),
        (
            cu!(cuKernelGetFunction(&mut out => *mut Handle, kernel => Handle)),
            INVALID_HANDLE,
        ),
        (cu!(cuLinkDestroy(link => Handle)), INVALID_HANDLE),
        (
            cu!(cuLinkComplete(link => Handle, &mut address => *mut u64, &mut out => *mut usize)),
            INVALID_HANDLE,
        ),
        (pool.trim(0), INVALID_VALUE),
        (
            cu!(cuDeviceSetMemPool(0 => c_int, pool.0 => Handle)),
            INVALID_VALUE,
        ),
        (pool.allocate(4, 0).map(drop), INVALID_VALUE),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!((number, result), (number, Err(error)));
    }
}

/// A priority that is set as an attribute is clamped as one that a stream is created with.
#[test]
fn priorities_of_attributes_are_clamped() {
    const PRIORITY: c_uint = 8;
    let driver = Driver::new();
    let stream = driver.stream(0);
    for (given, expected) in [(-3, -3), (-1000, -5), (7, 0)] {
        let (value, mut kept) = ([given, 0, 0, 0], 9);
        cu!(cuStreamSetAttribute(stream => Handle, PRIORITY => c_uint, value.as_ptr() => *const c_int))
            .unwrap();
        cu!(cuStreamGetPriority(stream => Handle, &mut kept => *mut c_int)).unwrap();
        assert_eq!(kept, expected);
    }
}

/// Contexts with a part of the multiprocessors are for servers that share a device among processes.
#[test]
fn no_execution_affinity_is_supported() {
    let _driver = Driver::new();
    let mut supported = 7;
    cu!(cuDeviceGetExecAffinitySupport(&mut supported => *mut c_int, 0 => c_uint, 0 => c_int))
        .unwrap();
    let get = |kind: c_uint| cu!(cuCtxGetExecAffinity(std::ptr::null_mut() => *mut c_void, kind => c_uint));
    assert_eq!(
        (supported, get(0), get(1)),
        (0, Err(224), Err(INVALID_VALUE))
    );
}

/// NVIDIA's samples pass parameters that ask for nothing.
#[test]
fn a_context_is_created_with_parameters_only_if_they_are_zero() {
    let _driver = Driver::new();
    let mut context = 0;
    let mut create = |parameters: [usize; 3]| {
        let parameters = parameters.as_ptr();
        cu!(cuCtxCreate_v4(&mut context => *mut Handle, parameters => *const usize, 0 => c_uint, 0 => c_int))
    };
    assert_eq!(create([0, 0, 0]), Ok(()));
    assert_eq!(create([1, 0, 0]), Ok(()));
    assert_eq!(create([0, 1, 0]), Err(224));
    assert_eq!(create([0, 0, 1]), Err(224));
}
