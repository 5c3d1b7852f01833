//! What a variant did, without what changes from run to run.
//!
//! Handles, names and times are left out: streams and events are numbered as they come. What remains is equal for two runs of
//! one program, and differs between programs that call differently.

use super::Differ;
use crate::intervals::{Engine, Recording, Source};
use crate::recording::{Trace, TracedCall, What};
use std::collections::{BTreeMap, BTreeSet};
use std::thread::ThreadId;
use std::time::Duration;

/// How often something occurred, by what it was.
pub(super) type Counts = BTreeMap<String, usize>;

/// The actions of a variant.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallCounts {
    /// The calls of each thread in order, and where the host worked among them; those of the thread that ran the variant first.
    pub(super) sequences: Vec<Vec<String>>,
    /// What was counted. Kernels are missing if the records lack them.
    counts: BTreeMap<Differ, Counts>,
    /// The names of the streams that were used.
    pub(super) streams: BTreeSet<String>,
    /// The time that the thread that ran the variant spent outside of calls, if the clock can measure it.
    pub(super) outside: Option<Duration>,
}

impl CallCounts {
    /// The shape of a run that was traced and recorded.
    pub(crate) fn of(trace: &Trace, recording: &Recording) -> Self {
        let mut numbers = Numbers::default();
        let threads = by_thread(trace);
        let mut shape = Self {
            sequences: (threads.iter())
                .map(|steps| sequence(steps, trace, &mut numbers))
                .collect(),
            outside: outside(trace),
            ..Self::default()
        };
        // A program that keeps its events creates them in its first run.
        let counted =
            |step: &&TracedCall| !["cuEventCreate", "cuEventDestroy"].contains(&step.call);
        for step in trace.steps.iter().filter(counted) {
            let (differ, what) = classified(step);
            shape.count(differ, what);
        }
        let used: BTreeSet<usize> = trace.steps.iter().filter_map(|step| step.stream).collect();
        for stream in used.into_iter().map(|place| &trace.streams[place]) {
            shape.count(Differ::Streams, stream.kind.to_string());
            shape.streams.insert(stream.name.clone());
        }
        for _ in threads {
            shape.count(Differ::Threads, "thread".to_owned());
        }
        if !matches!(recording.source, Source::Events(_)) {
            shape.counts.insert(Differ::Kernels, kernels(recording));
        }
        shape
    }

    /// Whether the host was outside of calls for less time.
    pub(crate) fn is_quicker_than(&self, other: &Self) -> bool {
        self.outside < other.outside
    }

    fn count(&mut self, differ: Differ, what: String) {
        let count = self
            .counts
            .entry(differ)
            .or_default()
            .entry(what)
            .or_default();
        // The number of queries that a thread makes depends on the device's time.
        let asks = differ == Differ::Calls;
        *count = if asks { 1 } else { *count + 1 };
    }

    /// The counts, if they were taken.
    pub(super) fn counts(&self, differ: Differ) -> Option<Counts> {
        match (differ, self.counts.get(&differ)) {
            (Differ::Kernels, None) => None,
            (_, counts) => Some(counts.cloned().unwrap_or_default()),
        }
    }

    /// Whether a graph was launched: calls do not name its kernels.
    pub(super) fn launches_graphs(&self) -> bool {
        let graphs = self.counts.get(&Differ::Graphs);
        graphs.is_some_and(|graphs| graphs.contains_key("cuGraphLaunch"))
    }

    /// The number of calls, without questions that were repeated.
    pub(super) fn calls(&self) -> usize {
        self.sequences.iter().map(Vec::len).sum()
    }
}

/// What a step counts as, and what it is.
fn classified(step: &TracedCall) -> (Differ, String) {
    let call = step.call;
    let waits = call.ends_with("Synchronize") || call == "cuMemFree";
    let blocking_copy = call.starts_with("cuMemcpy") && !call.ends_with("Async");
    match &step.what {
        What::Kernel { .. } => (Differ::Launches, described(step)),
        _ if waits || blocking_copy => (Differ::Waits, call.to_owned()),
        What::Bytes(bytes) if call.starts_with("cuMemcpy") || call.starts_with("cuMemset") => {
            (Differ::Copies, format!("{call}({bytes} bytes)"))
        }
        _ if call.contains("Graph") || call.contains("Capture") => {
            (Differ::Graphs, call.to_owned())
        }
        _ if call.starts_with("cuEventRecord") || call == "cuStreamWaitEvent" => {
            (Differ::Events, call.to_owned())
        }
        _ => (Differ::Calls, call.to_owned()),
    }
}

