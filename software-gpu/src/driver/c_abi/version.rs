//! `cuInit`, versions, texts of error codes, and entry points by name.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::entry_point::entry_points;
use super::errors::{self, CudaError};
use super::introduced::{self, Missing};
use super::types::Out;
use crate::driver::checkers::ordering::Ordering;
use crate::driver::environment;
use crate::driver::host::call::Call;
use crate::driver::host::costs::Cost;
use crate::driver::host_accesses::IS_SUPPORTED;

/// CUDA 13.0: what `cuDriverGetVersion` reports.
pub(in crate::driver) const VERSION: c_int = 13_000;

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD_DEFAULT_STREAM: u64 = 2;

/// `CU_GET_PROC_ADDRESS_SUCCESS`.
const FOUND: c_uint = 0;

entry_points! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(CudaError::InvalidValue);
        }
        if let Err(reason) = environment::configure() {
            crate::say!("software GPU: {reason}");
            return Err(CudaError::InvalidValue);
        }
        let mut call = Call::begin()?;
        call.spend(Cost::Other);
        if !call.initialized {
            call.ordering = Ordering::new();
            if call.ordering.is_on() && IS_SUPPORTED {
                call.host_accesses.turn_on();
                call.memory.map_page_locked_twice();
            }
        }
        call.initialized = true;
        call.end();
        Ok(())
    }

    fn cuDriverGetVersion(version: Out<c_int>) {
        version.set(VERSION)
    }

    fn cuGetErrorName(error: c_uint, name: Out<*const c_char>) {
        text_of(errors::name_of(error), name)
    }

    fn cuGetErrorString(error: c_uint, description: Out<*const c_char>) {
        text_of(errors::description_of(error), description)
    }

    fn cuGetProcAddress(symbol: *const c_char, function: Out<*const c_void>, version: c_int, flags: u64) {
        // SAFETY: the caller passes null or a string.
        unsafe { proc_address(symbol, function, version, flags) }?.map(|_| ()).map_err(|_| CudaError::NotFound)
    }

    fn cuGetProcAddress_v2(
        symbol: *const c_char,
        function: Out<*const c_void>,
        version: c_int,
        flags: u64,
        status: Out<c_uint>,
    ) {
        // SAFETY: as above.
        unsafe { proc_address_with_status(symbol, function, version, flags, status) }
    }

    /// What a program compiled for per-thread default streams calls.
    fn cuGetProcAddress_v2_ptsz(
        symbol: *const c_char,
        function: Out<*const c_void>,
        version: c_int,
        flags: u64,
        status: Out<c_uint>,
    ) {
        let flags = if flags == 0 { PER_THREAD_DEFAULT_STREAM } else { flags };
        // SAFETY: as above.
        unsafe { proc_address_with_status(symbol, function, version, flags, status) }
    }
}

fn text_of(text: Option<&'static CStr>, out: Out<*const c_char>) -> Result<(), CudaError> {
    match text {
        Some(text) => out.set(text.as_ptr()),
        None => {
            out.set(std::ptr::null())?;
            Err(CudaError::InvalidValue)
        }
    }
}

/// # Safety
/// `symbol` is null or a string.
unsafe fn proc_address_with_status(
    symbol: *const c_char,
    function: Out<*const c_void>,
    version: c_int,
    flags: u64,
    status: Out<c_uint>,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise.
    match unsafe { proc_address(symbol, function, version, flags) }? {
        Ok(_) => status.set_if_wanted(FOUND),
        // The status says it, to those who ask for one.
        Err(missing) if status.required().is_ok() => return status.set(missing as c_uint),
        Err(_) => return Err(CudaError::NotFound),
    }
    Ok(())
}

/// # Safety
/// `symbol` is null or a string.
unsafe fn proc_address(
    symbol: *const c_char,
    function: Out<*const c_void>,
    version: c_int,
    flags: u64,
) -> Result<Result<*const c_void, Missing>, CudaError> {
    let function = function.required()?;
    if symbol.is_null() || version <= 0 || version > VERSION || flags > PER_THREAD_DEFAULT_STREAM {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: not null, so a string.
    let symbol = unsafe { CStr::from_ptr(symbol) }.to_str();
    let found = symbol.map_or(Err(Missing::Symbol), |symbol| {
        introduced::entry_point_of(symbol, version, flags == PER_THREAD_DEFAULT_STREAM)
    });
    function.set(found.unwrap_or(std::ptr::null()))?;
    Ok(found)
}
