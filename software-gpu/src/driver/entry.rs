//! The table of entry points: symbol names as in `cuda.h`, and where the functions are.

use std::ffi::c_void;

use super::version;

/// The address of a function with the C ABI, which may be shared between threads.
struct Address(*const c_void);

// SAFETY: the address of a function; calling it is what needs care.
unsafe impl Sync for Address {}

macro_rules! table {
    ($($module:ident: $($name:ident)*;)*) => {
        /// In the order of names.
        static TABLE: &[(&str, Address)] = &[
            $($((stringify!($name), Address($module::$name as *const c_void)),)*)*
        ];
        const NAMES: &[&str] = &[$($(stringify!($name),)*)*];
    };
}

table! {
    version: cuDriverGetVersion cuGetErrorName cuGetErrorString;
}

/// The function that implements the symbol `name` of `cuda.h`, such as `cuMemAlloc_v2`, with the C ABI.
///
/// `None` for a symbol that the software GPU does not implement.
pub fn entry_point(name: &str) -> Option<*const c_void> {
    TABLE
        .iter()
        .find(|(candidate, _)| *candidate == name)
        .map(|(_, address)| address.0)
}

/// The names of all symbols that [`entry_point`] knows.
pub fn entry_points() -> &'static [&'static str] {
    NAMES
}
