//! Streams and events.

use super::program::*;
use software_gpu::order::{Rule, ThreadId};
use software_gpu::reports::Kind;

#[test]
fn operations_of_one_stream_are_ordered() {
    let mut program = Program::new();
    program.run(A, "kernel `scale`", &writes(BYTES));
    program.run(A, "copy", &reads(BYTES));
    program.assert_silent();
}

#[test]
fn a_missing_event_is_reported_with_both_sides_the_bytes_and_the_edge() {
    let mut program = Program::new();
    program.checker.allocated(0x1000..0x2000, "buffer".into());
    program.run(A, "kernel `scale`", &writes(0x1000..0x1200));
    program.run(B, "copy from device to host", &reads(0x1100..0x1300));
    let found = program.only_finding();
    assert_eq!((found.kind, found.rule), (Kind::Race, Rule::Race));
    assert_eq!(found.bytes, 0x1100..0x1200);
    let text = found.to_string();
    for part in [
        "kernel `scale`, operation 1 of stream 13, writes",
        "copy from device to host, operation 1 of stream 14, reads",
        "0x1100..0x1200 (256 bytes) at offset 256 of buffer (4096 bytes at 0x1000)",
        "missing: record an event after kernel `scale` on stream 13; make stream 14 wait for it before copy from device to host",
    ] {
        assert!(text.contains(part), "{part}\nis not in\n{text}");
    }
}

#[test]
fn a_wait_joins_the_last_record_at_the_time_of_the_call() {
    let mut program = Program::new();
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
            "stream 14 waited for event 3, but it had been recorded before kernel, and recorded again only after the wait: a wait joins the last record at the time of the call"
        )
    );
}

#[test]
fn the_host_comes_after_what_it_waited_for() {
    let mut program = Program::new();
    program.run(A, "copy", &writes(BYTES));
    program.host_reads(HOST, BYTES);
    let found = program.only_finding();
    assert_eq!(
        found.missing,
        "synchronise with stream 13 after copy (cuStreamSynchronize, cuEventSynchronize) before the host reads"
    );
    program.checker.stream_synchronized(HOST, A);
    program.host_reads(HOST, BYTES);
    program.assert_silent();
}

#[test]
fn registered_threads_have_clocks_of_their_own() {
    let mut program = Program::new();
    let thread = ThreadId(5);
    program.checker.thread_started(None, thread);
    program.host_writes(HOST, BYTES);
    let copy = program.submit_by(thread, A, "copy");
    program.execute(copy, &reads(BYTES));
    assert_eq!(program.only_finding().bytes, BYTES);
    program.checker.thread_joined(None, thread);
    program.host_writes(HOST, BYTES);
    assert_eq!(
        program.checker.take_findings().len(),
        1,
        "a join does not wait for the device"
    );
}
