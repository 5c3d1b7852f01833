//! The driver API as C sees it: symbol names, plain integers for handles, no checks.
//!
//! Rules call what no safe binding lets a program call, so they have declarations of their own. The symbols come from
//! the crate `libcuda`, which forwards them to the chosen driver.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::fmt;

mod codes;
mod functions;
mod structures;

pub use codes::*;
pub use functions::*;
pub use structures::*;

/// A context, stream, event, module, function or other object of the driver; 0 is null.
pub type Handle = usize;
/// `CUdeviceptr`.
pub type Address = u64;
/// `CUhostFn`; `None` is null.
pub type HostFunction = Option<unsafe extern "C" fn(data: *mut c_void)>;
/// `CUstreamCallback`; `None` is null.
pub type StreamCallback =
    Option<unsafe extern "C" fn(stream: Handle, status: Code, data: *mut c_void)>;

/// `CUresult`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Code(pub u32);

/// Prints the driver's name for the code.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = std::ptr::null();
        // SAFETY: the driver stores a pointer to a text that lives as long as the process, or null.
        let known = unsafe { cuGetErrorName(self.0, &mut name) } == SUCCESS && !name.is_null();
        if known {
            // SAFETY: as above.
            let name = unsafe { CStr::from_ptr(name) };
            write!(f, "{}", name.to_string_lossy())
        } else {
            write!(f, "CUresult {}", self.0)
        }
    }
}

/// Calls a driver function and returns its code.
#[macro_export]
macro_rules! cu {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: each rule passes what the function asks for, or what the function must refuse.
        #[allow(unused_unsafe, clippy::macro_metavars_in_unsafe, reason = "an argument may be a call too")]
        let code = unsafe { $crate::api::$name($($argument),*) };
        $crate::api::noted(code, stringify!($name))
    }};
}

thread_local! {
    static MISSING: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Passes a code on, and remembers the function if the driver does not have it.
pub fn noted(code: Code, name: &'static str) -> Code {
    if code == NOT_SUPPORTED && !libcuda::symbols::is_supported(name) {
        MISSING.set(Some(name));
    }
    code
}

/// The function that this thread called last of those that the driver does not have.
pub fn missing() -> Option<&'static str> {
    MISSING.get()
}
