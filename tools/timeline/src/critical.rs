//! The critical path: the operations that together decided when the last one ended.
//!
//! It is inferred from what ran when. From the operation that ended last it goes back, each time to the one that ended last
//! among those that the operation had to follow: the one before it in its stream, those whose events it waited for, the last
//! one that its engine ran, and what the host waited for before it enqueued the operation. Engines may run several kernels
//! at once, and a host's wait for an event does not name the operation, so a link of these two kinds may be a coincidence.

use chapter_results::intervals::{Engine, HostCall, Recording};
use std::collections::BTreeMap;

/// Why an operation could not begin before another had ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It needs the same engine.
    Engine,
    /// The host waited for the other before it enqueued this one.
    Host,
    /// Both are in one stream.
    Stream,
    /// It waited for an event behind the other.
    Event,
}

impl Why {
    /// The reason as shown to the reader.
    pub fn text(self) -> &'static str {
        match self {
            Self::Engine => "order of the engine",
            Self::Host => "the host waited",
            Self::Stream => "order of the stream",
            Self::Event => "an event",
        }
    }
}

/// An operation of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// Its place in [`Recording::intervals`].
    pub place: usize,
    /// Why it follows the step before it; `None` for the first step.
    pub why: Option<Why>,
}

/// The path, from its first operation to its last; empty when nothing ran.
pub fn path(recording: &Recording) -> Vec<PathStep> {
    let intervals = &recording.intervals;
    let order = Predecessors::of(recording);
    let mut path = Vec::new();
    let mut next = (0..intervals.len()).max_by_key(|&place| (intervals[place].span.end, place));
    while let Some(place) = next {
        let before = order.before(place);
        path.push(PathStep {
            place,
            why: before.map(|(_, why)| why),
        });
        next = before.map(|(place, _)| place);
    }
    path.reverse();
    path
}

/// For each of [`Recording::calls`] in which the host waits: the operation whose end let it continue. It is the last operation that ended during the
/// call, in the call's stream if the call names one.
pub fn released_by(recording: &Recording) -> Vec<Option<usize>> {
    let ends = Ends::of(recording);
    let calls = recording.calls.iter();
    calls.map(|call| ends.released(recording, call)).collect()
}

/// Operations in order of their ends: of all streams, of each stream, of each engine.
struct Ends<'a> {
    all: Vec<usize>,
    streams: BTreeMap<&'a str, Vec<usize>>,
    engines: BTreeMap<Engine, Vec<usize>>,
}

impl<'a> Ends<'a> {
    fn of(recording: &'a Recording) -> Self {
        let mut all: Vec<usize> = (0..recording.intervals.len()).collect();
        all.sort_by_key(|&place| (recording.intervals[place].span.end, place));
        let mut streams: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut engines: BTreeMap<Engine, Vec<usize>> = BTreeMap::new();
        for &place in &all {
            let interval = &recording.intervals[place];
            streams.entry(&interval.stream).or_default().push(place);
            engines.entry(interval.engine).or_default().push(place);
        }
        Self {
            all,
            streams,
            engines,
        }
    }

    fn released(&self, recording: &Recording, call: &HostCall) -> Option<usize> {
        if !call.waits() || call.interval.is_some() {
            return call.interval.filter(|_| call.waits());
        }
        let own = match &call.stream {
            Some(stream) => self.streams.get(stream.as_str())?,
            None => &self.all,
        };
        let end =
            |place: &usize| i64::try_from(recording.intervals[*place].span.end).unwrap_or(i64::MAX);
        let last = own.partition_point(|place| end(place) <= call.span.end);
        let last = *own[..last].last()?;
        (end(&last) > call.span.start).then_some(last)
    }
}

/// What an operation had to follow.
struct Predecessors<'a> {
    recording: &'a Recording,
    ends: Ends<'a>,
    /// One entry per operation.
    in_stream: Vec<Option<usize>>,
    events: BTreeMap<usize, Vec<usize>>,
    host: BTreeMap<usize, usize>,
}

impl<'a> Predecessors<'a> {
    fn of(recording: &'a Recording) -> Self {
        let mut last: BTreeMap<&str, usize> = BTreeMap::new();
        let numbered = recording.intervals.iter().enumerate();
        let in_stream = numbered.map(|(place, interval)| last.insert(&interval.stream, place));
        let in_stream = in_stream.collect();
        let mut events: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for dependency in &recording.dependencies {
            events
                .entry(dependency.to)
                .or_default()
                .push(dependency.from);
        }
        Self {
            recording,
            ends: Ends::of(recording),
            in_stream,
            events,
            host: host_waits(recording),
        }
    }

