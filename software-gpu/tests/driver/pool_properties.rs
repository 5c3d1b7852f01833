//! What holds for every program with a memory pool: no two live allocations share a byte, memory is used again only
//! where a rule allows it, and where one does the pool does not grow; the figures are exact.

use std::collections::BTreeSet;
use std::ffi::c_uint;
use std::ops::Range;

use crate::driver_support::*;
use crate::pool_support::*;
use proptest::prelude::*;
use software_gpu::driver::entry_point;

const STREAMS: usize = 4;
const EVENTS: usize = 3;
const SIZES: [usize; 6] = [1, 700, 4 * MIB, 13 * MIB, 16 * MIB, 32 * MIB];
/// The number of queries after which an unblocked operation is complete.
const SOON: usize = 20;
/// The limit of the pool, in some programs.
const LIMIT: usize = 2 * CHUNK;

/// What a program does: the first number is that of a stream, or of an event.
#[derive(Clone, Copy, Debug)]
enum PoolStep {
    /// A copy that takes a while.
    Work(usize),
    /// Bytes of the allocation.
    Allocate(usize, usize),
    /// Frees the allocation with this number, counted around.
    Free(usize, usize),
    /// The second number is the event's.
    Record(usize, usize),
    Wait(usize, usize),
    Synchronize(usize),
    SynchronizeEvent(usize),
    SynchronizeContext,
    Poll(usize),
}

#[derive(Clone, Debug)]
struct PoolProgram {
    policies: Vec<c_uint>,
    limited: bool,
    threshold: u64,
    steps: Vec<PoolStep>,
}

fn step() -> impl Strategy<Value = PoolStep> {
    let (stream, event) = (|| 0..STREAMS, || 0..EVENTS);
    prop_oneof![
        5 => stream().prop_map(PoolStep::Work),
        8 => (stream(), 0..SIZES.len()).prop_map(|(stream, size)| PoolStep::Allocate(stream, SIZES[size])),
        6 => (stream(), any::<usize>()).prop_map(|(stream, which)| PoolStep::Free(stream, which)),
        3 => (stream(), event()).prop_map(|(stream, event)| PoolStep::Record(stream, event)),
        3 => (stream(), event()).prop_map(|(stream, event)| PoolStep::Wait(stream, event)),
        1 => stream().prop_map(PoolStep::Synchronize),
        1 => event().prop_map(PoolStep::SynchronizeEvent),
        1 => Just(PoolStep::SynchronizeContext),
        1 => stream().prop_map(PoolStep::Poll),
    ]
}

fn program() -> impl Strategy<Value = PoolProgram> {
    let policies = proptest::sample::subsequence(vec![1, 2, 3], 0..=3);
    let threshold = prop_oneof![Just(0), Just(1), Just(CHUNK as u64), Just(u64::MAX)];
    let steps = prop::collection::vec(step(), 1..60);
    (policies, any::<bool>(), threshold, steps).prop_map(|(policies, limited, threshold, steps)| {
        PoolProgram {
            policies,
            limited,
            threshold,
            steps,
        }
    })
}

/// What came before what: every operation with all that it comes after.
#[derive(Default)]
struct Operations {
    /// By number: the stream, and the numbers of all operations that come before.
    all: Vec<(usize, BTreeSet<usize>)>,
    /// What the next operation of a stream comes after besides.
    joined: [BTreeSet<usize>; STREAMS],
}

impl Operations {
    /// The legacy stream is the first one, the second one is blocking, the others are not.
    fn comes_first(earlier: usize, later: usize) -> bool {
        earlier == later || matches!((earlier, later), (0, 1) | (1, 0))
    }

    fn before_next(&self, stream: usize) -> BTreeSet<usize> {
        let kin = (0..STREAMS).filter(|other| Self::comes_first(*other, stream));
        let mut before: BTreeSet<usize> =
            kin.flat_map(|other| self.joined[other].clone()).collect();
        for (number, (other, earlier)) in self.all.iter().enumerate() {
            if Self::comes_first(*other, stream) {
                before.insert(number);
                before.extend(earlier);
            }
        }
        before
    }