/// How often each kernel ran.
fn kernels(recording: &Recording) -> Counts {
    let mut found = Counts::new();
    for interval in &recording.intervals {
        if interval.engine == Engine::Kernel {
            *found.entry(interval.name.clone()).or_default() += 1;
        }
    }
    found
}

/// The steps of each thread, those of the thread that ran the body first, the others by their names.
fn by_thread(trace: &Trace) -> Vec<Vec<&TracedCall>> {
    let mut of: Vec<(ThreadId, Vec<&TracedCall>)> = Vec::new();
    for step in &trace.steps {
        match of.iter_mut().find(|(thread, _)| *thread == step.thread) {
            Some((_, steps)) => steps.push(step),
            None => of.push((step.thread, vec![step])),
        }
    }
    of.sort_by_key(|(thread, steps)| (*thread != trace.thread, steps[0].thread_name.clone()));
    of.into_iter().map(|(_, steps)| steps).collect()
}

/// The numbers of streams and events, as they come.
#[derive(Default)]
struct Numbers {
    streams: BTreeMap<usize, usize>,
    events: BTreeMap<usize, usize>,
}

fn number(known: &mut BTreeMap<usize, usize>, of: usize) -> usize {
    let next = known.len();
    *known.entry(of).or_insert(next)
}

/// Host work of at least this length has a place in the sequence.
const WORK: u64 = 50_000;

/// The calls of a thread, each in words, and where the host worked. One of several successive queries is kept.
fn sequence(steps: &[&TracedCall], trace: &Trace, numbers: &mut Numbers) -> Vec<String> {
    let mut calls: Vec<String> = Vec::new();
    let mut ended = trace.span.map(|span| span.start);
    let work = |from: Option<u64>, to: Option<u64>| {
        let time = to.zip(from).map(|(to, from)| to.saturating_sub(from));
        time.filter(|time| *time >= WORK)
            .map(|_| "the host works".to_owned())
    };
    for step in steps {
        calls.extend(work(ended, step.span.map(|span| span.start)));
        ended = step.span.map(|span| span.end);
        let call = in_words(step, trace, numbers);
        if !(step.call.ends_with("Query") && calls.last() == Some(&call)) {
            calls.push(call);
        }
    }
    calls.extend(work(ended, trace.span.map(|span| span.end)));
    calls
}

fn in_words(step: &TracedCall, trace: &Trace, numbers: &mut Numbers) -> String {
    let mut about = match step.what {
        What::Other => Vec::new(),
        _ => vec![described(step)],
    };
    if let Some((event, flags)) = step.event {
        let number = number(&mut numbers.events, event);
        about.push(format!("event {number} with flags {flags}"));
    }
    if let Some(place) = step.stream {
        let kind = trace.streams[place].kind;
        about.push(format!(
            "stream {} ({kind})",
            number(&mut numbers.streams, place)
        ));
    }
    format!("{}({})", step.call, about.join(", "))
}

/// A description of the operations of a step.
fn described(step: &TracedCall) -> String {
    match &step.what {
        What::Kernel {
            name,
            blocks,
            threads,
            shared_bytes,
            cluster,
        } => {
            let mut text = format!("{name}<<<{}, {}", extent(*blocks), extent(*threads));
            if *shared_bytes > 0 {
                text += &format!(", {shared_bytes}");
            }
            text += ">>>";
            if *cluster != [0; 3] {
                text += &format!(" in clusters of {}", extent(*cluster));
            }
            text
        }
        What::Bytes(bytes) => format!("{bytes} bytes"),
        What::Other => String::new(),
    }
}

/// `4`, `4 x 2` or `4 x 2 x 3`.
fn extent([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x} x {y}"),
        _ => format!("{x} x {y} x {z}"),
    }
}

/// How long the thread that ran the body was outside of calls.
fn outside(trace: &Trace) -> Option<Duration> {
    let whole = trace.span?;
    let own = trace
        .steps
        .iter()
        .filter(|step| step.thread == trace.thread);
    let within: u64 = own.filter_map(|step| Some(step.span?.nanoseconds())).sum();
    Some(Duration::from_nanos(
        whole.nanoseconds().saturating_sub(within),
    ))
}