    /// Which operation held this one up until last, and why.
    fn before(&self, place: usize) -> Option<(usize, Why)> {
        let events = self.events.get(&place).into_iter().flatten();
        let events = events.map(|&from| (from, Why::Event));
        let stream = self.in_stream[place].map(|from| (from, Why::Stream));
        let host = self.host.get(&place).map(|&from| (from, Why::Host));
        let engine = self.on_engine(place).map(|from| (from, Why::Engine));
        let interval = |place: usize| &self.recording.intervals[place];
        let start = interval(place).span.start;
        events
            .chain(stream)
            .chain(host)
            .chain(engine)
            // Places are in order of the starts, so that the path always goes back.
            .filter(|&(from, _)| from < place && interval(from).span.end <= start)
            .max_by_key(|&(from, why)| (interval(from).span.end, why))
    }

    fn on_engine(&self, place: usize) -> Option<usize> {
        let interval = &self.recording.intervals[place];
        let own = self.ends.engines.get(&interval.engine)?;
        let end = |place: &usize| self.recording.intervals[*place].span.end;
        let before = own.partition_point(|other| end(other) <= interval.span.start);
        own[..before]
            .iter()
            .rev()
            .find(|&&from| from < place)
            .copied()
    }
}

/// For operations: what the thread that enqueued them had last waited for.
fn host_waits(recording: &Recording) -> BTreeMap<usize, usize> {
    let released = released_by(recording);
    let mut order: Vec<usize> = (0..recording.calls.len()).collect();
    order.sort_by_key(|&n| recording.calls[n].span);
    let mut waited: BTreeMap<&str, usize> = BTreeMap::new();
    let mut host = BTreeMap::new();
    for n in order {
        let call = &recording.calls[n];
        if let (Some(place), Some(&from)) = (call.interval, waited.get(call.thread.as_str())) {
            host.insert(place, from);
        }
        if let Some(from) = released[n] {
            waited.insert(&call.thread, from);
        }
    }
    host
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, interval, recording, three_way};
    use chapter_results::intervals::Dependency;
    use proptest::prelude::*;

    fn steps(recording: &Recording) -> Vec<(usize, Option<Why>)> {
        let steps = path(recording).into_iter();
        steps.map(|step| (step.place, step.why)).collect()
    }

    #[test]
    fn the_path_goes_through_events_streams_and_engines() {
        // The last copy follows the copy before it, which followed its kernel, which waited for the first copy.
        let expected = [
            (0, None),
            (2, Some(Why::Event)),
            (3, Some(Why::Event)),
            (5, Some(Why::Stream)),
        ];
        assert_eq!(steps(&three_way()), expected);
        let copies = recording(vec![
            interval(Engine::HostToDevice, "a", 0, 10),
            interval(Engine::HostToDevice, "b", 12, 20),
        ]);
        assert_eq!(steps(&copies), [(0, None), (1, Some(Why::Engine))]);
        assert_eq!(steps(&recording(vec![])), []);
    }

    #[test]
    fn the_path_goes_through_the_hosts_waits() {
        let mut recording = recording(vec![
            interval(Engine::HostToDevice, "a", 0, 10),
            interval(Engine::Kernel, "b", 20, 30),
        ]);
        assert_eq!(steps(&recording), [(1, None)]);
        recording.calls = vec![
            call("cuMemcpyHtoDAsync", -5, -2, "a", Some(0)),
            call("cuStreamSynchronize", -2, 12, "a", None),
            call("cuLaunchKernel", 14, 16, "b", Some(1)),
        ];
        assert_eq!(released_by(&recording), [None, Some(0), None]);
        assert_eq!(steps(&recording), [(0, None), (1, Some(Why::Host))]);
        // The wait was for another stream, in which nothing ran.
        recording.calls[1].stream = Some("c".into());
        assert_eq!(released_by(&recording), [None; 3]);
        assert_eq!(steps(&recording), [(1, None)]);
        // A wait for an event names no stream.
        recording.calls[1].stream = None;
        assert_eq!(released_by(&recording), [None, Some(0), None]);
    }

    proptest! {
        #[test]
        fn a_path_ends_with_the_run_and_its_operations_follow_one_another(
            spans in prop::collection::vec((0u64..100, 0u64..20, 0usize..3, 0usize..6), 1..30),
            dependencies in prop::collection::vec((0usize..30, 0usize..30), 0..20),
        ) {
            let intervals = spans.iter().map(|&(start, long, stream, engine)| {
                interval(Engine::ALL[engine], ["a", "b", "c"][stream], start, start + long)
            });
            let mut recording = recording(intervals.collect());
            let count = recording.intervals.len();
            recording.dependencies = dependencies
                .into_iter()
                .map(|(from, to)| Dependency { from: from % count, to: to % count })
                .collect();
            let path = path(&recording);
            let span = |step: &PathStep| recording.intervals[step.place].span;
            prop_assert_eq!(u128::from(span(path.last().unwrap()).end), recording.makespan().as_nanos());
            prop_assert!(path.windows(2).all(|pair| span(&pair[0]).end <= span(&pair[1]).start));
            prop_assert!(path[0].why.is_none() && path[1..].iter().all(|step| step.why.is_some()));
        }
    }
}
