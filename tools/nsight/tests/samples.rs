//! What Nsight Systems really wrote: nothing of the samples in `docs/samples` is dropped.

use chapter_nsight::{self as nsight, Trace};
use chapter_results::intervals::{Dependency, Engine, Recording};
use chapter_timeline::analysis::facts::{HostMemory, StreamKind};
use rusqlite::{Connection, OpenFlags};
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/samples");
    PathBuf::from(samples).join(name)
}

/// The sample's only trace.
fn sample(name: &str) -> (Trace, Vec<String>) {
    let mut read = nsight::read(&path(name)).unwrap();
    assert_eq!(read.traces.len(), 1);
    (read.traces.remove(0), read.notes)
}

/// A number that SQLite itself finds in the sample.
fn counted(name: &str, sql: &str) -> usize {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let database = Connection::open_with_flags(path(name), flags).unwrap();
    let count: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    usize::try_from(count).unwrap()
}

fn of_engine(recording: &Recording, engine: Engine) -> usize {
    let all = recording.intervals.iter();
    all.filter(|interval| interval.engine == engine).count()
}

/// The calls of a name, and how many of them lead to an operation.
fn calls(recording: &Recording, name: &str) -> (usize, usize) {
    let named = recording.calls.iter().filter(|call| call.name == name);
    let leading = named.clone().filter(|call| call.interval.is_some());
    (named.count(), leading.count())
}

#[test]
fn three_way_has_all_operations_with_their_streams_directions_and_bytes() {
    let name = "three-way.sqlite";
    let (trace, _) = sample(name);
    let recording = &trace.recording;
    let engines = [
        (
            Engine::Kernel,
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL",
        ),
        (
            Engine::HostToDevice,
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1",
        ),
        (
            Engine::DeviceToHost,
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 2",
        ),
        (
            Engine::Set,
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET",
        ),
    ];
    for (engine, sql) in engines {
        assert_eq!(of_engine(recording, engine), counted(name, sql), "{engine}");
    }
    let copies = recording.intervals.iter().zip(&trace.facts.operations);
    let copies = copies.filter(|(op, _)| op.name.ends_with("page-locked"));
    let copied: Vec<u64> = copies.clone().map(|(op, _)| op.bytes).collect();
    assert_eq!(copied, [8 << 20; 64]);
    assert!(
        copies
            .clone()
            .all(|(_, facts)| facts.memory == Some(HostMemory::Pinned))
    );
    let kernels = recording
        .intervals
        .iter()
        .filter(|op| op.engine == Engine::Kernel);
    assert!(kernels.clone().all(|op| op.name == "affine_strided_x4"));
    let mut streams = recording.streams();
    streams.sort_unstable();
    assert_eq!(
        streams,
        ["14", "15", "16", "20", "21", "22", "23", "legacy"]
    );
    assert_eq!(trace.facts.streams["14"], StreamKind::NonBlocking);
    assert_eq!(trace.facts.streams["legacy"], StreamKind::Legacy);
    assert_eq!(trace.facts.multiprocessors.unwrap().count, 132);
}

#[test]
fn three_way_has_the_calls_of_all_operations_and_the_waits() {
    let (trace, _) = sample("three-way.sqlite");
    assert_eq!(calls(&trace.recording, "cuMemcpyHtoDAsync"), (32, 32));
    assert_eq!(calls(&trace.recording, "cuMemcpyDtoHAsync"), (32, 32));
    assert_eq!(calls(&trace.recording, "cuLaunchKernel"), (32, 32));
    assert_eq!(calls(&trace.recording, "cuMemsetD8"), (12, 12));
    assert_eq!(calls(&trace.recording, "cuStreamSynchronize"), (8, 0));
    assert_eq!(calls(&trace.recording, "cuEventSynchronize"), (4, 0));
    // Three streams with 8 chunks each: the kernel waits for the copy in, and the copy out waits for the kernel.
    let all = &trace.recording.intervals;
    let between = |from: &str, to: &str| {
        let waits = trace.recording.dependencies.iter();
        waits
            .filter(|&&Dependency { from: a, to: b }| all[a].stream == from && all[b].stream == to)
            .count()
    };
    assert_eq!([between("14", "15"), between("15", "16")], [8, 8]);
    // Three waits for buffers whose events were recorded before the window.
    assert_eq!(trace.facts.stream_waits.len(), 3);
}

#[test]
fn replay_has_the_nodes_of_its_graphs() {
    let name = "replay.sqlite";
    let (trace, notes) = sample(name);
    let kernels = counted(name, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL");
    assert_eq!(of_engine(&trace.recording, Engine::Kernel), kernels);
    let sql = "SELECT count(DISTINCT correlationId) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE graphNodeId IS NOT NULL";
    let graphs = counted(name, sql);
    assert!(graphs > 0);
    assert_eq!(calls(&trace.recording, "cuGraphLaunch"), (graphs, graphs));
    assert!(
        notes.iter().all(|note| !note.contains("graphs")),
        "{notes:#?}"
    );
}

#[test]
fn lab_32_shows_the_operations_of_three_way() {
    let (trace, _) = sample("three-way.sqlite");
    let goal = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../labs/goals/32_read_nsight.json"
    );
    let goal: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(goal).unwrap()).unwrap();
    let shown: Recording = serde_json::from_value(goal["recording"].clone()).unwrap();
    let how = "write it with `cargo run -p chapter-nsight --example lab_goal`";
    assert_eq!(shown.intervals, trace.recording.intervals, "{how}");
    assert_eq!(shown.dependencies, trace.recording.dependencies, "{how}");
}
