//! Which operation had to wait for which other one: what is noted of enqueues, event records and waits while recording,
//! and what follows for the intervals.
//!
//! An event stands for what its stream had before the record: its last operation, and everything that the stream was made to wait for since then. A
//! wait makes the stream's next operation depend on that.

use crate::intervals::{Dependency, Engine, Recording};
use std::collections::{BTreeMap, BTreeSet};

/// The last operation waited for in each stream, both by number.
type Frontier = BTreeMap<usize, usize>;

/// What was noted, by the numbers that the recorder gives to streams.
#[derive(Debug)]
pub(crate) struct Noted {
    streams: BTreeMap<usize, Queue>,
    /// What events stand for, by their handles.
    events: BTreeMap<usize, Frontier>,
}

#[derive(Debug, Default)]
struct Queue {
    operations: Vec<OperationSpan>,
    /// What the next operation has to wait for.
    awaited: Frontier,
}

#[derive(Debug)]
struct OperationSpan {
    /// `None` where the call does not say it.
    engine: Option<Engine>,
    after: Frontier,
}

/// The place of each operation of a stream among the recording's intervals, in the order of enqueueing; `None` for
/// operations that the device's records do not distinguish.
pub(crate) type Shown = BTreeMap<usize, Vec<Option<usize>>>;

impl Noted {
    /// Nothing.
    pub(crate) const fn new() -> Self {
        Self {
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
        }
    }

    /// An operation was enqueued. Returns its number in the stream.
    pub(crate) fn enqueued(&mut self, stream: usize, engine: Option<Engine>) -> usize {
        let queue = self.streams.entry(stream).or_default();
        let after = std::mem::take(&mut queue.awaited);
        queue.operations.push(OperationSpan { engine, after });
        queue.operations.len() - 1
    }

    /// An event was created. The driver gives out handles again: what one stood for before is forgotten.
    pub(crate) fn event_created(&mut self, event: usize) {
        self.events.remove(&event);
    }

    /// An event was recorded.
    pub(crate) fn event_recorded(&mut self, stream: usize, event: usize) {
        let queue = self.streams.entry(stream).or_default();
        let mut frontier = queue.awaited.clone();
        if let Some(last) = queue.operations.len().checked_sub(1) {
            frontier.insert(stream, last);
        }
        self.events.insert(event, frontier);
    }

    /// A stream was made to wait for an event.
    pub(crate) fn waited(&mut self, stream: usize, event: usize) {
        let Some(frontier) = self.events.get(&event) else {
            return;
        };
        let awaited = &mut self.streams.entry(stream).or_default().awaited;
        // A stream waits for itself in any case.
        for (&other, &number) in frontier.iter().filter(|(other, _)| **other != stream) {
            let last = awaited.entry(other).or_default();
            *last = number.max(*last);
        }
    }

    /// What follows for a recording, in which each stream's intervals lie at these places, in the order of enqueueing.
    /// What an operation waited for that has no interval, that counts for those that waited for it.
    pub(crate) fn dependencies(
        &self,
        recording: &Recording,
        places: &BTreeMap<usize, Vec<usize>>,
    ) -> Vec<Dependency> {
        let shown = self.shown(recording, places);
        let mut found = BTreeSet::new();
        for (&stream, queue) in &self.streams {
            let mut hidden = Vec::new();
            for (operation, shown_at) in queue.operations.iter().zip(&shown[&stream]) {
                hidden.extend(pairs(&operation.after));
                let Some(to) = *shown_at else {
                    continue;
                };
                let sources = self.sources(std::mem::take(&mut hidden), &shown);
                let others = sources.into_iter().filter(|(other, _)| *other != stream);
                found.extend(others.map(|(_, from)| Dependency { from, to }));
            }
        }
        found.into_iter().collect()
    }

    /// Matches operations with intervals, stream by stream. CUPTI's records have no host functions: these are passed over
    /// when the recording has no dependencies. A stream whose records still differ from what was enqueued, by a call that this crate
    /// does not wrap, has no operations that can be distinguished.
    pub(crate) fn shown(
        &self,
        recording: &Recording,
        places: &BTreeMap<usize, Vec<usize>>,
    ) -> Shown {
        let has_functions = !recording.of(Engine::HostFunction).is_empty();
        let mut shown = Shown::new();
        for (&stream, queue) in &self.streams {
            let recorded =
                |engine: Option<Engine>| has_functions || engine != Some(Engine::HostFunction);
            let engines = queue.operations.iter().map(|operation| operation.engine);
            let own: &[usize] = places.get(&stream).map_or(&[], |own| own);
            let of_records = own.iter().map(|place| recording.intervals[*place].engine);
            let expected = engines.clone().filter(|engine| recorded(*engine));
            let matches = expected.clone().count() == own.len()
                && expected
                    .zip(of_records)
                    .all(|(noted, ran)| noted.is_none_or(|engine| engine == ran));
            let mut own = own.iter().copied();
            let place = |engine| (matches && recorded(engine)).then(|| own.next()).flatten();
            shown.insert(stream, engines.map(place).collect());
        }
        shown
    }