    fn submit(&mut self, stream: usize) -> usize {
        let before = self.before_next(stream);
        self.all.push((stream, before));
        self.all.len() - 1
    }

    /// An operation and all that comes before it.
    fn up_to(&self, number: usize) -> BTreeSet<usize> {
        let mut before = self.all[number].1.clone();
        before.insert(number);
        before
    }

    /// The operations that are complete when the host has synchronised with a stream.
    fn over_after(&self, stream: usize) -> BTreeSet<usize> {
        if stream == 0 {
            return self.before_next(0);
        }
        let last = self.all.iter().rposition(|(other, _)| *other == stream);
        let mut over = last.map(|last| self.up_to(last)).unwrap_or_default();
        over.extend(&self.joined[stream]);
        over
    }
}

/// A freed range and the operation that frees it.
struct Freed {
    bytes: Range<u64>,
    stream: usize,
    operation: usize,
    /// Recorded behind the free.
    event: Handle,
    seen: bool,
    /// No part of it has been reused.
    whole: bool,
}

struct ProgramRun<'a> {
    program: &'a PoolProgram,
    driver: Driver,
    pool: Pool,
    streams: [Handle; STREAMS],
    events: [Handle; EVENTS],
    records: [Option<usize>; EVENTS],
    operations: Operations,
    live: Vec<(Range<u64>, usize)>,
    freed: Vec<Freed>,
    sink: Address,
    source: Pinned,
    free_at_start: usize,
    high: [usize; 2],
    /// Events behind a free, and behind the allocation that has to wait for it.
    pairs: Vec<(Handle, Handle)>,
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start < b.end && b.start < a.end
}

impl<'a> ProgramRun<'a> {
    fn new(program: &'a PoolProgram) -> Self {
        let driver = Driver::new();
        let max_size = if program.limited { LIMIT } else { 0 };
        let pool = create(&Properties {
            max_size,
            ..Properties::device()
        })
        .unwrap();
        pool.only(&program.policies)
            .set(RELEASE_THRESHOLD, program.threshold)
            .unwrap();
        let streams = [
            LEGACY,
            driver.stream(0),
            driver.stream(NON_BLOCKING),
            driver.stream(NON_BLOCKING),
        ];
        let events = [(); EVENTS].map(|()| driver.event());
        let (sink, source) = (driver.allocate(LONG).unwrap(), driver.pinned(LONG));
        Self {
            program,
            pool,
            streams,
            events,
            records: [None; EVENTS],
            operations: Operations::default(),
            live: Vec::new(),
            freed: Vec::new(),
            sink,
            source,
            free_at_start: free_memory(),
            high: [0; 2],
            pairs: Vec::new(),
            driver,
        }
    }

    fn allows(&self, policy: c_uint) -> bool {
        self.program.policies.contains(&policy)
    }

    fn run(mut self) {
        for step in &self.program.steps {
            self.step(*step);
            self.check_figures();
        }
        for (bytes, _) in std::mem::take(&mut self.live) {
            free(bytes.start, self.streams[2]).unwrap();
        }
        self.driver.synchronize().unwrap();
        for (freed, reached) in &self.pairs {
            // The event behind the free is a moment later than the free.
            const MOMENT: f32 = 0.005;
            let waited = self.driver.elapsed(*freed, *reached).unwrap();
            assert!(waited > -MOMENT, "the stream did not wait: {waited} ms");
        }
        self.pool.trim(0).unwrap();
        assert_eq!(self.pool.figures()[0], 0);
        self.pool.destroy().unwrap();
        assert_eq!(free_memory(), self.free_at_start);
    }

