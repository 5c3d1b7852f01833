//! Writes the pages that the tests in a browser open, into a folder.

#[path = "../src/testing.rs"]
#[allow(dead_code, missing_docs)]
mod testing;

use chapter_results::Results;
use chapter_results::device::TimeSource;
use chapter_results::intervals::{Engine, Recording};
use chapter_results::part::{Bound, Kind, Timed};
use chapter_timeline::figure::{FileTimelines, figures};
use chapter_timeline::html;
use std::path::PathBuf;
use std::{env, fs, io};
use testing::{call, interval, one_stream, range, recording, results, three_way};

/// Chunks in three streams, one kernel in the middle of each, with this many operations in all.
fn many(operations: u64) -> Recording {
    let stage = |n: u64| {
        let start = (n / 3) * 1_000 + (n % 3) * 900;
        match n % 3 {
            0 => interval(Engine::HostToDevice, "in", start, start + 900),
            1 => interval(Engine::Kernel, "compute", start, start + 700),
            _ => interval(Engine::DeviceToHost, "out", start, start + 950),
        }
    };
    recording((0..operations).map(stage).collect())
}

/// Names that must not become part of the page.
fn hostile() -> Recording {
    let mut recording = three_way();
    recording.intervals[0].name = "</script><script>document.title = 'taken'</script>".into();
    recording.intervals[0].stream = "<!--<b onclick=x>&amp;\"'".into();
    recording.ranges = vec![range("<img src=x>", "main", 0, 71_000)];
    recording
}

/// Kernels of many streams at once.
fn crowd(streams: u64) -> Recording {
    let kernels = (0..2 * streams).map(|n| {
        let stream = format!("a stream with quite a long name {}", n % streams);
        interval(Engine::Kernel, &stream, n * 700, n * 700 + 16_000)
    });
    recording(kernels.collect())
}

/// A kernel of the legacy stream between kernels of a blocking stream, and one of a stream that does not wait.
fn legacy() -> Recording {
    recording(vec![
        interval(Engine::Kernel, "blocking", 0, 20_000),
        interval(Engine::Kernel, "legacy", 21_000, 41_000),
        interval(Engine::Kernel, "non-blocking", 5_000, 35_000),
        interval(Engine::Kernel, "blocking", 42_000, 62_000),
    ])
}

/// Everything was enqueued long before it ran, and something else was called before that.
fn early() -> Recording {
    let mut recording = one_stream();
    for call in &mut recording.calls[..6] {
        call.span.start -= 900_000;
        call.span.end -= 900_000;
    }
    let load = call("cuModuleLoadData", -5_000_000, -4_000_000, "", None);
    recording.calls.insert(0, load);
    recording
}

/// Two variants of the same work with a bound, and timelines of other kinds.
fn variants() -> Results {
    let mut results = results(
        TimeSource::Modelled,
        vec![
            ("one stream", one_stream()),
            ("three streams", three_way()),
            ("legacy stream", legacy()),
            ("24 streams", crowd(24)),
            ("empty", recording(vec![])),
        ],
    );
    let part = &mut results.parts[0];
    part.timed = ["one-stream", "three-streams"]
        .map(|variant| Timed {
            group: "two-chunks".into(),
            variant: variant.into(),
            kind: Kind::Makespan,
            samples_us: vec![100.0],
            unclaimed: false,
        })
        .to_vec();
    part.bounds = vec![Bound {
        group: "two-chunks".into(),
        label: "duplex".into(),
        us: 61.0,
    }];
    let mut other = part.clone();
    other.name = "many".into();
    other.question = "What do 128 streams do?".into();
    other.timelines.truncate(1);
    other.timelines[0].recording = crowd(128);
    results.parts.push(other);
    results
}

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    let page = |name: &str, files: &[&Results]| {
        let sources: Vec<FileTimelines<'_>> = files
            .iter()
            .map(|results| FileTimelines::of(results))
            .collect();
        let notes: Vec<String> = files
            .iter()
            .map(|results| html::device_note(results))
            .collect();
        let page = html::page("basic_streams", &notes, &figures(&sources));
        fs::write(folder.join(name), page)
    };
    let mut faster = three_way();
    for interval in &mut faster.intervals {
        interval.span.start = interval.span.start * 9 / 10;
        interval.span.end = interval.span.end * 9 / 10;
    }
    faster.findings.clear();
    let measured = results(TimeSource::Measured, vec![("three streams", three_way())]);
    let modelled = results(TimeSource::Modelled, vec![("three streams", faster)]);
    page("one.html", &[&measured])?;
    page("variants.html", &[&variants()])?;
    let timelines = vec![("one stream", early())];
    page("early.html", &[&results(TimeSource::Modelled, timelines)])?;
    page("two.html", &[&measured, &modelled])?;
    page(
        "many.html",
        &[&results(TimeSource::Measured, vec![("many", many(30_000))])],
    )?;
    page(
        "large.html",
        &[&results(TimeSource::Measured, vec![("many", many(60_000))])],
    )?;
    page(
        "hostile.html",
        &[&results(TimeSource::Measured, vec![("hostile", hostile())])],
    )?;
    page("empty.html", &[&results(TimeSource::Measured, vec![])])
}
