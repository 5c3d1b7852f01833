//! Stream-ordered allocations.

use super::program::*;
use software_gpu::order::{OrderRule, StreamId};
use software_gpu::reports::Kind;

#[test]
fn a_life_in_one_stream_is_fine_and_so_is_the_next_one_at_its_address() {
    let mut program = TestProgram::new();
    for _ in 0..3 {
        program.allocate(A, BYTES, "scratch");
        program.run(A, "kernel", &writes(BYTES));
        program.free(A, BYTES.start);
    }
    program.assert_silent();
}

#[test]
fn addresses_are_reused_while_their_first_users_still_wait_in_the_stream() {
    let mut program = TestProgram::new();
    program.allocate(A, BYTES, "first");
    let one = program.submit(A, "one");
    program.free(A, BYTES.start);
    program.allocate(A, BYTES, "second");
    let two = program.submit(A, "two");
    program.free(A, BYTES.start);
    program.execute(one, &writes(BYTES));
    program.execute(two, &writes(BYTES));
    program.assert_silent();
}

#[test]
fn a_pool_may_give_completed_memory_to_another_stream_without_an_edge() {
    let mut program = TestProgram::new();
    program.allocate(A, BYTES, "first");
    program.run(A, "kernel", &writes(BYTES));
    program.free(A, BYTES.start);
    program.allocate(B, BYTES, "second");
    program.run(B, "kernel", &writes(BYTES));
    program.assert_silent();
}

#[test]
fn a_use_before_the_allocation_is_reported() {
    let mut program = TestProgram::new();
    program.allocate(A, BYTES, "scratch");
    program.run(B, "kernel", &writes(0x1010..0x1020));
    let found = program.only_finding();
    assert_eq!(
        (found.kind, found.rule),
        (Kind::Lifetime, OrderRule::UsedBeforeAllocation)
    );
    assert_eq!(found.bytes, 0x1010..0x1020);
    assert_eq!(
        found.missing,
        "record an event on stream 13 after the allocation (cuEventRecord); make stream 14 wait for it before the kernel (cuStreamWaitEvent)"
    );
    let text = found.to_string();
    assert!(
        text.contains("16..32 (16 bytes) of scratch, 256 bytes"),
        "{text}"
    );
}

#[test]
fn an_event_behind_the_allocation_lets_another_stream_use_it() {
    let mut program = TestProgram::new();
    program.allocate(A, BYTES, "scratch");
    program.record(A, EVENT);
    program.wait(B, EVENT);
    program.run(B, "kernel", &writes(BYTES));
    program.record(B, EVENT);
    program.wait(A, EVENT);
    program.free(A, BYTES.start);
    program.assert_silent();
}

#[test]
fn a_use_after_the_free_is_reported() {
    let mut program = TestProgram::new();
    program.allocate(A, BYTES, "scratch");
    program.free(A, BYTES.start);
    program.run(A, "kernel", &reads(BYTES));
    let found = program.only_finding();
    assert_eq!(found.rule, OrderRule::UsedAfterFree);
    assert_eq!(found.missing, "free the memory after the kernel");
}

#[test]
fn a_free_without_order_is_reported_whichever_runs_first() {
    for kernel_first in [true, false] {
        let mut program = TestProgram::new();
        program.allocate(A, BYTES, "scratch");
        program.record(A, EVENT);
        program.wait(B, EVENT);
        let kernel = program.submit(B, "kernel");
        if kernel_first {
            program.execute(kernel, &reads(BYTES));
            program.free(A, BYTES.start);
        } else {
            program.free(A, BYTES.start);
            program.execute(kernel, &reads(BYTES));
        }
        let found = program.only_finding();
        assert_eq!(found.rule, OrderRule::FreedWithoutOrder);
        assert_eq!(
            found.missing,
            "record an event on stream 14 after the kernel (cuEventRecord); make stream 13 wait for it before the free (cuStreamWaitEvent)"
        );
    }
}

#[test]
fn memory_with_a_new_owner_is_reported_with_both() {
    let mut program = TestProgram::new();
    let other = StreamId(20);
    program.checker.stream_created(
        HOST,
        other,
        CONTEXT,
        software_gpu::order::StreamKind::NonBlocking,
    );
    program.allocate(A, BYTES, "the first batch");
    program.record(A, EVENT);
    program.wait(B, EVENT);
    let kernel = program.submit(B, "kernel");
    program.free(A, BYTES.start);
    program.allocate(other, BYTES, "the second batch");
    program.execute(kernel, &reads(BYTES));
    let found = program.only_finding();
    assert_eq!(found.rule, OrderRule::Reused);
    assert_eq!(
        found.allocation.map(|owner| owner.description.what),
        Some("the first batch".into())
    );
    assert_eq!(
        found.newer.map(|owner| owner.description.what),
        Some("the second batch".into())
    );
}

#[test]
fn a_free_that_waits_for_the_device_ends_all_history() {
    let mut program = TestProgram::new();
    program.checker.allocated(BYTES, "buffer".into());
    program.run(A, "kernel", &writes(BYTES));
    program.checker.freed(BYTES);
    program.checker.allocated(BYTES, "buffer".into());
    program.run(B, "kernel", &writes(BYTES));
    program.assert_silent();
}

#[test]
fn plain_allocations_can_be_freed_in_stream_order() {
    let mut program = TestProgram::new();
    program.checker.allocated(BYTES, "buffer".into());
    program.run(B, "kernel", &writes(BYTES));
    program.free(A, BYTES.start);
    assert_eq!(program.only_finding().rule, OrderRule::FreedWithoutOrder);
}

#[test]
fn the_host_waits_for_uses_before_it_frees_a_pools_memory() {
    for waits in [true, false] {
        let mut program = TestProgram::new();
        program.allocate(A, BYTES, "scratch");
        program.run(A, "kernel", &writes(BYTES));
        if waits {
            program.checker.stream_synchronized(HOST, A);
        }
        program
            .checker
            .pool_freed_by_host(HOST, BYTES.start, "cuMemFree".into());
        let found = program.checker.take_findings();
        let missing: Vec<_> = found
            .iter()
            .map(|finding| (finding.rule, &*finding.missing))
            .collect();
        let synchronise = |what| {
            format!(
                "synchronise with stream 13 after the {what} (cuStreamSynchronize, cuEventSynchronize) before the host frees the memory"
            )
        };
        let [allocation, kernel] = ["allocation", "kernel"].map(synchronise);
        let expected = [
            (OrderRule::UsedBeforeAllocation, &*allocation),
            (OrderRule::FreedWithoutOrder, &*kernel),
        ];
        assert_eq!(missing, if waits { &[][..] } else { &expected });
    }
}
