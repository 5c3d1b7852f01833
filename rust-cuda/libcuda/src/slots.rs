//! The addresses that the exported functions jump to.

use crate::names::with_names;
use crate::symbols::{COUNT, NAMES, Symbol};
use crate::{before_selection, unsupported};
use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

macro_rules! make_slots {
    ($($name:ident)*) => {
        /// One slot per symbol; its content is at every time a function with the symbol's C
        /// signature, or one that ignores its arguments and returns a `CUresult`.
        pub(crate) static SLOTS: [AtomicPtr<c_void>; COUNT] =
            [$(AtomicPtr::new(before_selection::function(Symbol::$name))),*];
    };
}
with_names!(make_slots);

/// Fills every slot with `driver`'s function of that name, or the one that says "not supported".
///
/// # Safety
///
/// What `driver` returns is, for the rest of the process, a function with the C signature that
/// `cuda.h` gives to the name.
pub(crate) unsafe fn fill(mut driver: impl FnMut(&'static str) -> Option<NonNull<c_void>>) {
    for (index, name) in NAMES.iter().enumerate() {
        let function = match driver(name) {
            Some(function) => function.as_ptr(),
            None => unsupported::function(index),
        };
        SLOTS[index].store(function, Ordering::Release);
    }
}

/// Makes calls of `symbol` reach `function` from now on, which has the symbol's C signature.
pub(crate) fn replace(symbol: Symbol, function: *mut c_void) {
    SLOTS[symbol as usize].store(function, Ordering::Release);
}

/// What calls of `symbol` presently reach.
pub(crate) fn function(symbol: Symbol) -> *const c_void {
    SLOTS[symbol as usize].load(Ordering::Acquire)
}

/// Whether the slot, once filled, leads into the driver.
pub(crate) fn is_supported(index: usize) -> bool {
    SLOTS[index].load(Ordering::Acquire) != unsupported::function(index)
}
