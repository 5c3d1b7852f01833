//! The findings about variants that break their own rules.

use super::{CallCounts, Differ, Judged, broken};
use crate::intervals::{Engine, Interval, Recording, Source, Span};
use crate::label::Label;
use crate::recording::{NotedStream, StreamKind, Trace, TracedCall, What};
use Differ::{Data, Events, Order, Streams, Waits};
use std::thread;

const NON_BLOCKING: StreamKind = StreamKind::Created {
    flags: 1,
    priority: 0,
};
const US: u64 = 1000;

/// A variant that is being written down: each of its calls takes a microsecond.
struct RecordedVariant {
    trace: Trace,
    kernels: Vec<Interval>,
    now: u64,
}

impl RecordedVariant {
    /// A variant with so many streams, A, B and so on.
    fn new(kinds: &[StreamKind]) -> Self {
        let streams = kinds.iter().zip('A'..).map(|(&kind, name)| NotedStream {
            name: name.to_string(),
            kind,
        });
        let trace = Trace {
            steps: Vec::new(),
            streams: streams.collect(),
            thread: thread::current().id(),
            span: None,
        };
        Self {
            trace,
            kernels: Vec::new(),
            now: 0,
        }
    }

    fn call(mut self, call: &'static str, stream: usize, what: What) -> Self {
        let span = Span {
            start: self.now,
            end: self.now + US,
        };
        self.now = span.end;
        self.trace.steps.push(TracedCall {
            call,
            thread: self.trace.thread,
            thread_name: "main".to_owned(),
            stream: Some(stream),
            event: call.contains("Event").then_some((1, 2)),
            what,
            span: Some(span),
        });
        self
    }

    fn copy(self, stream: usize, bytes: u64) -> Self {
        self.call("cuMemcpyHtoDAsync", stream, What::Bytes(bytes))
    }

    fn launch(mut self, stream: usize, name: &str, blocks: u32) -> Self {
        self.ran(name);
        let what = What::Kernel {
            name: name.to_owned(),
            blocks: [blocks, 1, 1],
            threads: [32, 1, 1],
            shared_bytes: 0,
            cluster: [0; 3],
        };
        self.call("cuLaunchKernel", stream, what)
    }

    fn graph(mut self, stream: usize, kernel: &str) -> Self {
        self.ran(kernel);
        self.call("cuGraphLaunch", stream, What::Other)
    }

    fn ran(&mut self, name: &str) {
        self.kernels.push(Interval {
            device: 0,
            engine: Engine::Kernel,
            name: name.to_owned(),
            stream: "A".to_owned(),
            span: Span {
                start: self.now,
                end: self.now + US,
            },
            bytes: 0,
        });
    }

    fn record(self, stream: usize) -> Self {
        self.call("cuEventRecord", stream, What::Other)
    }

    fn query(self, stream: usize) -> Self {
        self.call("cuStreamQuery", stream, What::Other)
    }

    fn wait(self, stream: usize) -> Self {
        self.call("cuStreamSynchronize", stream, What::Other)
    }

    fn work(mut self, us: u64) -> Self {
        self.now += us * US;
        self
    }

    fn shape(mut self) -> CallCounts {
        self.trace.span = Some(Span {
            start: 0,
            end: self.now,
        });
        CallCounts::of(
            &self.trace,
            &Recording::new(Source::SoftwareGpu, self.kernels),
        )
    }
}

fn run() -> RecordedVariant {
    RecordedVariant::new(&[NON_BLOCKING; 2])
}

/// The findings about variants `one` and `other` that join these streams and wait this often.
fn found(
    declared: Option<&[Differ]>,
    variants: [(RecordedVariant, &[&str], usize); 2],
) -> Vec<String> {
    found_where_one_also(&[], declared, variants)
}

/// The same, where `one` also differs in this.
fn found_where_one_also(
    also: &'static [Differ],
    declared: Option<&[Differ]>,
    variants: [(RecordedVariant, &[&str], usize); 2],
) -> Vec<String> {
    let names = ["one", "other"].map(|name| Label::new(name, name));
    let runs = variants.map(|(run, joined, waits)| (run.shape(), joined, waits));
    let judged: Vec<Judged> = (names.iter().zip(&runs))
        .map(|(name, (shape, joined, waits))| Judged {
            name,
            required: joined.iter().map(|&stream| stream.to_owned()).collect(),
            also: if name.id == "one" { also } else { &[] },
            waits: *waits,
            shape,
        })
        .collect();
    let broken = broken(declared, &judged).into_iter();
    broken
        .map(|broken| format!("{}: {}", broken.rule, broken.found))
        .collect()
}

