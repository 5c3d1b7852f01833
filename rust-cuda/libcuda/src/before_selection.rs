//! What calls reach while no driver is chosen.
//!
//! CUDA allows a handful of calls before `cuInit`. Here they make the choice that `CUDA_DRIVER`
//! names and then continue as that driver's function. All others return
//! `CUDA_ERROR_NOT_INITIALIZED`, as they do with any driver.

use crate::result::{CuResult, ERROR_NOT_INITIALIZED};
use crate::selection::select_by_environment;
use crate::slots;
use crate::symbols::Symbol;
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::mem::transmute;

/// What the slot of `symbol` holds at first.
pub(crate) const fn function(symbol: Symbol) -> *mut c_void {
    match symbol {
        Symbol::cuInit => init as *mut c_void,
        Symbol::cuDriverGetVersion => driver_get_version as *mut c_void,
        Symbol::cuGetErrorName => get_error_name as *mut c_void,
        Symbol::cuGetErrorString => get_error_string as *mut c_void,
        Symbol::cuGetProcAddress => get_proc_address as *mut c_void,
        Symbol::cuGetProcAddress_v2 => get_proc_address_v2 as *mut c_void,
        Symbol::cuGetProcAddress_v2_ptsz => get_proc_address_v2_ptsz as *mut c_void,
        _ => not_initialized as *mut c_void,
    }
}

extern "C" fn not_initialized() -> CuResult {
    ERROR_NOT_INITIALIZED
}

/// `fn(arguments..) as symbol;` defines the function that makes the choice and passes the
/// arguments on.
macro_rules! select_then_call {
    ($($function:ident($($argument:ident: $type:ty),*) as $symbol:ident;)*) => {
        $(
            unsafe extern "C" fn $function($($argument: $type),*) -> CuResult {
                if let Err(code) = select_by_environment() {
                    return code;
                }
                type EntryPoint = unsafe extern "C" fn($($type),*) -> CuResult;
                let function = slots::function(Symbol::$symbol);
                // SAFETY: the slot holds a function of this signature, the one of cuda.h.
                let function = unsafe { transmute::<*const c_void, EntryPoint>(function) };
                // SAFETY: the caller's arguments, unchanged.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

select_then_call! {
    init(flags: c_uint) as cuInit;
    driver_get_version(version: *mut c_int) as cuDriverGetVersion;
    get_proc_address(
        name: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64
    ) as cuGetProcAddress;
    get_proc_address_v2(
        name: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64,
        status: *mut c_int
    ) as cuGetProcAddress_v2;
    get_proc_address_v2_ptsz(
        name: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64,
        status: *mut c_int
    ) as cuGetProcAddress_v2_ptsz;
}

/// `fn(error, text) as symbol;`: what explains a code makes no choice. A program asks for it when no driver could be chosen,
/// too; the software GPU has the same texts, and needs no device for them.
macro_rules! explain {
    ($($function:ident as $name:literal;)*) => {
        $(
            unsafe extern "C" fn $function(error: CuResult, text: *mut *const c_char) -> CuResult {
                type EntryPoint = unsafe extern "C" fn(CuResult, *mut *const c_char) -> CuResult;
                let Some(entry) = software_gpu::driver::entry_point($name) else {
                    return ERROR_NOT_INITIALIZED;
                };
                // SAFETY: the software GPU's function of this name has this signature, the one of cuda.h.
                let function = unsafe { transmute::<*const c_void, EntryPoint>(entry) };
                // SAFETY: the caller's arguments, unchanged.
                unsafe { function(error, text) }
            }
        )*
    };
}

explain! {
    get_error_name as "cuGetErrorName";
    get_error_string as "cuGetErrorString";
}
