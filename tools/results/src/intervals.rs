//! What ran when: intervals of operations on one clock, and what can be said of them.
//!
//! Overlap is read off intervals, never derived from a formula over durations.

use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// The part of the device that an operation occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// A copy from host to device.
    HostToDevice,
    /// A kernel, on the multiprocessors.
    Kernel,
    /// A copy from device to host.
    DeviceToHost,
    /// A copy within the device.
    DeviceToDevice,
    /// A memset.
    Set,
    /// A host function called from a stream.
    HostFunction,
}

impl Engine {
    /// All of them, in the order in which charts show them.
    pub const ALL: [Self; 6] = [
        Self::HostToDevice,
        Self::Kernel,
        Self::DeviceToHost,
        Self::DeviceToDevice,
        Self::Set,
        Self::HostFunction,
    ];

    /// The letter that stands for the engine in charts of streams.
    pub fn letter(self) -> char {
        match self {
            Self::HostToDevice => 'H',
            Self::Kernel => 'K',
            Self::DeviceToHost => 'D',
            Self::DeviceToDevice => 'C',
            Self::Set => 'S',
            Self::HostFunction => 'F',
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::HostToDevice => "H2D",
            Self::Kernel => "kernel",
            Self::DeviceToHost => "D2H",
            Self::DeviceToDevice => "D2D",
            Self::Set => "memset",
            Self::HostFunction => "host function",
        })
    }
}

/// Where intervals come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Activity records of NVIDIA's profiling library.
    Cupti,
    /// For want of anything better, with the reason: timing events recorded before and after each
    /// operation. Such an interval begins when the operation's stream is ready for it, which can be
    /// before its engine is.
    Events(String),
    /// The software GPU's own log.
    SoftwareGpu,
    /// A report of Nsight Systems, exported as SQLite.
    NsightSystems,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cupti => f.write_str("CUPTI activity records"),
            Self::Events(why) => write!(f, "timing events around each operation ({why})"),
            Self::SoftwareGpu => f.write_str("the software GPU's log"),
            Self::NsightSystems => f.write_str("Nsight Systems"),
        }
    }
}

/// A half-open stretch of time in nanoseconds since an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// First nanosecond.
    pub start: u64,
    /// The nanosecond after the last. Never before `start`.
    pub end: u64,
}

impl Span {
    /// Its length.
    pub fn nanoseconds(self) -> u64 {
        self.end - self.start
    }
}

