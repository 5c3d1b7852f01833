//! Contexts, error texts and entry points by name.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::{entry_point, entry_points};

fn current() -> Handle {
    let mut context = usize::MAX;
    cu!(cuCtxGetCurrent(&mut context => *mut Handle)).unwrap();
    context
}

/// `cuCtxCreate`, `cuCtxPushCurrent`, `cuCtxPopCurrent`, `cuCtxSetCurrent`: a stack per thread.
#[test]
fn contexts_form_a_stack() {
    let driver = Driver::new();
    let (mut second, mut popped) = (0, 0);
    cu!(cuCtxCreate_v2(&mut second => *mut Handle, 0 => c_uint, 0 => c_int)).unwrap();
    assert_eq!(current(), second);
    cu!(cuCtxPopCurrent_v2(&mut popped => *mut Handle)).unwrap();
    assert_eq!((popped, current()), (second, driver.context));
    cu!(cuCtxPushCurrent_v2(second => Handle)).unwrap();
    assert_eq!(current(), second);
    cu!(cuCtxSetCurrent(driver.context => Handle)).unwrap();
    assert_eq!(current(), driver.context);
    cu!(cuCtxDestroy_v2(second => Handle)).unwrap();
    assert_eq!(cu!(cuCtxSetCurrent(second => Handle)), Err(INVALID_CONTEXT));
}

/// Without a current context, and with a destroyed one.
#[test]
fn most_calls_need_a_context() {
    let driver = Driver::new();
    cu!(cuCtxSetCurrent(0 => Handle)).unwrap();
    assert_eq!(driver.allocate(8), Err(INVALID_CONTEXT));
    assert_eq!(driver.synchronize(), Err(INVALID_CONTEXT));
    let mut other = 0;
    cu!(cuCtxCreate_v2(&mut other => *mut Handle, 0 => c_uint, 0 => c_int)).unwrap();
    cu!(cuCtxPushCurrent_v2(other => Handle)).unwrap();
    cu!(cuCtxDestroy_v2(other => Handle)).unwrap();
    // One of its two places on the stack is left.
    assert_eq!(driver.allocate(8), Err(709));
    cu!(cuCtxSetCurrent(0 => Handle)).unwrap();
}

/// `cuDevicePrimaryCtxRetain` counts; what belongs to the context ends with it.
#[test]
fn the_primary_context_lives_as_long_as_it_is_retained() {
    let _driver = Driver::new();
    let (mut first, mut second, mut flags, mut active) = (0, 0, 0, 0);
    cu!(cuDevicePrimaryCtxRetain(&mut first => *mut Handle, 0 => c_int)).unwrap();
    cu!(cuDevicePrimaryCtxRetain(&mut second => *mut Handle, 0 => c_int)).unwrap();
    assert_eq!(first, second);
    assert_eq!(cu!(cuCtxDestroy_v2(first => Handle)), Err(INVALID_CONTEXT));
    cu!(cuDevicePrimaryCtxRelease_v2(0 => c_int)).unwrap();
    cu!(cuDevicePrimaryCtxGetState(0 => c_int, &mut flags => *mut c_uint, &mut active => *mut c_int)).unwrap();
    assert_eq!(active, 1);
    cu!(cuDevicePrimaryCtxRelease_v2(0 => c_int)).unwrap();
    cu!(cuDevicePrimaryCtxGetState(0 => c_int, &mut flags => *mut c_uint, &mut active => *mut c_int)).unwrap();
    assert_eq!(active, 0);
    assert_eq!(
        cu!(cuDevicePrimaryCtxRelease_v2(0 => c_int)),
        Err(INVALID_CONTEXT)
    );
}

/// `cuCtxDestroy` frees the context's memory and streams.
#[test]
fn a_context_takes_its_objects_with_it() {
    let driver = Driver::new();
    let (mut other, mut before, mut after, mut total) = (0, 0_usize, 0_usize, 0_usize);
    cu!(cuMemGetInfo_v2(&mut before => *mut usize, &mut total => *mut usize)).unwrap();
    cu!(cuCtxCreate_v2(&mut other => *mut Handle, 0 => c_uint, 0 => c_int)).unwrap();
    driver.allocate(MIB).unwrap();
    let (stream, event) = (driver.stream(0), driver.event());
    cu!(cuCtxDestroy_v2(other => Handle)).unwrap();
    cu!(cuMemGetInfo_v2(&mut after => *mut usize, &mut total => *mut usize)).unwrap();
    assert_eq!(before, after);
    assert_eq!(driver.stream_query(stream), Err(INVALID_HANDLE));
    assert_eq!(driver.event_query(event), Err(INVALID_HANDLE));
}

