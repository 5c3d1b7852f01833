//! A call of the driver that this crate made and that failed. What lessons call returns cust's errors.

use cust::sys::{self, CUresult};
use std::ffi::{CStr, c_char};
use std::ptr;

/// The result of everything here that talks to the device.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A driver call returned an error code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} ({object}): {name}: {text}")]
pub struct Error {
    /// The driver function.
    pub call: &'static str,
    /// What it was called for: a stream, a kernel, a number of bytes.
    pub object: String,
    /// The `CUresult` value.
    pub code: i32,
    /// The driver's name for the code.
    pub name: String,
    /// The driver's explanation of the code.
    pub text: String,
}

/// Turns a driver's result into ours; `object` is called only on failure.
#[inline(always)]
pub(crate) fn check(
    call: &'static str,
    result: CUresult,
    object: impl FnOnce() -> String,
) -> Result<()> {
    if result == CUresult::CUDA_SUCCESS {
        Ok(())
    } else {
        Err(failed(call, result as i32, object()))
    }
}

/// The error for a code that a driver call returned.
#[cold]
pub(crate) fn failed(call: &'static str, code: i32, object: String) -> Error {
    let text = described(code, sys::cuGetErrorString);
    Error {
        call,
        object,
        code,
        name: name_of(code),
        text: text.unwrap_or_else(|| "no explanation".to_owned()),
    }
}

/// The driver's name of an error code: `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn name_of(code: i32) -> String {
    described(code, sys::cuGetErrorName).unwrap_or_else(|| format!("error {code}"))
}

/// What one of the driver's two functions for it says about a code.
fn described(
    code: i32,
    ask: unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult,
) -> Option<String> {
    type Ask = unsafe extern "C" fn(i32, *mut *const c_char) -> i32;
    // SAFETY: in C both are an int; as an int, codes that the bindings do not know are allowed.
    let ask = unsafe { std::mem::transmute::<unsafe extern "C" fn(_, _) -> _, Ask>(ask) };
    let mut text = ptr::null();
    // SAFETY: `ask` stores a pointer to a static string, or null.
    let answer = unsafe { ask(code, &mut text) };
    if answer != 0 || text.is_null() {
        return None;
    }
    // SAFETY: the driver's strings are static and terminated.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
