//! The slots of WebAssembly, which `software-gpu` keeps beside the functions that call through them.
//!
//! They lead into the software GPU from the start. The first call of any symbol makes the choice that `CUDA_DRIVER` names.

use crate::result::{CuResult, SUCCESS};
use crate::selection::select_by_environment;
use crate::symbols::{NAMES, Symbol};
use crate::unsupported;
use core::ffi::c_void;
use core::sync::atomic::Ordering;
use software_gpu::driver;

/// Chooses the driver if none is chosen yet, before a call.
#[unsafe(no_mangle)]
extern "C" fn cuda_streams_select_driver() -> CuResult {
    select_by_environment().err().unwrap_or(SUCCESS)
}

/// Makes calls of `symbol` reach `function` from now on, which has the symbol's C signature.
pub(crate) fn replace(symbol: Symbol, function: *mut c_void) {
    if let Some(export) = driver::export(NAMES[symbol as usize]) {
        export.slot.store(function, Ordering::Release);
    }
}

/// What calls of `symbol` presently reach.
pub(crate) fn function(symbol: Symbol) -> *const c_void {
    match driver::export(NAMES[symbol as usize]) {
        Some(export) => export.slot.load(Ordering::Acquire),
        None => unsupported::function(symbol as usize),
    }
}

/// The address of the exported function `name`.
pub(crate) fn exported(name: &str) -> Option<*const c_void> {
    let function = driver::export(name)?.function;
    (!function.is_null()).then_some(function)
}

/// Whether the software GPU has the function of this index.
pub(crate) fn is_supported(index: usize) -> bool {
    driver::export(NAMES[index]).is_some()
}
