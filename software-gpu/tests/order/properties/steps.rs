//! Random stream programs.

use std::ops::Range;

use software_gpu::memory::{Accesses, ByteRanges};
use software_gpu::order::StreamKind;

pub const THREADS: u64 = 3;
pub const CONTEXTS: u64 = 2;
/// Slots for streams. The first ones are the contexts' legacy streams.
pub const STREAMS: usize = 8;
pub const EVENTS: u64 = 4;
/// Values that streams wait for, in the same memory as all the rest.
pub const FLAGS: [Range<u64>; 2] = [64..68, 80..84];
/// Addresses.
pub const MEMORY: Range<u64> = 64..96;

/// One call of a program. A call that makes no sense at its place does nothing, so any part of a program is a
/// program.
#[derive(Clone, Debug)]
pub enum ProgramStep {
    CreateStream {
        thread: u64,
        slot: usize,
        context: u64,
        kind: StreamKind,
    },
    DestroyStream {
        slot: usize,
    },
    Launch {
        thread: u64,
        slot: usize,
        accesses: Accesses,
    },
    /// A function of the host in a stream.
    HostFunction {
        thread: u64,
        slot: usize,
        accesses: Accesses,
    },
    /// A stream writes a value.
    WriteValue {
        thread: u64,
        slot: usize,
        flag: usize,
    },
    /// A kernel continues with a value by an atomic operation.
    CountValue {
        thread: u64,
        slot: usize,
        flag: usize,
    },
    /// A stream waits for one of the values that are written before it continues.
    WaitValue {
        thread: u64,
        slot: usize,
        flag: usize,
    },
    /// The host writes a value that streams wait for.
    HostWritesValue {
        flag: usize,
    },
    /// A thread has polled a flag.
    Acquire {
        thread: u64,
        range: Range<u64>,
    },
    /// Nodes with those that they depend on, and which of them are host functions.
    Graph {
        thread: u64,
        slot: usize,
        nodes: Vec<(u8, bool, Accesses)>,
    },
    /// One of the operations that can run now does.
    Execute {
        choice: usize,
    },
    Record {
        thread: u64,
        slot: usize,
        event: u64,
    },
    Wait {
        thread: u64,
        slot: usize,
        event: u64,
    },
    DestroyEvent {
        event: u64,
    },
    SynchroniseStream {
        thread: u64,
        slot: usize,
    },
    QueryStream {
        thread: u64,
        slot: usize,
    },
    SynchroniseEvent {
        thread: u64,
        event: u64,
    },
    SynchroniseContext {
        thread: u64,
        context: u64,
    },
    SynchroniseOperation {
        thread: u64,
        choice: usize,
    },
    HostAccess {
        thread: u64,
        write: bool,
        range: Range<u64>,
    },
    StartThread {
        parent: u64,
        thread: u64,
    },
    JoinThread {
        parent: u64,
        thread: u64,
    },
    Allocate {
        range: Range<u64>,
    },
    Free {
        choice: usize,
    },
    PoolAllocate {
        thread: u64,
        slot: usize,
        range: Range<u64>,
    },
    PoolFree {
        thread: u64,
        slot: usize,
        choice: usize,
    },
    HostPoolFree {
        thread: u64,
        choice: usize,
    },
}

/// Numbers that are the same for the same seed.
pub struct SeededRandom(pub fastrand::Rng);

