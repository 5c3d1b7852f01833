//! Why one operation began only when another had ended: the likely cause, with what speaks for it.

use crate::analysis::facts::{Facts, StreamKind};
use crate::analysis::host::HostWaits;
use crate::analysis::serialised::HAND_OVER;
use crate::analysis::where_host::{Share, WhereHost};
use chapter_results::intervals::{Dependency, Engine, Interval, Recording, Span};
use chapter_results::units;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// Hardware queues that streams share, unless the environment variable CUDA_DEVICE_MAX_CONNECTIONS says otherwise.
pub const CONNECTIONS: usize = 8;

/// What passes between two operations of one stream at most. From a copy to one in the other direction it is more than
/// [`HAND_OVER`].
const NEXT_IN_STREAM: Duration = Duration::from_micros(10);

/// Where the book says how graphs help.
const GRAPHS: &str = "book/src/graphs.md";

/// The cause of an operation's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The host was kept by a copy from or to pageable memory, or the operation waited for such a copy.
    PageableCopy,
    /// The host waited for the device before it enqueued the operation.
    HostWaited,
    /// The host enqueued the operation too late: it was outside of the driver.
    HostLate,
    /// The host allocated memory, or made it page-locked.
    Allocation,
    /// The host loaded a module, or instantiated a graph.
    Loading,
    /// A call that enqueues work took much longer than that: a kernel's first launch loads its code.
    SlowLaunch,
    /// The host was in other calls of the driver.
    OtherCalls,
    /// The host needs longer to launch an operation than the device to run one.
    Launches,
    /// The legacy default stream and streams that are not non-blocking wait for one another.
    LegacyStream,
    /// The stream waited for an event, and the trace does not say for which.
    UnknownEvent,
    /// A kernel left no room on the multiprocessors.
    FullMultiprocessors,
    /// More streams than hardware queues: independent operations share one.
    FalseDependency,
    /// A host function ran in between.
    HostFunction,
    /// Nothing that the trace shows.
    Unknown,
    /// Both are in one stream.
    SameStream,
    /// Both are nodes that one launch of a graph ran.
    Graph,
    /// Both need an engine that runs one operation at a time.
    SameEngine,
    /// The second waits for the first through an event: this order is wanted.
    Event,
}

impl Cause {
    /// Whether the program created this dependency, so that nothing is wrong with it.
    pub fn is_wanted(self) -> bool {
        matches!(
            self,
            Self::Event | Self::SameStream | Self::Graph | Self::SameEngine
        )
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PageableCopy => "pageable copy",
            Self::HostWaited => "the host waited",
            Self::HostLate => "the host came late",
            Self::Allocation => "allocation",
            Self::Loading => "loading of code",
            Self::SlowLaunch => "a slow launch",
            Self::OtherCalls => "calls of the driver",
            Self::Launches => "launches slower than the work",
            Self::LegacyStream => "legacy stream",
            Self::UnknownEvent => "an event",
            Self::FullMultiprocessors => "full multiprocessors",
            Self::FalseDependency => "false dependency",
            Self::HostFunction => "a host function",
            Self::Unknown => "not known from this trace",
            Self::SameStream => "order of the stream",
            Self::Graph => "order of the graph",
            Self::SameEngine => "order of the engine",
            Self::Event => "an event, so a real dependency",
        })
    }
}

/// A cause and what speaks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Likely {
    /// The cause.
    pub cause: Cause,
    /// What speaks for it; empty when nothing is known.
    pub evidence: String,
    /// For a gap with several causes: the duration of each, the longest first.
    shares: Vec<(Cause, u64)>,
}

impl Likely {
    fn new(cause: Cause, evidence: impl Into<String>) -> Self {
        Self {
            cause,
            evidence: evidence.into(),
            shares: Vec::new(),
        }
    }

    /// The causes of a gap of this length, each with its nanoseconds, the longest first.
    pub fn shares(&self, nanoseconds: u64) -> Vec<(Cause, u64)> {
        match self.shares.is_empty() {
            true => vec![(self.cause, nanoseconds)],
            false => self.shares.clone(),
        }
    }
}

/// A recording with the facts from which causes are computed.
pub struct Causes<'a> {
    recording: &'a Recording,
    facts: &'a Facts,
    dependencies: BTreeSet<Dependency>,
    streams: usize,
    host: HostWaits<'a>,
    where_host: WhereHost<'a>,
    /// The host functions of the recording, in order of their starts.
    host_functions: Vec<&'a Interval>,
    /// When host functions were launched that the recording does not show.
    functions: Vec<i64>,
}

