//! The last observed call of a thread that failed, with its arguments: bindings such as cust's return the code alone.

use super::{Action, Call, StreamHandle, stream_names::name_of_stream};
use crate::result::CuResult;
use std::cell::RefCell;
use std::fmt;

/// A call that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The call.
    pub call: Call,
    /// The driver's answer, a `CUresult`.
    pub code: i32,
}

thread_local! {
    static LAST: RefCell<Option<Failure>> = const { RefCell::new(None) };
}

pub(super) fn note(call: &Call, code: CuResult) {
    let call = *call;
    LAST.set(Some(Failure { call, code }));
}

/// The call of this thread that failed last, unless it was taken before.
pub fn take_failure() -> Option<Failure> {
    LAST.take()
}

impl fmt::Display for Failure {
    /// The call and what it was about: `cuMemAlloc (1099511627776 bytes)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.call.name)?;
        let stream = |stream: StreamHandle| match name_of_stream(stream) {
            Some(name) => format!("stream {name}"),
            None => format!("stream {:#x}", stream.0),
        };
        match self.call.action {
            Action::Launch {
                blocks,
                threads,
                shared_bytes,
                stream: to,
                ..
            } => write!(
                f,
                " ({} blocks of {} threads, {shared_bytes} bytes of dynamic shared memory, {})",
                extent(blocks),
                extent(threads),
                stream(to)
            ),
            Action::Copy {
                bytes, stream: to, ..
            }
            | Action::Set { bytes, stream: to } => write!(f, " ({bytes} bytes, {})", stream(to)),
            Action::Allocate {
                bytes,
                stream: None,
            } => write!(f, " ({bytes} bytes)"),
            Action::Allocate {
                bytes,
                stream: Some(to),
            } => write!(f, " ({bytes} bytes, {})", stream(to)),
            Action::HostFunction { stream: to }
            | Action::Graph { stream: to }
            | Action::Free { stream: Some(to) }
            | Action::RecordEvent { stream: to, .. }
            | Action::WaitEvent { stream: to, .. }
            | Action::Synchronize {
                stream: Some(to), ..
            } => write!(f, " ({})", stream(to)),
            _ => Ok(()),
        }
    }
}

fn extent(extent: [u32; 3]) -> String {
    match extent {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x} x {y}"),
        [x, y, z] => format!("{x} x {y} x {z}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &'static str, action: Action) -> String {
        let call = Call { name, action };
        Failure { call, code: 2 }.to_string()
    }

    #[test]
    fn a_failure_names_the_call_and_what_it_was_about() {
        let (bytes, stream) = (4096, None);
        assert_eq!(
            shown("cuMemAlloc", Action::Allocate { bytes, stream }),
            "cuMemAlloc (4096 bytes)"
        );
        let launch = Action::Launch {
            function: 1,
            blocks: [7, 1, 1],
            threads: [32, 8, 1],
            shared_bytes: 0,
            cluster: [0; 3],
            stream: StreamHandle::LEGACY,
        };
        assert_eq!(
            shown("cuLaunchKernel", launch),
            "cuLaunchKernel (7 blocks of 32 x 8 threads, 0 bytes of dynamic shared memory, stream legacy)"
        );
        assert_eq!(shown("cuCtxSynchronize", Action::Other), "cuCtxSynchronize");
    }

    #[test]
    fn a_failure_is_taken_once() {
        let (name, action) = ("cuEventRecord", Action::Other);
        note(&Call { name, action }, 400);
        assert_eq!(take_failure().map(|failure| failure.code), Some(400));
        assert_eq!(take_failure(), None);
    }
}
