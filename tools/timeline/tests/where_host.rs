//! A gap is divided by where the host was, and the largest share names its cause.

use chapter_results::intervals::{Engine, HostCall, HostSpan, Interval, Recording, Source, Span};
use chapter_timeline::analysis::cause::Cause;
use chapter_timeline::analysis::facts::Facts;
use chapter_timeline::analysis::{Analysis, analyse};
use std::time::Duration;

/// Kernels and calls of one thread, in microseconds.
#[derive(Default)]
struct HostTimeline {
    intervals: Vec<Interval>,
    calls: Vec<HostCall>,
}

impl HostTimeline {
    fn operation(&mut self, engine: Engine, name: &str, stream: usize, start: u64, end: u64) {
        self.intervals.push(Interval {
            device: 0,
            engine,
            name: name.into(),
            stream: stream.to_string(),
            span: Span {
                start: start * 1000,
                end: end * 1000,
            },
            bytes: 0,
        });
    }

    fn call(&mut self, name: &str, start: i64, end: i64) {
        self.calls.push(HostCall {
            name: name.into(),
            thread: "main".into(),
            span: HostSpan {
                start: start * 1000,
                end: end * 1000,
            },
            stream: None,
            interval: None,
        });
    }

    /// A kernel, and the call that launched it.
    fn kernel(&mut self, stream: usize, (start, end): (u64, u64), (called, returned): (i64, i64)) {
        self.call("cuLaunchKernel", called, returned);
        let own = self.calls.last_mut().unwrap();
        own.interval = Some(self.intervals.len());
        self.operation(Engine::Kernel, "step", stream, start, end);
    }

    fn analysed(self) -> Analysis {
        let (mut recording, placement) = Recording::placed(Source::SoftwareGpu, self.intervals);
        recording.calls = self
            .calls
            .into_iter()
            .map(|call| placement.call(call))
            .collect();
        analyse(&recording, &Facts::of(&recording))
    }
}

/// The idle time by cause, in microseconds.
fn causes(run: HostTimeline) -> Vec<(Cause, u64)> {
    let analysis = run.analysed();
    let by_cause = analysis.idle_by_cause().into_iter();
    by_cause
        .map(|(cause, time, _)| (cause, time.as_micros() as u64))
        .collect()
}

/// Two kernels of 100 µs; the second, launched at 1000, begins at 1010. Between them the host makes these calls.
fn between(calls: &[(&str, i64, i64)]) -> Vec<(Cause, u64)> {
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 105), (0, 4));
    for &(name, start, end) in calls {
        run.call(name, start, end);
    }
    run.kernel(1, (1010, 1110), (1000, 1004));
    causes(run)
}

#[test]
fn the_call_that_took_most_of_the_gap_is_the_cause() {
    let sync = ("cuStreamSynchronize", 6, 110);
    for (name, cause) in [
        ("cuMemAlloc", Cause::Allocation),
        ("cudaMalloc", Cause::Allocation),
        ("cudaHostAlloc", Cause::Allocation),
        ("cuMemHostRegister", Cause::Allocation),
        ("cuModuleLoadData", Cause::Loading),
        ("cuModuleGetFunction", Cause::Loading),
        ("cudaFree", Cause::HostWaited),
        ("cuMemcpyDtoH", Cause::HostWaited),
        ("cuGraphLaunch", Cause::SlowLaunch),
        ("cuTensorMapEncodeTiled", Cause::OtherCalls),
    ] {
        let found = between(&[sync, (name, 120, 990)]);
        assert_eq!(found[0].0, cause, "{name}: {found:?}");
        let whole: u64 = found.iter().map(|(_, time)| time).sum();
        assert_eq!((whole, found[0].1 >= 870), (905, true), "{name}: {found:?}");
    }
}

#[test]
fn a_short_wait_is_not_blamed_for_the_time_outside_the_driver() {
    let found = between(&[("cuStreamSynchronize", 6, 110)]);
    assert_eq!(found, [(Cause::HostLate, 890), (Cause::HostWaited, 15)]);
    assert_eq!(between(&[]), [(Cause::HostLate, 905)]);
    let long = between(&[("cuStreamSynchronize", 6, 900)]);
    assert_eq!(long, [(Cause::HostWaited, 805), (Cause::HostLate, 100)]);
}

