//! The symbols by name: for calls that cust's bindings do not declare, and for tests.

#[cfg(not(target_family = "wasm"))]
use crate::exports;
use crate::names::with_names;
use crate::{selection, slots};
use core::ffi::c_void;

macro_rules! make_symbol {
    ($($name:ident)*) => {
        /// One exported name; its discriminant is the index of its slot.
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub(crate) enum Symbol { $($name),* }

        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}
with_names!(make_symbol);

/// How many symbols there are.
pub(crate) const COUNT: usize = NAMES.len();

/// Every name that this crate exports, in alphabetical order.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// The address of the exported function `name`, or `None` if this crate exports no such name.
///
/// The address stays the same whichever driver is chosen: a call through it is forwarded like a
/// call by name. In WebAssembly, the software GPU's functions alone are exported. Cast it to the function's type to call what cust's bindings do not declare:
///
/// ```
/// use std::ffi::{c_int, c_void};
/// type CuStreamGetId = unsafe extern "C" fn(stream: *mut c_void, id: *mut u64) -> c_int;
///
/// let address = libcuda::symbols::entry("cuStreamGetId").expect("libcuda exports cuStreamGetId");
/// // SAFETY: the type is the one that cuda.h declares for cuStreamGetId.
/// let cu_stream_get_id: CuStreamGetId = unsafe { std::mem::transmute(address) };
/// # let mut id = 0;
/// # // SAFETY: no driver is chosen, so the call returns CUDA_ERROR_NOT_INITIALIZED.
/// # assert_eq!(unsafe { cu_stream_get_id(std::ptr::null_mut(), &mut id) }, 3);
/// ```
pub fn entry(name: &str) -> Option<*const c_void> {
    #[cfg(target_family = "wasm")]
    return slots::exported(name);
    #[cfg(not(target_family = "wasm"))]
    Some(exports::EXPORTS[index_of(name)?] as *const c_void)
}

/// Whether the chosen driver has the function `name`; `false` while no driver is chosen.
///
/// Calling one that it has not returns `CUDA_ERROR_NOT_SUPPORTED`.
pub fn is_supported(name: &str) -> bool {
    selection::selected().is_some() && index_of(name).is_some_and(slots::is_supported)
}

fn index_of(name: &str) -> Option<usize> {
    NAMES.binary_search(&name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_distinct() {
        assert!(NAMES.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn every_name_leads_to_its_own_export() {
        let mut addresses: Vec<_> = names().map(|name| entry(name).unwrap()).collect();
        addresses.sort();
        addresses.dedup();
        assert_eq!(addresses.len(), COUNT);
        assert_eq!(entry("cuLaunchKernelTwice"), None);
    }
}
