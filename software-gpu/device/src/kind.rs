//! The rules of the checkers.

use std::fmt;

/// The rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Two operations touch the same bytes, one of them writes, and neither waits for the other.
    Race,
    /// Memory is used outside of its life: before its allocation, after its free, or freed without order.
    Lifetime,
    /// A function that the driver calls calls the driver: it gets `CUDA_ERROR_NOT_PERMITTED`.
    HostFunction,
    /// Memory is read that was never written.
    NeverWritten,
    /// Two threads of a block touch the same shared memory without a barrier in between.
    SharedMemoryRace,
    /// Diverged threads of a warp reach a barrier separately.
    DivergentBarrier,
    /// A shuffle reads from a lane that does not take part.
    AbsentLane,
    /// Threads of a warp update the same element of global memory without an atomic operation.
    LostUpdate,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Race => "race",
            Self::Lifetime => "lifetime",
            Self::HostFunction => "host function",
            Self::NeverWritten => "never written",
            Self::SharedMemoryRace => "shared memory race",
            Self::DivergentBarrier => "divergent barrier",
            Self::AbsentLane => "absent lane",
            Self::LostUpdate => "lost update",
        })
    }
}
