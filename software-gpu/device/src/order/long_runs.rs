//! Tests: memory stays bounded however long a program runs, and time is proportional to the number of its accesses.
//!
//! Nothing here is timed. Memory is the checker's number of ranges, chains and operations ([`Checker::size`]) after tens of thousands of
//! rounds. Time is the number of nodes, cells and groups that the checker has looked at (`visited`).

use std::ops::Range;

use super::kinds::Kinds;
use super::visited;
use super::*;
use crate::memory::Accesses;

const HOST: ThreadId = ThreadId::UNREGISTERED;
const ROUNDS: u64 = 50_000;

struct ChainRun {
    checker: Checker,
    last: u64,
}

impl ChainRun {
    fn new(streams: u64) -> Self {
        let mut checker = Checker::new();
        checker.context_created(HOST, ContextId(1), StreamId(0));
        for stream in 1..=streams {
            checker.stream_created(
                HOST,
                StreamId(stream),
                ContextId(1),
                StreamKind::NonBlocking,
            );
        }
        Self { checker, last: 0 }
    }

    fn write(&mut self, stream: u64, range: Range<u64>) {
        self.write_all(stream, [range]);
    }

    fn write_all(&mut self, stream: u64, ranges: impl IntoIterator<Item = Range<u64>>) {
        let accesses = Accesses {
            writes: ranges.into_iter().collect(),
            ..Accesses::default()
        };
        self.run(stream, &accesses);
    }

    fn access(&mut self, stream: u64, kinds: Kinds, range: Range<u64>) {
        let mut accesses = Accesses::default();
        match kinds {
            Kinds::READ => accesses.reads = range.into(),
            Kinds::WRITE => accesses.writes = range.into(),
            _ => accesses.atomics = range.into(),
        }
        self.run(stream, &accesses);
    }

    fn submit(&mut self, stream: StreamId) -> OperationId {
        self.last += 1;
        let operation = OperationId(self.last);
        self.checker
            .submitted(HOST, stream, operation, &[], "kernel".into());
        operation
    }

    fn run(&mut self, stream: u64, accesses: &Accesses) {
        let operation = self.submit(StreamId(stream));
        self.checker.accessed(operation, accesses);
        self.checker.ended(operation);
    }

    /// An operation of each stream in turn, each behind an event that the one before it recorded.
    fn pipeline(&mut self, streams: u64, operations: u64) {
        for index in 0..operations {
            let (stream, event) = (1 + index % streams, EventId(1));
            self.checker.waited(HOST, StreamId(stream), event);
            self.write(stream, 0..64);
            let operation = OperationId(self.last);
            self.checker.recorded(event, StreamId(stream), operation);
        }
    }

    #[track_caller]
    fn assert_small(&mut self) {
        assert!(self.checker.take_findings().is_empty());
        let (history, chains, operations) = self.checker.size();
        assert!(history < 20_000, "{history} ranges");
        assert!(chains < 10, "{chains} chains");
        assert_eq!(operations, 0);
    }
}

#[test]
fn accesses_that_the_host_has_waited_for_are_forgotten() {
    let mut run = ChainRun::new(2);
    for round in 0..ROUNDS {
        let stream = 1 + round % 2;
        run.write(stream, round * 16..round * 16 + 8);
        run.checker.stream_synchronized(HOST, StreamId(stream));
    }
    run.assert_small();
}

#[test]
fn the_same_bytes_cost_the_same_without_a_wait() {
    let mut run = ChainRun::new(2);
    for round in 0..ROUNDS {
        let stream = 1 + round % 2;
        let start = stream * 4096 + round / 2 % 64 * 16;
        run.write(stream, start..start + 12);
    }
    run.assert_small();
}

#[test]
fn chains_of_ended_streams_and_threads_are_reused() {
    let mut run = ChainRun::new(0);
    for round in 1..=ROUNDS {
        let (stream, thread) = (StreamId(round), ThreadId(round));
        run.checker.thread_started(None, thread);
        run.checker
            .host_accessed(thread, HostAccess::Read, 0..8, "read".into());
        run.checker
            .stream_created(HOST, stream, ContextId(1), StreamKind::Blocking);
        run.write(round, 64..128);
        run.checker.stream_synchronized(thread, stream);
        run.checker.stream_destroyed(stream);
        run.checker.thread_joined(None, thread);
    }
    run.assert_small();
}

