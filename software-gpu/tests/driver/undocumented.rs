//! Where the documentation is silent: what the software GPU does.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver_support::*;
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
