//! Contexts, error texts and entry points by name.

mod driver_support;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use driver_support::*;
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

/// `cuGetProcAddress` maps a name to its newest version, and to `_ptsz` when asked for per-thread streams.
#[test]
fn entry_points_are_found_by_plain_names() {
    let find = |name: &CStr, flags: u64| {
        let (mut address, mut status) = (std::ptr::null::<c_void>(), 7_u32);
        let result = cu!(cuGetProcAddress_v2(
            name.as_ptr() => *const c_char,
            &mut address => *mut *const c_void,
            13_000 => c_int,
            flags => u64,
            &mut status => *mut c_uint,
        ));
        assert_eq!(status == 0, !address.is_null());
        result.map(|()| address)
    };
    assert_eq!(
        find(c"cuMemAlloc", 0),
        Ok(entry_point("cuMemAlloc_v2").unwrap())
    );
    assert_eq!(
        find(c"cuLaunchKernel", 2),
        Ok(entry_point("cuLaunchKernel_ptsz").unwrap())
    );
    assert_eq!(
        find(c"cuMemcpyHtoD", 2),
        Ok(entry_point("cuMemcpyHtoD_v2_ptds").unwrap())
    );
    assert_eq!(find(c"cuNoSuchCall", 0), Ok(std::ptr::null()));
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
