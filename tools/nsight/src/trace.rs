//! One trace for each process and device.

use super::calls::{Calls, RawCall};
use super::events::{self, Queues, RawWait};
use super::machine::{Devices, ExportedStreams};
use super::names::{Strings, Threads};
use super::operations::{OperationOrigin, Operations, Raw};
use super::ranges::{self, RawRange};
use super::table::rows;
use super::{NsightError, Trace};
use chapter_results::intervals::{
    Dependency, HostCall, HostSpan, Interval, Recording, Source, Span,
};
use chapter_timeline::analysis::facts::{
    EventWait, Facts, LEGACY, OperationFacts, StreamKind, TimedHostCall,
};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};

/// What an export says, before it is divided.
struct NsightReport {
    calls: Calls,
    devices: Devices,
    streams: ExportedStreams,
    waits: Vec<RawWait>,
    ranges: Vec<RawRange>,
    threads: Threads,
}

/// The traces of an export, by process and device. Omissions and assumptions are added to the notes.
pub fn all(database: &Connection, notes: &mut Vec<String>) -> Result<Vec<Trace>, NsightError> {
    let strings = Strings::of(database)?;
    let operations = Operations::of(database, &strings)?;
    let calls = Calls::of(database, &strings)?;
    let threads = Threads::of(database, &strings)?;
    let report = NsightReport {
        devices: Devices::of(database)?,
        streams: ExportedStreams::of(database)?,
        waits: events::waits(database, &calls)?,
        ranges: ranges::of(database, &strings, &threads)?,
        threads,
        calls,
    };
    let graphs = rows(database, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", [], ["start"])?.len();
    notes.extend(left_out(&operations, graphs));
    // Traced as a whole, they are counted above.
    if graphs == 0 {
        notes.extend(unseen_graphs(&operations, &report.calls));
    }
    if report.streams.are_guessed() && !operations.all.is_empty() {
        notes.push("Which stream is the legacy one is not said: stream 7 is taken for it.".into());
    }
    let mut divided: BTreeMap<(u64, i64), Vec<&Raw>> = BTreeMap::new();
    for raw in &operations.all {
        let key = (raw.place.process, raw.place.device);
        divided.entry(key).or_default().push(raw);
    }
    let processes: BTreeSet<u64> = divided.keys().map(|&(process, _)| process).collect();
    let traces = divided.into_iter().map(|((process, device), raws)| {
        let name = report.devices.get(process, device);
        let name = name.map_or("a device", |device| device.name.as_str());
        let process_too = match processes.len() {
            1 => String::new(),
            _ => format!(", process {process}"),
        };
        let begin = raws.iter().map(|raw| raw.start).min().unwrap_or(0) as f64 / 1e9;
        let title =
            format!("device {device}: {name}{process_too}, from {begin:.6} s of the report on");
        report.trace(title, process, device, raws)
    });
    Ok(traces.collect())
}

fn left_out(operations: &Operations, graphs: usize) -> Vec<String> {
    let all = [
        (
            operations.without_times,
            "operations without times are left out.",
        ),
        (
            operations.other_copies,
            "copies within host memory, or of unknown kind, are left out.",
        ),
        (
            graphs,
            "launches of graphs were traced as a whole and are left out, so their time counts as idle; `nsys profile --cuda-graph-trace=node` shows their nodes.",
        ),
    ];
    let some = all.into_iter().filter(|(count, _)| *count > 0);
    some.map(|(count, what)| format!("{count} {what}"))
        .collect()
}

/// Says how many launches of graphs left nothing else in the export.
fn unseen_graphs(operations: &Operations, calls: &Calls) -> Option<String> {
    let all = operations.all.iter();
    let key = |raw: &Raw| Some((raw.place.process, raw.correlation?));
    let seen: BTreeSet<(u64, i64)> = all.filter_map(key).collect();
    let launches = calls.graph_launches.iter();
    let unseen =
        launches.filter(|(call, correlation)| !seen.contains(&(call.process, *correlation)));
    let count = unseen.count();
    (count > 0).then(|| {
        format!(
            "Of {count} launches of graphs the export has nothing but the call, so their time counts as idle; `nsys profile --cuda-graph-trace=node` shows their nodes."
        )
    })
}

impl NsightReport {
    fn trace(&self, title: String, process: u64, device: i64, mut raws: Vec<&Raw>) -> Trace {
        let contexts: BTreeSet<i64> = raws.iter().map(|raw| raw.place.context).collect();
        let origin = raws.iter().map(|raw| raw.start).min().unwrap_or(0);
        let name = |place: &OperationOrigin| self.stream_name(place, contexts.len() > 1);
        // As [`Recording::new`] sorts, so that places agree.
        raws.sort_by_cached_key(|raw| {
            let (name, stream) = (raw.name.as_str(), name(&raw.place));
            (raw.start, raw.end, raw.engine, stream, name)
        });
        let intervals = raws.iter().map(|raw| Interval {
            device: 0,
            engine: raw.engine,
            name: raw.name.clone(),
            stream: name(&raw.place),
            span: Span {
                start: raw.start.abs_diff(origin),
                end: raw.end.abs_diff(origin),
            },
            bytes: raw.bytes,
        });
        let mut recording = Recording::new(Source::NsightSystems, intervals.collect());
        let (dependencies, stream_waits) = self.dependencies(&raws, origin, name);
        recording.dependencies = dependencies;
        recording.ranges = ranges::since(&self.ranges, process, origin);
        recording.calls = self.host_calls(process, &raws, origin);
        let kinds = raws.iter().filter_map(|raw| {
            let kind = self.streams.kind(&raw.place)?;
            Some((name(&raw.place), kind))
        });
        let device = self.devices.get(process, device);
        let facts = Facts {
            streams: kinds.collect(),
            operations: raws.iter().map(|raw| self.operation(raw, origin)).collect(),
            multiprocessors: device.and_then(|device| device.multiprocessors),
            calls: self.own_calls(&self.calls.all, process, origin),
            host_waits: self.own_calls(&self.calls.waits, process, origin),
            stream_waits,
        };
        Trace {
            title,
            recording,
            facts,
        }
    }

    fn stream_name(&self, place: &OperationOrigin, with_context: bool) -> String {
        let name = match (place.stream, self.streams.kind(place)) {
            (_, Some(StreamKind::Legacy)) => LEGACY.to_owned(),
            (Some(stream), _) => match self.streams.priority(place) {
                Some(priority) => format!("{stream}, priority {priority}"),
                None => stream.to_string(),
            },
            (None, _) => "none".to_owned(),
        };
        match with_context {
            true => format!("{name} of context {}", place.context),
            false => name,
        }
    }

    fn operation(&self, raw: &Raw, origin: i64) -> OperationFacts {
        let call = self.calls.get(raw.place.process, raw.correlation);
        OperationFacts {
            memory: raw.memory,
            call: call.map(|call| shifted(call, origin)),
            launch: raw.launch,
        }
    }

    /// The calls that enqueued operations, those that launched graphs, and those in which the host waited, in order of
    /// their starts. A call that enqueued several operations, such as the launch of a graph, is recorded with the first of
    /// them.
    fn host_calls(&self, process: u64, raws: &[&Raw], origin: i64) -> Vec<HostCall> {
        let mut calls: BTreeMap<(u64, i64, &str), HostCall> = BTreeMap::new();
        let waits = self.calls.waits.iter();
        let waits = waits.filter(|call| call.process == process);
        let enqueuing = raws.iter().enumerate().filter_map(|(place, raw)| {
            let call = self.calls.get(process, raw.correlation)?;
            Some((call, Some(place)))
        });
        // What a graph ran may not be in the export; that it was launched is.
        let graphs = self.calls.graph_launches.iter().map(|(call, _)| call);
        let others = waits.chain(graphs.filter(|call| call.process == process));
        for (call, interval) in enqueuing.chain(others.map(|call| (call, None))) {
            let key = (call.thread, call.start, call.name.as_str());
            calls.entry(key).or_insert_with(|| HostCall {
                name: call.name.clone(),
                thread: self.threads.name(process, call.thread),
                span: HostSpan {
                    start: call.start.saturating_sub(origin),
                    end: call.end.saturating_sub(origin),
                },
                stream: None,
                interval,
            });
        }
        let last = raws.iter().map(|raw| raw.end).max().unwrap_or(origin);
        let mut calls: Vec<HostCall> = calls.into_values().collect();
        // A report spans more than what ran on one device.
        let first = calls.iter().filter(|call| call.interval.is_some());
        let first = first.map(|call| call.span.start).fold(0, i64::min);
        let last = last.saturating_sub(origin);
        calls.retain(|call| call.span.end >= first && call.span.start <= last);
        calls.sort_by_key(|call| call.span);
        calls
    }

    fn own_calls(&self, calls: &[RawCall], process: u64, origin: i64) -> Vec<TimedHostCall> {
        let own = calls.iter();
        own.filter(|call| call.process == process)
            .map(|call| shifted(call, origin))
            .collect()
    }

    /// The waits for events whose operations are known, and the others.
    fn dependencies(
        &self,
        raws: &[&Raw],
        origin: i64,
        name: impl Fn(&OperationOrigin) -> String,
    ) -> (Vec<Dependency>, Vec<EventWait>) {
        let queues = Queues::of(raws, &self.calls);
        let (mut dependencies, mut unknown) = (BTreeSet::new(), Vec::new());
        for wait in &self.waits {
            let Some(to) = queues.after(&wait.place, wait.at) else {
                continue;
            };
            let from = wait.recorded.map(|(place, at)| queues.before(&place, at));
            match from {
                // What is recorded before anything ran holds nothing up.
                Some(None) => {}
                Some(Some(from)) if raws[from].end <= raws[to].start => {
                    dependencies.insert(Dependency { from, to });
                }
                Some(Some(_)) => {}
                None => unknown.push(EventWait {
                    stream: name(&wait.place),
                    at: wait.at - origin,
                }),
            }
        }
        (dependencies.into_iter().collect(), unknown)
    }
}

fn shifted(call: &RawCall, origin: i64) -> TimedHostCall {
    TimedHostCall {
        name: call.name.clone(),
        thread: call.thread,
        start: call.start.saturating_sub(origin),
        end: call.end.saturating_sub(origin),
    }
}
