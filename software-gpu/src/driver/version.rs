//! `cuInit`, versions, and the texts of error codes.

use std::ffi::{c_char, c_int, c_uint};

use super::abi::Out;
use super::boundary::entry_points;
use super::errors::{self, CudaError};

/// CUDA 13.0: what `cuDriverGetVersion` reports.
pub(super) const VERSION: c_int = 13_000;

entry_points! {
    fn cuDriverGetVersion(version: Out<c_int>) {
        version.set(VERSION)
    }

    fn cuGetErrorName(error: c_uint, name: Out<*const c_char>) {
        text_of(errors::name_of(error), name)
    }

    fn cuGetErrorString(error: c_uint, description: Out<*const c_char>) {
        text_of(errors::description_of(error), description)
    }
}

fn text_of(
    text: Option<&'static std::ffi::CStr>,
    out: Out<*const c_char>,
) -> Result<(), CudaError> {
    match text {
        Some(text) => out.set(text.as_ptr()),
        None => {
            out.set(std::ptr::null())?;
            Err(CudaError::InvalidValue)
        }
    }
}