impl<'a> Causes<'a> {
    /// Analyses a recording.
    pub fn of(recording: &'a Recording, facts: &'a Facts) -> Self {
        Self {
            recording,
            facts,
            dependencies: recording.dependencies.iter().copied().collect(),
            streams: recording.streams().len(),
            host: HostWaits::of(recording, facts),
            where_host: WhereHost::of(recording, facts),
            host_functions: host_functions(recording),
            functions: unseen_functions(recording, facts),
        }
    }

    /// Why `second` began when `first`, of another stream, had ended.
    pub fn of_pair(&self, first: usize, second: usize) -> Likely {
        self.event(first, second)
            .or_else(|| self.host(first, second))
            .or_else(|| self.legacy_stream(first, second))
            .or_else(|| self.unknown_event(second))
            .or_else(|| self.graph(first, second))
            .or_else(|| self.full_multiprocessors(first, second))
            .or_else(|| self.false_dependency(first, second))
            .unwrap_or_else(|| Likely::new(Cause::Unknown, ""))
    }

    /// Why the device was idle between the end of `before` and the start of `after`.
    pub fn of_gap(&self, before: usize, after: usize) -> Likely {
        self.where_host_was(before, after)
            .or_else(|| self.event(before, after))
            .or_else(|| self.pageable_before(before, after))
            .or_else(|| self.host_function(before, after))
            .or_else(|| self.unseen_function(before, after))
            .or_else(|| self.same_stream(before, after))
            .or_else(|| self.graph(before, after))
            .or_else(|| self.legacy_stream(before, after))
            .or_else(|| self.unknown_event(after))
            .or_else(|| self.hand_over(before, after))
            .unwrap_or_else(|| Likely::new(Cause::Unknown, ""))
    }

    /// A gap as long as a hand-over at most has the cause that the one had to wait for the other at all.
    fn hand_over(&self, before: usize, after: usize) -> Option<Likely> {
        if self.between(before, after) > HAND_OVER {
            return None;
        }
        self.same_engine(before, after)
            .or_else(|| self.full_multiprocessors(before, after))
            .or_else(|| self.false_dependency(before, after))
    }

    /// From the end of the one to the start of the other.
    fn between(&self, before: usize, after: usize) -> Duration {
        let (end, start) = (
            self.interval(before).span.end,
            self.interval(after).span.start,
        );
        Duration::from_nanos(start.saturating_sub(end))
    }

