//! Exports of Nsight Systems are read as they are meant, in the columns of several of its versions.

mod export;

use chapter_nsight::{self as nsight, NsightError, Trace};
use chapter_results::intervals::{Dependency, Engine, Range, Source, Span};
use chapter_timeline::analysis::cause::Cause;
use chapter_timeline::analysis::facts::{HostMemory, StreamKind};
use chapter_timeline::analysis::{Analysis, analyse};
use export::{Export, Version};
use proptest::prelude::*;
use std::path::PathBuf;
use tempfile::TempDir;

const BOTH: [Version; 2] = [Version::V2021, Version::V2026];

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a #1 %report?.sqlite");
    (folder, path)
}

/// The traces of an export that is written so.
fn traces(version: Version, write: impl FnOnce(&mut Export)) -> (Vec<Trace>, Vec<String>) {
    let (_folder, path) = folder();
    write(&mut Export::create(&path, version));
    let read = nsight::read(&path).unwrap();
    (read.traces, read.notes)
}

fn trace(version: Version, write: impl FnOnce(&mut Export)) -> Trace {
    let (mut traces, _) = traces(version, write);
    assert_eq!(traces.len(), 1);
    traces.remove(0)
}

fn causes(trace: &Trace) -> Vec<Cause> {
    let Analysis { serialised, .. } = analyse(&trace.recording, &trace.facts);
    let causes = serialised.iter().map(|group| group.likely.cause);
    causes.collect()
}

#[test]
fn operations_have_times_streams_names_and_bytes() {
    for version in BOTH {
        let trace = trace(version, |export| {
            export.device();
            export.stream(13, 2);
            export.copy(1, 1, 13, (-9000, -8000), (0, 1000));
            export.kernel("scale", 4, 13, (-7000, -6000), (1100, 2000));
            export.copy(2, 0, 7, (2500, 5000), (3000, 4000));
            export.range("warm-up", true, (-9500, 900));
            export.range("before all", false, (-9900, -9600));
            export.range("steps", false, (1000, 5000));
        });
        assert_eq!(
            trace.title,
            "device 0: NVIDIA H200, from 1.000000 s of the report on"
        );
        let recording = &trace.recording;
        assert_eq!(recording.source, Source::NsightSystems);
        let all = &recording.intervals;
        let engines: Vec<Engine> = all.iter().map(|interval| interval.engine).collect();
        assert_eq!(
            engines,
            [Engine::HostToDevice, Engine::Kernel, Engine::DeviceToHost]
        );
        let names: Vec<&str> = all.iter().map(|interval| interval.name.as_str()).collect();
        assert_eq!(names, ["H2D, page-locked", "scale", "D2H, pageable"]);
        assert_eq!(recording.streams(), ["13", "legacy"]);
        assert_eq!(
            all[1].span,
            Span {
                start: 1_100_000,
                end: 2_000_000
            }
        );
        assert_eq!(
            all.iter().map(|i| i.bytes).collect::<Vec<_>>(),
            [4 << 20, 0, 4 << 20]
        );
        let facts = &trace.facts;
        assert_eq!(facts.operations[0].memory, Some(HostMemory::Pinned));
        assert!(facts.is_pageable(2));
        let call = facts.call(1).unwrap();
        assert_eq!(
            (call.name.as_str(), call.start, call.end),
            ("cuLaunchKernel", -7_000_000, -6_000_000)
        );
        assert_eq!(facts.call(0).unwrap().name, "cudaMemcpyAsync");
        let calls = recording.calls.iter();
        let calls: Vec<_> = calls
            .map(|call| (&*call.name, call.span.start, call.interval))
            .collect();
        let expected = [
            ("cudaMemcpyAsync", -9_000_000, Some(0)),
            ("cuLaunchKernel", -7_000_000, Some(1)),
            ("cudaMemcpyAsync", 2_500_000, Some(2)),
        ];
        assert_eq!(calls, expected);
        assert_eq!(
            recording.calls[0].thread,
            format!("thread {}", export::PROCESS)
        );
        let launch = facts.operations[1].launch.unwrap();
        assert_eq!(
            (launch.blocks, launch.threads, launch.registers),
            (4, 256, 32)
        );
        assert_eq!(facts.multiprocessors.unwrap().count, 132);
        let kind = (version == Version::V2026).then_some(StreamKind::NonBlocking);
        assert_eq!(facts.streams.get("13").copied(), kind);
        assert_eq!(facts.streams["legacy"], StreamKind::Legacy);
        let range = |name: &str, start, end| Range {
            name: name.into(),
            thread: format!("thread {}", export::PROCESS),
            span: Span { start, end },
        };
        assert_eq!(
            recording.ranges,
            [
                range("warm-up", 0, 900_000),
                range("steps", 1_000_000, 5_000_000)
            ]
        );
    }
}