/// The same time as disjoint spans in order, those that touch joined.
pub fn union(spans: impl IntoIterator<Item = Span>) -> Vec<Span> {
    let mut sorted: Vec<Span> = spans
        .into_iter()
        .filter(|span| span.start < span.end)
        .collect();
    sorted.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(sorted.len());
    for span in sorted {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

/// The time common to two sets of spans, as disjoint spans in order.
pub fn intersection(
    a: impl IntoIterator<Item = Span>,
    b: impl IntoIterator<Item = Span>,
) -> Vec<Span> {
    let (a, b) = (union(a), union(b));
    let (mut i, mut j) = (0, 0);
    let mut common = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let span = Span {
            start: x.start.max(y.start),
            end: x.end.min(y.end),
        };
        if span.start < span.end {
            common.push(span);
        }
        if x.end <= y.end { i += 1 } else { j += 1 }
    }
    common
}

/// The time that disjoint spans cover. For others, the sum of their lengths.
pub fn total(spans: &[Span]) -> Duration {
    Duration::from_nanos(spans.iter().map(|span| span.nanoseconds()).sum())
}

/// How many of the spans are open at once, at most.
pub fn max_concurrency(spans: impl IntoIterator<Item = Span>) -> usize {
    profile(spans)
        .into_iter()
        .map(|(_, open)| open)
        .max()
        .unwrap_or(0)
}

/// The share of the spans' summed time during which at least one other of them is open: 0 when they
/// follow one another, 1 when none is ever alone.
pub fn overlapped_share(spans: impl IntoIterator<Item = Span>) -> f64 {
    let steps = profile(spans);
    // A file may hold any spans.
    let (mut all, mut together) = (0u128, 0u128);
    for (span, open) in steps {
        let time = u128::from(span.nanoseconds()) * open as u128;
        all += time;
        together += if open > 1 { time } else { 0 };
    }
    if all == 0 {
        0.0
    } else {
        together as f64 / all as f64
    }
}

/// The stretches between one start or end and the next, with the number of spans open in each.
fn profile(spans: impl IntoIterator<Item = Span>) -> Vec<(Span, usize)> {
    let mut edges: Vec<(u64, i32)> = spans
        .into_iter()
        .filter(|span| span.start < span.end)
        .flat_map(|span| [(span.start, 1), (span.end, -1)])
        .collect();
    // At one instant, ends sort before starts: spans that touch are not open together.
    edges.sort_unstable();
    let mut open = 0i32;
    let mut steps = Vec::with_capacity(edges.len());
    for pair in edges.windows(2) {
        open += pair[0].1;
        let span = Span {
            start: pair[0].0,
            end: pair[1].0,
        };
        if span.start < span.end && open > 0 {
            steps.push((span, open.unsigned_abs() as usize));
        }
    }
    steps
}

/// How the names of copies from or to host memory that is not page-locked begin, where that is known.
pub const PAGEABLE: &str = "pageable ";

/// One operation and when it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The ordinal of the device that it ran on; of a copy between devices, of the one whose stream it was enqueued in.
    #[serde(default, skip_serializing_if = "is_first")]
    pub device: u32,
    /// What it occupied.
    pub engine: Engine,
    /// The kernel's name, or what kind of copy it was.
    pub name: String,
    /// The stream that it was enqueued in, by name.
    pub stream: String,
    /// When it ran.
    pub span: Span,
    /// Bytes moved; 0 for kernels.
    pub bytes: u64,
}

impl Interval {
    /// Bytes moved per second, as people read it; of a copy or memset that took time.
    pub fn bandwidth(&self) -> Option<String> {
        let nanoseconds = self.span.nanoseconds();
        (self.bytes > 0 && nanoseconds > 0)
            .then(|| units::bandwidth(self.bytes, Duration::from_nanos(nanoseconds)))
    }
}

/// Whether a device is the one that most programs use, which files need not name.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_first(device: &u32) -> bool {
    *device == 0
}

/// One operation had to wait for another, because an event was recorded behind the one and waited for before the other.
/// Both are places in [`Recording::intervals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dependency {
    /// The object of the wait.
    pub from: usize,
    /// What waited.
    pub to: usize,
}

/// A phase of the program, as its host thread marked it (NVTX).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// Its name in the program.
    pub name: String,
    /// The host thread's name.
    pub thread: String,
    /// When the thread was in it.
    pub span: Span,
}

/// What a checker found about operations of the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The whole report.
    pub text: String,
    /// The operations that it is about: places in [`Recording::intervals`].
    pub intervals: Vec<usize>,
}

/// A stretch of the host's time in nanoseconds on the recording's clock. The host calls before the device begins, so both ends
/// may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSpan {
    /// First nanosecond.
    pub start: i64,
    /// The nanosecond after the last. Never before `start`.
    pub end: i64,
}

impl HostSpan {
    /// Its length.
    pub fn nanoseconds(self) -> u64 {
        self.end.abs_diff(self.start)
    }

    fn shifted(self, by: i64) -> Self {
        Self {
            start: self.start.saturating_add(by),
            end: self.end.saturating_add(by),
        }
    }
}

/// One call of the driver's API by the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCall {
    /// The function's name in the driver's documentation, such as `cuMemcpyHtoDAsync`.
    pub name: String,
    /// The calling thread's name.
    pub thread: String,
    /// From the call until its return.
    pub span: HostSpan,
    /// The stream that it named, by name, if it named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The operation that it enqueued: a place in [`Recording::intervals`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<usize>,
}