    fn interval(&self, place: usize) -> &'a Interval {
        &self.recording.intervals[place]
    }

    fn event(&self, from: usize, to: usize) -> Option<Likely> {
        let known = self.dependencies.contains(&Dependency { from, to });
        known.then(|| {
            let (first, second) = (self.interval(from), self.interval(to));
            let evidence = format!(
                "stream {} waits for an event behind {} in stream {}",
                second.stream, first.name, first.stream
            );
            Likely::new(Cause::Event, evidence)
        })
    }

    /// The gap divided by where the host was, if the operation behind it was not asked for in time.
    fn where_host_was(&self, before: usize, after: usize) -> Option<Likely> {
        let call = self.facts.call(after)?;
        let gap = Span {
            start: self.interval(before).span.end,
            end: self
                .interval(after)
                .span
                .start
                .max(self.interval(before).span.end),
        };
        let shares = self.where_host.shares(gap, call, &self.host);
        let cause = shares.first()?.cause;
        let mut by_cause: Vec<(Cause, u64)> = Vec::new();
        for share in &shares {
            match by_cause.last_mut().filter(|last| last.0 == share.cause) {
                Some(last) => last.1 += share.nanoseconds,
                None => by_cause.push((share.cause, share.nanoseconds)),
            }
        }
        Some(Likely {
            shares: by_cause,
            ..Likely::new(cause, evidence(&shares, cause, self.interval(before)))
        })
    }

    /// When calls are not known.
    fn pageable_before(&self, before: usize, after: usize) -> Option<Likely> {
        match self.facts.call(after) {
            Some(_) => None,
            None => self.pageable_without_calls(before),
        }
    }

    /// A host function that the trace does not show was launched between two operations of a stream.
    fn unseen_function(&self, before: usize, after: usize) -> Option<Likely> {
        let [first, second] = [before, after].map(|place| self.facts.call(place));
        let (first, second) = (first?.end, second?.start);
        let from = self.functions.partition_point(|&at| at < first);
        let is_between = self.functions.get(from).is_some_and(|&at| at < second);
        let one_stream = self.interval(before).stream == self.interval(after).stream;
        (is_between && one_stream).then(|| {
            let evidence = "one was launched between the two; the trace does not show when it ran";
            Likely::new(Cause::HostFunction, evidence)
        })
    }

    /// The host enqueued the second when the first had ended, and why.
    fn host(&self, first: usize, second: usize) -> Option<Likely> {
        let end = self.interval(first).span.end.cast_signed();
        let Some(call) = self.facts.call(second) else {
            return self.pageable_without_calls(first);
        };
        if call.start < end {
            return None;
        }
        let late = format!(
            "{} was called {} after the end of what ran before",
            call.name,
            nanoseconds(call.start - end)
        );
        // The wait had ended long before, and the host was elsewhere since.
        let last = self.host.last(call, end);
        let last = last
            .filter(|(waited, _)| call.start - waited.end <= waited.end - end.min(waited.start));
        let Some((waited, pageable)) = last else {
            return Some(Likely::new(Cause::HostLate, late));
        };
        let kept = format!(
            "{} kept the host for {}, until {} before it called {}",
            waited.name,
            nanoseconds(waited.end - waited.start),
            nanoseconds(call.start - waited.end),
            call.name
        );
        let Some(copy) = pageable.map(|place| self.interval(place)) else {
            return Some(Likely::new(Cause::HostWaited, kept));
        };
        let evidence = format!("{} of pageable memory: {kept}", units::bytes(copy.bytes));
        Some(Likely::new(Cause::PageableCopy, evidence))
    }

    /// A pageable copy holds the host up; whether it did here, nothing says when calls are unknown.
    fn pageable_without_calls(&self, first: usize) -> Option<Likely> {
        let copy = self.interval(first);
        self.facts.is_pageable(first).then(|| {
            let bytes = units::bytes(copy.bytes);
            let evidence = format!("{bytes} of pageable memory; the trace lacks the host's calls");
            Likely::new(Cause::PageableCopy, evidence)
        })
    }

    fn legacy_stream(&self, first: usize, second: usize) -> Option<Likely> {
        let [a, b] = [first, second].map(|place| self.interval(place).stream.as_str());
        let kind = |stream: &str| self.facts.streams.get(stream).copied();
        let other = match (kind(a), kind(b)) {
            (Some(StreamKind::Legacy), Some(StreamKind::Legacy)) => return None,
            (Some(StreamKind::Legacy), _) => b,
            (_, Some(StreamKind::Legacy)) => a,
            _ => return None,
        };
        let evidence = match kind(other) {
            Some(StreamKind::NonBlocking) => return None,
            Some(_) => format!("stream {other} is not a non-blocking one"),
            None => format!("unless stream {other} was created non-blocking"),
        };
        Some(Likely::new(Cause::LegacyStream, evidence))
    }

    /// A wait for an event was put between an operation and the one before it in its stream.
    fn unknown_event(&self, second: usize) -> Option<Likely> {
        let call = self.facts.call(second)?;
        let stream = &self.interval(second).stream;
        let waits = &self.facts.stream_waits;
        let in_time = &waits[..waits.partition_point(|wait| wait.at <= call.start)];
        let wait = in_time.iter().rev().find(|wait| wait.stream == *stream)?;
        (!self.host.called_between(stream, wait.at, call.start)).then(|| {
            let evidence = format!(
                "stream {stream} was told to wait for an event before it; the trace does not say where that was recorded"
            );
            Likely::new(Cause::UnknownEvent, evidence)
        })
    }

    /// One call enqueues several operations only as a graph.
    fn graph(&self, first: usize, second: usize) -> Option<Likely> {
        let [a, b] = [self.facts.call(first)?, self.facts.call(second)?];
        (a == b).then(|| {
            let evidence = format!(
                "both are nodes that one {} ran; the trace does not show the graph's edges",
                a.name
            );
            Likely::new(Cause::Graph, evidence)
        })
    }

    fn full_multiprocessors(&self, first: usize, second: usize) -> Option<Likely> {
        let kernels = [first, second].map(|place| self.interval(place).engine);
        if kernels != [Engine::Kernel; 2] {
            return None;
        }
        let launch = self.facts.of_operation(first)?.launch?;
        let multiprocessors = self.facts.multiprocessors?;
        multiprocessors.filled_by(&launch).then(|| {
            let evidence = format!(
                "{} of stream {} has {} blocks of {} threads; {} multiprocessors hold {} at once",
                self.interval(first).name,
                self.interval(first).stream,
                launch.blocks,
                launch.threads,
                multiprocessors.count,
                multiprocessors.capacity(&launch)
            );
            Likely::new(Cause::FullMultiprocessors, evidence)
        })
    }

    fn false_dependency(&self, first: usize, second: usize) -> Option<Likely> {
        let calls = [first, second].map(|place| self.facts.call(place));
        let in_order = match calls {
            [Some(a), Some(b)] => a.start < b.start,
            _ => true,
        };
        (self.streams > CONNECTIONS && in_order).then(|| {
            let evidence = format!(
                "{} streams share {CONNECTIONS} hardware queues, unless CUDA_DEVICE_MAX_CONNECTIONS was set",
                self.streams
            );
            Likely::new(Cause::FalseDependency, evidence)
        })
    }

    fn host_function(&self, before: usize, after: usize) -> Option<Likely> {
        let gap = (
            self.interval(before).span.end,
            self.interval(after).span.start,
        );
        let from = self
            .host_functions
            .partition_point(|function| function.span.start < gap.0);
        let begun = self.host_functions[from..].iter();
        let function = begun
            .take_while(|function| function.span.start <= gap.1)
            .find(|function| function.span.end <= gap.1)?;
        let evidence = format!(
            "one of stream {} took {} of it",
            function.stream,
            units::time(Duration::from_nanos(function.span.nanoseconds()))
        );
        Some(Likely::new(Cause::HostFunction, evidence))
    }

    fn same_stream(&self, before: usize, after: usize) -> Option<Likely> {
        let [a, b] = [before, after].map(|place| self.interval(place).stream.as_str());
        let soon = self.between(before, after) <= NEXT_IN_STREAM;
        (a == b && soon).then(|| Likely::new(Cause::SameStream, format!("both are in stream {a}")))
    }

    fn same_engine(&self, before: usize, after: usize) -> Option<Likely> {
        let [a, b] = [before, after].map(|place| self.interval(place).engine);
        (a == b && a != Engine::Kernel)
            .then(|| Likely::new(Cause::SameEngine, format!("one {a} runs at a time")))
    }
}

