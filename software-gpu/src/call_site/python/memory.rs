//! Reads the program's own memory, of which an address may be none.

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::sync::OnceLock;

use super::layout::Layout;

/// `struct iovec`.
#[repr(C)]
struct Range {
    base: *mut c_void,
    length: usize,
}

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn getpid() -> c_int;
    fn process_vm_readv(
        process: c_int,
        to: *const Range,
        to_count: c_ulong,
        from: *const Range,
        from_count: c_ulong,
        flags: c_ulong,
    ) -> isize;
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

/// Eight bytes at the address.
pub(super) fn word(address: usize) -> Option<usize> {
    let mut bytes = [0; 8];
    fill(address, &mut bytes)?;
    Some(usize::from_ne_bytes(bytes))
}

/// As many bytes from the address on.
pub(super) fn read(address: usize, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    fill(address, &mut bytes)?;
    Some(bytes)
}

fn fill(address: usize, bytes: &mut [u8]) -> Option<()> {
    let length = bytes.len();
    let range = |base: *mut c_void| Range { base, length };
    let (to, from) = (
        range(bytes.as_mut_ptr().cast()),
        range(address as *mut c_void),
    );
    // SAFETY: the call writes into `bytes` and nowhere else; if it cannot read the address it fails.
    let read = unsafe { process_vm_readv(getpid(), &raw const to, 1, &raw const from, 1, 0) };
    (read == length.cast_signed()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_not_read() {
        let here = 0x1234_5678_9abc_def0_usize;
        assert_eq!(word((&raw const here) as usize), Some(here));
        assert_eq!(word(8), None);
        assert_eq!(read(usize::MAX - 3, 8), None);
        assert_eq!(read(8, 0), Some(Vec::new()));
    }
}
