//! The exported symbols of WebAssembly: each a function of its own that calls what its slot holds.
//!
//! On other processors `libcuda` exports the symbols as jumps, which need no signature. WebAssembly compares the signature of
//! every indirect call with that of the function, so the symbols are made here, where the signatures are.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::types::CUresult;

/// A symbol: where calls of it go, and the exported function.
pub struct Export {
    /// What a call reaches: the driver's function, or an observer's before it.
    pub slot: &'static AtomicPtr<c_void>,
    /// The exported function's address. It is null for functions that are refused, which have no signature here.
    pub function: *const c_void,
}

// SAFETY: the address of a function; calling it is what needs care.
unsafe impl Sync for Export {}

unsafe extern "C" {
    /// Chooses the driver if none is chosen yet. `libcuda` defines it.
    fn cuda_streams_select_driver() -> CUresult;
}

/// What a call of the slot's symbol reaches.
///
/// # Errors
/// No driver can be chosen: what the call returns.
pub(in crate::driver) fn target(slot: &AtomicPtr<c_void>) -> Result<*mut c_void, CUresult> {
    // SAFETY: the function takes nothing and may be called at any time.
    match unsafe { cuda_streams_select_driver() } {
        CUresult::SUCCESS => Ok(slot.load(Ordering::Acquire)),
        error => Err(error),
    }
}

/// Defines a module of an entry point's name with its slot and its exported function.
macro_rules! export {
    ($name:ident ($($parameter:ident: $kind:ty),*)) => {
        #[allow(non_snake_case, unused_imports, reason = "the name of cuda.h; the types of the parameters")]
        pub(in crate::driver) mod $name {
            use super::*;

            pub(in crate::driver) static EXPORT: $crate::driver::c_abi::forward::Export = {
                static SLOT: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
                    std::sync::atomic::AtomicPtr::new(super::$name as *mut std::ffi::c_void);
                $crate::driver::c_abi::forward::Export { slot: &SLOT, function: $name as *const std::ffi::c_void }
            };

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($parameter: $kind),*) -> $crate::driver::c_abi::types::CUresult {
                type EntryPoint = unsafe extern "C" fn($($kind),*) -> $crate::driver::c_abi::types::CUresult;
                match $crate::driver::c_abi::forward::target(EXPORT.slot) {
                    // SAFETY: the slot holds a function of this signature; the arguments are the caller's, unchanged.
                    Ok(function) => unsafe {
                        std::mem::transmute::<*mut std::ffi::c_void, EntryPoint>(function)($($parameter),*)
                    },
                    Err(error) => error,
                }
            }
        }
    };
}
pub(in crate::driver) use export;

/// As [`export`], for a function that is refused: a program that calls it does not link.
macro_rules! no_export {
    ($name:ident) => {
        #[allow(non_snake_case, reason = "the name of cuda.h")]
        pub(in crate::driver) mod $name {
            pub(in crate::driver) static EXPORT: $crate::driver::c_abi::forward::Export = {
                static SLOT: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
                    std::sync::atomic::AtomicPtr::new(super::$name as *mut std::ffi::c_void);
                $crate::driver::c_abi::forward::Export {
                    slot: &SLOT,
                    function: std::ptr::null(),
                }
            };
        }
    };
}
pub(super) use no_export;
