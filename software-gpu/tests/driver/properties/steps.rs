//! Random programs.

use super::kernels::Waits;

/// The legacy stream, two blocking and two non-blocking ones.
pub const STREAMS: usize = 5;
pub const EVENTS: usize = 3;
pub const FLAGS: usize = 2;
/// Device buffers; the last one is too large for the driver to stage.
pub const BUFFERS: usize = 4;
/// Page-locked buffers.
pub const PINNED: usize = 2;

/// One call of a program. A call that would block for ever, or makes no sense where it stands, is left out, so that any part
/// of a program is a program.
#[derive(Clone, Debug)]
pub enum ProgramStep {
    Set {
        stream: usize,
        buffer: usize,
        value: u8,
    },
    Copy {
        stream: usize,
        from: usize,
        to: usize,
    },
    ToHost {
        stream: usize,
        buffer: usize,
        pinned: usize,
    },
    ToDevice {
        stream: usize,
        pinned: usize,
        buffer: usize,
    },
    /// From pageable memory, in a stream or with the synchronous call.
    PageableIn {
        stream: Option<usize>,
        buffer: usize,
        value: u8,
    },
    PageableOut {
        stream: Option<usize>,
        buffer: usize,
    },
    Kernel {
        stream: usize,
        buffer: usize,
        value: u8,
        waits: Waits,
        programmatic: bool,
    },
    Record {
        stream: usize,
        event: usize,
    },
    Wait {
        stream: usize,
        event: usize,
    },
    SynchroniseStream {
        stream: usize,
    },
    SynchroniseEvent {
        event: usize,
    },
    QueryEvent {
        event: usize,
    },
    QueryStream {
        stream: usize,
    },
    Elapsed {
        start: usize,
        end: usize,
    },
    SynchroniseContext,
    WriteValue {
        stream: usize,
        flag: usize,
    },
    WaitValue {
        stream: usize,
        flag: usize,
    },
    /// A kernel stores, and adds 1 to the flag.
    Count {
        stream: usize,
        buffer: usize,
        value: u8,
        flag: usize,
    },
    /// A copy reads what streams wait for.
    ReadFlag {
        stream: usize,
        flag: usize,
    },
    /// Waits for the stream afterwards.
    HostFunction {
        stream: usize,
        pinned: usize,
        write: bool,
    },
    HostAccess {
        pinned: usize,
        write: bool,
    },
    /// Host threads with streams of their own, each with memsets and a wait at its end.
    Threads {
        memsets: [(usize, u8); 2],
        waits: bool,
    },
    /// The program ends here, without a wait for pending operations.
    Exit,
}

/// Numbers that are the same for the same seed.
pub struct SeededRandom(pub fastrand::Rng);

impl SeededRandom {
    fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound.max(1))
    }

    fn step(&mut self) -> ProgramStep {
        let (stream, event, flag) = (self.below(STREAMS), self.below(EVENTS), self.below(FLAGS));
        let (buffer, pinned, small) = (
            self.below(BUFFERS),
            self.below(PINNED),
            self.below(BUFFERS - 1),
        );
        let (value, write) = (1 + self.below(250) as u8, self.below(2) == 0);
        let named = (self.below(2) == 0).then_some(stream);
        match self.below(69) {
            66..69 => ProgramStep::Count {
                stream,
                buffer: small,
                value,
                flag,
            },
            64..66 => ProgramStep::ReadFlag { stream, flag },
            0..8 => ProgramStep::Set {
                stream,
                buffer,
                value,
            },
            8..13 => ProgramStep::Copy {
                stream,
                from: small,
                to: self.below(BUFFERS - 1),
            },
            13..15 => ProgramStep::ToHost {
                stream,
                buffer: small,
                pinned,
            },
            15..17 => ProgramStep::ToDevice {
                stream,
                pinned,
                buffer: small,
            },
            17 => ProgramStep::PageableIn {
                stream: named,
                buffer,
                value,
            },
            18 => ProgramStep::PageableOut {
                stream: named,
                buffer,
            },
            19..25 => ProgramStep::Kernel {
                stream,
                buffer: small,
                value,
                waits: [Waits::Never, Waits::BeforeTheStore, Waits::AfterTheStore][self.below(3)],
                programmatic: write,
            },
            25..33 => ProgramStep::Record { stream, event },
            33..41 => ProgramStep::Wait { stream, event },
            41..43 => ProgramStep::SynchroniseStream { stream },
            43..45 => ProgramStep::SynchroniseEvent { event },
            45 => ProgramStep::QueryEvent { event },
            46 => ProgramStep::QueryStream { stream },
            47 => ProgramStep::Elapsed {
                start: event,
                end: self.below(EVENTS),
            },
            48 => ProgramStep::SynchroniseContext,
            49..53 => ProgramStep::WriteValue { stream, flag },
            53..58 => ProgramStep::WaitValue { stream, flag },
            58 => ProgramStep::HostFunction {
                stream,
                pinned,
                write,
            },
            59..62 => ProgramStep::HostAccess { pinned, write },
            62 => ProgramStep::Threads {
                memsets: [(buffer, value), (small, value / 2)],
                waits: write,
            },
            _ => ProgramStep::Exit,
        }
    }

    pub fn program(&mut self) -> Vec<ProgramStep> {
        let length = 3 + self.below(14);
        (0..length).map(|_| self.step()).collect()
    }
}

impl ProgramStep {
    /// The stream to which it submits an operation, if it does.
    pub fn stream(&self) -> Option<usize> {
        match *self {
            Self::Set { stream, .. }
            | Self::Copy { stream, .. }
            | Self::ToHost { stream, .. }
            | Self::ToDevice { stream, .. }
            | Self::Kernel { stream, .. }
            | Self::WriteValue { stream, .. }
            | Self::WaitValue { stream, .. }
            | Self::Count { stream, .. }
            | Self::ReadFlag { stream, .. }
            | Self::HostFunction { stream, .. } => Some(stream),
            Self::PageableIn { stream, .. } | Self::PageableOut { stream, .. } => {
                Some(stream.unwrap_or(0))
            }
            _ => None,
        }
    }
}
