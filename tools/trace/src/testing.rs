//! Small recordings for tests.

use chapter_results::intervals::{
    Dependency, Engine, Finding, HostCall, HostSpan, Interval, Range, Recording, Source, Span,
};

pub fn interval(engine: Engine, stream: &str, start: u64, end: u64) -> Interval {
    let copy = matches!(engine, Engine::HostToDevice | Engine::DeviceToHost);
    Interval {
        device: 0,
        engine,
        name: if copy { "copy" } else { "affine" }.into(),
        stream: stream.into(),
        span: Span { start, end },
        bytes: if copy { 1 << 20 } else { 0 },
    }
}

pub fn range(name: &str, thread: &str, start: u64, end: u64) -> Range {
    Range {
        name: name.into(),
        thread: thread.into(),
        span: Span { start, end },
    }
}

pub fn call(name: &str, start: i64, end: i64, stream: &str, interval: Option<usize>) -> HostCall {
    HostCall {
        name: name.into(),
        thread: "main".into(),
        span: HostSpan { start, end },
        stream: Some(stream.into()),
        interval,
    }
}

pub fn recording(intervals: Vec<Interval>) -> Recording {
    Recording::new(Source::SoftwareGpu, intervals)
}

/// Two chunks that go in, through a kernel and out, each stage in a stream of its own; the last copy does not wait for its
/// kernel.
pub fn three_way() -> Recording {
    let mut recording = recording(vec![
        interval(Engine::HostToDevice, "in", 0, 20_000),
        interval(Engine::HostToDevice, "in", 20_000, 40_000),
        interval(Engine::Kernel, "compute", 20_500, 30_500),
        interval(Engine::DeviceToHost, "out", 31_000, 51_000),
        interval(Engine::Kernel, "compute", 40_500, 52_000),
        interval(Engine::DeviceToHost, "out", 51_000, 71_000),
    ]);
    recording.dependencies = [(0, 2), (2, 3), (1, 4)]
        .map(|(from, to)| Dependency { from, to })
        .to_vec();
    recording.ranges = vec![
        range("enqueue", "main", 0, 12_000),
        range("wait", "main", 12_000, 71_000),
    ];
    recording.findings = vec![Finding {
        text: "race: \"affine\" writes what a copy reads\nbytes 0 to 1048576 of the buffer\nmissing: an event".into(),
        intervals: vec![4, 5],
    }];
    recording
}

/// The same work in one stream, with the host's calls: it enqueues everything and waits.
pub fn one_stream() -> Recording {
    use Engine::{DeviceToHost, HostToDevice, Kernel};
    let mut recording = recording(vec![
        interval(HostToDevice, "one", 0, 20_000),
        interval(Kernel, "one", 20_500, 30_500),
        interval(DeviceToHost, "one", 31_000, 51_000),
        interval(HostToDevice, "one", 52_000, 72_000),
        interval(Kernel, "one", 72_500, 82_500),
        interval(DeviceToHost, "one", 83_000, 103_000),
    ]);
    let enqueued = [
        "cuMemcpyHtoDAsync",
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync",
        "cuMemcpyHtoDAsync",
        "cuLaunchKernel",
        "cuMemcpyDtoHAsync",
    ];
    let calls = (0i64..).zip(enqueued).map(|(n, name)| {
        let start = n * 3_000 - 6_000;
        call(name, start, start + 2_000, "one", usize::try_from(n).ok())
    });
    recording.calls = calls.collect();
    let wait = call("cuStreamSynchronize", 12_500, 105_000, "one", None);
    recording.calls.push(wait);
    recording
}
