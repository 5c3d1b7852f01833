//! `libnvJitLink.so.13` for Python's libraries: it forwards to NVIDIA's, and returns PTX where that returns machine code.
//!
//! numba-cuda and cuda.core link kernels with nvJitLink and load the result into the driver. The software GPU executes PTX. The
//! driver takes PTX wherever it takes machine code, so a caller does not notice the difference.
//!
//! - With `-lto`, the inputs are in the compiler's own form: the option `-ptx` makes NVIDIA's library stop at PTX.
//! - Without it, the one input that is PTX is the result.
//!
//! `cuda-run` preloads this library, and names NVIDIA's in `CUDA_RUN_NVJITLINK`.

#![cfg(target_os = "linux")]
#![allow(non_snake_case, reason = "functions have the names of nvJitLink.h")]

mod nvidia;
mod ptx;

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

/// `nvJitLinkHandle` and `nvJitLinkResult`.
type LinkHandle = *mut c_void;
type Code = c_int;

const SUCCESS: Code = 0;
/// `NVJITLINK_ERROR_INVALID_INPUT`.
const INVALID_INPUT: Code = 4;
/// `NVJITLINK_ERROR_INTERNAL`: NVIDIA's library cannot be called.
const INTERNAL: Code = 6;

/// One link: what it was given, and what it gives.
#[derive(Default)]
struct Link {
    lto: bool,
    ptx: Vec<Vec<u8>>,
    /// With the zero at its end.
    result: Vec<u8>,
}

static LINKS: Mutex<BTreeMap<usize, Link>> = Mutex::new(BTreeMap::new());

fn with<T>(handle: LinkHandle, function: impl FnOnce(&mut Link) -> T) -> T {
    let mut links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    function(links.entry(handle as usize).or_default())
}

fn say(sentence: &str) {
    eprintln!("cuda-run: nvJitLink: {sentence}");
}

/// Calls the function of this name in NVIDIA's library.
macro_rules! forward {
    ($name:ident($($argument:expr => $type:ty),* $(,)?)) => {
        match nvidia::function(concat!(stringify!($name), "\0")) {
            Some(address) => {
                // SAFETY: the signature is that of nvJitLink.h.
                let function: unsafe extern "C" fn($($type),*) -> Code = unsafe { std::mem::transmute(address) };
                // SAFETY: the caller keeps the function's contract.
                unsafe { function($($argument),*) }
            }
            None => INTERNAL,
        }
    };
}

/// # Safety
/// `options` has that many strings, and `handle` room for a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkCreate(
    handle: *mut LinkHandle,
    count: c_uint,
    options: *const *const c_char,
) -> Code {
    // SAFETY: the caller passes that many strings.
    let mut all: Vec<*const c_char> = (0..count as usize)
        .map(|index| unsafe { *options.add(index) })
        .collect();
    // SAFETY: as above.
    let lto = all
        .iter()
        .any(|option| unsafe { CStr::from_ptr(*option) } == c"-lto");
    if lto {
        all.push(c"-ptx".as_ptr());
    }
    let code = forward!(nvJitLinkCreate(
        handle => *mut LinkHandle, all.len() as c_uint => c_uint, all.as_ptr() => *const *const c_char
    ));
    if code == SUCCESS {
        // SAFETY: the call has written it.
        with(unsafe { *handle }, |link| {
            *link = Link {
                lto,
                ..Link::default()
            }
        });
    }
    code
}

/// # Safety
/// `handle` is null or a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkDestroy(handle: *mut LinkHandle) -> Code {
    // SAFETY: the caller passes a handle.
    if let Some(handle) = unsafe { handle.as_ref() } {
        LINKS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&(*handle as usize));
    }
    forward!(nvJitLinkDestroy(handle => *mut LinkHandle))
}

