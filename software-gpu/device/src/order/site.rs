//! The sites that access memory: operations of streams, nodes of graphs, host threads.

use std::sync::OnceLock;

use super::clock::{Clock, Epoch};
use super::description::Description;
use super::ids::{OperationId, StreamId, StreamKind, ThreadId};
use super::names::Names;

/// One operation or one access of the host.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) epoch: Epoch,
    pub(super) place: AccessSite,
    pub(super) description: Description,
    /// The thread that submitted it, or that accessed.
    pub(super) thread: ThreadId,
    /// Its place among all calls of the program.
    pub(super) called: u64,
    /// Its clock, once it runs.
    runs_after: OnceLock<Clock>,
    /// The clock of its beginning, if that is smaller.
    begins_after: OnceLock<Clock>,
    /// What its end comes after, if it may overlap the operation before it.
    ends_after: OnceLock<Clock>,
}

impl Site {
    pub(super) fn new(
        epoch: Epoch,
        place: AccessSite,
        description: Description,
        thread: ThreadId,
        called: u64,
    ) -> Self {
        Self {
            epoch,
            place,
            description,
            thread,
            called,
            runs_after: OnceLock::new(),
            begins_after: OnceLock::new(),
            ends_after: OnceLock::new(),
        }
    }

    /// It runs now; the first time counts.
    pub(super) fn runs_after(&self, clock: &Clock) {
        let _ = self.runs_after.set(clock.clone());
    }

    /// Some of it runs after no more than this.
    pub(super) fn begins_after(&self, clock: &Clock) {
        let _ = self.begins_after.set(clock.clone());
    }

    /// Its end comes after this, though all of it may have run before.
    pub(super) fn ends_after(&self, clock: &Clock) {
        let _ = self.ends_after.set(clock.clone());
    }

    /// The clock that an observer of its stores joins.
    pub(super) fn seen_after(&self) -> Option<&Clock> {
        self.runs_after.get().or_else(|| self.ends_after.get())
    }

    /// Its clock when it ran; empty before that.
    pub(super) fn ran_after(&self) -> Option<&Clock> {
        self.runs_after.get()
    }

    /// What all of it came after when it ran.
    pub(super) fn began_after(&self) -> Option<Clock> {
        let begun = self.begins_after.get().cloned();
        begun.or_else(|| Some(self.runs_after.get()?.before(self.epoch)))
    }

    /// Whether it came after the other one, which has run.
    pub(super) fn came_after(&self, other: &Self) -> bool {
        self.ran_after()
            .is_some_and(|clock| clock.knows(other.epoch))
    }
}

/// Where an operation or an access runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessSite {
    /// As operation of a stream.
    Stream {
        /// Which one.
        operation: OperationId,
        /// In which stream.
        stream: StreamId,
        /// The stream's kind.
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

impl AccessSite {
    /// Whether it is an access of the host.
    pub(super) fn is_host(&self) -> bool {
        matches!(self, Self::Host { .. })
    }

    /// The operation, unless it is an access of the host.
    pub(super) fn operation(&self) -> Option<OperationId> {
        match self {
            Self::Stream { operation, .. } | Self::Node { operation, .. } => Some(*operation),
            Self::Host { .. } => None,
        }
    }

    /// Whether both are operations of one stream, this one the earlier.
    pub(super) fn is_before_in_stream(&self, later: &Self) -> bool {
        match (self, later) {
            (
                Self::Stream {
                    stream, position, ..
                },
                Self::Stream {
                    stream: other,
                    position: later,
                    ..
                },
            ) => stream == other && position < later,
            _ => false,
        }
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

impl AccessSite {
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
