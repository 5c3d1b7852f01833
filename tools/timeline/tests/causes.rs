//! Each likely cause is named where it is one, and not where it is not.

use chapter_results::intervals::{Dependency, Engine, Interval, Recording, Source, Span};
use chapter_timeline::analysis::cause::{Cause, Causes, Likely};
use chapter_timeline::analysis::facts::{
    EventWait, Facts, HostMemory, OperationFacts, StreamKind, TimedHostCall,
};
use chapter_timeline::analysis::occupancy::{LaunchShape, Multiprocessors};

/// Two kernels, the second right behind the first, in streams of these names.
fn kernels(first: &str, second: &str) -> Recording {
    let kernel = |stream: &str, start, end| Interval {
        device: 0,
        engine: Engine::Kernel,
        name: "scale".into(),
        stream: stream.into(),
        span: Span { start, end },
        bytes: 0,
    };
    let intervals = vec![kernel(first, 0, 1000), kernel(second, 1000, 2000)];
    Recording::new(Source::NsightSystems, intervals)
}

/// A copy in, then a kernel of another stream.
fn copy_then_kernel() -> Recording {
    let mut recording = kernels("a", "b");
    recording.intervals[0].engine = Engine::HostToDevice;
    recording.intervals[0].name = "H2D".into();
    recording.intervals[0].bytes = 4096;
    recording
}

fn call(name: &str, thread: u64, start: i64, end: i64) -> Option<TimedHostCall> {
    let name = name.to_owned();
    Some(TimedHostCall {
        name,
        thread,
        start,
        end,
    })
}

/// Both operations were enqueued at these times.
fn called(first: (i64, i64), second: (i64, i64)) -> Facts {
    let operation = |(start, end)| OperationFacts {
        call: call("cuLaunchKernel", 1, start, end),
        ..OperationFacts::default()
    };
    Facts {
        operations: vec![operation(first), operation(second)],
        ..Facts::default()
    }
}

fn likely(recording: &Recording, facts: &Facts) -> Likely {
    Causes::of(recording, facts).of_pair(0, 1)
}

#[test]
fn nothing_is_made_up() {
    let recording = kernels("a", "b");
    let found = likely(&recording, &Facts::of(&recording));
    assert_eq!(found.cause, Cause::Unknown);
    assert_eq!(found.evidence, "");
    let early = called((-90, -80), (-70, -60));
    assert_eq!(likely(&recording, &early).cause, Cause::Unknown);
}

#[test]
fn an_event_between_the_two_is_a_real_dependency() {
    let mut recording = kernels("a", "b");
    recording.dependencies = vec![Dependency { from: 0, to: 1 }];
    let found = likely(&recording, &called((-90, -80), (1500, 1600)));
    assert_eq!(found.cause, Cause::Event);
    assert!(found.cause.is_wanted());
    assert_eq!(
        found.evidence,
        "stream b waits for an event behind scale in stream a"
    );
}

#[test]
fn the_legacy_stream_orders_all_but_non_blocking_streams() {
    for (first, second) in [("legacy", "b"), ("b", "legacy")] {
        let recording = kernels(first, second);
        let mut facts = Facts::of(&recording);
        let found = likely(&recording, &facts);
        assert_eq!(found.cause, Cause::LegacyStream);
        assert_eq!(found.evidence, "unless stream b was created non-blocking");
        facts.streams.insert("b".into(), StreamKind::Blocking);
        let found = likely(&recording, &facts);
        assert_eq!(found.evidence, "stream b is not a non-blocking one");
        facts.streams.insert("b".into(), StreamKind::NonBlocking);
        assert_eq!(likely(&recording, &facts).cause, Cause::Unknown);
    }
}

#[test]
fn a_call_after_the_end_of_the_first_is_late() {
    let recording = kernels("a", "b");
    let found = likely(&recording, &called((-90, -80), (1000, 1001)));
    assert_eq!(found.cause, Cause::HostLate);
    let text = "cuLaunchKernel was called 0 ns after the end of what ran before";
    assert_eq!(found.evidence, text);
    let in_time = called((-90, -80), (999, 1001));
    assert_eq!(likely(&recording, &in_time).cause, Cause::Unknown);
}

#[test]
fn what_kept_the_host_is_named_if_it_was_the_same_thread_and_then() {
    let recording = kernels("a", "b");
    let mut facts = called((-90, -80), (1000, 1001));
    facts.host_waits = call("cuStreamSynchronize", 1, -70, 1000)
        .into_iter()
        .collect();
    let found = likely(&recording, &facts);
    assert_eq!(found.cause, Cause::HostWaited);
    assert_eq!(
        found.evidence,
        "cuStreamSynchronize kept the host for 1.07 µs, until 0 ns before it called cuLaunchKernel"
    );
    facts.host_waits[0].thread = 2;
    assert_eq!(likely(&recording, &facts).cause, Cause::HostLate);
    facts.host_waits[0].thread = 1;
    facts.host_waits[0].end = 500;
    assert_eq!(likely(&recording, &facts).cause, Cause::HostLate);
}

#[test]
fn a_pageable_copy_that_kept_the_host_is_the_cause_and_a_pinned_one_is_not() {
    let recording = copy_then_kernel();
    let mut facts = called((-50, 1010), (1020, 1030));
    facts.operations[0].memory = Some(HostMemory::Pageable);
    let found = likely(&recording, &facts);
    assert_eq!(found.cause, Cause::PageableCopy);
    assert!(
        found.evidence.starts_with("4 KiB of pageable memory: "),
        "{}",
        found.evidence
    );
    facts.operations[0].memory = Some(HostMemory::Pinned);
    assert_eq!(likely(&recording, &facts).cause, Cause::HostWaited);
}