/// # Safety
/// `data` has `bytes` bytes, and `name` is null or a string.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkAddData(
    handle: LinkHandle,
    kind: c_uint,
    data: *const c_void,
    bytes: usize,
    name: *const c_char,
) -> Code {
    if !data.is_null() {
        // SAFETY: the caller passes that many bytes.
        let data = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) };
        if ptx::is_ptx(data) {
            with(handle, |link| link.ptx.push(data.to_vec()));
        }
    }
    forward!(nvJitLinkAddData(
        handle => LinkHandle, kind => c_uint, data => *const c_void, bytes => usize, name => *const c_char
    ))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkAddFile(
    handle: LinkHandle,
    kind: c_uint,
    name: *const c_char,
) -> Code {
    forward!(nvJitLinkAddFile(handle => LinkHandle, kind => c_uint, name => *const c_char))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvJitLinkComplete(handle: LinkHandle) -> Code {
    let code = forward!(nvJitLinkComplete(handle => LinkHandle));
    if code != SUCCESS {
        return code;
    }
    let (lto, inputs) = with(handle, |link| (link.lto, link.ptx.clone()));
    let linked = match (lto, inputs.as_slice()) {
        (true, _) => linked_ptx(handle),
        (false, [one]) => Ok(one.clone()),
        (false, inputs) => {
            let count = inputs.len();
            say(&format!(
                "{count} inputs are PTX, and without -lto the software GPU needs exactly one: pass -lto, or one file of PTX"
            ));
            Err(INVALID_INPUT)
        }
    };
    match linked {
        Ok(text) => with(handle, |link| {
            link.result = ptx::for_driver(text);
            SUCCESS
        }),
        Err(code) => code,
    }
}

/// What NVIDIA's library has linked.
fn linked_ptx(handle: LinkHandle) -> Result<Vec<u8>, Code> {
    let mut bytes = 0_usize;
    let code =
        forward!(nvJitLinkGetLinkedPtxSize(handle => LinkHandle, &raw mut bytes => *mut usize));
    if code != SUCCESS {
        return Err(code);
    }
    let mut text = vec![0_u8; bytes];
    let code = forward!(nvJitLinkGetLinkedPtx(handle => LinkHandle, text.as_mut_ptr().cast() => *mut c_char));
    if code == SUCCESS { Ok(text) } else { Err(code) }
}

/// Defines the two functions that give the result under one name.
macro_rules! result {
    ($size:ident $content:ident) => {
        /// # Safety
        /// `bytes` is null or has room for a number.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $size(handle: LinkHandle, bytes: *mut usize) -> Code {
            // SAFETY: as the caller's.
            match unsafe { bytes.as_mut() } {
                Some(bytes) => with(handle, |link| *bytes = link.result.len()),
                None => return INVALID_INPUT,
            }
            SUCCESS
        }

        /// # Safety
        /// `to` is null or has as much room as the result is long.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $content(handle: LinkHandle, to: *mut c_void) -> Code {
            if to.is_null() {
                return INVALID_INPUT;
            }
            // SAFETY: as the caller's.
            with(handle, |link| unsafe {
                to.cast::<u8>()
                    .copy_from(link.result.as_ptr(), link.result.len())
            });
            SUCCESS
        }
    };
}

result!(nvJitLinkGetLinkedCubinSize nvJitLinkGetLinkedCubin);
result!(nvJitLinkGetLinkedPtxSize nvJitLinkGetLinkedPtx);

/// Defines functions that forward.
macro_rules! forwarded {
    ($($name:ident($($parameter:ident: $type:ty),*);)*) => { $(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($parameter: $type),*) -> Code {
            forward!($name($($parameter => $type),*))
        }
    )* };
}

forwarded! {
    nvJitLinkGetLinkedLTOIRSize(handle: LinkHandle, bytes: *mut usize);
    nvJitLinkGetLinkedLTOIR(handle: LinkHandle, to: *mut c_void);
    nvJitLinkGetErrorLogSize(handle: LinkHandle, bytes: *mut usize);
    nvJitLinkGetErrorLog(handle: LinkHandle, to: *mut c_char);
    nvJitLinkGetInfoLogSize(handle: LinkHandle, bytes: *mut usize);
    nvJitLinkGetInfoLog(handle: LinkHandle, to: *mut c_char);
    nvJitLinkVersion(major: *mut c_uint, minor: *mut c_uint);
}