impl HostCall {
    /// Whether the function returns only when work of the device is done: the functions that synchronise, the copies that are
    /// not asynchronous, `cuMemFree`; and those of the runtime that correspond.
    pub fn waits(&self) -> bool {
        let name = self.name.strip_prefix("cuda");
        let Some(name) = name.or_else(|| self.name.strip_prefix("cu")) else {
            return false;
        };
        let copies = name.starts_with("Memcpy") && !name.contains("Async");
        copies || name.ends_with("Synchronize") || ["MemFree", "Free"].contains(&name)
    }
}

/// The intervals of one run, in order of their starts, on a clock that begins with the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recording {
    /// Where the intervals come from.
    pub source: Source,
    /// The intervals.
    pub intervals: Vec<Interval>,
    /// Which of them waited for which through events, as far as it is known. What order within a stream, the host's waiting
    /// and the legacy stream bring about is not listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
    /// Phases of the host's threads. They may begin before the first interval; then they are cut there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<Range>,
    /// The host's calls, in order of their starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<HostCall>,
    /// What the software GPU's checkers found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// What became of intervals that were put into a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The place of each of them in [`Recording::intervals`].
    pub places: Vec<usize>,
    /// What the recording's clock begins with, on the clock of the intervals.
    pub origin: u64,
}

impl Placement {
    /// Moves a host's call from the clock and the numbers of the intervals that were given to those of the recording.
    pub fn call(&self, call: HostCall) -> HostCall {
        let back = i64::try_from(self.origin).unwrap_or(i64::MAX);
        HostCall {
            span: call.span.shifted(-back),
            interval: call.interval.and_then(|n| self.places.get(n).copied()),
            ..call
        }
    }
}

impl Recording {
    /// Puts intervals in order and moves the clock's origin to the first start. The streams' names
    /// break ties, so that the result does not depend on the order in which operations were
    /// reported.
    pub fn new(source: Source, intervals: Vec<Interval>) -> Self {
        Self::placed(source, intervals).0
    }

    /// Whether a call returned only when the operation that it had enqueued was over: the host was kept that long.
    pub fn is_held(&self, call: &HostCall) -> bool {
        let interval = call.interval.and_then(|place| self.intervals.get(place));
        interval.is_some_and(|interval| call.span.end >= interval.span.end.cast_signed())
    }

    /// As [`Recording::new`], and says what became of the intervals given.
    pub fn placed(source: Source, intervals: Vec<Interval>) -> (Self, Placement) {
        let mut numbered: Vec<(usize, Interval)> = intervals.into_iter().enumerate().collect();
        numbered.sort_by(|(_, a), (_, b)| {
            (a.span, a.engine, &a.stream, &a.name).cmp(&(b.span, b.engine, &b.stream, &b.name))
        });
        let mut places = vec![0; numbered.len()];
        for (place, (number, _)) in numbered.iter().enumerate() {
            places[*number] = place;
        }
        let origin = numbered.first().map_or(0, |(_, first)| first.span.start);
        let mut intervals: Vec<Interval> = numbered.into_iter().map(|(_, own)| own).collect();
        for interval in &mut intervals {
            interval.span.start -= origin;
            interval.span.end -= origin;
        }
        let recording = Self {
            source,
            intervals,
            dependencies: Vec::new(),
            ranges: Vec::new(),
            calls: Vec::new(),
            findings: Vec::new(),
        };
        (recording, Placement { places, origin })
    }

