//! Timelines in Chrome's trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
//!
//! A recording becomes a process; its engines, its streams and its host threads become that process's threads. Operations
//! of one row that ran at the same time get a thread each, for slices of one thread must lie within one another or apart.
//! Dependencies are flows from stream to stream, and so is what a host's call enqueued. Findings are instants in the streams
//! of the operations that they are about. Time begins with the first operation, or with the host's first call if that is
//! earlier.

pub mod rows;
#[cfg(test)]
#[allow(dead_code)]
mod testing;

use crate::rows::{ChartRow, Kind, rows};
use chapter_results::Results;
use chapter_results::intervals::{HostSpan, Interval, Recording, Span};
use serde::Serialize;
use std::io::Write;

/// A trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// How long before its first operation the host's first call of the recording began: times of the format are not negative.
    lead: i64,
    events: Vec<TraceEvent>,
    /// The last number given to a process or a thread; none is given twice.
    numbers: u32,
    flows: u32,
}

/// One event of the format. Times are in microseconds.
#[derive(Debug, Serialize)]
struct TraceEvent {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<String>,
    #[serde(flatten)]
    phase: Phase,
    pid: u32,
    tid: u32,
}

/// What an event is, and what only such events have.
#[derive(Debug, Serialize)]
#[serde(tag = "ph")]
enum Phase {
    /// The name or the position of a process or of a thread.
    #[serde(rename = "M")]
    Metadata { args: Metadata },
    /// Something with a start and a duration.
    #[serde(rename = "X")]
    Complete { ts: f64, dur: f64, args: Details },
    /// Where an arrow begins: in the slice that is open at that time.
    #[serde(rename = "s")]
    FlowStart { ts: f64, id: u32 },
    /// Where it ends; `bp` `e` means in the slice that is open there, not in the next one.
    #[serde(rename = "f")]
    FlowEnd { ts: f64, id: u32, bp: &'static str },
    /// A moment; `s` `t` marks it in its thread alone, `p` in all of the process.
    #[serde(rename = "i")]
    Instant {
        ts: f64,
        s: &'static str,
        args: TraceReport,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Metadata {
    Name(String),
    SortIndex(u32),
}

#[derive(Debug, Default, Serialize)]
struct Details {
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth: Option<String>,
}

#[derive(Debug, Serialize)]
struct TraceReport {
    report: String,
}

/// The format's file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    trace_events: &'a [TraceEvent],
    display_time_unit: &'static str,
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// The same span on the host's clock.
fn on_host(span: Span) -> HostSpan {
    let signed = |time| i64::try_from(time).unwrap_or(i64::MAX);
    HostSpan {
        start: signed(span.start),
        end: signed(span.end),
    }
}

impl Trace {
    /// All timelines of a file.
    pub fn of(results: &Results) -> Self {
        let mut trace = Self::default();
        for part in &results.parts {
            for timeline in &part.timelines {
                trace.add(&part.name, &timeline.variant.text, &timeline.recording);
            }
        }
        trace
    }

    /// Adds the recording of a part's variant.
    pub fn add(&mut self, part: &str, variant: &str, recording: &Recording) {
        let pid = self.number();
        let first = recording.calls.iter().map(|call| call.span.start).min();
        self.lead = first.unwrap_or(0).min(0).saturating_neg();
        let title = format!("{part}: {variant} [{}]", recording.source);
        self.metadata("process_name", pid, pid, Metadata::Name(title));
        self.metadata("process_sort_index", pid, pid, Metadata::SortIndex(pid));
        // The thread of each operation within its stream's row.
        let mut threads = vec![pid; recording.intervals.len()];
        let mut callers = vec![pid; recording.calls.len()];
        for row in rows(recording) {
            let of_kind = match row.kind {
                Kind::Stream => &mut threads,
                Kind::Calls => &mut callers,
                _ => &mut Vec::new(),
            };
            for (index, tid) in self.add_row(pid, &row, recording) {
                if let Some(thread) = of_kind.get_mut(index) {
                    *thread = tid;
                }
            }
        }
        self.add_flows(pid, &threads, recording);
        self.add_enqueued(pid, &callers, &threads, recording);
        self.add_findings(pid, &threads, recording);
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> serde_json::Result<()> {
        let file = File {
            trace_events: &self.events,
            display_time_unit: "ns",
        };
        serde_json::to_writer(out, &file)
    }

    /// Adds a row; returns in which thread each of its things stands.
    fn add_row(&mut self, pid: u32, row: &ChartRow, recording: &Recording) -> Vec<(usize, u32)> {
        let what = match row.kind {
            Kind::Engine(_) => "engine",
            Kind::Stream => "stream",
            Kind::Thread | Kind::Calls => "host thread",
        };
        let indices = row.places.iter().map(|place| place.index);
        let lanes = match row.kind {
            Kind::Thread => nested(
                indices
                    .clone()
                    .map(|index| on_host(recording.ranges[index].span)),
            ),
            Kind::Calls => nested(indices.clone().map(|index| recording.calls[index].span)),
            _ => row.places.iter().map(|place| place.lane).collect(),
        };
        let mut threads: Vec<u32> = Vec::new();
        let mut own = Vec::with_capacity(lanes.len());
        for (index, lane) in indices.zip(lanes) {
            if lane == threads.len() {
                let number = lane + 1;
                let name = match number {
                    1 => format!("{what}: {}", row.name),
                    _ => format!("{what}: {} ({number})", row.name),
                };
                threads.push(self.thread(pid, name));
            }
            own.push((index, threads[lane]));
            let event = match row.kind {
                Kind::Thread => self.phase_of_the_host(recording, index),
                Kind::Calls => self.call(recording, index),
                _ => self.operation(&recording.intervals[index]),
            };
            let (name, cat, phase) = event;
            self.push(name, Some(cat), phase, pid, threads[lane]);
        }
        own
    }

    fn add_flows(&mut self, pid: u32, threads: &[u32], recording: &Recording) {
        for dependency in &recording.dependencies {
            let from = recording.intervals[dependency.from].span;
            let to = recording.intervals[dependency.to].span;
            self.flows += 1;
            let id = self.flows;
            // The last nanosecond at which the slice is open.
            let ts = self.at(from.end.saturating_sub(1).max(from.start));
            let start = Phase::FlowStart { ts, id };
            let (ts, bp) = (self.at(to.start), "e");
            let end = Phase::FlowEnd { ts, id, bp };
            for (phase, index) in [(start, dependency.from), (end, dependency.to)] {
                let cat = Some("dependency".to_owned());
                self.push("waits for".to_owned(), cat, phase, pid, threads[index]);
            }
        }
    }

    /// Arrows from calls to the operations that they enqueued.
    fn add_enqueued(&mut self, pid: u32, callers: &[u32], threads: &[u32], recording: &Recording) {
        for (call, caller) in recording.calls.iter().zip(callers) {
            let Some(place) = call.interval else { continue };
            let begin = self.host_at(call.span.start);
            let to = self.at(recording.intervals[place].span.start);
            // A flow goes forward in time.
            if to < begin {
                continue;
            }
            self.flows += 1;
            let id = self.flows;
            let start = Phase::FlowStart { ts: begin, id };
            let end = Phase::FlowEnd {
                ts: to,
                id,
                bp: "e",
            };
            for (phase, tid) in [(start, *caller), (end, threads[place])] {
                let cat = Some("enqueue".to_owned());
                self.push("enqueues".to_owned(), cat, phase, pid, tid);
            }
        }
    }

    fn add_findings(&mut self, pid: u32, threads: &[u32], recording: &Recording) {
        for finding in &recording.findings {
            let report = &finding.text;
            let name = report.lines().next().unwrap_or_default();
            let moment = |ts, s| Phase::Instant {
                ts,
                s,
                args: TraceReport {
                    report: report.clone(),
                },
            };
            let cat = || Some("finding".to_owned());
            for &index in &finding.intervals {
                let ts = self.at(recording.intervals[index].span.start);
                self.push(name.to_owned(), cat(), moment(ts, "t"), pid, threads[index]);
            }
            if finding.intervals.is_empty() {
                self.push(name.to_owned(), cat(), moment(self.at(0), "p"), pid, pid);
            }
        }
    }

    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn thread(&mut self, pid: u32, name: String) -> u32 {
        let tid = self.number();
        self.metadata("thread_name", pid, tid, Metadata::Name(name));
        self.metadata("thread_sort_index", pid, tid, Metadata::SortIndex(tid));
        tid
    }

    fn metadata(&mut self, what: &str, pid: u32, tid: u32, args: Metadata) {
        self.push(what.to_owned(), None, Phase::Metadata { args }, pid, tid);
    }

    fn push(&mut self, name: String, cat: Option<String>, phase: Phase, pid: u32, tid: u32) {
        self.events.push(TraceEvent {
            name,
            cat,
            phase,
            pid,
            tid,
        });
    }
}

impl Trace {
    /// A moment of the recording's clock in the trace.
    fn at(&self, nanoseconds: u64) -> f64 {
        self.host_at(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
    }

    fn host_at(&self, nanoseconds: i64) -> f64 {
        microseconds(nanoseconds.saturating_add(self.lead).max(0).cast_unsigned())
    }

    fn complete(&self, span: HostSpan, args: Details) -> Phase {
        Phase::Complete {
            ts: self.host_at(span.start),
            dur: microseconds(span.nanoseconds()),
            args,
        }
    }

    fn operation(&self, interval: &Interval) -> (String, String, Phase) {
        let details = Details {
            stream: Some(interval.stream.clone()),
            engine: Some(interval.engine.to_string()),
            bytes: (interval.bytes > 0).then_some(interval.bytes),
            bandwidth: interval.bandwidth(),
        };
        let phase = self.complete(on_host(interval.span), details);
        (interval.name.clone(), interval.engine.to_string(), phase)
    }

    fn phase_of_the_host(&self, recording: &Recording, index: usize) -> (String, String, Phase) {
        let range = &recording.ranges[index];
        let phase = self.complete(on_host(range.span), Details::default());
        (range.name.clone(), "host".to_owned(), phase)
    }

    fn call(&self, recording: &Recording, index: usize) -> (String, String, Phase) {
        let call = &recording.calls[index];
        let details = Details {
            stream: call.stream.clone(),
            ..Details::default()
        };
        let cat = if call.waits() { "wait" } else { "call" };
        (
            call.name.clone(),
            cat.to_owned(),
            self.complete(call.span, details),
        )
    }
}

/// Puts spans, which come in order of their starts and the longer first, each into the first lane where it lies within
/// whatever is open.
fn nested(spans: impl Iterator<Item = HostSpan>) -> Vec<usize> {
    let mut lanes: Vec<Vec<i64>> = Vec::new();
    let mut place = |span: HostSpan| {
        let fits = |open: &mut Vec<i64>| {
            while open.last().is_some_and(|end| *end <= span.start) {
                open.pop();
            }
            open.last().is_none_or(|end| span.end <= *end)
        };
        let lane = lanes.iter_mut().position(fits).unwrap_or_else(|| {
            lanes.push(Vec::new());
            lanes.len() - 1
        });
        lanes[lane].push(span.end);
        lane
    };
    spans.map(&mut place).collect()
}