/// Limits, flags, cache configuration, priorities and the API version.
#[test]
fn a_context_has_settings() {
    let _driver = Driver::new();
    let (mut value, mut number, mut least, mut greatest) = (0_usize, 0, 0, 0);
    cu!(cuCtxSetLimit(0 => c_uint, 4096 => usize)).unwrap();
    cu!(cuCtxGetLimit(&mut value => *mut usize, 0 => c_uint)).unwrap();
    assert_eq!(value, 4096);
    assert_eq!(
        cu!(cuCtxGetLimit(&mut value => *mut usize, 99 => c_uint)),
        Err(INVALID_VALUE)
    );
    cu!(cuCtxSetCacheConfig(2 => c_uint)).unwrap();
    cu!(cuCtxGetCacheConfig(&mut number => *mut c_uint)).unwrap();
    assert_eq!(number, 2);
    assert_eq!(cu!(cuCtxSetCacheConfig(4 => c_uint)), Err(INVALID_VALUE));
    cu!(cuCtxGetStreamPriorityRange(&mut least => *mut c_int, &mut greatest => *mut c_int))
        .unwrap();
    assert_eq!((least, greatest), (0, -5));
    cu!(cuCtxGetApiVersion(0 => Handle, &mut number => *mut c_uint)).unwrap();
    assert_eq!(number, 3020);
    let mut context = 0;
    assert_eq!(
        cu!(cuCtxCreate_v2(&mut context => *mut Handle, 3 => c_uint, 0 => c_int)),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        cu!(cuCtxCreate_v2(&mut context => *mut Handle, 0 => c_uint, 1 => c_int)),
        Err(101)
    );
}

/// `cuGetErrorName`, `cuGetErrorString`.
#[test]
fn errors_have_names_and_descriptions() {
    let mut text = std::ptr::null::<c_char>();
    cu!(cuGetErrorName(719 => c_uint, &mut text => *mut *const c_char)).unwrap();
    // SAFETY: the driver gives a string that lives for ever.
    let name = unsafe { CStr::from_ptr(text) };
    assert_eq!(name, c"CUDA_ERROR_LAUNCH_FAILED");
    cu!(cuGetErrorString(719 => c_uint, &mut text => *mut *const c_char)).unwrap();
    // SAFETY: as above.
    let description = unsafe { CStr::from_ptr(text) };
    assert_eq!(description, c"unspecified launch failure");
    assert_eq!(
        cu!(cuGetErrorName(12345 => c_uint, &mut text => *mut *const c_char)),
        Err(INVALID_VALUE)
    );
    assert!(text.is_null());
}

/// What `cuGetProcAddress` of a CUDA version gives for a name: the address and the status.
fn find(name: &CStr, version: c_int, flags: u64) -> (*const c_void, u32) {
    let (mut address, mut status) = (std::ptr::dangling::<c_void>(), 7_u32);
    let result = cu!(cuGetProcAddress_v2(
        name.as_ptr() => *const c_char,
        &mut address => *mut *const c_void,
        version => c_int,
        flags => u64,
        &mut status => *mut c_uint,
    ));
    assert_eq!(result, Ok(()), "{name:?} of {version}");
    (address, status)
}