    /// The recording of some of the operations: the clock begins with the first of these, and what is known of the others is
    /// left out.
    pub fn only(self, keep: impl Fn(&Interval) -> bool) -> Self {
        let mut next = 0..;
        let places: Vec<Option<usize>> = self
            .intervals
            .iter()
            .map(|interval| keep(interval).then(|| next.next()).flatten())
            .collect();
        let place = |old: usize| places.get(old).copied().flatten();
        let kept = self.intervals.into_iter().filter(|interval| keep(interval));
        let mut intervals: Vec<Interval> = kept.collect();
        let origin = intervals.first().map_or(0, |interval| interval.span.start);
        let shifted = |span: Span| Span {
            start: span.start.saturating_sub(origin),
            end: span.end.saturating_sub(origin),
        };
        for interval in &mut intervals {
            interval.span = shifted(interval.span);
        }
        let dependency = |Dependency { from, to }| {
            let (from, to) = (place(from)?, place(to)?);
            Some(Dependency { from, to })
        };
        let ranges = self.ranges.into_iter().map(|range| Range {
            span: shifted(range.span),
            ..range
        });
        let findings = self.findings.into_iter().map(|finding| Finding {
            intervals: finding.intervals.into_iter().filter_map(place).collect(),
            text: finding.text,
        });
        Self {
            source: self.source,
            intervals,
            calls: calls_of(self.calls, place, origin),
            dependencies: self
                .dependencies
                .into_iter()
                .filter_map(dependency)
                .collect(),
            ranges: ranges.filter(|range| range.span.end > 0).collect(),
            findings: findings.collect(),
        }
    }

    /// The first contradiction of a recording read from a file: a span that ends before it starts, an unknown place.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let is_place = |place: &usize| *place < self.intervals.len();
        let spans = self.intervals.iter().map(|interval| &interval.span);
        let mut spans = spans.chain(self.ranges.iter().map(|range| &range.span));
        let dependencies = self.dependencies.iter().flat_map(|d| [d.from, d.to]);
        let findings = self
            .findings
            .iter()
            .flat_map(|f| f.intervals.iter().copied());
        let calls = self.calls.iter().filter_map(|call| call.interval);
        let backwards = |start: &dyn fmt::Display, end: &dyn fmt::Display| {
            Some(format!(
                "something begins at {start} ns and ends at {end} ns"
            ))
        };
        if let Some(Span { start, end }) = spans.find(|span| span.end < span.start) {
            return backwards(start, end);
        }
        let mut calls_spans = self.calls.iter().map(|call| call.span);
        if let Some(HostSpan { start, end }) = calls_spans.find(|span| span.end < span.start) {
            return backwards(&start, &end);
        }
        dependencies
            .chain(findings)
            .chain(calls)
            .find(|place| !is_place(place))
            .map(|place| format!("operation {place} of {}", self.intervals.len()))
    }

    /// The spans of the intervals that satisfy `which`.
    pub fn spans(&self, which: impl Fn(&Interval) -> bool) -> Vec<Span> {
        self.intervals
            .iter()
            .filter(|interval| which(interval))
            .map(|interval| interval.span)
            .collect()
    }

    /// The spans of one engine's operations.
    pub fn of(&self, engine: Engine) -> Vec<Span> {
        self.spans(|interval| interval.engine == engine)
    }

    /// The spans of one stream's operations.
    pub fn on(&self, stream: &str) -> Vec<Span> {
        self.spans(|interval| interval.stream == stream)
    }

    /// From the first start to the last end.
    pub fn makespan(&self) -> Duration {
        let end = self
            .intervals
            .iter()
            .map(|interval| interval.span.end)
            .max()
            .unwrap_or(0);
        Duration::from_nanos(end)
    }

    /// How long at least one operation of the engine was running.
    pub fn busy(&self, engine: Engine) -> Duration {
        total(&union(self.of(engine)))
    }

    /// The share of the time that `a` is busy during which `b` is busy as well; 0 when `a` never is.
    pub fn share(&self, a: Engine, b: Engine) -> f64 {
        let busy = self.busy(a).as_secs_f64();
        if busy == 0.0 {
            return 0.0;
        }
        self.overlap(a, b).as_secs_f64() / busy
    }

    /// The share of the time that `of` gives of a device during which what `beside` gives of the same device was running, over all
    /// devices; 0 when `of` never was.
    pub fn share_on_own_device(
        &self,
        of: impl Fn(u32) -> Vec<Span>,
        beside: impl Fn(u32) -> Vec<Span>,
    ) -> f64 {
        let devices: BTreeSet<u32> = self.intervals.iter().map(|own| own.device).collect();
        let (mut all, mut both) = (Duration::ZERO, Duration::ZERO);
        for device in devices {
            let (of, beside) = (of(device), beside(device));
            all += total(&union(of.iter().copied()));
            both += total(&intersection(of, beside));
        }
        both.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// How long operations of both engines were running at the same time.
    pub fn overlap(&self, a: Engine, b: Engine) -> Duration {
        total(&intersection(self.of(a), self.of(b)))
    }

    /// How many operations of the engine ran at once, at most.
    pub fn max_concurrency(&self, engine: Engine) -> usize {
        max_concurrency(self.of(engine))
    }

    /// The share of the engine's summed running time during which another of its operations ran
    /// too; see [`overlapped_share`].
    pub fn overlapped_share(&self, engine: Engine) -> f64 {
        overlapped_share(self.of(engine))
    }

    /// For each interval, which one it is among those of its stream with its engine and its name: 1 for the first. If the work is divided into
    /// chunks, this is the chunk's number.
    pub fn numbers(&self) -> Vec<usize> {
        let mut seen: BTreeMap<(&str, Engine, &str), usize> = BTreeMap::new();
        let numbers = self.intervals.iter().map(|interval| {
            let key = (&*interval.stream, interval.engine, &*interval.name);
            let count = seen.entry(key).or_default();
            *count += 1;
            *count
        });
        numbers.collect()
    }

    /// The streams, in the order in which they first appear.
    pub fn streams(&self) -> Vec<&str> {
        let mut streams: Vec<&str> = Vec::new();
        for interval in &self.intervals {
            if !streams.contains(&interval.stream.as_str()) {
                streams.push(&interval.stream);
            }
        }
        streams
    }
}