/// Two streams with an event between a copy and a kernel.
fn with_event(export: &mut Export) {
    export.stream(13, 2);
    export.stream(14, 2);
    export.copy(1, 1, 13, (-9000, -8000), (0, 1000));
    export.record(5, 77, 13, -7900);
    // The event is recorded again later: that one is not meant.
    export.wait(5, 77, 14, -7000);
    export.kernel("scale", 4, 14, (-6000, -5500), (1002, 2000));
    export.copy(1, 1, 13, (-5000, -4500), (1000, 3000));
    export.record(5, 78, 13, -4400);
    export.kernel("scale", 4, 14, (-4000, -3500), (2000, 2500));
}

#[test]
fn an_event_is_a_dependency_where_the_export_says_so_and_suspected_elsewhere() {
    let new = trace(Version::V2026, with_event);
    assert_eq!(new.recording.dependencies, [Dependency { from: 0, to: 2 }]);
    assert!(new.facts.stream_waits.is_empty());
    assert_eq!(causes(&new), [Cause::Event]);
    let old = trace(Version::V2021, with_event);
    assert!(old.recording.dependencies.is_empty());
    assert_eq!(old.facts.stream_waits.len(), 1);
    assert_eq!(causes(&old), [Cause::UnknownEvent]);
}

#[test]
fn without_a_shared_number_a_wait_is_for_the_last_record_before_it() {
    const NONE: i64 = 0xffff_ffff;
    let trace = trace(Version::V2026, |export| {
        export.kernel("first", 4, 13, (-9000, -8900), (0, 1000));
        export.record(5, NONE, 13, -8800);
        export.kernel("second", 4, 13, (-8000, -7900), (1000, 2000));
        export.record(5, NONE, 13, -7800);
        export.wait(5, NONE, 14, -7000);
        export.kernel("third", 4, 14, (-6000, -5900), (2002, 3000));
        export.record(5, NONE, 14, -5000);
    });
    let expected = Dependency { from: 1, to: 2 };
    assert_eq!(trace.recording.dependencies, [expected]);
}

#[test]
fn each_cause_is_found_in_an_export_that_has_it() {
    for version in BOTH {
        let legacy = trace(version, |export| {
            export.stream(13, 1);
            export.kernel("scale", 4, 13, (-9000, -8900), (0, 1000));
            export.kernel("scale", 4, 7, (-8000, -7900), (1002, 2000));
        });
        assert_eq!(causes(&legacy), [Cause::LegacyStream]);
        let full = trace(version, |export| {
            export.device();
            export.kernel("scale", 8 * 132, 13, (-9000, -8900), (0, 1000));
            export.kernel("scale", 4, 14, (-8000, -7900), (1002, 2000));
        });
        assert_eq!(causes(&full), [Cause::FullMultiprocessors]);
        let pageable = trace(version, |export| {
            export.copy(1, 0, 13, (-500, 1001), (0, 1000));
            export.kernel("scale", 4, 14, (1002, 1003), (1004, 2000));
        });
        assert_eq!(causes(&pageable), [Cause::PageableCopy]);
        let waited = trace(version, |export| {
            export.kernel("scale", 4, 13, (-900, -800), (0, 1000));
            export.call("cudaStreamSynchronize_v3020", (-700, 1001));
            export.kernel("scale", 4, 14, (1002, 1003), (1004, 2000));
        });
        assert_eq!(causes(&waited), [Cause::HostWaited]);
        let late = trace(version, |export| {
            export.kernel("scale", 4, 13, (-900, -800), (0, 1000));
            export.kernel("scale", 4, 14, (1002, 1003), (1004, 2000));
        });
        assert_eq!(causes(&late), [Cause::HostLate]);
        let queues = trace(version, |export| {
            for stream in 13..22 {
                let at = (stream - 13) * 1000;
                let called = (at - 90_000, at - 89_900);
                export.kernel("scale", 4, stream, called, (at, at + 1000));
            }
        });
        assert_eq!(causes(&queues), [Cause::FalseDependency]);
    }
}