#[test]
fn allocations_at_one_address_are_forgotten() {
    let mut run = ChainRun::new(1);
    for _ in 0..ROUNDS {
        run.last += 1;
        let operation = OperationId(run.last);
        run.checker
            .submitted(HOST, StreamId(1), operation, &[], "allocation".into());
        run.checker
            .pool_allocated(operation, 0..512, "scratch".into());
        run.checker.ended(operation);
        run.write(1, 0..512);
        run.last += 1;
        let operation = OperationId(run.last);
        run.checker
            .submitted(HOST, StreamId(1), operation, &[], "free".into());
        run.checker.pool_freed(operation, 0);
        run.checker.ended(operation);
    }
    run.assert_small();
}

#[test]
fn branches_of_graphs_share_chains() {
    let mut run = ChainRun::new(1);
    for _ in 0..ROUNDS / 5 {
        let [launch, left, right, end] = [1, 2, 3, 4].map(|number| OperationId(run.last + number));
        run.last += 4;
        run.checker
            .submitted(HOST, StreamId(1), launch, &[], "graph".into());
        run.checker
            .submitted_node(HOST, launch, left, &[], "left".into());
        run.checker
            .submitted_node(HOST, launch, right, &[], "right".into());
        run.checker
            .submitted(HOST, StreamId(1), end, &[left, right], "end".into());
        for operation in [launch, left, right, end] {
            run.checker.ended(operation);
        }
    }
    run.assert_small();
}

#[test]
fn a_wait_for_a_clock_that_includes_the_others_joins_no_clocks() {
    let joined = |streams: u64, wait: fn(&mut ChainRun, u64)| {
        let mut run = ChainRun::new(streams);
        run.pipeline(streams, streams);
        let before = visited::nodes();
        wait(&mut run, streams);
        visited::nodes() - before
    };
    for streams in [8, 128] {
        let pipeline = |run: &mut ChainRun, streams: u64| run.pipeline(streams, 10 * streams);
        assert_eq!(joined(streams, pipeline), 0, "{streams} streams");
        // Streams with unrelated clocks that then wait for each other do.
        let apart = |run: &mut ChainRun, streams: u64| {
            (1..=streams).for_each(|stream| run.write(stream, stream * 64..stream * 64 + 64));
            run.pipeline(streams, streams);
        };
        assert!(joined(streams, apart) > 0, "{streams} streams");
    }
}

#[test]
fn scattered_accesses_look_at_no_groups_elsewhere() {
    let looked_at = |kernels: u64, apart: u64| {
        let mut run = ChainRun::new(1);
        let before = visited::groups();
        for kernel in 0..kernels {
            let ranges = (0..4).map(|index| (kernel * apart + index) * 16);
            run.write_all(1, ranges.map(|start| start..start + 4));
        }
        visited::groups() - before
    };
    assert_eq!(looked_at(3000, 4), 0);
    // The runs whose spans overlap the same range are examined.
    assert!(looked_at(3000, 1) > 0);
}

#[test]
fn writes_of_a_value_before_all_later_operations_are_forgotten() {
    let mut run = ChainRun::new(1);
    let mut open = 0;
    for round in 1..=ROUNDS {
        run.checker.value_watched(ValueId(0), 0..4);
        run.last += 1;
        let operation = OperationId(run.last);
        run.checker
            .submitted(HOST, StreamId(1), operation, &[], "write".into());
        let accesses = Accesses {
            atomics: (0..4).into(),
            ..Accesses::default()
        };
        run.checker.accessed(operation, &accesses);
        run.checker.value_written(ValueId(round), Some(operation));
        run.checker.ended(operation);
        if round % 100 == 0 {
            run.checker.stream_synchronized(HOST, StreamId(1));
        }
        open += u64::from(!run.checker.is_known_to_all(ValueId(round)));
    }
    assert_eq!(open, ROUNDS);
    let known = (1..=ROUNDS).filter(|write| run.checker.is_known_to_all(ValueId(*write)));
    assert!(known.count() as u64 > ROUNDS - 10_000);
    run.assert_small();
}