/// The calls that belong to the operations kept, on the clock that begins at `origin`. Calls that enqueued one of the others are
/// left out, and so is what returned before the first call that matters.
fn calls_of(
    calls: Vec<HostCall>,
    place: impl Fn(usize) -> Option<usize>,
    origin: u64,
) -> Vec<HostCall> {
    let back = i64::try_from(origin).unwrap_or(i64::MAX);
    let kept = calls.into_iter().filter_map(|call| {
        let interval = match call.interval {
            Some(old) => Some(place(old)?),
            None => None,
        };
        let span = call.span.shifted(-back);
        Some(HostCall {
            span,
            interval,
            ..call
        })
    });
    let mut kept: Vec<HostCall> = kept.collect();
    let enqueuing = kept.iter().filter(|call| call.interval.is_some());
    let first = enqueuing.map(|call| call.span.start).fold(0, i64::min);
    kept.retain(|call| call.span.end >= first);
    kept
}

impl fmt::Display for Recording {
    /// One line: what was recorded, over how long, and from which source.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, makespan) = (self.intervals.len(), units::time(self.makespan()));
        write!(
            f,
            "{count} operations within {makespan}, from {}",
            self.source
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(start: u64, end: u64) -> Span {
        Span { start, end }
    }

    fn spans() -> impl Strategy<Value = Vec<Span>> {
        prop::collection::vec(
            (0u64..200, 0u64..40).prop_map(|(start, length)| span(start, start + length)),
            0..40,
        )
    }

    /// The definition, one nanosecond at a time.
    fn open_at(spans: &[Span], time: u64) -> usize {
        spans
            .iter()
            .filter(|span| span.start <= time && time < span.end)
            .count()
    }

    #[test]
    fn spans_that_touch_do_not_overlap() {
        let pair = [span(0, 10), span(10, 20)];
        assert_eq!(max_concurrency(pair), 1);
        assert_eq!(overlapped_share(pair), 0.0);
        assert_eq!(union(pair), [span(0, 20)]);
    }

    #[test]
    fn half_of_each_is_half() {
        assert_eq!(overlapped_share([span(0, 20), span(10, 30)]), 0.5);
        assert_eq!(overlapped_share([span(0, 20), span(0, 20)]), 1.0);
        assert_eq!(overlapped_share([]), 0.0);
    }

    #[test]
    fn a_recording_begins_with_its_first_interval_whatever_the_order() {
        let interval = |stream: &str, start, end| Interval {
            device: 0,
            engine: Engine::Kernel,
            name: "k".into(),
            stream: stream.into(),
            span: span(start, end),
            bytes: 0,
        };
        let a = Recording::new(
            Source::SoftwareGpu,
            vec![interval("b", 150, 250), interval("a", 100, 200)],
        );
        let b = Recording::new(
            Source::SoftwareGpu,
            vec![interval("a", 100, 200), interval("b", 150, 250)],
        );
        assert_eq!(a, b);
        assert_eq!(a.intervals[0].span, span(0, 100));
        assert_eq!(a.makespan(), Duration::from_nanos(150));
        assert_eq!(a.busy(Engine::Kernel), Duration::from_nanos(150));
        assert_eq!(a.max_concurrency(Engine::Kernel), 2);
        assert_eq!(a.streams(), ["a", "b"]);
    }

    #[test]
    fn what_is_left_of_a_recording_keeps_its_relations() {
        let interval = |name: &str, start, end| Interval {
            device: 0,
            engine: Engine::Kernel,
            name: name.into(),
            stream: "a".into(),
            span: span(start, end),
            bytes: 0,
        };
        let intervals = vec![
            interval("gate", 0, 50),
            interval("x", 60, 70),
            interval("y", 70, 90),
        ];
        let mut recording = Recording::new(Source::SoftwareGpu, intervals);
        recording.dependencies = vec![Dependency { from: 0, to: 1 }, Dependency { from: 1, to: 2 }];
        recording.findings = vec![Finding {
            text: "race".into(),
            intervals: vec![0, 2],
        }];
        let range = |name: &str, start, end| Range {
            name: name.into(),
            thread: "main".into(),
            span: span(start, end),
        };
        recording.ranges = vec![range("before", 0, 55), range("work", 40, 90)];
        let call = |name: &str, start, end, interval| HostCall {
            name: name.into(),
            thread: "main".into(),
            span: HostSpan { start, end },
            stream: Some("a".into()),
            interval,
        };
        recording.calls = vec![
            call("cuLaunchKernel", -9, -5, Some(0)),
            call("cuEventRecord", -5, -4, None),
            call("cuLaunchKernel", 2, 4, Some(1)),
            call("cuStreamSynchronize", 4, 95, None),
        ];
        assert_eq!(recording.contradiction(), None);
        let left = recording.only(|interval| interval.name != "gate");
        assert_eq!(
            left.intervals,
            [interval("x", 0, 10), interval("y", 10, 30)]
        );
        assert_eq!(left.dependencies, [Dependency { from: 0, to: 1 }]);
        assert_eq!(left.findings[0].intervals, [1]);
        assert_eq!(left.ranges, [range("work", 0, 30)]);
        let calls = [
            call("cuLaunchKernel", -58, -56, Some(0)),
            call("cuStreamSynchronize", -56, 35, None),
        ];
        assert_eq!(left.calls, calls);
        let waits = |name| call(name, 0, 1, None).waits();
        assert!(waits("cuStreamSynchronize") && waits("cuMemcpyDtoH") && waits("cudaFree"));
        assert!(!waits("cuMemcpyDtoHAsync") && !waits("cuStreamWaitEvent"));
        assert_eq!(left.contradiction(), None);
    }

    #[test]
    fn calls_follow_their_operations_and_contradictions_are_found() {
        let interval = |stream: &str, start, end| Interval {
            device: 0,
            engine: Engine::HostToDevice,
            name: "copy".into(),
            stream: stream.into(),
            span: span(start, end),
            bytes: 4,
        };
        let (mut recording, placement) = Recording::placed(
            Source::SoftwareGpu,
            vec![interval("b", 150, 250), interval("a", 100, 200)],
        );
        let call = HostCall {
            name: "cuMemcpyHtoDAsync".into(),
            thread: "main".into(),
            span: HostSpan {
                start: 90,
                end: 110,
            },
            stream: Some("b".into()),
            interval: Some(0),
        };
        let placed = placement.call(call);
        assert_eq!(
            placed.span,
            HostSpan {
                start: -10,
                end: 10
            }
        );
        assert_eq!(placed.interval, Some(1));
        recording.calls = vec![placed];
        let text = serde_json::to_string(&recording).unwrap();
        assert_eq!(serde_json::from_str::<Recording>(&text).unwrap(), recording);
        assert_eq!(recording.contradiction(), None);
        recording.calls[0].interval = Some(2);
        assert_eq!(
            recording.contradiction(),
            Some("operation 2 of 2".to_owned())
        );
        recording.calls[0].interval = None;
        recording.calls[0].span.end = -11;
        assert_eq!(
            recording.contradiction(),
            Some("something begins at -10 ns and ends at -11 ns".to_owned())
        );
    }

    #[test]
    fn operations_of_a_kind_are_numbered_in_their_stream() {
        let interval = |engine, stream: &str, start| Interval {
            device: 0,
            engine,
            name: "x".into(),
            stream: stream.into(),
            span: span(start, start + 10),
            bytes: 0,
        };
        let copy = Engine::HostToDevice;
        let recording = Recording::new(
            Source::SoftwareGpu,
            vec![
                interval(copy, "a", 0),
                interval(Engine::Kernel, "a", 10),
                interval(copy, "b", 20),
                interval(copy, "a", 30),
            ],
        );
        assert_eq!(recording.numbers(), [1, 1, 1, 2]);
    }

    proptest! {
        #[test]
        fn union_covers_exactly_the_open_time(spans in spans()) {
            let joined = union(spans.clone());
            prop_assert!(joined.windows(2).all(|pair| pair[0].end < pair[1].start));
            for time in 0..260 {
                prop_assert_eq!(open_at(&joined, time) == 1, open_at(&spans, time) > 0);
            }
        }

        #[test]
        fn intersection_is_the_time_open_in_both(a in spans(), b in spans()) {
            let common = intersection(a.clone(), b.clone());
            for time in 0..260 {
                prop_assert_eq!(open_at(&common, time) == 1, open_at(&a, time) > 0 && open_at(&b, time) > 0);
            }
        }

        #[test]
        fn union_and_intersection_add_up(a in spans(), b in spans()) {
            let both = a.iter().chain(&b).copied();
            let lhs = total(&union(a.clone())) + total(&union(b.clone()));
            prop_assert_eq!(lhs, total(&union(both)) + total(&intersection(a.clone(), b.clone())));
        }

        #[test]
        fn concurrency_and_share_follow_their_definitions(spans in spans()) {
            let counts: Vec<usize> = (0..260).map(|time| open_at(&spans, time)).collect();
            prop_assert_eq!(max_concurrency(spans.clone()), counts.iter().copied().max().unwrap());
            let all: usize = counts.iter().sum();
            let together: usize = counts.iter().filter(|&&count| count > 1).sum();
            let share = if all == 0 { 0.0 } else { together as f64 / all as f64 };
            prop_assert!((overlapped_share(spans) - share).abs() < 1e-12);
        }
    }
}
