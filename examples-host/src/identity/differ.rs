//! The differences of variants.

use std::fmt;

/// Something that the variants of one comparison differ in, as their calls and records show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Differ {
    /// The kernels: which of them run, and how often.
    Kernels,
    /// The launches: grid, block, cluster and shared memory of the kernels.
    Launches,
    /// The copies and memsets: by which call, and of how many bytes.
    Copies,
    /// The streams: how many there are, and of which kind.
    Streams,
    /// The events: how often they are recorded and waited for in streams.
    Events,
    /// The host's waits for the device: by which call, and how often.
    Waits,
    /// Graphs: how often they are captured, instantiated, changed and launched.
    Graphs,
    /// Other calls: allocations, host functions, queries.
    Calls,
    /// The number of host threads that call.
    Threads,
    /// How long the host works outside of calls.
    HostWork,
    /// The order of the calls or of the host's work among them, which are the same.
    Order,
    /// The data: where they lie, or what the kernels' parameters say. No call shows it.
    Data,
}

impl Differ {
    /// What is counted, so that each variant has the same numbers every time.
    pub(super) const COUNTED: [Self; 9] = [
        Self::Kernels,
        Self::Launches,
        Self::Copies,
        Self::Streams,
        Self::Events,
        Self::Waits,
        Self::Graphs,
        Self::Calls,
        Self::Threads,
    ];
}

impl fmt::Display for Differ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
