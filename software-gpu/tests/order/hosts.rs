//! Host threads, host accesses and host functions.

use super::program::*;
use software_gpu::order::ThreadId;

const THREAD: ThreadId = ThreadId(5);

#[test]
fn a_buffer_is_not_written_again_before_its_copy_has_run() {
    let mut program = TestProgram::new();
    program.host_writes(HOST, BYTES);
    let copy = program.submit(A, "copy from host to device");
    program.host_writes(HOST, BYTES);
    program.execute(copy, &reads(BYTES));
    let found = program.only_finding();
    assert_eq!(
        found.missing,
        "synchronise with stream 13 after the copy from host to device (cuStreamSynchronize, cuEventSynchronize) \
         before the host writes the bytes"
    );
}

#[test]
fn every_kind_of_synchronisation_orders_the_host() {
    for kind in 0..4 {
        let mut program = TestProgram::new();
        let copy = program.submit(A, "copy");
        program.checker.accessed(copy, &writes(BYTES));
        program.checker.recorded(EVENT, A, copy);
        match kind {
            0 => program.checker.stream_synchronized(HOST, A),
            1 => program.checker.event_synchronized(HOST, EVENT),
            2 => program.checker.context_synchronized(HOST, CONTEXT),
            _ => program.checker.operation_synchronized(HOST, copy),
        }
        program.host_reads(HOST, BYTES);
        program.assert_silent();
    }
}

#[test]
fn what_the_host_waited_for_comes_before_what_it_submits() {
    let mut program = TestProgram::new();
    program.run(A, "kernel", &writes(BYTES));
    program.checker.stream_synchronized(HOST, A);
    program.run(B, "copy", &reads(BYTES));
    program.assert_silent();
}

#[test]
fn an_event_recorded_too_early_does_not_order_the_host() {
    let mut program = TestProgram::new();
    program.record(A, EVENT);
    program.run(A, "copy", &writes(BYTES));
    program.checker.event_synchronized(ThreadId(70), EVENT);
    program.host_reads(ThreadId(71), BYTES);
    assert_eq!(
        program.only_finding().nearly.as_deref(),
        Some("the host waited for event 3, but it had been recorded before the copy")
    );
}

#[test]
fn a_thread_comes_after_what_its_parent_did_before_starting_it() {
    let mut program = TestProgram::new();
    program.host_writes(HOST, BYTES);
    program.checker.thread_started(Some(HOST), THREAD);
    let copy = program.submit_by(THREAD, A, "copy");
    program.execute(copy, &reads(BYTES));
    program.assert_silent();
    program.host_writes(HOST, BYTES);
    assert_eq!(program.checker.take_findings().len(), 1);
}

#[test]
fn a_parent_comes_after_what_it_joined() {
    let mut program = TestProgram::new();
    program.checker.thread_started(None, THREAD);
    let copy = program.submit_by(THREAD, A, "copy");
    program.execute(copy, &writes(BYTES));
    program.checker.stream_synchronized(THREAD, A);
    program.checker.thread_joined(None, THREAD);
    program.host_reads(HOST, BYTES);
    program.assert_silent();
}

#[test]
fn registered_threads_have_clocks_of_their_own() {
    let mut program = TestProgram::new();
    program.checker.thread_started(None, THREAD);
    program.host_writes(HOST, BYTES);
    program.host_reads(THREAD, BYTES);
    let found = program.only_finding();
    assert_eq!(
        found.missing,
        "make host thread 5 wait for the host before it reads the bytes, as joining a thread does"
    );
    let copy = program.submit_by(THREAD, A, "copy");
    program.execute(copy, &reads(BYTES));
    assert_eq!(
        program.only_finding().missing,
        "make host thread 5 wait for the host before it submits the copy, as joining a thread does"
    );
}

#[test]
fn unregistered_threads_share_one_clock() {
    let mut program = TestProgram::new();
    program.host_writes(ThreadId(70), BYTES);
    program.host_writes(ThreadId(71), BYTES);
    let copy = program.submit_by(ThreadId(72), A, "copy");
    program.execute(copy, &reads(BYTES));
    program.assert_silent();
}

#[test]
fn a_host_function_is_ordered_like_its_operation() {
    let mut program = TestProgram::new();
    program.run(A, "copy from device to host", &writes(BYTES));
    program.run(A, "host function", &reads(BYTES));
    program.assert_silent();
    program.host_writes(HOST, BYTES);
    let found = program.only_finding();
    assert_eq!(found.first.description.what, "host function");
}

/// The wait was the host's, and the operation behind it is the device's.
#[test]
fn an_event_that_the_host_waited_for_too_early_is_noted() {
    let mut program = TestProgram::new();
    program.record(A, EVENT);
    program.run(A, "kernel", &writes(BYTES));
    program.checker.event_synchronized(HOST, EVENT);
    program.run(B, "copy", &reads(BYTES));
    let found = program.only_finding();
    assert_eq!(
        found.nearly.as_deref(),
        Some("the host waited for event 3, but it had been recorded before the kernel")
    );
}
