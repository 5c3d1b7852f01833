//! What can go wrong between an example and its device.

use crate::stream::Stream;
use cust::sys::{self, CUresult};
use std::ffi::{CStr, c_char};
use std::ptr;

/// The result of everything here that talks to the device.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An operation on the device, its streams or its memory that did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A driver call returned an error code.
    #[error("{call} ({object}): {name}: {text}")]
    Driver {
        /// The driver function.
        call: &'static str,
        /// What it was called for: a stream, a kernel, a number of bytes.
        object: String,
        /// The `CUresult` value.
        code: i32,
        /// The driver's name for the code.
        name: String,
        /// The driver's explanation of the code.
        text: String,
    },
    /// The driver rejected a module; the log is its compiler's.
    #[error("cuModuleLoadDataEx: {name}: the driver rejected the kernels' PTX\n{log}")]
    Module {
        /// The driver's name for the code.
        name: String,
        /// What the driver's PTX compiler said.
        log: String,
    },
    /// A memory pool that may hold nothing.
    #[error(
        "a memory pool limited to 0 bytes: the driver takes 0 for no limit; limit it to at least 1 byte, or create it without \
         a limit"
    )]
    PoolLimit,
    /// The arguments of one launch belong to different streams.
    #[error(
        "kernel {kernel}: argument {argument} belongs to stream {found}, the arguments before it to stream {expected}: \
         hand it over first (`hand_to`)"
    )]
    TwoStreams {
        /// The kernel.
        kernel: &'static str,
        /// Position of the argument, from 0.
        argument: usize,
        /// The stream of the earlier arguments.
        expected: String,
        /// The stream of this argument.
        found: String,
    },
    /// A launch has no argument that says on which stream it runs.
    #[error(
        "kernel {kernel}: none of its arguments is a device buffer, so nothing says on which stream it runs"
    )]
    NoStream {
        /// The kernel.
        kernel: &'static str,
    },
    /// A launch with more arguments than there is room for.
    #[error("kernel {kernel} takes more than the {limit} arguments that a launch has room for")]
    TooManyArguments {
        /// The kernel.
        kernel: &'static str,
        /// The most that fit.
        limit: usize,
    },
    /// The module has no kernel of that name.
    #[error("the module has no kernel named {name}")]
    NoKernel {
        /// The name looked for.
        name: &'static str,
    },
    /// A launch whose grid or block the device cannot run.
    #[error("kernel {kernel}: {what} is {value}, but {limit}")]
    Shape {
        /// The kernel.
        kernel: &'static str,
        /// What is out of range.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The rule that it breaks.
        limit: String,
    },
    /// Source and destination of a copy do not fit.
    #[error("a copy of {source_len} elements into {destination} with room for {room}")]
    CopyTooLong {
        /// Elements of the source.
        source_len: usize,
        /// What it was to be copied into.
        destination: &'static str,
        /// Elements that fit.
        room: usize,
    },
    /// More pieces than elements, or none.
    #[error("{len} elements cannot be split into {pieces} pieces")]
    Split {
        /// Elements there are.
        len: usize,
        /// Pieces asked for.
        pieces: usize,
    },
    /// An arena with less room left than was asked for.
    #[error("an arena with room for {left} more elements was asked for {asked}")]
    ArenaFull {
        /// Elements asked for.
        asked: usize,
        /// Elements that there is room for.
        left: usize,
    },
    /// An arena that was to start again while pieces of it live.
    #[error("an arena starts again only when all its pieces have been dropped")]
    ArenaInUse,
    /// Pieces that were not split from one buffer, or not in this order.
    #[error(
        "only pieces that follow one another in the buffer that they were split from make a buffer again"
    )]
    Join,
    /// A buffer of no elements, or of more bytes than there are addresses.
    #[error("a buffer of {len} elements of {element_bytes} bytes each cannot exist")]
    Length {
        /// Elements asked for.
        len: usize,
        /// Bytes of one.
        element_bytes: usize,
    },
    /// The operating system has no such amount of host memory.
    #[error("the system has no {bytes} bytes of host memory left")]
    HostMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// A per-thread stream was used by a thread that is not its own.
    #[error(
        "stream {0} is another host thread's default stream: its handle would mean a different stream here"
    )]
    ForeignThread(String),
}

impl Error {
    /// The driver's error code, where the error is the driver's.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Driver { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether the driver had no memory (of the kind asked for) left.
    pub fn is_out_of_memory(&self) -> bool {
        self.code() == Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY as i32)
    }
}

/// Turns a driver's result into ours; `object` is asked only on failure.
#[inline(always)]
pub(crate) fn check(
    call: &'static str,
    result: CUresult,
    object: impl FnOnce() -> String,
) -> Result<()> {
    if result == CUresult::CUDA_SUCCESS {
        Ok(())
    } else {
        Err(failed(call, result as i32, object()))
    }
}

/// The error for a code that a driver call returned.
#[cold]
pub(crate) fn failed(call: &'static str, code: i32, object: String) -> Error {
    let text = described(code, sys::cuGetErrorString);
    Error::Driver {
        call,
        object,
        code,
        name: name_of(code),
        text: text.unwrap_or_else(|| "no explanation".to_owned()),
    }
}

/// The driver's name of an error code: `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn name_of(code: i32) -> String {
    described(code, sys::cuGetErrorName).unwrap_or_else(|| format!("error {code}"))
}

/// What one of the driver's two functions for it says about a code.
fn described(
    code: i32,
    ask: unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult,
) -> Option<String> {
    type Ask = unsafe extern "C" fn(i32, *mut *const c_char) -> i32;
    // SAFETY: in C both are an int; as an int, codes that the bindings do not know are allowed.
    let ask = unsafe { std::mem::transmute::<unsafe extern "C" fn(_, _) -> _, Ask>(ask) };
    let mut text = ptr::null();
    // SAFETY: `ask` stores a pointer to a static string, or null.
    let answer = unsafe { ask(code, &mut text) };
    if answer != 0 || text.is_null() {
        return None;
    }
    // SAFETY: the driver's strings are static and terminated.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// The operation and the stream, for messages.
pub(crate) fn on(stream: &Stream) -> impl FnOnce() -> String + '_ {
    move || format!("stream {}", stream.name())
}
