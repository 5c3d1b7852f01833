//! Streams that a timed region forks to and joins.

use cuda_host::StreamExt;
use cust::stream::Stream;
use cust::sys::CUstream;

/// A stream: cust's, or the handle of one.
pub trait Joined {
    /// The driver's handle.
    fn handle(&self) -> CUstream;
    /// The name in recordings.
    fn label(&self) -> String;
}

impl Joined for Stream {
    fn handle(&self) -> CUstream {
        self.as_inner()
    }

    fn label(&self) -> String {
        self.name()
    }
}

/// A stream as a region remembers it: the handle and the name.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    handle: CUstream,
    label: String,
}

impl Join {
    pub(crate) fn of(stream: &impl Joined) -> Self {
        Self {
            handle: stream.handle(),
            label: stream.label(),
        }
    }
}

impl Joined for Join {
    fn handle(&self) -> CUstream {
        self.handle
    }

    fn label(&self) -> String {
        self.label.clone()
    }
}
