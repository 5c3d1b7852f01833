//! What a call to a function reaches that the chosen driver does not have.

use crate::names::with_names;
use crate::result::{CuResult, ERROR_NOT_SUPPORTED};
use crate::symbols::{COUNT, NAMES, Symbol};
use core::ffi::c_void;
use std::sync::{Mutex, PoisonError};

static CALLS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The names of the functions that were called although the chosen driver does not have them, each
/// once, the most recently called last. All these calls returned `CUDA_ERROR_NOT_SUPPORTED`, and the
/// first one of each name said so on standard error.
pub fn unsupported_calls() -> Vec<&'static str> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The function that stands in for the missing symbol of this index.
pub(crate) fn function(index: usize) -> *mut c_void {
    FUNCTIONS[index] as *mut c_void
}

macro_rules! make_functions {
    ($($name:ident)*) => {
        static FUNCTIONS: [extern "C" fn() -> CuResult; COUNT] =
            [$(not_supported::<{ Symbol::$name as usize }>),*];
    };
}
with_names!(make_functions);

extern "C" fn not_supported<const INDEX: usize>() -> CuResult {
    record(NAMES[INDEX])
}

fn record(name: &'static str) -> CuResult {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    if !calls.contains(&name) {
        software_gpu::say!("libcuda: {name} is not supported by the chosen driver");
    }
    calls.retain(|earlier| *earlier != name);
    calls.push(name);
    ERROR_NOT_SUPPORTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_recent_call_is_the_last_name() {
        for name in ["cuArrayCreate", "cuMemAlloc", "cuArrayCreate"] {
            assert_eq!(record(name), ERROR_NOT_SUPPORTED);
        }
        assert_eq!(unsupported_calls(), ["cuMemAlloc", "cuArrayCreate"]);
    }
}