/// `cuGetProcAddress` gives the ABI that the headers of the asked version declare, as `cudaTypedefs.h` has them, and
/// the `_ptsz` variant when asked for per-thread streams.
#[test]
fn entry_points_are_those_of_the_asked_version() {
    for (name, version, flags, symbol) in [
        (c"cuMemAlloc", 3_020, 0, "cuMemAlloc_v2"),
        (c"cuMemAlloc", 13_000, 0, "cuMemAlloc_v2"),
        (c"cuCtxSynchronize", 12_000, 0, "cuCtxSynchronize"),
        (c"cuCtxSynchronize", 12_090, 0, "cuCtxSynchronize"),
        (c"cuCtxSynchronize", 13_000, 0, "cuCtxSynchronize_v2"),
        (c"cuCtxGetDevice", 12_000, 0, "cuCtxGetDevice"),
        (c"cuCtxGetDevice", 13_000, 0, "cuCtxGetDevice_v2"),
        (c"cuGetProcAddress", 11_030, 0, "cuGetProcAddress"),
        (c"cuGetProcAddress", 12_000, 0, "cuGetProcAddress_v2"),
        (c"cuGetProcAddress", 12_000, 2, "cuGetProcAddress_v2_ptsz"),
        (c"cuCtxCreate", 11_030, 0, "cuCtxCreate_v2"),
        (c"cuCtxCreate", 11_040, 0, "cuCtxCreate_v3"),
        (c"cuCtxCreate", 12_050, 0, "cuCtxCreate_v4"),
        (c"cuEventElapsedTime", 12_070, 0, "cuEventElapsedTime"),
        (c"cuEventElapsedTime", 12_080, 0, "cuEventElapsedTime_v2"),
        (c"cuGraphExecUpdate", 11_080, 0, "cuGraphExecUpdate"),
        (c"cuGraphExecUpdate", 12_000, 0, "cuGraphExecUpdate_v2"),
        (
            c"cuStreamGetCaptureInfo",
            11_030,
            2,
            "cuStreamGetCaptureInfo_v2_ptsz",
        ),
        (c"cuLaunchKernel", 6_050, 2, "cuLaunchKernel"),
        (c"cuLaunchKernel", 7_000, 2, "cuLaunchKernel_ptsz"),
        (c"cuLaunchKernel", 7_000, 1, "cuLaunchKernel"),
        (c"cuMemcpyHtoD", 12_000, 2, "cuMemcpyHtoD_v2_ptds"),
    ] {
        let expected = entry_point(symbol).unwrap();
        assert_eq!(find(name, version, flags), (expected, 0), "{symbol}");
    }
}

/// A name that has no ABI in the asked version is told from one that is unknown; a suffix belongs to no name.
#[test]
fn a_missing_entry_point_says_why() {
    let null = std::ptr::null();
    assert_eq!(find(c"cuLaunchKernelEx", 11_050, 0), (null, 2));
    assert_eq!(find(c"cuNoSuchCall", 13_000, 0), (null, 1));
    assert_eq!(find(c"cuMemAlloc_v2", 13_000, 0), (null, 1));
}

/// A version newer than the driver is `CUDA_ERROR_INVALID_VALUE`.
#[test]
fn no_entry_point_of_a_newer_version_is_given() {
    let (mut address, mut status) = (std::ptr::null::<c_void>(), 7_u32);
    let result = cu!(cuGetProcAddress_v2(
        c"cuMemAlloc".as_ptr() => *const c_char,
        &mut address => *mut *const c_void,
        13_010 => c_int,
        0 => u64,
        &mut status => *mut c_uint,
    ));
    assert_eq!(result, Err(INVALID_VALUE));
}

/// What version 11030 calls `cuGetProcAddress` has four parameters and says "not found" by its result.
#[test]
fn the_first_abi_of_get_proc_address_writes_no_status() {
    let (function, _) = find(c"cuGetProcAddress", 11_030, 0);
    type First = unsafe extern "C" fn(*const c_char, *mut *const c_void, c_int, u64) -> c_uint;
    // SAFETY: this is the ABI of that version.
    let first: First = unsafe { std::mem::transmute(function) };
    let mut address = std::ptr::null::<c_void>();
    // SAFETY: a string and room for an address.
    let found = unsafe { first(c"cuMemAlloc".as_ptr(), &mut address, 11_030, 0) };
    assert_eq!((found, address), (0, entry_point("cuMemAlloc_v2").unwrap()));
    // SAFETY: as above.
    let missing = unsafe { first(c"cuNoSuchCall".as_ptr(), &mut address, 11_030, 0) };
    assert_eq!((missing, address), (500, std::ptr::null()));
}

/// Every name in the table has an address, and no name is there twice.
#[test]
fn the_table_is_consistent() {
    let mut names = entry_points().to_vec();
    assert!(
        names
            .iter()
            .all(|name| entry_point(name).is_some_and(|address| !address.is_null()))
    );
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    assert_eq!(entry_point("cuNoSuchCall"), None);
}

/// Null where a result belongs is `CUDA_ERROR_INVALID_VALUE`, and nothing is created.
#[test]
fn null_results_are_refused() {
    let _driver = Driver::new();
    let null = std::ptr::null_mut::<u64>;
    assert_eq!(
        cu!(cuMemAlloc_v2(null() => *mut u64, 8 => usize)),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        cu!(cuStreamCreate(null() => *mut u64, 0 => c_uint)),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        cu!(cuEventCreate(null() => *mut u64, 0 => c_uint)),
        Err(INVALID_VALUE)
    );
    assert_eq!(cu!(cuCtxGetCurrent(null() => *mut u64)), Err(INVALID_VALUE));
    assert_eq!(
        cu!(cuModuleLoadData(null() => *mut u64, null() => *mut u64)),
        Err(INVALID_VALUE)
    );
}
