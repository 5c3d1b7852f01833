//! Lazy loading: the code of a kernel goes to the device when the program asks for the kernel, not with its module.
//!
//! NVIDIA's driver loads lazily unless the environment says `CUDA_MODULE_LOADING=EAGER`: `cuModuleGetFunction` loads the code, or the first
//! launch of a kernel that a library or a list of functions gave. To load code, the driver may synchronise the context: the call
//! returns when the work under way has ended (CUDA Programming Guide, "Lazy Loading", potential hazards). Here it always does,
//! and costs nothing besides: `cuModuleLoad` costs what loading the whole module takes. So a program that asks for its kernels before it submits work
//! takes the same time in both modes.

use std::env;
use std::ffi::{OsStr, c_uint};
use std::sync::LazyLock;

use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUfunction;
use crate::driver::host::call::Call;

/// The environment variable of NVIDIA's driver.
const VARIABLE: &str = "CUDA_MODULE_LOADING";

static MODE: LazyLock<Mode> = LazyLock::new(|| Mode::of(env::var_os(VARIABLE).as_deref()));

/// `CUmoduleLoadingMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Eager = 1,
    Lazy = 2,
}

impl Mode {
    /// By the value of the variable: `EAGER`, or `LAZY`, or `DEFAULT`, which is lazy since CUDA 12.2. Other values count as `DEFAULT`.
    fn of(value: Option<&OsStr>) -> Self {
        match value.and_then(OsStr::to_str) {
            Some("EAGER") => Self::Eager,
            _ => Self::Lazy,
        }
    }
}

/// `cuModuleGetLoadingMode`.
pub(super) fn mode() -> c_uint {
    *MODE as c_uint
}

/// Whether kernels are loaded with their module.
pub(super) fn is_eager() -> bool {
    *MODE == Mode::Eager
}

impl Call {
    /// Loads the code of a kernel for which that was not done: waits for the work of its context first. The wait orders nothing, since no
    /// program can count on it.
    ///
    /// # Errors
    /// As for waiting.
    pub(in crate::driver) fn load_code(&mut self, function: CUfunction) -> Result<(), CudaError> {
        let loaded = self.functions.get(function)?;
        if loaded.is_loaded() {
            return Ok(());
        }
        let context = loaded.context;
        let operations = self.operations_of(context)?;
        let wake_up = self.wake_up(context)?;
        self.linger(operations, wake_up)?;
        self.functions.get_mut(function)?.set_loaded();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_eager_is_not_lazy() {
        let mode = |word: &str| Mode::of(Some(OsStr::new(word)));
        assert_eq!(mode("EAGER"), Mode::Eager);
        for word in ["LAZY", "DEFAULT", "", "eager", "1"] {
            assert_eq!(mode(word), Mode::Lazy, "{word}");
        }
        assert_eq!(Mode::of(None), Mode::Lazy);
    }
}