impl SeededRandom {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.u64(..bound.max(1))
    }

    fn index(&mut self, bound: usize) -> usize {
        self.below(bound as u64) as usize
    }

    fn thread(&mut self) -> u64 {
        let threads = THREADS;
        if self.below(2) == 0 {
            0
        } else {
            self.below(threads)
        }
    }

    fn slot(&mut self) -> usize {
        self.index(STREAMS)
    }

    fn range(&mut self, longest: u64) -> Range<u64> {
        let length = 1 + self.below(longest);
        let start = MEMORY.start + self.below(MEMORY.end - MEMORY.start - length + 1);
        start..start + length
    }

    fn ranges(&mut self, often: u64) -> ByteRanges {
        let count = if self.below(4) < often {
            1 + self.below(2)
        } else {
            0
        };
        (0..count).map(|_| self.range(6)).collect()
    }

    fn accesses(&mut self) -> Accesses {
        Accesses {
            reads: self.ranges(2),
            writes: self.ranges(2),
            atomics: self.ranges(1),
        }
    }

    fn kind(&mut self) -> StreamKind {
        if self.below(2) == 0 {
            StreamKind::Blocking
        } else {
            StreamKind::NonBlocking
        }
    }

    fn graph(&mut self) -> ProgramStep {
        let count = 1 + self.below(5);
        let nodes = (0..count)
            .map(|_| (self.below(256) as u8, self.below(6) == 0, self.accesses()))
            .collect();
        ProgramStep::Graph {
            thread: self.thread(),
            slot: self.slot(),
            nodes,
        }
    }

    fn step(&mut self) -> ProgramStep {
        let (thread, slot, choice) = (self.thread(), self.slot(), self.index(64));
        let event = self.below(EVENTS);
        let context = self.below(CONTEXTS);
        match self.below(83) {
            64..68 => ProgramStep::HostFunction {
                thread,
                slot,
                accesses: self.accesses(),
            },
            68..71 => ProgramStep::WriteValue {
                thread,
                slot,
                flag: self.index(FLAGS.len()),
            },
            71..76 => ProgramStep::WaitValue {
                thread,
                slot,
                flag: self.index(FLAGS.len()),
            },
            80..83 => ProgramStep::CountValue {
                thread,
                slot,
                flag: self.index(FLAGS.len()),
            },
            76 => ProgramStep::HostWritesValue {
                flag: self.index(FLAGS.len()),
            },
            77..80 => ProgramStep::Acquire {
                thread,
                range: self.range(6),
            },
            0..3 => ProgramStep::CreateStream {
                thread,
                slot,
                context,
                kind: self.kind(),
            },
            3..5 => ProgramStep::DestroyStream { slot },
            5..17 => ProgramStep::Launch {
                thread,
                slot,
                accesses: self.accesses(),
            },
            17..19 => self.graph(),
            19..26 => ProgramStep::Execute { choice },
            26..32 => ProgramStep::Record {
                thread,
                slot,
                event,
            },
            32..38 => ProgramStep::Wait {
                thread,
                slot,
                event,
            },
            38 => ProgramStep::DestroyEvent { event },
            39..41 => ProgramStep::SynchroniseStream { thread, slot },
            41..43 => ProgramStep::QueryStream { thread, slot },
            43..45 => ProgramStep::SynchroniseEvent { thread, event },
            45 => ProgramStep::SynchroniseContext { thread, context },
            46..48 => ProgramStep::SynchroniseOperation { thread, choice },
            48..51 => ProgramStep::HostAccess {
                thread,
                write: self.below(2) == 0,
                range: self.range(6),
            },
            51..53 => ProgramStep::StartThread {
                parent: self.thread(),
                thread,
            },
            53 => ProgramStep::JoinThread {
                parent: self.thread(),
                thread,
            },
            54 => ProgramStep::Allocate {
                range: self.range(8),
            },
            55 => ProgramStep::Free { choice },
            56..60 => ProgramStep::PoolAllocate {
                thread,
                slot,
                range: self.range(12),
            },
            63 => ProgramStep::HostPoolFree { thread, choice },
            _ => ProgramStep::PoolFree {
                thread,
                slot,
                choice,
            },
        }
    }

    /// A program, which begins with some streams.
    pub fn program(&mut self) -> Vec<ProgramStep> {
        let mut steps: Vec<ProgramStep> = (2..2 + self.index(5))
            .map(|slot| ProgramStep::CreateStream {
                thread: 0,
                slot,
                context: self.below(4) / 3,
                kind: self.kind(),
            })
            .collect();
        let length = 4 + self.index(80);
        steps.extend((0..length).map(|_| self.step()));
        steps
    }
}
