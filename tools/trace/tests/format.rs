//! The traces hold to Chrome's trace event format: every event is parsed by types that take nothing that the format
//! does not have, and what it says of events together is checked.

#[path = "../src/testing.rs"]
#[allow(dead_code, missing_docs)]
mod testing;

use chapter_results::intervals::{Engine, Finding, Recording};
use chapter_trace::Trace;
use proptest::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use testing::{call, interval, one_stream, range, recording, three_way};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    trace_events: Vec<ParsedEvent>,
    display_time_unit: Unit,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Ms,
    Ns,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "ph", deny_unknown_fields)]
enum ParsedEvent {
    M {
        name: String,
        pid: u32,
        tid: u32,
        args: Named,
    },
    X {
        name: String,
        cat: String,
        ts: f64,
        dur: f64,
        pid: u32,
        tid: u32,
        args: serde_json::Map<String, serde_json::Value>,
    },
    #[serde(rename = "s")]
    Start {
        name: String,
        cat: String,
        id: u32,
        ts: f64,
        pid: u32,
        tid: u32,
    },
    #[serde(rename = "f")]
    Finish {
        name: String,
        cat: String,
        id: u32,
        ts: f64,
        pid: u32,
        tid: u32,
        bp: Enclosing,
    },
    #[serde(rename = "i")]
    Instant {
        name: String,
        cat: String,
        s: Scope,
        ts: f64,
        pid: u32,
        tid: u32,
        args: ParsedReport,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParsedReport {
    report: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Named {
    Name { name: String },
    Index { sort_index: u32 },
}

#[derive(Debug, PartialEq, Deserialize)]
enum Enclosing {
    #[serde(rename = "e")]
    Slice,
}

#[derive(Debug, PartialEq, Deserialize)]
enum Scope {
    #[serde(rename = "t")]
    Thread,
    #[serde(rename = "p")]
    Process,
}

/// What flows are called, and their categories.
const FLOWS: [(&str, &str); 2] = [("waits for", "dependency"), ("enqueues", "enqueue")];

type RowIds = (u32, u32);

/// A slice: start and end in nanoseconds.
type Slice = (u64, u64);

/// All rules of the format about several events together.
#[derive(Default)]
struct Checked {
    threads: BTreeMap<RowIds, String>,
    processes: BTreeMap<u32, String>,
    slices: BTreeMap<RowIds, Vec<Slice>>,
    /// Per flow: where it starts and where it ends.
    flows: BTreeMap<u32, [Option<(RowIds, u64)>; 2]>,
    instants: Vec<(String, String, Scope)>,
}

fn nanoseconds(us: f64) -> u64 {
    let ns = us * 1e3;
    assert!(
        ns >= 0.0 && (ns - ns.round()).abs() < 1e-3,
        "{us} us is no whole number of nanoseconds"
    );
    ns.round() as u64
}

fn check(trace: &Trace) -> Checked {
    let mut text = Vec::new();
    trace.write(&mut text).unwrap();
    let file: File = serde_json::from_slice(&text).unwrap();
    assert!(matches!(file.display_time_unit, Unit::Ns | Unit::Ms));
    let mut checked = Checked::default();
    for event in file.trace_events {
        checked.add(event);
    }
    checked.judge();
    checked
}

impl Checked {
    fn add(&mut self, event: ParsedEvent) {
        match event {
            ParsedEvent::M {
                name,
                pid,
                tid,
                args,
            } => match (name.as_str(), args) {
                ("process_name", Named::Name { name }) => {
                    assert!(
                        self.processes.insert(pid, name).is_none(),
                        "process {pid} named twice"
                    );
                }
                ("thread_name", Named::Name { name }) => {
                    assert!(
                        self.threads.insert((pid, tid), name).is_none(),
                        "thread {tid} named twice"
                    );
                }
                ("process_sort_index" | "thread_sort_index", Named::Index { sort_index }) => {
                    assert!(sort_index > 0)
                }
                other => panic!("metadata {other:?}"),
            },
            ParsedEvent::X {
                name,
                cat,
                ts,
                dur,
                pid,
                tid,
                args,
            } => {
                assert!(!name.is_empty() && !cat.is_empty());
                assert!(
                    args.values()
                        .all(|value| value.is_string() || value.is_u64())
                );
                let start = nanoseconds(ts);
                self.slices
                    .entry((pid, tid))
                    .or_default()
                    .push((start, start + nanoseconds(dur)));
            }
            ParsedEvent::Start {
                name,
                cat,
                id,
                ts,
                pid,
                tid,
            } => {
                assert!(FLOWS.contains(&(name.as_str(), cat.as_str())));
                let end = &mut self.flows.entry(id).or_default()[0];
                assert!(
                    end.replace(((pid, tid), nanoseconds(ts))).is_none(),
                    "flow {id} starts twice"
                );
            }
            ParsedEvent::Finish {
                name,
                cat,
                id,
                ts,
                pid,
                tid,
                bp,
            } => {
                assert!(FLOWS.contains(&(name.as_str(), cat.as_str())));
                assert_eq!(bp, Enclosing::Slice);
                let end = &mut self.flows.entry(id).or_default()[1];
                assert!(
                    end.replace(((pid, tid), nanoseconds(ts))).is_none(),
                    "flow {id} ends twice"
                );
            }
            ParsedEvent::Instant {
                name,
                cat,
                s,
                ts,
                pid,
                tid,
                args,
            } => {
                assert_eq!(cat, "finding");
                nanoseconds(ts);
                assert!(self.processes.contains_key(&pid), "a finding in no process");
                assert!(
                    s == Scope::Process || self.threads.contains_key(&(pid, tid)),
                    "a finding in no thread"
                );
                self.instants.push((name, args.report, s));
            }
        }
    }

    fn judge(&self) {
        for ((pid, tid), slices) in &self.slices {
            assert!(
                self.processes.contains_key(pid),
                "process {pid} has no name"
            );
            assert!(
                self.threads.contains_key(&(*pid, *tid)),
                "thread {tid} has no name"
            );
            for (i, a) in slices.iter().enumerate() {
                for b in &slices[..i] {
                    let apart = a.1 <= b.0 || b.1 <= a.0;
                    let within = (a.0 <= b.0 && b.1 <= a.1) || (b.0 <= a.0 && a.1 <= b.1);
                    assert!(apart || within, "{a:?} and {b:?} overlap in thread {tid}");
                }
            }
        }
        let mut numbers: Vec<u32> = self.threads.keys().map(|row| row.1).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(
            numbers.len(),
            self.threads.len(),
            "a thread's number is given twice"
        );
        for (id, ends) in &self.flows {
            for end in ends {
                let (row, time) = end.unwrap_or_else(|| panic!("flow {id} has one end"));
                let open =
                    |slice: &&Slice| slice.0 <= time && (time < slice.1 || slice.0 == slice.1);
                let slices = self.slices.get(&row).into_iter().flatten();
                assert!(
                    slices.filter(open).count() > 0,
                    "flow {id} is bound to no slice"
                );
            }
        }
    }

    fn rows_of(&self, pid: u32) -> Vec<&str> {
        let own = self.threads.iter().filter(|(row, _)| row.0 == pid);
        own.map(|(_, name)| name.as_str()).collect()
    }
}

fn trace(recordings: &[(&str, &Recording)]) -> Trace {
    let mut trace = Trace::default();
    for (variant, recording) in recordings {
        trace.add("three-way", variant, recording);
    }
    trace
}

#[test]
fn each_operation_stands_in_the_row_of_its_engine_and_of_its_stream() {
    let checked = check(&trace(&[
        ("three streams", &three_way()),
        ("again", &three_way()),
    ]));
    let names: Vec<_> = checked.processes.values().collect();
    assert_eq!(
        names,
        [
            "three-way: three streams [the software GPU's log]",
            "three-way: again [the software GPU's log]"
        ]
    );
    for pid in checked.processes.keys() {
        assert_eq!(
            checked.rows_of(*pid),
            [
                "engine: H2D",
                "engine: kernel",
                "engine: D2H",
                "stream: in",
                "stream: compute",
                "stream: out",
                "host thread: main"
            ]
        );
    }
    let kernels = checked
        .threads
        .iter()
        .find(|(_, name)| *name == "stream: compute")
        .unwrap()
        .0;
    assert_eq!(
        checked.slices[kernels],
        [(20_500, 30_500), (40_500, 52_000)]
    );
    assert_eq!(checked.flows.len(), 6);
}

#[test]
fn a_finding_is_marked_at_each_of_its_operations() {
    let mut recording = three_way();
    recording.findings.push(Finding {
        text: "a leak".into(),
        intervals: vec![],
    });
    let checked = check(&trace(&[("racy", &recording)]));
    let scopes: Vec<_> = checked
        .instants
        .iter()
        .map(|(name, _, scope)| (name.as_str(), scope))
        .collect();
    let race = "race: \"affine\" writes what a copy reads";
    assert_eq!(
        scopes,
        [
            (race, &Scope::Thread),
            (race, &Scope::Thread),
            ("a leak", &Scope::Process)
        ]
    );
    assert!(checked.instants[0].1.ends_with("missing: an event"));
}

#[test]
fn kernels_at_the_same_time_get_a_thread_each_and_phases_within_phases_do_not() {
    let kernels = ["a", "b", "c"].map(|stream| interval(Engine::Kernel, stream, 0, 10_000));
    let mut recording = recording(kernels.to_vec());
    recording.ranges = vec![
        range("all", "main", 0, 10_000),
        range("part", "main", 2_000, 3_000),
    ];
    let checked = check(&trace(&[("kernels", &recording)]));
    assert_eq!(
        checked.rows_of(1),
        [
            "engine: kernel",
            "engine: kernel (2)",
            "engine: kernel (3)",
            "stream: a",
            "stream: b",
            "stream: c",
            "host thread: main"
        ]
    );
}

#[test]
fn calls_have_a_thread_and_lead_to_their_operations_on_a_clock_that_begins_with_them() {
    let checked = check(&trace(&[("one stream", &one_stream())]));
    assert_eq!(checked.rows_of(1).last(), Some(&"host thread: main: calls"));
    let row = |name: &str| {
        let (row, _) = checked
            .threads
            .iter()
            .find(|(_, own)| *own == name)
            .unwrap();
        *row
    };
    let [calls, stream] = ["host thread: main: calls", "stream: one"].map(row);
    assert_eq!(checked.slices[&calls][0], (0, 2_000));
    assert_eq!(checked.slices[&calls][6], (18_500, 111_000));
    assert_eq!(checked.slices[&stream][0], (6_000, 26_000));
    assert_eq!(checked.flows.len(), 6);
    assert_eq!(checked.flows[&1], [Some((calls, 0)), Some((stream, 6_000))]);
}

#[test]
fn an_empty_recording_is_a_process_without_threads() {
    let checked = check(&trace(&[("nothing", &recording(vec![]))]));
    assert_eq!((checked.processes.len(), checked.threads.len()), (1, 0));
}

proptest! {
    #[test]
    fn any_recording_holds_to_the_format(
        operations in prop::collection::vec((0usize..6, 0usize..4, 0u64..500, 0u64..90), 0..40),
        phases in prop::collection::vec((0u64..500, 0u64..90), 0..12),
        pairs in prop::collection::vec((0usize..40, 0usize..40), 0..12),
        calls in prop::collection::vec((-90i64..500, 0i64..90, 0usize..40), 0..12),
    ) {
        let operation = |&(engine, stream, start, long): &(usize, usize, u64, u64)| {
            interval(Engine::ALL[engine], ["a", "b", "c", "d"][stream], start, start + long)
        };
        let mut recording = recording(operations.iter().map(operation).collect());
        recording.ranges = phases.iter().map(|&(start, long)| range("phase", "main", start, start + long)).collect();
        let count = recording.intervals.len();
        for (from, to) in pairs.into_iter().filter(|(from, to)| *from < count && *to < count) {
            recording.dependencies.push(chapter_results::intervals::Dependency { from, to });
            recording.findings.push(Finding { text: "race".into(), intervals: vec![from, to] });
        }
        let called = |&(start, long, place)| call("cuLaunchKernel", start, start + long, "a", Some(place).filter(|p| *p < count));
        recording.calls = calls.iter().map(called).collect();
        let checked = check(&trace(&[("any", &recording)]));
        prop_assert_eq!(checked.slices.values().map(Vec::len).sum::<usize>(), 2 * count + recording.ranges.len() + recording.calls.len());
    }
}
