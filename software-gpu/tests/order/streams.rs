//! Streams and events.

use std::ops::Range;

use super::program::*;
use software_gpu::order::{OrderRule, StreamId, StreamKind};
use software_gpu::reports::Kind;

#[test]
fn operations_of_one_stream_are_ordered() {
    let mut program = TestProgram::new();
    program.run(A, "kernel `scale`", &writes(BYTES));
    program.run(A, "copy", &reads(BYTES));
    program.assert_silent();
}

#[test]
fn a_missing_event_is_reported_with_both_sides_the_bytes_and_the_edge() {
    let mut program = TestProgram::new();
    program.checker.allocated(0x1000..0x2000, "buffer".into());
    program.run(A, "kernel `scale`", &writes(0x1000..0x1200));
    program.run(B, "copy from device to host", &reads(0x1100..0x1300));
    let found = program.only_finding();
    assert_eq!((found.kind, found.rule), (Kind::Race, OrderRule::Race));
    assert_eq!(found.bytes, 0x1100..0x1200);
    let text = found.to_string();
    for part in [
        "race: kernel `scale` and the copy from device to host touch the same bytes, and nothing makes the copy wait for the kernel\n",
        "kernel `scale`, operation 1 of stream 13, writes",
        "copy from device to host, operation 1 of stream 14, reads",
        "256..512 (256 bytes) of buffer, 4096 bytes",
        "missing: record an event on stream 13 after kernel `scale` (cuEventRecord); make stream 14 wait for it before the copy from device to host (cuStreamWaitEvent)",
    ] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
}

#[test]
fn a_wait_joins_the_last_record_at_the_time_of_the_call() {
    let mut program = TestProgram::new();
    program.run(A, "kernel", &writes(BYTES));
    program.record(A, EVENT);
    program.wait(B, EVENT);
    program.run(B, "copy", &reads(BYTES));
    program.assert_silent();
    program.run(A, "kernel", &writes(0x2000..0x2100));
    program.record(A, EVENT);
    program.run(B, "copy", &reads(0x2000..0x2100));
    let nearly = program.only_finding().nearly;
    assert_eq!(
        nearly.as_deref(),
        Some(
            "stream 14 waited for event 3, but it had been recorded before the kernel, and recorded again only after the wait: a wait joins the last record at the time of the call"
        )
    );
}

#[test]
fn the_host_comes_after_what_it_waited_for() {
    let mut program = TestProgram::new();
    program.run(A, "copy", &writes(BYTES));
    program.host_reads(HOST, BYTES);
    let found = program.only_finding();
    assert_eq!(
        found.missing,
        "synchronise with stream 13 after the copy (cuStreamSynchronize, cuEventSynchronize) before the host reads the bytes"
    );
    program.checker.stream_synchronized(HOST, A);
    program.host_reads(HOST, BYTES);
    program.assert_silent();
}

#[test]
fn reads_and_atomics_meet_their_like() {
    for (first, second, conflict) in [
        (reads(BYTES), reads(BYTES), false),
        (atomics(BYTES), atomics(BYTES), false),
        (atomics(BYTES), reads(BYTES), true),
        (reads(BYTES), atomics(BYTES), true),
        (atomics(BYTES), writes(BYTES), true),
        (reads(BYTES), writes(BYTES), true),
        (writes(BYTES), writes(BYTES), true),
        (writes(BYTES), writes(0x1100..0x1200), false),
    ] {
        let mut program = TestProgram::new();
        program.run(A, "first", &first);
        program.run(B, "second", &second);
        assert_eq!(
            program.checker.take_findings().len(),
            usize::from(conflict),
            "{first:?} {second:?}"
        );
    }
}

#[test]
fn conflicts_that_another_one_covers_are_not_reported() {
    let mut program = TestProgram::new();
    program.run(A, "early", &writes(0x1000..0x1010));
    program.run(BLOCKING, "late", &writes(0x1040..0x1050));
    program.run(BLOCKING, "later", &writes(0x1020..0x1030));
    program.run(B, "copy", &reads(BYTES));
    let found = program.checker.take_findings();
    let told = found
        .iter()
        .map(|found| (&*found.first.description.what, found.bytes.clone()));
    let told: Vec<_> = told.collect();
    assert_eq!(
        told,
        [("later", 0x1020..0x1030), ("early", 0x1000..0x1010)],
        "an event after `later` is one after `late`"
    );
}