#[test]
fn a_non_blocking_stream_takes_no_notice_of_the_legacy_one() {
    let trace = trace(Version::V2026, |export| {
        export.stream(13, 2);
        export.kernel("scale", 4, 13, (-9000, -8900), (0, 1000));
        export.kernel("scale", 4, 7, (-8000, -7900), (1002, 2000));
    });
    assert_eq!(causes(&trace), [Cause::Unknown]);
}

#[test]
fn devices_and_processes_are_kept_apart() {
    let (traces, _) = traces(Version::V2026, |export| {
        export.kernel("first", 4, 13, (-900, -800), (0, 1000));
        for (device, process) in [(1i64, 4242i64), (0, 4243)] {
            let name = export.string("other");
            let row = [
                ("start", (export::BEGIN + 1000).into()),
                ("end", (export::BEGIN + 1700).into()),
                ("deviceId", device.into()),
                ("globalPid", (process << 24).into()),
                ("shortName", name),
            ];
            export.insert("CUPTI_ACTIVITY_KIND_KERNEL", &row);
        }
    });
    let titles: Vec<&str> = traces.iter().map(|trace| trace.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "device 0: a device, process 4242, from 1.000000 s of the report on",
            "device 1: a device, process 4242, from 1.000001 s of the report on",
            "device 0: a device, process 4243, from 1.000001 s of the report on"
        ]
    );
    assert!(
        traces
            .iter()
            .all(|trace| trace.recording.intervals.len() == 1)
    );
    assert_eq!(traces[1].recording.intervals[0].span.start, 0);
}

