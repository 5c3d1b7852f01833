//! Order that is known only when an operation runs: waits for values, and host functions.

use super::program::*;
use software_gpu::memory::Accesses;
use software_gpu::order::{OperationId, StreamId, ValueId};

const FLAG: std::ops::Range<u64> = 0x8000..0x8004;
const INITIAL: ValueId = ValueId(1);
const WRITTEN: ValueId = ValueId(2);

impl TestProgram {
    /// Submits a wait for a value, or a host function.
    fn submit_learning(&mut self, stream: StreamId, what: &'static str) -> OperationId {
        let operation = self.submit(stream, what);
        self.checker.learns(operation);
        operation
    }

    /// Writes the value and leaves it there.
    fn write_value(&mut self, stream: StreamId, write: ValueId) {
        let operation = self.submit(stream, "write of a value");
        self.checker.accessed(operation, &atomics(FLAG));
        self.checker.value_written(write, Some(operation));
        self.checker.ended(operation);
    }

    fn find_value(&mut self, wait: OperationId, write: ValueId) {
        self.checker.value_found(wait, FLAG, Some(write));
        self.checker.ended(wait);
    }

    fn call_host_function(&mut self, function: OperationId) {
        self.checker.host_function_began(function);
        self.checker.host_function_returned(function);
        self.checker.ended(function);
    }
}

#[test]
fn what_was_submitted_behind_a_wait_comes_after_the_write_that_releases_it() {
    let mut program = TestProgram::new();
    program.checker.value_watched(INITIAL, FLAG);
    let wait = program.submit_learning(B, "wait");
    let kernel = program.submit(B, "kernel");
    program.run(A, "copy", &writes(BYTES));
    program.write_value(A, WRITTEN);
    program.find_value(wait, WRITTEN);
    program.execute(kernel, &reads(BYTES));
    program.assert_silent();
}

#[test]
fn a_wait_does_not_come_after_a_write_that_did_not_release_it() {
    let mut program = TestProgram::new();
    program.checker.value_watched(INITIAL, FLAG);
    let wait = program.submit_learning(B, "wait");
    program.write_value(A, WRITTEN);
    program.run(A, "copy", &writes(BYTES));
    program.write_value(A, ValueId(3));
    program.find_value(wait, WRITTEN);
    program.run(B, "kernel", &reads(BYTES));
    program.only_finding();
}

/// The order extends through events, other streams and the host.
#[test]
fn what_a_wait_learns_is_passed_on() {
    let mut program = TestProgram::new();
    program.checker.value_watched(INITIAL, FLAG);
    let wait = program.submit_learning(B, "wait");
    program.record(B, EVENT);
    program.wait(BLOCKING, EVENT);
    let kernel = program.submit(BLOCKING, "kernel");
    let legacy = program.submit(LEGACY, "copy");
    program.run(A, "copy", &writes(BYTES));
    program.write_value(A, WRITTEN);
    program.find_value(wait, WRITTEN);
    program.execute(kernel, &reads(BYTES));
    program.execute(legacy, &reads(BYTES));
    program.checker.context_synchronized(HOST, CONTEXT);
    program.host_writes(HOST, BYTES);
    program.assert_silent();
}

#[test]
fn a_write_that_was_there_before_the_first_wait_counts() {
    let mut program = TestProgram::new();
    program.run(A, "copy", &writes(BYTES));
    program.run(A, "memset", &writes(FLAG));
    program.checker.value_watched(INITIAL, FLAG);
    let wait = program.submit_learning(B, "wait");
    program.find_value(wait, INITIAL);
    program.run(B, "kernel", &reads(BYTES));
    program.assert_silent();
}

#[test]
fn a_value_of_the_host_carries_what_the_host_has_waited_for() {
    let mut program = TestProgram::new();
    program.checker.value_watched(INITIAL, FLAG);
    let wait = program.submit_learning(B, "wait");
    program.run(A, "copy", &writes(BYTES));
    program.checker.stream_synchronized(HOST, A);
    program.run(A, "late copy", &writes(0x2000..0x2008));
    program.checker.value_written(WRITTEN, None);
    program.find_value(wait, WRITTEN);
    program.run(B, "kernel", &reads(BYTES));
    program.assert_silent();
    program.run(B, "kernel", &reads(0x2000..0x2008));
    program.only_finding();
}

