//! The interpreter that the process has loaded, if any.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use super::layout::Layout;
use crate::own_memory::word;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// An interpreter that is loaded into the process.
struct Python {
    layout: &'static Layout,
    /// `PyGILState_GetThisThreadState`: the state of the calling thread. It takes no lock.
    state: extern "C" fn() -> *mut c_void,
    /// The type of code objects.
    code: usize,
}

impl Python {
    fn loaded() -> Option<&'static Self> {
        static PYTHON: OnceLock<Option<Python>> = OnceLock::new();
        PYTHON.get_or_init(Self::find).as_ref()
    }

    fn find() -> Option<Self> {
        // `PyObject` is larger in builds without a global lock, which alone have this function.
        if symbol(c"_Py_MergeZeroLocalRefcount").is_some() {
            return None;
        }
        let version = symbol(c"Py_Version")?;
        let layout = Layout::of(word(version)? as u32)?;
        let state = symbol(c"PyGILState_GetThisThreadState")?;
        Some(Self {
            layout,
            // SAFETY: a function of CPython's stable ABI, with this signature.
            state: unsafe { std::mem::transmute::<usize, extern "C" fn() -> *mut c_void>(state) },
            code: symbol(c"PyCode_Type")?,
        })
    }
}

fn symbol(name: &CStr) -> Option<usize> {
    // SAFETY: null is RTLD_DEFAULT, and the name ends with a zero.
    let address = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) } as usize;
    (address != 0).then_some(address)
}

/// The state of the calling thread, if it runs Python of a known version.
pub(super) fn thread_state() -> Option<(&'static Layout, usize)> {
    let python = Python::loaded()?;
    let state = (python.state)() as usize;
    (state != 0).then_some((python.layout, state))
}

/// Whether the object is a code object.
pub(super) fn is_code(object: usize) -> Option<bool> {
    let kind = word(object.wrapping_add(8))?;
    Python::loaded().map(|python| python.code == kind)
}
