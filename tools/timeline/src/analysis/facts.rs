//! Facts about a recording's operations besides their times. All of it is optional: with fewer facts, fewer causes can be
//! distinguished.

use crate::analysis::occupancy::{LaunchShape, Multiprocessors};
use chapter_results::intervals::{PAGEABLE, Recording, Span, union};
use std::collections::BTreeMap;

/// Where the host's side of a copy lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostMemory {
    /// The program's own: the driver copies through a page-locked buffer of its own, and the call does not return before that is
    /// done.
    Pageable,
    /// Page-locked.
    Pinned,
    /// Managed: it moves by itself.
    Managed,
}

/// A stream's relation to the legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// It is the legacy default stream.
    Legacy,
    /// It waits for the legacy stream, which waits for it.
    Blocking,
    /// The two take no notice of each other.
    NonBlocking,
}

/// A call of the host, in nanoseconds since the recording's first start; calls come before their operations, so these may be
/// negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedHostCall {
    /// The function's name.
    pub name: String,
    /// The host's thread.
    pub thread: u64,
    /// When it was called.
    pub start: i64,
    /// When it returned.
    pub end: i64,
}

/// The known facts about one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationFacts {
    /// For a copy from or to the host.
    pub memory: Option<HostMemory>,
    /// The call that enqueued it.
    pub call: Option<TimedHostCall>,
    /// For a kernel.
    pub launch: Option<LaunchShape>,
}

/// A stream was made to wait for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventWait {
    /// The stream that waits.
    pub stream: String,
    /// The time of the host's call, in nanoseconds since the recording's first start.
    pub at: i64,
}

/// Facts that the recording does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// One entry for each of [`Recording::intervals`], in their order; empty if nothing is known about any.
    pub operations: Vec<OperationFacts>,
    /// The facts about streams, by name.
    pub streams: BTreeMap<String, StreamKind>,
    /// The limits of the device's multiprocessors.
    pub multiprocessors: Option<Multiprocessors>,
    /// All calls of the host that are known.
    pub calls: Vec<TimedHostCall>,
    /// Calls in which the host waited: for a device, a stream or an event. In order of their starts.
    pub host_waits: Vec<TimedHostCall>,
    /// Waits of streams whose event is not known; those whose event is known are [`Recording::dependencies`].
    pub stream_waits: Vec<EventWait>,
}

impl Facts {
    /// What a recording says by itself: which of its streams is the legacy one, the host's calls, and which copies are pageable.
    pub fn of(recording: &Recording) -> Self {
        let legacy = recording.streams().into_iter().find(|&name| name == LEGACY);
        let streams = legacy.map(|name| (name.to_owned(), StreamKind::Legacy));
        let mut threads: BTreeMap<&str, u64> = BTreeMap::new();
        let mut facts = Self {
            streams: streams.into_iter().collect(),
            operations: vec![OperationFacts::default(); recording.intervals.len()],
            ..Self::default()
        };
        for own in &recording.calls {
            let next = threads.len() as u64;
            let call = TimedHostCall {
                name: own.name.clone(),
                thread: *threads.entry(&own.thread).or_insert(next),
                start: own.span.start,
                end: own.span.end,
            };
            if own.waits() {
                facts.host_waits.push(call.clone());
            }
            if let Some(operation) = own
                .interval
                .and_then(|place| facts.operations.get_mut(place))
            {
                operation.call = Some(call.clone());
            }
            facts.calls.push(call);
        }
        for (operation, interval) in facts.operations.iter_mut().zip(&recording.intervals) {
            let is_pageable = interval.name.starts_with(PAGEABLE);
            operation.memory = is_pageable.then_some(HostMemory::Pageable);
        }
        facts
    }

    /// The known facts about an operation.
    pub fn of_operation(&self, place: usize) -> Option<&OperationFacts> {
        self.operations.get(place)
    }

    /// The call that enqueued an operation.
    pub fn call(&self, place: usize) -> Option<&TimedHostCall> {
        self.of_operation(place)?.call.as_ref()
    }

    /// Whether an operation is a copy from or to pageable memory.
    pub fn is_pageable(&self, place: usize) -> bool {
        self.of_operation(place)
            .is_some_and(|operation| operation.memory == Some(HostMemory::Pageable))
    }
}

/// What recordings call the legacy default stream.
pub const LEGACY: &str = "legacy";

/// When operations of the legacy default stream ran: blocking streams run nothing of their own then. Disjoint, in
/// order; empty if no other stream ran an operation.
pub fn legacy_barriers(recording: &Recording) -> Vec<Span> {
    let is_legacy = |name: &str| name == LEGACY || name.starts_with("legacy of context ");
    if recording.intervals.iter().all(|i| is_legacy(&i.stream)) {
        return Vec::new();
    }
    union(recording.spans(|interval| is_legacy(&interval.stream)))
}