#[test]
fn missing_tables_and_rows_are_noted() {
    let (traces, notes) = traces(Version::V2021, |export| {
        export.kernel("scale", 4, 13, (-900, -800), (0, 1000));
        export.copy(9, 0, 13, (-900, -800), (0, 1000));
        let row = [("start", 0.into()), ("end", 0.into())];
        export.insert("CUPTI_ACTIVITY_KIND_MEMSET", &row);
        export.insert("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &row);
    });
    assert_eq!(traces[0].recording.intervals.len(), 1);
    let [tables, times, copies, graphs, guess] = &notes[..] else {
        panic!("{notes:#?}")
    };
    assert!(tables.contains("waits for events (CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)"));
    assert!(!tables.contains("_KERNEL"), "{tables}");
    assert!(times.starts_with("1 operations without times"));
    assert!(copies.starts_with("1 copies within host memory"));
    assert!(graphs.contains("--cuda-graph-trace=node"));
    assert!(guess.contains("stream 7"));
}

/// 2023.4 writes a wait of a stream as type 3 though its enumeration says 2, and a wait of the host for an event as type 2.
#[test]
fn a_wait_is_recognised_by_its_call_and_not_by_its_type() {
    let trace = trace(Version::V2026, |export| {
        export.kernel("first", 4, 13, (-9000, -8900), (0, 1000));
        export.record(5, 77, 13, -8800);
        export.synchronisation("cuStreamWaitEvent", 3, (5, 77), 14, -7000);
        export.synchronisation("cuEventSynchronize", 2, (5, 77), 15, -6500);
        export.kernel("second", 4, 14, (-6000, -5900), (1002, 2000));
        export.kernel("third", 4, 15, (-5000, -4900), (1003, 2000));
    });
    let expected = Dependency { from: 0, to: 1 };
    assert_eq!(trace.recording.dependencies, [expected]);
}

#[test]
fn what_is_captured_orders_nothing() {
    let (first, wait) = ((-9000, -8900), -7000);
    let orders = |captured: bool| {
        let trace = trace(Version::V2026, |export| {
            export.kernel("before", 4, 13, first, (0, 1000));
            export.call(
                if captured {
                    "cuStreamBeginCapture_v2"
                } else {
                    "cuCtxGetCurrent"
                },
                (-8500, -8400),
            );
            export.record(5, 77, 13, -8000);
            export.wait(5, 77, 14, wait);
            export.call("cuStreamEndCapture", (-6800, -6700));
            export.kernel("after", 4, 14, (-6000, -5900), (1002, 2000));
        });
        (
            trace.recording.dependencies.len(),
            trace.facts.stream_waits.len(),
        )
    };
    assert_eq!([orders(false), orders(true)], [(1, 0), (0, 0)]);
}

#[test]
fn a_stream_is_named_with_its_priority_unless_that_is_the_usual_one() {
    let trace = trace(Version::V2026, |export| {
        export.stream_with_priority(13, 2, 0);
        export.stream_with_priority(14, 2, 4_294_967_291);
        export.stream_with_priority(15, 2, -2);
        for stream in 13..16 {
            export.kernel(
                "scale",
                4,
                stream,
                (-900, -800),
                (stream * 10, stream * 10 + 5),
            );
        }
    });
    let names = trace.recording.streams();
    assert_eq!(names, ["13", "14, priority -5", "15, priority -2"]);
    assert!(
        names
            .iter()
            .all(|&name| trace.facts.streams[name] == StreamKind::NonBlocking)
    );
}

#[test]
fn graph_launches_without_other_records_are_counted_and_shown() {
    let (traces, notes) = traces(Version::V2026, |export| {
        export.kernel("scale", 4, 13, (-900, -800), (0, 1000));
        export.call("cuGraphLaunch", (1100, 1200));
        export.call("cudaGraphLaunch_v10000", (1300, 1400));
        export.graph_with_a_kernel((1500, 1600), (1700, 2000));
    });
    let said = notes
        .iter()
        .find(|note| note.contains("launches of graphs"));
    assert!(
        said.unwrap()
            .starts_with("Of 2 launches of graphs the export has nothing but the call"),
        "{notes:#?}"
    );
    let calls = traces[0].recording.calls.iter();
    let graphs = calls.filter(|call| call.name.ends_with("GraphLaunch"));
    assert_eq!(
        graphs.map(|call| call.interval).collect::<Vec<_>>(),
        [None, None, Some(1)]
    );
}

#[test]
fn reading_leaves_the_folder_as_it_was_even_if_it_is_read_only() {
    let (folder, path) = folder();
    let mut export = Export::create(&path, Version::V2026);
    export.kernel("scale", 4, 13, (-900, -800), (0, 1000));
    drop(export);
    let before = std::fs::read(&path).unwrap();
    assert_eq!(nsight::read(&path).unwrap().traces.len(), 1);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_strange_database_is_refused_with_the_reason() {
    let (_folder, path) = folder();
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute("CREATE TABLE notes (text TEXT)", [])
        .unwrap();
    let error = nsight::read(&path).unwrap_err();
    assert!(matches!(error, NsightError::Foreign), "{error}");
    database
        .execute_batch(
            "CREATE TABLE StringIds (id INTEGER, value TEXT);
             CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (begin INTEGER, end INTEGER);",
        )
        .unwrap();
    let error = nsight::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("CUPTI_ACTIVITY_KIND_KERNEL has no column start"),
        "{error}"
    );
    drop(database);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let error = nsight::read(&path).unwrap_err().to_string();
    assert!(error.starts_with("SQLite cannot read it: "), "{error}");
}

/// Numbers at which sums, differences and conversions go wrong, and plain ones.
fn number() -> impl Strategy<Value = rusqlite::types::Value> {
    let odd = [
        i64::MIN,
        i64::MIN + 1,
        -1,
        0,
        1,
        2,
        7,
        59,
        0xffff_ffff,
        1 << 60,
        i64::MAX,
    ];
    let any = prop_oneof![prop::sample::select(odd.to_vec()), -5000i64..5000];
    prop_oneof![
        8 => any.prop_map(Into::into),
        1 => Just(rusqlite::types::Value::Null),
        1 => Just("text".to_owned().into()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_stands_in_its_columns_an_export_is_read_or_refused(
        rows in prop::collection::vec((0..export::TABLES.len(), prop::collection::vec(number(), 32)), 1..40)
    ) {
        let (_folder, path) = folder();
        let mut export = Export::create(&path, Version::V2026);
        for (table, values) in rows {
            export.fill(export::TABLES[table], &values);
        }
        drop(export);
        let read = nsight::read(&path).unwrap();
        for trace in &read.traces {
            let analysis = analyse(&trace.recording, &trace.facts);
            prop_assert!(!analysis.engines.is_empty());
        }
    }
}
