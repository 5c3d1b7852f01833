//! An option for programs that must not use a default stream: their calls fail that do.
//!
//! Work in a default stream is easy to submit by mistake, since a stream that is left out means it, and the legacy one waits for all
//! blocking streams.

use std::env;
use std::sync::LazyLock;

use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUstream;
use crate::driver::environment::Misconfigured;
use crate::driver::reasons::because;

/// The environment variable that sets what becomes of such calls.
const VARIABLE: &str = "SOFTWARE_GPU_DEFAULT_STREAM";

/// What becomes of a call that uses a default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DefaultStream {
    /// It succeeds.
    Allowed,
    /// It fails with `CUDA_ERROR_NOT_PERMITTED`.
    Refused,
}

static CHOICE: LazyLock<Result<DefaultStream, Misconfigured>> = LazyLock::new(|| {
    let word = env::var_os(VARIABLE).unwrap_or_default();
    parse(&word.to_string_lossy())
        .map_err(|message| Misconfigured(format!("{VARIABLE}: {message}")))
});

/// Refuses an environment variable with another value.
pub(in crate::driver) fn configure() -> Result<(), Misconfigured> {
    CHOICE.as_ref().map(|_| ()).map_err(Misconfigured::clone)
}

/// A call uses this stream, a default stream.
///
/// # Errors
/// `CUDA_ERROR_NOT_PERMITTED`, if the environment says so.
pub(super) fn used(stream: CUstream) -> Result<(), CudaError> {
    if matches!(*CHOICE, Ok(DefaultStream::Refused)) {
        return Err(refusal(stream));
    }
    Ok(())
}

#[cold]
fn refusal(stream: CUstream) -> CudaError {
    let which = match stream {
        CUstream::PER_THREAD => "per-thread",
        _ => "legacy",
    };
    because(
        CudaError::NotPermitted,
        format!("the call uses the {which} default stream, and {VARIABLE} is error"),
        "pass a stream of cuStreamCreate; in place of a synchronous copy or memset, call the asynchronous one and wait for its stream",
    )
}

fn parse(word: &str) -> Result<DefaultStream, String> {
    match word.trim() {
        "" | "allow" => Ok(DefaultStream::Allowed),
        "error" => Ok(DefaultStream::Refused),
        other => Err(format!("`{other}` is neither allow nor error")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_words_are_taken_and_all_else_is_refused() {
        assert_eq!(parse(""), Ok(DefaultStream::Allowed));
        assert_eq!(parse("allow"), Ok(DefaultStream::Allowed));
        assert_eq!(parse(" error "), Ok(DefaultStream::Refused));
        for bad in ["1", "Error", "fail"] {
            assert!(parse(bad).is_err_and(|message| message.contains(bad)));
        }
    }
}