/// The same of variants that use stream A, or both, and do not wait.
fn of(declared: &[Differ], one: RecordedVariant, other: RecordedVariant) -> Vec<String> {
    found(Some(declared), [(one, &["A"], 0), (other, &["A"], 0)])
}

const NOTHING: [&str; 0] = [];

#[test]
fn variants_that_differ_as_they_say_are_not_mentioned() {
    let one = run().copy(0, 8).copy(0, 8);
    let other = run().copy(0, 8).record(0).copy(1, 8).wait(1);
    let variants = [(one, &["A"][..], 0), (other, &["A", "B"][..], 1)];
    assert_eq!(found(Some(&[Streams, Events, Waits]), variants), NOTHING);
}

#[test]
fn one_program_with_two_names_is_noticed_without_a_declaration() {
    let twins = || {
        [
            (run().copy(0, 8), &["A"][..], 0),
            (run().copy(1, 8), &["B"][..], 0),
        ]
    };
    let same = ["same-program: one and other make the same 1 calls"];
    assert_eq!(found(None, twins()), same);
    assert_eq!(found(Some(&[]), twins()), same);
    assert_eq!(found(Some(&[Data]), twins()), NOTHING);
}

#[test]
fn streams_of_another_kind_and_graphs_of_other_kernels_are_other_programs() {
    let blocking = StreamKind::Created {
        flags: 0,
        priority: 0,
    };
    let other = RecordedVariant::new(&[blocking]).copy(0, 8);
    assert_eq!(of(&[Streams], run().copy(0, 8), other), NOTHING);
    let graphs = || (run().graph(0, "f"), run().graph(0, "g"));
    let (one, other) = graphs();
    assert_eq!(of(&[Differ::Kernels], one, other), NOTHING);
    let (one, other) = graphs();
    let undeclared = of(&[], one, other);
    assert_eq!(
        undeclared,
        ["undeclared: Kernels: one has f 1 times, other 0 times"]
    );
}

#[test]
fn what_differs_without_a_declaration_is_named() {
    let words = |one, other| of(&[Order], one, other).swap_remove(0);
    assert_eq!(
        words(run().copy(0, 8), run().copy(0, 8).copy(0, 8)),
        "undeclared: Copies: one has cuMemcpyHtoDAsync(8 bytes) 1 times, other 2 times"
    );
    assert_eq!(
        words(
            run().launch(0, "f", 2),
            run().launch(0, "f", 1).launch(0, "f", 1)
        ),
        "undeclared: Kernels: one has f 1 times, other 2 times"
    );
    assert_eq!(
        words(run().launch(0, "f", 2), run().launch(0, "f", 1)),
        "undeclared: Launches: one has f<<<2, 32>>> 1 times, other 0 times"
    );
    assert_eq!(
        words(run().copy(0, 8), run().copy(0, 8).work(300)),
        "undeclared: HostWork: one has 0 ns of it, other 300 µs"
    );
}

#[test]
fn what_is_declared_must_differ() {
    let found = of(
        &[Streams, Events],
        run().copy(0, 8),
        run().copy(0, 8).record(0),
    );
    assert_eq!(found, ["no-difference: all are alike in Streams"]);
}

#[test]
fn the_place_of_the_hosts_work_is_an_order() {
    let found = of(
        &[Order],
        run().work(300).copy(0, 8),
        run().copy(0, 8).work(300),
    );
    assert_eq!(found, NOTHING);
}

#[test]
fn how_often_a_thread_asks_is_no_difference() {
    let found = of(&[], run().query(0).query(0), run().query(0));
    assert_eq!(found, ["same-program: one and other make the same 1 calls"]);
}

#[test]
fn a_wait_too_many_and_a_stream_too_many_are_noticed() {
    let one = run().copy(0, 8).wait(0);
    let other = run().copy(0, 8).wait(0).wait(0);
    let found = found(Some(&[Waits]), [(one, &["A"], 1), (other, &["A", "B"], 1)]);
    assert_eq!(
        found,
        [
            "waits: other waits 2 times",
            "unused-stream: other makes no call for its stream B"
        ]
    );
}

#[test]
fn what_one_variant_also_differs_in_is_allowed_to_it_and_required_of_it() {
    let alone = |[one, other]: [RecordedVariant; 2]| {
        let variants = [(one, &["A"][..], 0), (other, &["A"][..], 0)];
        found_where_one_also(&[Events], Some(&[]), variants)
    };
    let differing = [run().copy(0, 8).record(0), run().copy(0, 8)];
    assert_eq!(alone(differing), NOTHING);
    let alike = [run().copy(0, 8), run().copy(0, 8).copy(0, 8)];
    assert_eq!(
        alone(alike),
        [
            "undeclared: Copies: one has cuMemcpyHtoDAsync(8 bytes) 1 times, other 2 times",
            "no-difference: one is like the others in Events"
        ]
    );
}
