//! What was given to a stream and has not ended.

use std::ffi::c_void;

use super::abi::{CUcontext, CUevent, CUresult, CUstream, HostFunction, StreamCallback};
use super::launch::Launch;
use super::pools::StreamOrdered;
use crate::call_site::CallSite;
use crate::timeline::{CopyKind, Time, Work};

/// An operation between its submission and its end.
pub(super) struct Operation {
    pub(super) context: CUcontext,
    /// The stream's own handle: programs have another for a default stream.
    pub(super) stream: CUstream,
    pub(super) correlation: u64,
    pub(super) started: Time,
    /// Where the program asked for it, when the checkers are on.
    pub(super) call_site: Option<CallSite>,
    pub(super) effect: Effect,
}

/// What an operation does besides taking time.
pub(super) enum Effect {
    Kernel(Box<Launch>),
    Copy(Copy),
    Set(Set),
    HostFunction(Callback),
    Record(CUevent),
    Wait,
    /// `cuMemAllocAsync`.
    Allocate(#[allow(dead_code, reason = "what the ordering checker is told")] StreamOrdered),
    /// `cuMemFreeAsync`.
    Free(#[allow(dead_code, reason = "what the ordering checker is told")] StreamOrdered),
}

/// A copy of contiguous bytes.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) kind: CopyKind,
    pub(super) from: Place,
    pub(super) to: Place,
    pub(super) bytes: usize,
    /// The host side is not page-locked.
    pub(super) pageable: bool,
    /// The source's bytes, when they had to be taken before the copy lands.
    pub(super) staged: Option<Vec<u8>>,
}

/// A memset: rows filled with repetitions of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub(super) to: Place,
    pub(super) rows: Rows,
    pub(super) pattern: Pattern,
}

/// A rectangle of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// Bytes of a row.
    pub(super) width: usize,
    pub(super) height: usize,
    /// From the start of one row to that of the next.
    pub(super) pitch: usize,
}

impl Rows {
    /// Bytes without those between the rows.
    pub(super) fn bytes(self) -> Option<usize> {
        self.width.checked_mul(self.height)
    }

    /// From the first byte to the end of the last row.
    pub(super) fn span(self) -> Option<usize> {
        self.pitch
            .checked_mul(self.height.checked_sub(1)?)?
            .checked_add(self.width)
    }
}

/// 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pattern {
    pub(super) bytes: [u8; 4],
    pub(super) len: usize,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// An address in the address space: device memory or page-locked host memory.
    Mapped(u64),
    /// The program's own pageable memory.
    Pageable(usize),
}

/// A host function or a stream callback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callback {
    pub(super) function: CallbackFunction,
    pub(super) data: *mut c_void,
}

/// The two kinds of functions that a stream can call on the host.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallbackFunction {
    /// `cuLaunchHostFunc`.
    Host(HostFunction),
    /// `cuStreamAddCallback`: also called when the context has failed, and told so.
    Stream(StreamCallback, CUstream),
}

// SAFETY: the data pointer is the program's, which asked for it to be passed to its function on another thread.
unsafe impl Send for Callback {}

impl Callback {
    /// Calls the function.
    ///
    /// # Safety
    /// The program's function is called with the program's data, as it asked for; at its turn in the stream.
    pub(super) unsafe fn call(self, status: CUresult) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.function {
                CallbackFunction::Host(function) => function(self.data),
                CallbackFunction::Stream(function, stream) => function(stream, status, self.data),
            }
        }
    }
}

impl Effect {
    /// What the timeline has to simulate.
    pub(super) fn work(&self) -> Work {
        match self {
            Self::Kernel(launch) => launch.work(),
            Self::Copy(copy) => Work::Copy {
                kind: copy.kind,
                bytes: copy.bytes as u64,
                pageable: copy.pageable,
            },
            Self::Set(set) => Work::Set {
                bytes: set.rows.bytes().unwrap_or(0) as u64,
            },
            Self::HostFunction(_) => Work::HostFunction,
            Self::Record(_) | Self::Wait | Self::Allocate(_) | Self::Free(_) => Work::Marker,
        }
    }
}