#[test]
fn waits_and_writes_of_values_conflict_with_plain_accesses() {
    let mut program = TestProgram::new();
    program.checker.value_watched(INITIAL, FLAG);
    program.write_value(A, WRITTEN);
    program.run(B, "memset", &writes(FLAG));
    program.only_finding();
    let mut program = TestProgram::new();
    program.checker.value_watched(INITIAL, FLAG);
    let wait = program.submit_learning(B, "wait");
    program.write_value(A, WRITTEN);
    program.find_value(wait, WRITTEN);
    program.write_value(B, ValueId(3));
    program.assert_silent();
    program.run(BLOCKING, "memset", &writes(FLAG));
    assert_eq!(program.checker.take_findings().len(), 1);
}

/// The free was submitted while it was not known what it comes after.
#[test]
fn a_free_behind_a_wait_comes_after_what_the_wait_learns() {
    for ordered in [true, false] {
        let mut program = TestProgram::new();
        program.checker.value_watched(INITIAL, FLAG);
        program.allocate(B, BYTES, "scratch");
        program.record(B, EVENT);
        program.wait(A, EVENT);
        let wait = program.submit_learning(B, "wait");
        let free = program.submit(B, "free");
        program.checker.pool_freed(free, BYTES.start);
        if !ordered {
            program.write_value(A, WRITTEN);
        }
        program.run(A, "kernel", &writes(BYTES));
        if ordered {
            program.write_value(A, WRITTEN);
        }
        program.find_value(wait, WRITTEN);
        program.checker.began(free);
        program.checker.ended(free);
        if ordered {
            program.assert_silent();
        } else {
            let found = program.only_finding();
            assert_eq!(
                found.rule,
                software_gpu::order::OrderRule::FreedWithoutOrder
            );
        }
    }
}

/// They may have agreed through a lock: the host filled the buffer, and the function waited for it.
#[test]
fn a_host_function_comes_after_what_the_host_did_before_it_ran() {
    let mut program = TestProgram::new();
    let function = program.submit_learning(A, "host function");
    let copy = program.submit(A, "copy");
    program.host_writes(HOST, BYTES);
    program.call_host_function(function);
    program.execute(copy, &reads(BYTES));
    program.assert_silent();
}

/// The host saw a flag that the function has set.
#[test]
fn the_host_goes_on_after_a_host_function_that_has_run() {
    let mut program = TestProgram::new();
    program.run(A, "copy", &writes(BYTES));
    let function = program.submit_learning(A, "host function");
    program.host_reads(HOST, BYTES);
    program.only_finding();
    program.call_host_function(function);
    program.host_reads(HOST, BYTES);
    program.run(B, "kernel", &writes(BYTES));
    program.assert_silent();
}

/// The host polls the flag, and says so when it has found the value.
#[test]
fn a_thread_that_acquires_a_flag_comes_after_its_writer() {
    let mut program = TestProgram::new();
    program.run(A, "kernel", &writes(BYTES));
    program.run(A, "write of a value", &atomics(FLAG));
    program.run(A, "late copy", &writes(0x2000..0x2008));
    program.checker.acquired(HOST, FLAG);
    program.host_reads(HOST, BYTES);
    program.run(B, "kernel", &writes(BYTES));
    program.assert_silent();
    program.host_reads(HOST, 0x2000..0x2008);
    program.only_finding();
}

/// Two kernels count to two, and a stream has waited for the first one.
#[test]
fn a_thread_that_acquires_a_counter_comes_after_all_that_counted() {
    let mut program = TestProgram::new();
    program.checker.value_watched(INITIAL, FLAG);
    let wait = program.submit_learning(BLOCKING, "wait");
    program.run(A, "kernel", &writes(0x1000..0x1008));
    program.write_value(A, WRITTEN);
    program.run(B, "kernel", &writes(0x2000..0x2008));
    program.write_value(B, ValueId(3));
    program.find_value(wait, WRITTEN);
    program.checker.acquired(HOST, FLAG);
    program.host_reads(HOST, 0x1000..0x1008);
    program.host_reads(HOST, 0x2000..0x2008);
    program.assert_silent();
}

