//! Arguments of a launch that do not match the kernel's parameters.

use super::because;
use crate::driver::c_abi::errors::CudaError;
use crate::exec::ExecutableKernel;

/// The errors of a launch's arguments.
pub(in crate::driver) enum WrongArguments {
    /// The launch passes none.
    Missing,
    /// The launch passes `kernelParams` and `extra`.
    Twice,
    /// The entry of that index points to memory that cannot be read.
    Unreadable(usize, usize),
    /// The buffer in `extra` has this many bytes.
    ShortBuffer(usize),
}

impl WrongArguments {
    /// `CUDA_ERROR_INVALID_VALUE` of a launch of that kernel.
    pub(in crate::driver) fn refuse(self, kernel: &ExecutableKernel) -> CudaError {
        let takes = parameters(kernel);
        let (what, remedy) = match self {
            Self::Missing => (
                "the launch passes no arguments".to_owned(),
                "pass an array with a pointer to each argument as kernelParams",
            ),
            Self::Twice => (
                "the launch passes arguments in kernelParams and in extra".to_owned(),
                "use one of the two forms, and pass null for the other",
            ),
            Self::Unreadable(index, address) => (
                format!(
                    "argument {} lies at {address:#x}, which cannot be read",
                    index + 1
                ),
                "pass a pointer to each argument: an array that is too short makes the driver read what stands behind it",
            ),
            Self::ShortBuffer(bytes) => (
                format!("the buffer in extra has {bytes} bytes"),
                "lay out the buffer as the kernel's parameters, each aligned to its size",
            ),
        };
        because(
            CudaError::InvalidValue,
            format!("kernel `{}` takes {takes}: {what}", kernel.name()),
            format!("{remedy}; a slice of a Rust kernel is two parameters, a pointer and a length"),
        )
    }
}

/// `3 parameters (8, 8 and 4 bytes)`.
fn parameters(kernel: &ExecutableKernel) -> String {
    let sizes = kernel.parameters().iter();
    let sizes: Vec<String> = sizes.map(|parameter| parameter.bytes.to_string()).collect();
    match sizes.as_slice() {
        [] => "no parameters".to_owned(),
        [one] => format!("1 parameter ({one} bytes)"),
        [first @ .., last] => format!(
            "{} parameters ({} and {last} bytes)",
            sizes.len(),
            first.join(", ")
        ),
    }
}
