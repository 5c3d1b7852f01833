//! The few `CUresult` values that this crate itself answers with.

/// `CUresult` of `cuda.h`: a C enum, kept as its integer because drivers add values.
pub(crate) type CuResult = i32;

pub(crate) const SUCCESS: CuResult = 0;
pub(crate) const ERROR_INVALID_VALUE: CuResult = 1;
#[cfg(not(target_family = "wasm"))]
pub(crate) const ERROR_NOT_INITIALIZED: CuResult = 3;
pub(crate) const ERROR_NO_DEVICE: CuResult = 100;
pub(crate) const ERROR_NOT_SUPPORTED: CuResult = 801;