/// The advice follows the order of the calls, whichever operation happened to run first.
#[test]
fn what_was_called_first_is_meant_to_come_first() {
    let mut program = TestProgram::new();
    let kernel = program.submit(A, "kernel");
    program.record(A, EVENT);
    program.record(B, EVENT);
    program.wait(BLOCKING, EVENT);
    program.run(BLOCKING, "copy", &reads(BYTES));
    program.execute(kernel, &writes(BYTES));
    let found = program.only_finding();
    assert_eq!(found.first.description.what, "copy", "it ran first");
    assert_eq!(
        found.missing,
        "record an event on stream 13 after the kernel (cuEventRecord); make stream 2 wait for it before the copy (cuStreamWaitEvent)"
    );
    assert_eq!(
        found.nearly.as_deref(),
        Some(
            "event 3 was recorded on stream 13 after the kernel, but recorded again on stream 14 before stream 2 waited for it"
        )
    );
}

#[test]
fn a_wait_for_an_event_that_was_never_recorded_has_no_effect() {
    let mut program = TestProgram::new();
    program.wait(B, EVENT);
    program.run(A, "kernel", &writes(BYTES));
    program.record(A, EVENT);
    program.run(B, "copy", &reads(BYTES));
    assert_eq!(
        program.only_finding().nearly.as_deref(),
        Some("stream 14 waited for event 3 before its first record: that wait had no effect")
    );
}

#[test]
fn an_event_recorded_again_elsewhere_no_longer_stands_for_the_first_stream() {
    let mut program = TestProgram::new();
    program.run(A, "kernel", &writes(BYTES));
    program.record(A, EVENT);
    program.record(BLOCKING, EVENT);
    program.wait(B, EVENT);
    program.run(B, "copy", &reads(BYTES));
    assert_eq!(
        program.only_finding().nearly.as_deref(),
        Some(
            "event 3 was recorded on stream 13 after the kernel, but recorded again on stream 2 before stream 14 waited for it"
        )
    );
}

#[test]
fn a_wait_behind_the_use_and_a_record_without_a_wait_are_named() {
    let mut program = TestProgram::new();
    program.run(A, "kernel", &writes(BYTES));
    program.record(A, EVENT);
    program.run(B, "copy", &reads(BYTES));
    assert_eq!(
        program.only_finding().nearly.as_deref(),
        Some(
            "event 3 was recorded on stream 13 after the kernel, but stream 14 does not wait for it"
        )
    );
    let again = program.submit(B, "second copy");
    program.wait(B, EVENT);
    program.execute(again, &reads(BYTES));
    assert_eq!(
        program.only_finding().nearly.as_deref(),
        Some(
            "stream 14 waits for event 3, which was recorded after the kernel, but only after the second copy"
        )
    );
}

#[test]
fn a_loop_has_one_key() {
    let mut program = TestProgram::new();
    for _ in 0..3 {
        program.run(A, "kernel", &writes(BYTES));
        program.run(B, "copy", &reads(BYTES));
    }
    let found = program.checker.take_findings();
    assert_eq!(found.len(), 5);
    let keys: std::collections::BTreeSet<_> =
        found.into_iter().map(|finding| finding.key).collect();
    assert_eq!(
        keys.len(),
        2,
        "copy after kernel, kernel after copy: {keys:?}"
    );
}

#[test]
fn two_operations_of_one_kind_are_distinguished_in_the_first_line() {
    for (first, second, words) in [
        (
            "kernel `a`",
            "kernel `b`",
            "nothing makes kernel `b` wait for kernel `a`",
        ),
        (
            "kernel `a`",
            "kernel `a`",
            "nothing makes the later kernel wait for the earlier kernel",
        ),
        (
            "copy of 8 bytes",
            "copy of 4 bytes",
            "nothing makes the later copy wait for the earlier copy",
        ),
    ] {
        let mut program = TestProgram::new();
        program.run(A, first, &writes(BYTES));
        program.run(B, second, &writes(BYTES));
        let text = program.only_finding().to_string();
        assert!(text.contains(words), "{text}");
    }
}