#[test]
fn without_calls_a_pageable_copy_is_suspected() {
    let recording = copy_then_kernel();
    let mut facts = Facts {
        operations: vec![OperationFacts::default(); 2],
        ..Facts::default()
    };
    facts.operations[0].memory = Some(HostMemory::Pageable);
    assert_eq!(likely(&recording, &facts).cause, Cause::PageableCopy);
    facts.operations[0].memory = Some(HostMemory::Pinned);
    assert_eq!(likely(&recording, &facts).cause, Cause::Unknown);
}

#[test]
fn a_grid_that_fills_the_device_leaves_no_room() {
    let recording = kernels("a", "b");
    let mut facts = called((-90, -80), (-70, -60));
    facts.multiprocessors = Some(Multiprocessors::usual(132, Some((9, 0))));
    let launch = |blocks| LaunchShape {
        blocks,
        threads: 256,
        registers: 32,
        shared: 0,
    };
    facts.operations[0].launch = Some(launch(1056));
    let found = likely(&recording, &facts);
    assert_eq!(found.cause, Cause::FullMultiprocessors);
    assert_eq!(
        found.evidence,
        "scale of stream a has 1056 blocks of 256 threads; 132 multiprocessors hold 1056 at once"
    );
    facts.operations[0].launch = Some(launch(1055));
    assert_eq!(likely(&recording, &facts).cause, Cause::Unknown);
}

#[test]
fn more_streams_than_queues_may_be_a_false_dependency() {
    let with = |streams: u64| {
        let mut recording = kernels("a", "b");
        for stream in 2..streams {
            let mut other = recording.intervals[0].clone();
            other.stream = format!("s{stream}");
            other.span = Span {
                start: 9000,
                end: 9100,
            };
            recording.intervals.push(other);
        }
        likely(&recording, &Facts::of(&recording)).cause
    };
    assert_eq!(with(8), Cause::Unknown);
    assert_eq!(with(9), Cause::FalseDependency);
}

#[test]
fn a_wait_for_an_event_counts_for_the_operation_behind_it_alone() {
    let recording = kernels("a", "b");
    let mut facts = called((-90, -80), (-50, -40));
    let wait = |stream: &str, at| {
        vec![EventWait {
            stream: stream.into(),
            at,
        }]
    };
    facts.stream_waits = wait("b", -60);
    assert_eq!(likely(&recording, &facts).cause, Cause::UnknownEvent);
    for elsewhere in [wait("a", -60), wait("b", -45)] {
        facts.stream_waits = elsewhere;
        assert_eq!(likely(&recording, &facts).cause, Cause::Unknown);
    }
    // Another operation of the stream was enqueued behind the wait, and ran before.
    let mut longer = kernels("a", "b");
    let mut between = longer.intervals[0].clone();
    between.stream = "b".into();
    longer.intervals.push(between);
    facts.stream_waits = wait("b", -60);
    facts.operations.push(OperationFacts {
        call: call("cuLaunchKernel", 1, -55, -52),
        ..OperationFacts::default()
    });
    assert_eq!(likely(&longer, &facts).cause, Cause::Unknown);
}

#[test]
fn a_gap_within_a_stream_is_its_order_and_a_host_function_is_named() {
    let mut recording = kernels("a", "a");
    recording.intervals[1].span = Span {
        start: 5000,
        end: 6000,
    };
    let cause = |recording: &Recording| Causes::of(recording, &Facts::default()).of_gap(0, 1).cause;
    assert_eq!(cause(&recording), Cause::SameStream);
    recording.intervals[1].span.start = 11_001;
    assert_eq!(cause(&recording), Cause::Unknown, "too long for that");
    let mut function = recording.intervals[0].clone();
    function.engine = Engine::HostFunction;
    function.span = Span {
        start: 1500,
        end: 4500,
    };
    recording.intervals.push(function);
    assert_eq!(cause(&recording), Cause::HostFunction);
}

#[test]
fn between_two_copies_in_one_direction_lies_their_engine() {
    let mut recording = kernels("a", "b");
    recording.intervals[1].span = Span {
        start: 2000,
        end: 3000,
    };
    let cause = |recording: &Recording| Causes::of(recording, &Facts::default()).of_gap(0, 1).cause;
    assert_eq!(cause(&recording), Cause::Unknown);
    recording.intervals[0].engine = Engine::DeviceToHost;
    assert_eq!(cause(&recording), Cause::Unknown);
    recording.intervals[1].engine = Engine::DeviceToHost;
    assert_eq!(cause(&recording), Cause::SameEngine);
    recording.intervals[1].span.start = 6001;
    assert_eq!(cause(&recording), Cause::Unknown, "too long for that");
}

#[test]
fn nodes_of_one_launch_are_in_the_order_of_the_graph_and_those_of_two_are_not() {
    let recording = kernels("a", "b");
    let of_graphs = |second: (i64, i64)| {
        let mut facts = called((-900, -800), second);
        for operation in &mut facts.operations {
            operation.call.as_mut().unwrap().name = "cuGraphLaunch".into();
        }
        likely(&recording, &facts)
    };
    let one = of_graphs((-900, -800));
    assert_eq!(one.cause, Cause::Graph);
    assert!(one.evidence.contains("one cuGraphLaunch ran"), "{one:?}");
    assert_eq!(of_graphs((-700, -600)).cause, Cause::Unknown);
}
