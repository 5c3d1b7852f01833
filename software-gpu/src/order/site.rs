//! Who touches memory: operations of streams, nodes of graphs, host threads.

use super::clock::Epoch;
use super::description::Description;
use super::ids::{OperationId, StreamId, StreamKind, ThreadId};

/// One operation or one access of the host.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) epoch: Epoch,
    pub(super) place: Place,
    pub(super) description: Description,
    /// The thread that submitted it, or that accessed.
    pub(super) thread: ThreadId,
    /// Its place among all calls of the program.
    pub(super) called: u64,
}

/// Where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The `position`th operation of a stream.
    Stream {
        operation: OperationId,
        stream: StreamId,
        kind: StreamKind,
        position: u64,
    },
    /// A node of a graph that was launched in `stream` with the marker `launch`.
    Node {
        operation: OperationId,
        launch: OperationId,
        stream: Option<StreamId>,
    },
    /// The `access`th access of the host.
    Host { access: u64 },
}

impl Place {
    /// Whether it is an access of the host.
    pub(super) fn is_host(&self) -> bool {
        matches!(self, Self::Host { .. })
    }

    /// The stream that an event can be recorded in.
    pub(super) fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Stream { stream, .. } => Some(*stream),
            Self::Node { stream, .. } => *stream,
            Self::Host { .. } => None,
        }
    }
}
