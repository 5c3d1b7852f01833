//! What programs in other languages say about their own accesses to host memory: the exports of `include/software_gpu.h`.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::host::is_modelled;

/// `softwareGpuHostReads`: the calling code reads these bytes now. Does nothing with NVIDIA's driver.
///
/// # Safety
/// `file` is null or a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softwareGpuHostReads(
    start: *const c_void,
    bytes: usize,
    file: *const c_char,
    line: c_uint,
) {
    if is_modelled() {
        // SAFETY: the caller's promise.
        match unsafe { name_of(file) } {
            Some(file) => software_gpu::host::reads_at(start.cast(), bytes, &file, line),
            None => software_gpu::host::reads_here(start.cast(), bytes),
        }
    }
}

/// `softwareGpuHostWrites`: as [`softwareGpuHostReads`], the calling code writes.
///
/// # Safety
/// `file` is null or a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn softwareGpuHostWrites(
    start: *const c_void,
    bytes: usize,
    file: *const c_char,
    line: c_uint,
) {
    if is_modelled() {
        // SAFETY: the caller's promise.
        match unsafe { name_of(file) } {
            Some(file) => software_gpu::host::writes_at(start.cast(), bytes, &file, line),
            None => software_gpu::host::writes_here(start.cast(), bytes),
        }
    }
}

/// `softwareGpuHostAcquires`: the calling code has just read in these bytes, a flag, what it waited for, and continues after
/// whatever has written them. Does nothing with NVIDIA's driver. It does not count as an access, and no report names its line.
#[unsafe(no_mangle)]
pub extern "C" fn softwareGpuHostAcquires(
    flag: *const c_void,
    bytes: usize,
    _file: *const c_char,
    _line: c_uint,
) {
    if is_modelled() {
        software_gpu::host::acquires(flag.cast(), bytes);
    }
}

/// `softwareGpuHostMayRace`: whether an access of these bytes may race with an operation of the device: 0 or 1. 0 is certain.
#[unsafe(no_mangle)]
pub extern "C" fn softwareGpuHostMayRace(start: *const c_void, bytes: usize) -> c_int {
    c_int::from(is_modelled() && software_gpu::host::may_race(start.cast(), bytes))
}

/// # Safety
/// `file` is null or a string of C.
unsafe fn name_of(file: *const c_char) -> Option<String> {
    if file.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let file = unsafe { CStr::from_ptr(file) };
    Some(file.to_string_lossy().into_owned())
}