/// The same before a stream waits for the first time.
#[test]
fn a_wait_for_a_counter_comes_after_all_that_counted_before_the_first_wait() {
    let mut program = TestProgram::new();
    program.run(A, "kernel", &writes(0x1000..0x1008));
    program.run(A, "count", &atomics(FLAG));
    program.run(B, "count", &atomics(FLAG));
    program.checker.value_watched(INITIAL, FLAG);
    let wait = program.submit_learning(BLOCKING, "wait");
    program.find_value(wait, INITIAL);
    program.run(BLOCKING, "kernel", &reads(0x1000..0x1008));
    program.assert_silent();
}

/// Another flag, one that was never written, and one whose writer has not ended.
#[test]
fn a_thread_that_acquires_something_else_does_not_come_after_the_writer() {
    let other = FLAG.end..FLAG.end + 4;
    let acquire: [fn(&mut TestProgram, std::ops::Range<u64>); 3] = [
        |program, other| {
            program.run(B, "write of a value", &atomics(other.clone()));
            program.checker.acquired(HOST, other);
        },
        |program, other| program.checker.acquired(HOST, other),
        |program, other| {
            let write = program.submit(A, "write of a value");
            program.checker.accessed(write, &atomics(other.clone()));
            program.checker.acquired(HOST, other);
        },
    ];
    for acquire in acquire {
        let mut program = TestProgram::new();
        program.run(A, "kernel", &writes(BYTES));
        program.run(A, "write of a value", &atomics(FLAG));
        acquire(&mut program, other.clone());
        program.host_reads(HOST, BYTES);
        program.only_finding();
    }
}

#[test]
fn a_thread_acquires_what_another_thread_has_written() {
    let mut program = TestProgram::new();
    let [writer, reader] = [1, 2].map(software_gpu::order::ThreadId);
    for thread in [writer, reader] {
        program.checker.thread_started(None, thread);
    }
    program.host_writes(writer, BYTES);
    program.host_writes(writer, FLAG);
    program.checker.acquired(reader, FLAG);
    program.host_reads(reader, BYTES);
    program.assert_silent();
}

/// A host function may poll, too.
#[test]
fn a_host_function_that_acquires_a_flag_comes_after_its_writer() {
    let mut program = TestProgram::new();
    let function = program.submit_learning(B, "host function");
    let behind = program.submit(B, "kernel");
    program.run(A, "copy", &writes(BYTES));
    program.run(A, "write of a value", &atomics(FLAG));
    program.checker.host_function_began(function);
    program.checker.acquired_by(function, FLAG);
    program.checker.accessed(function, &reads(BYTES));
    program.checker.host_function_returned(function);
    program.checker.ended(function);
    program.execute(behind, &writes(BYTES));
    program.host_reads(HOST, BYTES);
    program.only_finding();
}

/// A kernel that may overlap the one before it and never waits for that one stores to a flag.
#[test]
fn what_an_overlapping_kernel_has_stored_orders_what_sees_it() {
    for stream_waits in [true, false] {
        let mut program = TestProgram::new();
        program.checker.value_watched(INITIAL, FLAG);
        for _ in 0..2 {
            let kernel = program.submit(A, "kernel");
            program.checker.launched(HOST, kernel, true);
            let accesses = Accesses {
                writes: BYTES.into(),
                atomics: FLAG.into(),
                ..Accesses::default()
            };
            program.checker.accessed_early(kernel, &accesses, false);
            program.checker.value_written(WRITTEN, Some(kernel));
            program.checker.ended(kernel);
        }
        program.checker.take_findings();
        if stream_waits {
            let wait = program.submit_learning(B, "wait");
            program.find_value(wait, WRITTEN);
            program.run(B, "kernel", &reads(BYTES));
        } else {
            program.checker.acquired(HOST, FLAG);
            program.host_reads(HOST, BYTES);
        }
        program.assert_silent();
    }
}