    /// The operations with intervals, each with its stream, that had to end before these could.
    fn sources(&self, mut todo: Vec<(usize, usize)>, shown: &Shown) -> BTreeSet<(usize, usize)> {
        let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
        while let Some((stream, number)) = todo.pop() {
            if !seen.insert((stream, number)) {
                continue;
            }
            if let Some(place) = shown[&stream][number] {
                found.insert((stream, place));
                continue;
            }
            todo.extend(pairs(&self.streams[&stream].operations[number].after));
            todo.extend(number.checked_sub(1).map(|before| (stream, before)));
        }
        found
    }
}

fn pairs(frontier: &Frontier) -> impl Iterator<Item = (usize, usize)> {
    frontier.iter().map(|(stream, number)| (*stream, *number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Interval, Source, Span};
    use Engine::{DeviceToHost, HostFunction, HostToDevice, Kernel};

    const EVENT: usize = 0x1000;

    /// What was noted, and a recording in which the operations ran one after the other as they were noted.
    struct SerialRecording {
        noted: Noted,
        intervals: Vec<Interval>,
        places: BTreeMap<usize, Vec<usize>>,
    }

    impl SerialRecording {
        fn new() -> Self {
            Self {
                noted: Noted::new(),
                intervals: Vec::new(),
                places: BTreeMap::new(),
            }
        }

        /// Without an interval.
        fn hidden(&mut self, stream: usize, engine: Engine) {
            self.noted.enqueued(stream, Some(engine));
        }

        fn ran(&mut self, stream: usize, engine: Engine) {
            self.hidden(stream, engine);
            let place = self.intervals.len();
            self.places.entry(stream).or_default().push(place);
            self.intervals.push(Interval {
                device: 0,
                engine,
                name: String::new(),
                stream: stream.to_string(),
                span: Span {
                    start: place as u64,
                    end: place as u64 + 1,
                },
                bytes: 0,
            });
        }

        /// An event recorded in one stream and waited for in another one.
        fn handed(&mut self, from: usize, to: usize) {
            self.noted.event_recorded(from, EVENT);
            self.noted.waited(to, EVENT);
        }

        fn edges(self) -> Vec<(usize, usize)> {
            let recording = Recording::new(Source::SoftwareGpu, self.intervals);
            let dependencies = self.noted.dependencies(&recording, &self.places);
            dependencies.iter().map(|d| (d.from, d.to)).collect()
        }
    }

    #[test]
    fn a_wait_joins_the_last_operation_before_the_record() {
        let mut run = SerialRecording::new();
        run.ran(0, HostToDevice);
        run.ran(0, HostToDevice);
        run.noted.event_recorded(0, EVENT);
        run.ran(0, HostToDevice);
        run.noted.waited(1, EVENT);
        run.noted.waited(1, EVENT);
        run.ran(1, Kernel);
        run.ran(1, Kernel);
        assert_eq!(run.edges(), [(1, 3)]);
    }

    #[test]
    fn events_without_work_before_or_after_them_give_no_dependency() {
        let mut run = SerialRecording::new();
        run.handed(9, 0);
        run.noted.waited(0, 0x2000);
        run.ran(0, Kernel);
        run.handed(0, 0);
        run.ran(0, Kernel);
        run.handed(0, 9);
        assert_eq!(run.edges(), []);
    }

    #[test]
    fn a_stream_without_work_passes_on_what_it_waits_for() {
        let mut run = SerialRecording::new();
        run.ran(0, HostToDevice);
        run.ran(1, HostToDevice);
        run.handed(0, 9);
        run.handed(1, 9);
        run.handed(9, 2);
        run.ran(2, Kernel);
        assert_eq!(run.edges(), [(0, 2), (1, 2)]);
    }

    #[test]
    fn a_new_event_with_an_old_handle_stands_for_nothing() {
        let mut run = SerialRecording::new();
        run.ran(0, HostToDevice);
        run.noted.event_recorded(0, EVENT);
        run.noted.event_created(EVENT);
        run.noted.waited(1, EVENT);
        run.ran(1, Kernel);
        assert_eq!(run.edges(), []);
    }

    #[test]
    fn host_functions_that_the_records_lack_are_passed_over() {
        let mut run = SerialRecording::new();
        run.ran(0, DeviceToHost);
        run.handed(0, 1);
        run.hidden(1, HostFunction);
        run.handed(1, 2);
        run.ran(2, HostToDevice);
        run.ran(1, Kernel);
        assert_eq!(run.edges(), [(0, 1), (0, 2)]);
    }

    #[test]
    fn a_stream_whose_records_differ_gives_no_edges_of_its_own() {
        let mut run = SerialRecording::new();
        run.ran(0, HostToDevice);
        run.handed(0, 1);
        run.hidden(1, Kernel);
        run.handed(1, 2);
        run.ran(2, DeviceToHost);
        run.handed(2, 1);
        run.ran(1, Kernel);
        assert_eq!(run.edges(), [(0, 1)]);
    }
}