fn host_functions(recording: &Recording) -> Vec<&Interval> {
    let all = recording.intervals.iter();
    let functions = all.filter(|interval| interval.engine == Engine::HostFunction);
    let mut functions: Vec<&Interval> = functions.collect();
    functions.sort_by_key(|function| function.span.start);
    functions
}

/// When host functions were launched, if the recording shows none.
fn unseen_functions(recording: &Recording, facts: &Facts) -> Vec<i64> {
    if !host_functions(recording).is_empty() {
        return Vec::new();
    }
    let launches = facts.calls.iter().filter(|call| {
        call.name.contains("LaunchHostFunc") || call.name.contains("StreamAddCallback")
    });
    let mut launches: Vec<i64> = launches.map(|call| call.start).collect();
    launches.sort_unstable();
    launches
}

/// The largest shares in words.
fn evidence(shares: &[Share], cause: Cause, before: &Interval) -> String {
    const MOST: usize = 3;
    let time = |nanoseconds| units::time(Duration::from_nanos(nanoseconds));
    let places = shares.iter().take(MOST);
    let places: Vec<String> = places
        .map(|share| format!("{} for {}", share.place, time(share.nanoseconds)))
        .collect();
    let places = format!("the host was {}", places.join(", "));
    match cause {
        Cause::Launches if !places.contains("GraphLaunch") => format!(
            "{places}; what ran before took {}; one launch of a graph replaces many launches: {GRAPHS}",
            time(before.span.nanoseconds())
        ),
        Cause::SlowLaunch => {
            format!(
                "{places}; the first launch of a kernel loads its code, unless CUDA_MODULE_LOADING is EAGER"
            )
        }
        _ => places,
    }
}

/// A time that is not negative, for people.
pub(super) fn nanoseconds(time: i64) -> String {
    units::time(Duration::from_nanos(time.max(0).cast_unsigned()))
}
