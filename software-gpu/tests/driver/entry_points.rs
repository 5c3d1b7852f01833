//! Entry points by name: each ABI against the driver's table.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::{entry_point, entry_points};

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