/// One missing event, whichever bytes a round uses, whichever side runs first and however large the last piece is.
#[test]
fn rounds_of_a_loop_are_one_mistake() {
    let mut program = TestProgram::new();
    for (round, copy) in ["copy of 64 bytes", "copy of 64 bytes", "copy of 8 bytes"]
        .into_iter()
        .enumerate()
    {
        let bytes = 0x1000 * round as u64..0x1000 * round as u64 + 8;
        let copy = program.submit(A, copy);
        let kernel = program.submit(B, "kernel `scale2`");
        let mut sides = [(copy, writes(bytes.clone())), (kernel, reads(bytes))];
        if round == 1 {
            sides.reverse();
        }
        sides
            .iter()
            .for_each(|(side, bytes)| program.execute(*side, bytes));
    }
    program.run(B, "kernel `scale3`", &writes(0x1000..0x1008));
    let found = program.checker.take_findings();
    let mistakes: Vec<_> = found.iter().map(|finding| finding.mistake()).collect();
    let [first, second, third, other] = &mistakes[..] else {
        panic!("{mistakes:?}");
    };
    assert!(first == second && first == third, "{mistakes:?}");
    assert_ne!(first, other, "another kernel");
}

#[test]
fn calls_of_unknown_and_of_other_lines_are_mistakes_of_their_own() {
    use software_gpu::order::{Description, Locate, OperationId};
    use std::sync::Arc;

    struct ReportedSite(Option<&'static str>, u64);
    impl Locate for ReportedSite {
        fn locate(&self) -> Option<String> {
            self.0.map(str::to_owned)
        }
        fn identity(&self) -> u64 {
            self.1
        }
    }
    let mistake = |place: ReportedSite| {
        let mut program = TestProgram::new();
        let kernel = OperationId(1000);
        let what = Description::new("kernel").at(Arc::new(place));
        program.checker.submitted(HOST, A, kernel, &[], what);
        program.execute(kernel, &writes(BYTES));
        program.run(B, "copy", &reads(BYTES));
        program.only_finding().mistake()
    };
    let line = mistake(ReportedSite(Some("main.rs:1"), 1));
    assert_eq!(
        line,
        mistake(ReportedSite(Some("main.rs:1"), 2)),
        "an unrolled loop"
    );
    assert_ne!(line, mistake(ReportedSite(Some("main.rs:2"), 1)));
    assert_ne!(
        mistake(ReportedSite(None, 1)),
        mistake(ReportedSite(None, 2))
    );
}

#[test]
fn a_stream_with_a_name_is_called_by_it_until_it_is_destroyed() {
    let mut program = TestProgram::new();
    program.checker.stream_named(A, "copy in");
    let race = |program: &mut TestProgram, bytes: Range<u64>| {
        program.run(A, "kernel", &writes(bytes.clone()));
        program.record(A, EVENT);
        program.run(B, "copy", &reads(bytes));
        program.only_finding().to_string()
    };
    let text = race(&mut program, 0..8);
    for part in [
        "kernel, operation 1 of stream `copy in`, writes",
        "missing: record an event on stream `copy in` after the kernel (cuEventRecord); make stream 14 wait",
        "note:    event 3 was recorded on stream `copy in` after the kernel, but stream 14",
    ] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
    program.checker.stream_destroyed(A);
    let kind = software_gpu::order::StreamKind::NonBlocking;
    program.checker.stream_created(HOST, A, CONTEXT, kind);
    let text = race(&mut program, 8..16);
    assert!(text.contains("operation 1 of stream 13"), "{text}");
}

#[test]
fn locations_are_asked_for_by_reports_alone() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    static ASKED: AtomicU32 = AtomicU32::new(0);
    let locate = || {
        ASKED.fetch_add(1, Ordering::Relaxed);
        Some("src/main.rs:42".to_owned())
    };
    let mut program = TestProgram::new();
    let kernel = software_gpu::order::OperationId(1000);
    let what = software_gpu::order::Description::new("kernel").at(Arc::new(locate));
    program.checker.submitted(HOST, A, kernel, &[], what);
    program.execute(kernel, &writes(BYTES));
    program.run(B, "copy", &reads(BYTES));
    let found = program.only_finding();
    assert_eq!(ASKED.load(Ordering::Relaxed), 0);
    let text = found.to_string();
    assert!(
        text.contains("kernel, operation 1 of stream 13 (src/main.rs:42), writes"),
        "{text}"
    );
}

