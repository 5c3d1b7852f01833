//! Who touches memory: operations of streams, nodes of graphs, host threads.

use super::clock::Epoch;
use super::description::Description;
use super::ids::{OperationId, StreamId, StreamKind, ThreadId};
use super::names::Names;

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

/// Where an operation or an access runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// As operation of a stream.
    Stream {
        /// Which one.
        operation: OperationId,
        /// In which stream.
        stream: StreamId,
        /// Of which kind the stream is.
        kind: StreamKind,
        /// Its place in the stream, from 1.
        position: u64,
    },
    /// As node of a graph.
    Node {
        /// Which one.
        operation: OperationId,
        /// The operation with which this launch of the graph began.
        launch: OperationId,
        /// Where the graph was launched.
        stream: Option<StreamId>,
    },
    /// On the host.
    Host {
        /// Which thread.
        thread: ThreadId,
        /// Its place among all accesses of the host, from 1.
        access: u64,
    },
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

impl Place {
    /// Where that is, in words.
    pub(super) fn in_words(&self, names: &Names) -> String {
        match self {
            Self::Stream {
                stream, position, ..
            } => format!("operation {position} of {}", names.of(*stream)),
            Self::Node {
                stream: Some(stream),
                ..
            } => format!("node of a graph launched in {}", names.of(*stream)),
            Self::Node { stream: None, .. } => "node of a graph".to_owned(),
            Self::Host { thread, .. } => format!("by {thread}"),
        }
    }
}
