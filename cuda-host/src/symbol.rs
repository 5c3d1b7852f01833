//! Driver functions that cust's bindings of CUDA 11.4 do not declare, by name.

use std::ffi::c_void;

/// The driver function `name` as the function pointer `F`.
///
/// # Safety
/// `F` is the type that cuda.h declares for `name`.
///
/// # Panics
/// libcuda exports no such name, whichever driver is chosen: a mistake of this crate.
pub(crate) unsafe fn function<F: Copy>(name: &str) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    let address = libcuda::symbols::entry(name);
    let address = address.unwrap_or_else(|| panic!("libcuda exports no {name}"));
    // SAFETY: both are pointers to code, and the caller vouches for the type.
    unsafe { std::mem::transmute_copy(&address) }
}
