//! Devices: how many there are, which one a thread uses, limits and settings.

use std::ffi::{c_char, c_void};

use crate::call::{call_without_device, exports, forget_error, set};
use crate::context;
use crate::driver::{self, Handle};
use crate::error::{Error, Result};

/// The runtime's version: 1000 times the major one and 10 times the minor one.
pub(crate) const VERSION: i32 = if cfg!(feature = "cuda-12") {
    12090
} else {
    13000
};

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaRuntimeGetVersion(version: *mut i32) -> u32 {
    // SAFETY: the caller has room for a number.
    call_without_device(|| unsafe { set(version, VERSION) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDriverGetVersion(version: *mut i32) -> u32 {
    // SAFETY: the caller has room for a number.
    call_without_device(|| unsafe { driver::cuDriverGetVersion(version) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceCount(count: *mut i32) -> u32 {
    // SAFETY: the caller has room for a number.
    call_without_device(|| unsafe {
        let devices = context::device_count();
        set(count, *devices.as_ref().unwrap_or(&0))?;
        devices.map(drop)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDevice(device: i32) -> u32 {
    call_without_device(|| context::select(device))
}

/// Makes a device ready, and chooses it for no thread.
#[unsafe(no_mangle)]
extern "C" fn cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) -> u32 {
    call_without_device(|| context::primary(device).map(drop))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDevice(device: *mut i32) -> u32 {
    // SAFETY: the caller has room for a number.
    call_without_device(|| unsafe { set(device, context::device()?) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaChooseDevice(device: *mut i32, _properties: *const c_void) -> u32 {
    // SAFETY: the caller has room for a number.
    call_without_device(|| unsafe { context::device_count().and_then(|_| set(device, 0)) })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceReset() -> u32 {
    let result = call_without_device(context::reset);
    if result == 0 {
        forget_error();
    }
    result
}

/// `cudaDeviceMapHost`, which is always on.
const MAP_HOST: u32 = 8;

#[unsafe(no_mangle)]
extern "C" fn cudaSetDeviceFlags(flags: u32) -> u32 {
    call_without_device(|| {
        let device = context::device()?;
        // SAFETY: the driver checks the flags.
        unsafe { driver::cuDevicePrimaryCtxSetFlags_v2(device, flags & !MAP_HOST) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetDeviceFlags(flags: *mut u32) -> u32 {
    call_without_device(|| {
        let (mut value, mut active) = (0, 0);
        // SAFETY: the driver writes two numbers, and the caller has room for one.
        unsafe {
            driver::cuDevicePrimaryCtxGetState(context::device()?, &mut value, &mut active)?;
            set(flags, value | MAP_HOST)
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32) -> u32 {
    // SAFETY: the caller has room for a number, and the runtime's numbers of attributes are the driver's.
    call_without_device(|| unsafe {
        context::check_device(device)?;
        driver::cuDeviceGetAttribute(value, attribute, device)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetPCIBusId(id: *mut c_char, length: i32, device: i32) -> u32 {
    // SAFETY: the caller has room for that many characters.
    call_without_device(|| unsafe {
        context::check_device(device)?;
        driver::cuDeviceGetPCIBusId(id, length, device)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetByPCIBusId(device: *mut i32, id: *const c_char) -> u32 {
    // SAFETY: the caller passes a string and has room for a number.
    call_without_device(|| unsafe {
        context::initialise()?;
        driver::cuDeviceGetByPCIBusId(device, id)
    })
}

exports! {
    fn cudaDeviceSynchronize() { driver::cuCtxSynchronize() }
    fn cudaDeviceGetLimit(value: *mut usize, limit: u32) { driver::cuCtxGetLimit(value, limit) }
    fn cudaDeviceSetLimit(limit: u32, value: usize) { driver::cuCtxSetLimit(limit, value) }
    fn cudaDeviceGetCacheConfig(config: *mut u32) { driver::cuCtxGetCacheConfig(config) }
    fn cudaDeviceSetCacheConfig(config: u32) { driver::cuCtxSetCacheConfig(config) }
    fn cudaCtxResetPersistingL2Cache() { driver::cuCtxResetPersistingL2Cache() }
    fn cudaProfilerStart() { driver::cuProfilerStart() }
    fn cudaProfilerStop() { driver::cuProfilerStop() }
    /// Devices since compute capability 5.0 have one size of banks: 4 bytes (`cudaSharedMemBankSizeFourByte`).
    fn cudaDeviceGetSharedMemConfig(config: *mut u32) { set(config, 1) }
    /// Without effect since compute capability 5.0.
    fn cudaDeviceSetSharedMemConfig(_config: u32) { Ok(()) }
    fn cudaGetDriverEntryPoint(name: *const c_char, function: *mut *mut c_void, flags: u64, status: *mut u32) {
        entry_point(name, function, VERSION, flags, status)
    }
    fn cudaGetDriverEntryPoint_ptsz(name: *const c_char, function: *mut *mut c_void, flags: u64, status: *mut u32) {
        entry_point(name, function, VERSION, per_thread_flags(flags), status)
    }
    fn cudaGetDriverEntryPointByVersion(
        name: *const c_char, function: *mut *mut c_void, version: u32, flags: u64, status: *mut u32
    ) {
        entry_point(name, function, version as i32, flags, status)
    }
    fn cudaGetDriverEntryPointByVersion_ptsz(
        name: *const c_char, function: *mut *mut c_void, version: u32, flags: u64, status: *mut u32
    ) {
        entry_point(name, function, version as i32, per_thread_flags(flags), status)
    }
}

/// `cudaEnableDefault` becomes `cudaEnablePerThreadDefaultStream` in a program that has per-thread default streams.
fn per_thread_flags(flags: u64) -> u64 {
    if flags == 0 { 2 } else { flags }
}

/// A function of the driver by its name. A missing one is no error of the call: the status says so.
///
/// # Safety
/// `name` is a string; `function` and `status` are null or have room for their values.
unsafe fn entry_point(
    name: *const c_char,
    function: *mut *mut c_void,
    version: i32,
    flags: u64,
    status: *mut u32,
) -> Result {
    /// `cudaDriverEntryPointSymbolNotFound`.
    const NOT_FOUND: u32 = 1;
    let (mut found, mut state): (Handle, u32) = (std::ptr::null_mut(), NOT_FOUND);
    // SAFETY: as the caller's.
    unsafe {
        match driver::cuGetProcAddress_v2(name, &mut found, version, flags, &mut state) {
            Ok(()) | Err(Error::SYMBOL_NOT_FOUND) => {}
            Err(error) => return Err(error),
        }
        if !status.is_null() {
            set(status, state)?;
        }
        set(function, found)
    }
}

/// `cudaChannelFormatDesc`: bits of each component, and what they are.
#[repr(C)]
struct ChannelFormat {
    bits: [i32; 4],
    kind: u32,
}

#[unsafe(no_mangle)]
extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: u32) -> ChannelFormat {
    ChannelFormat {
        bits: [x, y, z, w],
        kind,
    }
}
