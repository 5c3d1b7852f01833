//! No sequence of calls makes the checker panic.

use std::ops::Range;

use software_gpu::memory::Accesses;
use software_gpu::order::{
    Checker, ContextId, EventId, HostAccess, OperationId, StreamId, StreamKind, ThreadId,
};

/// Numbers that are the same in every run.
struct SeededRandom(fastrand::Rng);

impl SeededRandom {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.u64(..bound)
    }

    fn address(&mut self) -> u64 {
        let near = self.below(8);
        [near, u64::MAX - near, 1 << 63, near * 64][self.below(4) as usize]
    }

    fn range(&mut self) -> Range<u64> {
        self.address()..self.address()
    }

    fn accesses(&mut self) -> Accesses {
        Accesses {
            reads: [self.range(), self.range()].into_iter().collect(),
            writes: self.range().into(),
            atomics: self.range().into(),
        }
    }
}

fn any_call(checker: &mut Checker, random: &mut SeededRandom) {
    let [thread, other] = [(); 2].map(|()| ThreadId(random.below(4)));
    let [operation, node] = [(); 2].map(|()| OperationId(random.below(6)));
    let (stream, event) = (StreamId(random.below(4)), EventId(random.below(3)));
    let context = ContextId(random.below(2));
    let range = random.range();
    match random.below(26) {
        0 => checker.thread_started(Some(other), thread),
        1 => checker.thread_joined(Some(other), thread),
        2 => checker.context_created(thread, context, stream),
        3 => checker.context_destroyed(context),
        4 => checker.stream_created(thread, stream, context, StreamKind::Blocking),
        5 => checker.stream_created(thread, stream, context, StreamKind::NonBlocking),
        6 => checker.stream_destroyed(stream),
        7..10 => checker.submitted(thread, stream, operation, &[node], "operation".into()),
        10 => checker.submitted_node(thread, operation, node, &[node], "node".into()),
        11 => checker.node_waited(node, event),
        12 => checker.ended(operation),
        13 => checker.recorded(event, stream, operation),
        14 => checker.event_destroyed(event),
        15 => checker.waited(thread, stream, event),
        16 => checker.stream_synchronized(thread, stream),
        17 => checker.event_synchronized(thread, event),
        18 => checker.context_synchronized(thread, context),
        19 => checker.operation_synchronized(thread, operation),
        20 => checker.accessed(operation, &random.accesses()),
        21 => checker.host_accessed(thread, HostAccess::Write, range, "write".into()),
        22 => checker.allocated(range, "allocation".into()),
        23 => checker.freed(range),
        24 => checker.pool_allocated(operation, range, "allocation".into()),
        _ => checker.pool_freed(operation, range.start),
    }
}

#[test]
fn no_sequence_of_calls_panics() {
    let mut random = SeededRandom(fastrand::Rng::with_seed(1));
    let mut findings = 0;
    for program in 0..1_000 {
        let mut checker = Checker::with_room(program % 20);
        for _ in 0..200 {
            any_call(&mut checker, &mut random);
        }
        let found = checker.take_findings();
        findings += found
            .iter()
            .map(|finding| finding.to_string().len().min(1))
            .sum::<usize>();
    }
    assert!(findings > 1_000, "{findings}");
}

#[test]
fn a_checker_can_be_shared_behind_a_lock() {
    fn is_send<T: Send>() {}
    is_send::<Checker>();
}
