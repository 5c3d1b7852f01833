//! What a run did, call by call: the evidence that a variant is what its name says.
//!
//! A [`Recording`](crate::intervals::Recording) says when operations ran. A trace says what the host asked for, in the order in
//! which each of its threads asked, and knows what no record has: the shape of a launch, and how a stream was created.

use super::notes::{self, NotedStream};
use super::{between_events, mode};
use crate::intervals::Span;
use crate::profiler_names::thread_name;
use libcuda::observe::{Action, Call, StreamHandle};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// A call of the driver that succeeded.
#[derive(Clone, Debug)]
pub(crate) struct TracedCall {
    /// The function's name in the driver's documentation.
    pub(crate) call: &'static str,
    /// Who called.
    pub(crate) thread: ThreadId,
    /// The thread's name.
    pub(crate) thread_name: String,
    /// The stream that the call names: a place in [`Trace::streams`].
    pub(crate) stream: Option<usize>,
    /// The event that the call names: its handle, and the flags that it was created with.
    pub(crate) event: Option<(usize, u32)>,
    /// What the call enqueues or allocates.
    pub(crate) what: What,
    /// When the call was made, on the clock of the device's records.
    pub(crate) span: Option<Span>,
}

/// What a call enqueues or allocates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// A kernel.
    Kernel {
        /// Its name.
        name: String,
        /// Blocks of the grid.
        blocks: [u32; 3],
        /// Threads of a block.
        threads: [u32; 3],
        /// Dynamic shared memory of a block in bytes.
        shared_bytes: u32,
        /// Blocks of a cluster; zeros where the call names no clusters.
        cluster: [u32; 3],
    },
    /// A copy, a memset or memory of this many bytes.
    Bytes(u64),
    /// Something else.
    Other,
}

/// How a stream came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreamKind {
    /// The legacy default stream.
    Legacy,
    /// A thread's own default stream.
    PerThread,
    /// A stream that the program created.
    Created {
        /// `CUstream_flags`.
        flags: u32,
        /// Lower numbers come first.
        priority: i32,
    },
    /// A stream that was created before calls were observed.
    Unknown,
}

impl fmt::Display for StreamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Legacy => f.write_str("legacy"),
            Self::PerThread => f.write_str("per-thread"),
            Self::Created { flags, priority } => {
                let kind = ["blocking", "non-blocking"][usize::from(flags & 1 != 0)];
                match priority {
                    0 => write!(f, "{kind}"),
                    other => write!(f, "{kind}, priority {other}"),
                }
            }
            Self::Unknown => f.write_str("created unseen"),
        }
    }
}

/// What the host asked for between two places of a program.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// The calls, in the order in which they returned.
    pub(crate) steps: Vec<TracedCall>,
    /// The streams that were used.
    pub(crate) streams: Vec<NotedStream>,
    /// The thread that ran the body.
    pub(crate) thread: ThreadId,
    /// From the first call to the body's end, if that is known, on the clock of the device's records.
    pub(crate) span: Option<Span>,
}

/// Runs `body`, and traces its calls if something is being recorded.
pub(crate) fn traced<R>(body: impl FnOnce() -> R) -> (R, Option<Trace>) {
    if mode::mode() == mode::ObserverMode::Off {
        return (body(), None);
    }
    let first = notes::notes().steps.len();
    let done = body();
    let notes = notes::notes();
    let trace = Trace {
        steps: notes.steps.get(first..).unwrap_or_default().to_vec(),
        streams: notes.streams(),
        thread: thread::current().id(),
        span: None,
    };
    (done, Some(trace))
}

impl Trace {
    /// The same, of a body that took so long. Asking for the time would take time on the modelled host: what the host did before
    /// the first call counts as done behind the last one.
    pub(crate) fn taking(mut self, time: Duration) -> Self {
        let first = self.steps.iter().find_map(|step| step.span);
        self.span = first.map(|Span { start, .. }| Span {
            start,
            end: start + time.as_nanos() as u64,
        });
        self
    }
}

/// The step that a call was.
pub(super) fn step(call: &Call, stream: Option<usize>, span: Option<Span>) -> TracedCall {
    let event = match call.action {
        Action::RecordEvent { event, .. } | Action::WaitEvent { event, .. } => Some(event),
        Action::Synchronize { event, .. } => event,
        _ => None,
    };
    let event = event.map(|event| (event, created_so_far().event(event)));
    let what = match call.action {
        Action::Launch {
            function,
            blocks,
            threads,
            shared_bytes,
            cluster,
            ..
        } => What::Kernel {
            name: between_events::kernel_name(function),
            blocks,
            threads,
            shared_bytes,
            cluster,
        },
        Action::Copy { bytes, .. } | Action::Set { bytes, .. } | Action::Allocate { bytes, .. } => {
            What::Bytes(bytes)
        }
        _ => What::Other,
    };
    TracedCall {
        call: call.name,
        thread: thread::current().id(),
        thread_name: thread_name(),
        stream,
        event,
        what,
        span,
    }
}

/// How the streams and events of the process were created, by their handles.
#[derive(Default)]
struct Created {
    streams: BTreeMap<usize, StreamKind>,
    events: BTreeMap<usize, u32>,
}

impl Created {
    /// The flags of an event.
    fn event(&self, event: usize) -> u32 {
        self.events.get(&event).copied().unwrap_or_default()
    }
}

static CREATED: Mutex<Created> = Mutex::new(Created {
    streams: BTreeMap::new(),
    events: BTreeMap::new(),
});

fn created_so_far() -> MutexGuard<'static, Created> {
    CREATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A stream was created.
pub(super) fn stream_created(stream: StreamHandle, flags: u32, priority: i32) {
    let kind = StreamKind::Created { flags, priority };
    created_so_far().streams.insert(stream.0, kind);
}

/// An event was created.
pub(super) fn event_created(event: usize, flags: u32) {
    created_so_far().events.insert(event, flags);
}

/// How the stream of a handle came to be.
pub(super) fn kind(stream: StreamHandle) -> StreamKind {
    match stream {
        StreamHandle::LEGACY => StreamKind::Legacy,
        StreamHandle::PER_THREAD => StreamKind::PerThread,
        StreamHandle(handle) => {
            let known = created_so_far().streams.get(&handle).copied();
            known.unwrap_or(StreamKind::Unknown)
        }
    }
}