/// The host waits for the first kernel, then records an event and launches the next: both calls are late because of the wait.
#[test]
fn launches_behind_a_wait_count_as_the_wait() {
    for (name, cause) in [
        ("cuStreamSynchronize", Cause::HostWaited),
        ("cudaFree", Cause::HostWaited),
        ("cuMemAlloc", Cause::Launches),
    ] {
        let mut run = HostTimeline::default();
        run.kernel(1, (5, 105), (0, 4));
        run.call(name, 6, 106);
        run.call("cuEventRecord", 106, 109);
        run.kernel(1, (115, 215), (109, 113));
        assert_eq!(causes(run)[0].0, cause, "{name}");
    }
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 105), (0, 4));
    run.call("cuStreamSynchronize", 6, 107);
    run.call("cuEventRecord", 107, 110);
    run.kernel(1, (115, 215), (110, 114));
    assert_eq!(
        run.analysed().idle_causes[0].evidence,
        "the host was in cuLaunchKernel behind cuStreamSynchronize for 5.00 µs, in cuEventRecord behind cuStreamSynchronize for \
         3.00 µs, in cuStreamSynchronize for 2.00 µs"
    );
}

/// The wait was over before the device ran out of work: the launches since are slower than the work.
#[test]
fn a_wait_that_ended_in_time_does_not_explain_slow_launches() {
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 105), (0, 4));
    run.call("cuStreamSynchronize", 6, 106);
    for i in 0..20 {
        let at = 106 + i * 5;
        run.kernel(1, (at + 6, at + 8), (at as i64, at as i64 + 4));
    }
    let found = causes(run);
    assert_eq!(found, [(Cause::Launches, 19 * 3), (Cause::HostWaited, 7)]);
}

#[test]
fn a_call_that_had_returned_in_time_explains_nothing() {
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 105), (0, 4));
    run.kernel(2, (1010, 1110), (80, 90));
    assert_eq!(causes(run), [(Cause::Unknown, 905)]);
}

#[test]
fn launches_slower_than_the_work_are_a_cause_with_one_stream_and_with_two() {
    for streams in [1, 2] {
        let mut run = HostTimeline::default();
        for i in 0..200 {
            let at = i * 5;
            let stream = i as usize % streams;
            run.kernel(stream, (at + 6, at + 8), (at as i64, at as i64 + 4));
        }
        let found = causes(run);
        assert_eq!(found, [(Cause::Launches, 199 * 3)], "{streams} streams");
    }
}

#[test]
fn a_slow_launch_is_its_own_cause() {
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 3005), (0, 4));
    run.kernel(2, (3300, 3310), (10, 3295));
    run.kernel(2, (3315, 3325), (3300, 3304));
    assert_eq!(
        causes(run),
        [(Cause::SlowLaunch, 295), (Cause::SameStream, 5)]
    );
}

#[test]
fn a_pageable_copy_in_between_is_the_cause() {
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 105), (0, 4));
    run.call("cuMemcpyDtoHAsync", 8, 900);
    run.calls.last_mut().unwrap().interval = Some(1);
    run.operation(Engine::DeviceToHost, "pageable copy out", 1, 107, 300);
    run.kernel(1, (910, 920), (901, 905));
    let found = causes(run);
    assert_eq!(found[0], (Cause::PageableCopy, 611), "{found:?}");
}

#[test]
fn what_the_host_waits_for_may_be_a_host_function() {
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 105), (0, 4));
    run.call("cuLaunchHostFunc", 5, 8);
    run.operation(Engine::HostFunction, "host function", 1, 110, 900);
    run.call("cuStreamSynchronize", 9, 905);
    run.kernel(1, (915, 920), (906, 910));
    let found = causes(run);
    assert_eq!(found[0], (Cause::HostFunction, 790), "{found:?}");
}

#[test]
fn a_host_function_that_the_trace_lacks_is_known_by_its_launch() {
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 205), (0, 4));
    run.call("cudaLaunchHostFunc", 5, 8);
    run.kernel(1, (415, 615), (9, 13));
    assert_eq!(causes(run), [(Cause::HostFunction, 210)]);
}

#[test]
fn the_evidence_says_where_the_host_was_and_for_how_long() {
    let mut run = HostTimeline::default();
    run.kernel(1, (5, 105), (0, 4));
    run.call("cudaMalloc", 100, 900);
    run.kernel(1, (1010, 1110), (1000, 1004));
    let analysis = run.analysed();
    assert_eq!(analysis.idle.total, Duration::from_micros(905));
    assert_eq!(
        analysis.idle_causes[0].evidence,
        "the host was in cudaMalloc for 795 µs, in cuLaunchKernel behind cudaMalloc for 10.0 µs, outside the driver for 100 µs"
    );
}
