//! Identifiers of streams, events, operations and memory in calls of the checker. The caller chooses the numbers and never uses one twice for two things that
//! are alive at the same time.

use std::fmt;

use crate::timeline::OpId;

/// A host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u64);

impl ThreadId {
    /// All threads that were not announced by [`thread_started`](super::Checker::thread_started): they share one clock.
    pub const UNREGISTERED: Self = Self(0);
}

/// A stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u64);

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u64);

impl EventId {
    /// An event that the program cannot name: it orders, and no report speaks of it.
    pub fn of_the_driver(number: u64) -> Self {
        Self(1 << 63 | number)
    }

    pub(super) fn is_of_the_driver(self) -> bool {
        self.0 >> 63 == 1
    }
}

/// A context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(pub u64);

/// One operation of a stream, or one node of one launch of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub u64);

impl From<OpId> for OperationId {
    fn from(op: OpId) -> Self {
        Self(op.index())
    }
}

/// One write of a value that streams wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u64);

/// One wait of a thread inside the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitId(pub u64);

/// How a stream behaves towards the legacy stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// The legacy default stream of its context.
    Legacy,
    /// Synchronises with the legacy stream. Per-thread default streams are of this kind.
    Blocking,
    /// Created with `CU_STREAM_NON_BLOCKING`.
    NonBlocking,
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::UNREGISTERED {
            f.write_str("the host")
        } else {
            write!(f, "host thread {}", self.0)
        }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream {}", self.0)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}", self.0)
    }
}
