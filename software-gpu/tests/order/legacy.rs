//! The legacy stream's implicit order.

use super::program::*;
use software_gpu::order::{ContextId, StreamId, StreamKind};

#[test]
fn the_legacy_stream_comes_after_blocking_streams_and_they_after_it() {
    let mut program = TestProgram::new();
    program.run(BLOCKING, "kernel", &writes(BYTES));
    program.run(LEGACY, "copy", &writes(BYTES));
    program.run(BLOCKING, "kernel", &writes(BYTES));
    program.assert_silent();
}

#[test]
fn non_blocking_streams_take_no_part() {
    let mut program = TestProgram::new();
    program.run(LEGACY, "copy", &writes(BYTES));
    program.run(A, "kernel", &writes(BYTES));
    let found = program.only_finding();
    let text = found.to_string();
    for part in [
        "copy, operation 1 of the legacy default stream, writes",
        "stream 13 was created with CU_STREAM_NON_BLOCKING: the legacy default stream does not synchronise with it",
    ] {
        assert!(
            text.contains(part),
            "{part}
is not in
{text}"
        );
    }
    program.run(LEGACY, "copy", &reads(BYTES));
    assert_eq!(
        program.only_finding().second.operation(),
        Some(software_gpu::order::OperationId(3))
    );
}

#[test]
fn the_legacy_stream_comes_after_blocking_streams_that_are_gone() {
    let mut program = TestProgram::new();
    let stream = StreamId(20);
    program
        .checker
        .stream_created(HOST, stream, CONTEXT, StreamKind::Blocking);
    program.run(stream, "kernel", &writes(BYTES));
    program.checker.stream_destroyed(stream);
    program.run(LEGACY, "copy", &reads(BYTES));
    program.assert_silent();
}

#[test]
fn blocking_streams_are_ordered_by_a_legacy_operation_between_them() {
    let mut program = TestProgram::new();
    let other = StreamId(20);
    program
        .checker
        .stream_created(HOST, other, CONTEXT, StreamKind::Blocking);
    program.run(BLOCKING, "kernel", &writes(BYTES));
    program.run(LEGACY, "memset", &writes(0..8));
    program.run(other, "copy", &reads(BYTES));
    program.assert_silent();
    program.run(BLOCKING, "kernel", &writes(BYTES));
    program.only_finding();
}

#[test]
fn each_context_has_its_own_legacy_stream() {
    let mut program = TestProgram::new();
    let legacy = StreamId(30);
    program.checker.context_created(HOST, ContextId(2), legacy);
    program.run(BLOCKING, "kernel", &writes(BYTES));
    program.run(legacy, "copy", &reads(BYTES));
    program.only_finding();
}

#[test]
fn synchronising_with_the_legacy_stream_covers_blocking_streams_alone() {
    let mut program = TestProgram::new();
    program.run(BLOCKING, "kernel", &writes(BYTES));
    program.run(A, "kernel", &writes(0x2000..0x2008));
    program.checker.stream_synchronized(HOST, LEGACY);
    program.host_reads(HOST, BYTES);
    program.assert_silent();
    program.host_reads(HOST, 0x2000..0x2008);
    program.only_finding();
}