    fn step(&mut self, step: PoolStep) {
        match step {
            PoolStep::Work(stream) => {
                self.operations.submit(stream);
                keep_busy(&self.driver, self.sink, &self.source, self.streams[stream]);
            }
            PoolStep::Allocate(stream, size) => self.allocate(stream, size),
            PoolStep::Free(stream, which) => self.free(stream, which),
            PoolStep::Record(stream, event) => {
                self.records[event] = Some(self.operations.submit(stream));
                self.driver
                    .record(self.events[event], self.streams[stream])
                    .unwrap();
            }
            PoolStep::Wait(stream, event) => self.wait(stream, event),
            PoolStep::Synchronize(stream) => {
                self.driver
                    .stream_synchronize(self.streams[stream])
                    .unwrap();
                self.see(&self.operations.over_after(stream));
            }
            PoolStep::SynchronizeEvent(event) => {
                self.driver.event_synchronize(self.events[event]).unwrap();
                let over = self.records[event].map(|record| self.operations.up_to(record));
                self.see(&over.unwrap_or_default());
            }
            PoolStep::SynchronizeContext => {
                self.driver.synchronize().unwrap();
                self.see(&(0..self.operations.all.len()).collect());
                if self.live.is_empty() {
                    assert!(self.pool.figures()[0] as u64 <= self.program.threshold);
                }
            }
            PoolStep::Poll(stream) => poll(&self.driver, self.streams[stream]),
        }
    }

    /// A wait for a completed record adds no operation; it still orders later operations.
    fn wait(&mut self, stream: usize, event: usize) {
        let pending = |run: &Self| run.driver.event_query(run.events[event]) == Err(NOT_READY);
        let was_pending = pending(self);
        self.driver
            .wait(self.streams[stream], self.events[event])
            .unwrap();
        if let Some(record) = self.records[event] {
            let recorded = self.operations.up_to(record);
            self.operations.joined[stream].extend(recorded);
        }
        if pending(self) {
            self.operations.submit(stream);
        } else if was_pending {
            // Whether it was complete before the wait is unknown.
            self.step(PoolStep::SynchronizeContext);
        }
    }

    fn see(&mut self, over: &BTreeSet<usize>) {
        for freed in &mut self.freed {
            freed.seen |= over.contains(&freed.operation);
        }
    }

    fn free(&mut self, stream: usize, which: usize) {
        let Some(count) = std::num::NonZero::new(self.live.len()) else {
            return;
        };
        let (bytes, _) = self.live.remove(which % count);
        let operation = self.operations.submit(stream);
        free(bytes.start, self.streams[stream]).unwrap();
        let event = self.driver.event();
        self.operations.submit(stream);
        self.driver.record(event, self.streams[stream]).unwrap();
        self.freed.push(Freed {
            bytes,
            stream,
            operation,
            event,
            seen: false,
            whole: true,
        });
    }
}

