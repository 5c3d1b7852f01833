//! Why kernels could not be loaded.

use cust::error::CudaError;
use cust::sys::{self, CUjit_option, CUresult};
use std::error::Error;
use std::ffi::{CStr, c_void};
use std::fmt;

/// Why kernels could not be loaded.
#[derive(Clone, Debug)]
pub enum LoadError {
    /// The driver refuses the module.
    Module {
        /// The driver's name of the error.
        cause: CudaError,
        /// What its compiler says; empty if it says nothing.
        log: String,
    },
    /// The module has no such kernel.
    Kernel {
        /// The kernel's name.
        name: &'static str,
        /// The driver's name of the error.
        cause: CudaError,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module { cause, log } if log.is_empty() => {
                write!(f, "the module cannot be loaded: {cause}")
            }
            Self::Module { cause, log } => {
                write!(f, "the module cannot be loaded: {cause}\n{log}")
            }
            Self::Kernel { name, cause } => {
                write!(f, "the module's kernel {name} cannot be found: {cause}")
            }
        }
    }
}

impl Error for LoadError {}

/// Bytes of the compiler's log that an error shows.
const LOG_BYTES: usize = 16 * 1024;

/// What the driver's compiler says of a module that it refuses (`cuModuleLoadDataEx`, with a buffer for its log).
pub(super) fn compiler_log(image: &CStr) -> String {
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: the image is terminated; options and values are arrays of two, of the kinds that the options ask for.
    let result = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if result == CUresult::CUDA_SUCCESS {
        // SAFETY: it was just loaded, and has no users.
        unsafe { sys::cuModuleUnload(module) };
    }
    let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).trim_end().to_owned()
}