/// Asserts that twice as many operations look at twice as much.
#[track_caller]
fn assert_linear(operations: u64, run: impl Fn(u64)) {
    let looked_at = |operations: u64| {
        let before = visited::all();
        run(operations);
        visited::all() - before
    };
    let (once, twice) = (looked_at(operations), looked_at(2 * operations));
    assert!(
        twice <= 3 * once + operations as usize,
        "{operations} operations look at {once}, twice as many at {twice}"
    );
}

/// Streams that each wait for a value of their own, which one stream then writes, and a wait of the host for all of them.
#[test]
fn a_wait_for_streams_that_waited_for_values_looks_at_each_of_them() {
    assert_linear(1000, |streams| {
        let mut run = ChainRun::new(streams + 1);
        let writer = StreamId(streams + 1);
        for round in 0..3 {
            let waits: Vec<_> = (1..=streams)
                .map(|stream| {
                    let wait = run.submit(StreamId(stream));
                    run.checker.learns(wait);
                    wait
                })
                .collect();
            let writes: Vec<_> = (1..=streams).map(|_| run.submit(writer)).collect();
            let synchronises = WaitId(round);
            run.checker.waits(synchronises, |checker| {
                checker.context_synchronized(HOST, ContextId(1));
            });
            for ((stream, wait), write) in (1..).zip(waits).zip(writes) {
                let (value, place) = (
                    ValueId(round * streams + stream),
                    stream * 4..stream * 4 + 4,
                );
                let accesses = Accesses {
                    atomics: place.clone().into(),
                    ..Accesses::default()
                };
                run.checker.accessed(write, &accesses);
                run.checker.value_written(value, Some(write));
                run.checker.ended(write);
                run.checker.value_found(wait, place, Some(value));
                run.checker.ended(wait);
            }
            run.checker.returned(synchronises);
        }
        assert!(run.checker.take_findings().is_empty());
    });
}

/// Kernels that each store to other places all over a buffer, and nothing waits.
#[test]
fn scattered_accesses_visit_only_the_cells_that_they_access() {
    assert_linear(1000, |kernels| {
        let mut run = ChainRun::new(1);
        let mut place = 0_u64;
        for _ in 0..kernels {
            let places = (0..64).map(|_| {
                place = place.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
                (place >> 44) * 4
            });
            let ranges: Vec<_> = places.map(|start| start..start + 4).collect();
            run.write_all(1, ranges);
        }
    });
}

/// Strided places, twice each, of which those of all kernels lie between each other.
#[test]
fn strided_accesses_look_at_what_they_touch() {
    assert_linear(1000, |kernels| {
        let mut run = ChainRun::new(1);
        for kernel in 0..kernels {
            let starts = (0..64).map(|row| (row * kernels + kernel) * 8);
            let ranges: Vec<_> = starts.map(|start| start..start + 4).collect();
            run.write_all(1, ranges.clone());
            run.write_all(1, ranges);
        }
    });
}

/// Kernels with a block of their own each, and others that touch a little between the blocks all over the buffer.
#[test]
fn accesses_between_blocks_do_not_look_at_the_blocks() {
    assert_linear(1000, |kernels| {
        let mut run = ChainRun::new(1);
        for kernel in 0..kernels {
            let starts = (0..8).map(|index| kernel * 256 + index * 16);
            run.write_all(1, starts.map(|start| start..start + 4));
            let starts = [0, kernel / 2, kernel].map(|block| block * 256 + 200);
            run.write_all(1, starts.map(|start| start..start + 4));
        }
    });
}

#[test]
fn streams_that_read_one_buffer_look_at_no_other_reads() {
    assert_linear(1000, |streams| {
        let mut run = ChainRun::new(streams);
        for round in 0..10 {
            for stream in 1..=streams {
                run.access(stream, Kinds::READ, 0..64);
            }
            assert!(run.checker.take_findings().is_empty(), "{round}");
        }
    });
}

#[test]
fn streams_that_count_in_one_place_look_at_no_other_counts() {
    assert_linear(1000, |streams| {
        let mut run = ChainRun::new(streams);
        for _ in 0..10 {
            (1..=streams).for_each(|stream| run.access(stream, Kinds::ATOMIC, 0..4));
        }
    });
}

#[test]
fn streams_without_order_look_at_a_few_of_the_writes_that_they_race_with() {
    assert_linear(1000, |streams| {
        let mut run = ChainRun::new(streams);
        for stream in 1..=streams {
            run.access(stream, Kinds::WRITE, 0..64);
            run.checker.take_findings();
        }
    });
}