impl ProgramRun<'_> {
    /// Whether a rule lets an allocation in `stream` use the memory at once.
    fn is_usable(&self, freed: &Freed, stream: usize, before: &BTreeSet<usize>) -> bool {
        let ordered = self.allows(FOLLOW_EVENT_DEPENDENCIES) && before.contains(&freed.operation);
        freed.seen || freed.stream == stream || ordered
    }

    /// As [`is_usable`](Self::is_usable), when the free has been executed, or just is.
    fn is_opportunity(&self, freed: &Freed) -> bool {
        self.allows(ALLOW_OPPORTUNISTIC)
            && (0..SOON).any(|_| self.driver.event_query(freed.event) == Ok(()))
    }

    fn allocate(&mut self, stream: usize, size: usize) {
        let before = self.operations.before_next(stream);
        let rounded = size.next_multiple_of(512);
        let fits =
            |freed: &&Freed| freed.whole && freed.bytes.end - freed.bytes.start >= rounded as u64;
        let candidates = || self.freed.iter().filter(fits);
        let must_reuse = candidates().any(|freed| self.is_usable(freed, stream, &before));
        let may_wait = self.allows(ALLOW_INTERNAL_DEPENDENCIES) && candidates().next().is_some();
        let reserved = self.pool.figures()[0];
        let result = self.pool.allocate(size, self.streams[stream]);
        let after = self.pool.figures()[0];
        if must_reuse || result.is_err() {
            assert_eq!(reserved, after, "the pool grew");
        } else {
            assert!(after == reserved || after == reserved + rounded.next_multiple_of(CHUNK));
        }
        match result {
            Ok(address) => {
                let bytes = address..address + rounded as u64;
                self.check_reuse(&bytes, stream, &before);
                self.operations.submit(stream);
                self.live.push((bytes, rounded));
            }
            Err(error) => {
                assert_eq!(error, OUT_OF_MEMORY);
                let full =
                    self.program.limited && reserved + rounded.next_multiple_of(CHUNK) > LIMIT;
                assert!(full && !must_reuse && !may_wait);
            }
        }
    }

    /// Each earlier owner of a byte of the new allocation has released it by a rule.
    fn check_reuse(&mut self, bytes: &Range<u64>, stream: usize, before: &BTreeSet<usize>) {
        assert_eq!(bytes.start % 512, 0);
        assert!(
            self.live.iter().all(|(other, _)| !overlap(other, bytes)),
            "two live allocations"
        );
        let mut waits = Vec::new();
        for (at, freed) in self.freed.iter().enumerate() {
            if !overlap(&freed.bytes, bytes) || self.is_usable(freed, stream, before) {
                continue;
            }
            let may_wait = self.program.limited && self.allows(ALLOW_INTERNAL_DEPENDENCIES);
            if may_wait {
                waits.push(at);
            } else {
                assert!(self.is_opportunity(freed), "used again without a rule");
            }
        }
        let reached = self.driver.event();
        self.driver.record(reached, self.streams[stream]).unwrap();
        for at in waits {
            self.pairs.push((self.freed[at].event, reached));
            if self.driver.event_query(self.freed[at].event) == Err(NOT_READY) {
                let free = self.operations.up_to(self.freed[at].operation);
                self.operations.joined[stream].extend(free);
            }
        }
        self.give_up(bytes);
    }

    /// The freed memory has a new owner. The rest of each range remains.
    fn give_up(&mut self, bytes: &Range<u64>) {
        let mut left = Vec::new();
        for freed in std::mem::take(&mut self.freed) {
            if !overlap(&freed.bytes, bytes) {
                left.push(freed);
                continue;
            }
            for rest in [freed.bytes.start..bytes.start, bytes.end..freed.bytes.end] {
                if rest.start < rest.end {
                    left.push(Freed {
                        bytes: rest,
                        whole: false,
                        ..freed
                    });
                }
            }
        }
        self.freed = left;
    }

    fn check_figures(&mut self) {
        let [reserved, reserved_high, used, used_high] = self.pool.figures();
        assert_eq!(
            used,
            self.live.iter().map(|(_, bytes)| bytes).sum::<usize>()
        );
        assert!(used <= reserved);
        assert_eq!(reserved % CHUNK, 0);
        assert_eq!(self.free_at_start - free_memory(), reserved);
        self.high = [self.high[0].max(reserved), self.high[1].max(used)];
        assert_eq!([reserved_high, used_high], self.high);
        // Memory that was returned to the device belongs to no allocation.
        self.freed.retain(|freed| is_mapped(freed.bytes.start));
    }
}

fn is_mapped(address: Address) -> bool {
    const MAPPED: c_uint = 13;
    let mut mapped = false;
    let known =
        cu!(cuPointerGetAttribute(&mut mapped => *mut bool, MAPPED => c_uint, address => Address));
    known.is_ok() && mapped
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_program_keeps_the_rules(program in program()) {
        ProgramRun::new(&program).run();
    }
}