#[test]
fn what_is_unknown_is_ignored() {
    use software_gpu::order::{ContextId, EventId, OperationId, StreamId, ThreadId};

    let mut program = TestProgram::new();
    let (stream, operation) = (StreamId(99), OperationId(99));
    let checker = &mut program.checker;
    checker.submitted(HOST, stream, operation, &[operation], "nothing".into());
    checker.submitted_node(
        HOST,
        operation,
        OperationId(98),
        &[operation],
        "node".into(),
    );
    checker.recorded(EventId(99), stream, operation);
    checker.stream_synchronized(HOST, stream);
    checker.context_synchronized(HOST, ContextId(99));
    checker.operation_synchronized(HOST, operation);
    checker.thread_joined(None, ThreadId(99));
    checker.thread_joined(None, HOST);
    checker.stream_destroyed(stream);
    checker.context_destroyed(ContextId(99));
    checker.pool_allocated(operation, 0..8, "scratch".into());
    checker.pool_freed(operation, 0);
    checker.allocated(8..8, "nothing".into());
    checker.freed(Range { start: 8, end: 0 });
    checker.accessed(operation, &writes(0..u64::MAX));
    checker.ended(operation);
    program.assert_silent();
}

/// The copy out comes after the kernel already: the edge from the copy in to the kernel orders it too.
#[test]
fn one_missing_event_asks_for_one_edge() {
    let mut program = TestProgram::new();
    let out = StreamId(15);
    let kind = StreamKind::NonBlocking;
    program.checker.stream_created(HOST, out, CONTEXT, kind);
    program.run(A, "copy in", &writes(BYTES));
    program.run(B, "kernel", &writes(BYTES));
    program.record(B, EVENT);
    program.wait(out, EVENT);
    program.run(out, "copy out", &reads(BYTES));
    let found = program.checker.take_findings();
    let [missing, implied] = &found[..] else {
        panic!("two pairs, and not {found:?}");
    };
    assert_eq!(missing.repaired, None);
    let repaired = implied.repaired.as_ref().expect("the first edge's");
    assert_eq!((&repaired.key, repaired.with_others), (&missing.key, false));
    assert_eq!(
        implied.pair(),
        "the same edge orders the copy in and the copy out"
    );
}

/// Two edges are missing, and the first operation comes before the last one by both of them.
#[test]
fn a_path_of_missing_edges_orders_its_ends() {
    let mut program = TestProgram::new();
    let out = StreamId(15);
    let kind = StreamKind::NonBlocking;
    program.checker.stream_created(HOST, out, CONTEXT, kind);
    program.run(A, "copy in", &writes(BYTES));
    program.run(B, "kernel", &writes(BYTES));
    program.run(out, "copy out", &reads(BYTES));
    let found = program.checker.take_findings();
    let edges: Vec<_> = found.iter().map(|f| f.repaired.as_ref()).collect();
    let [None, None, Some(by)] = edges[..] else {
        panic!("two edges, and a path of both: {found:?}");
    };
    assert!(by.with_others);
}

/// A wait says nothing of what was submitted to the first stream after the record.
#[test]
fn an_edge_does_not_repair_what_comes_after_its_beginning() {
    let mut program = TestProgram::new();
    let other = 0x2000..0x2100;
    program.run(A, "first copy", &writes(BYTES));
    program.run(B, "first kernel", &reads(BYTES));
    program.run(A, "second copy", &writes(other.clone()));
    program.run(B, "second kernel", &reads(other));
    let found = program.checker.take_findings();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|finding| finding.repaired.is_none()));
}

/// Nor of what the second stream was given before the wait.
#[test]
fn an_edge_does_not_repair_what_comes_before_its_end() {
    let mut program = TestProgram::new();
    let other = 0x2000..0x2100;
    let early = program.submit(B, "first kernel");
    program.run(A, "first copy", &writes(other.clone()));
    program.run(A, "second copy", &writes(BYTES));
    program.run(B, "second kernel", &reads(BYTES));
    program.execute(early, &reads(other));
    let found = program.checker.take_findings();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|finding| finding.repaired.is_none()));
}
