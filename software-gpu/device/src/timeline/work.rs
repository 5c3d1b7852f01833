//! What a stream can be given to do, what it costs, and what the simulation reports back.

use super::{CLASSES, Time};

/// One operation, numbered in the order of submission: smaller is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub(super) u64);

impl OpId {
    /// The operation's number: 0 for the first one submitted.
    pub const fn index(self) -> u64 {
        self.0
    }
}

/// One stream; numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(super) u32);

/// The operation itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationStage {
    /// A grid of thread blocks. The driver provides its cost when it starts: [`super::Timeline::set_kernel_cost`].
    Kernel {
        /// Blocks of the grid.
        blocks: u64,
        /// Threads of one block.
        threads_per_block: u32,
        /// Registers of one thread.
        registers_per_thread: u32,
        /// Static and dynamic shared memory of one block, without what the system reserves.
        shared_bytes_per_block: u32,
    },
    /// A copy by a copy engine.
    Copy {
        /// Between which memories.
        kind: CopyKind,
        /// How much.
        bytes: u64,
        /// In how many rows: 1 when the bytes are contiguous.
        rows: u64,
        /// Whether the host side is not page-locked, so that the driver stages it.
        pageable: bool,
    },
    /// `cuMemset*Async`: a kernel of the driver's that only writes.
    Set {
        /// How much.
        bytes: u64,
    },
    /// A point in a stream that does nothing: `cuEventRecord` without timing, `cuStreamWaitEvent`.
    Marker,
    /// A point in a stream that the device does not see: `cuMemAllocAsync` and `cuMemFreeAsync`, which are entries in the
    /// driver's books. It comes at the end of what is before it, or when it is submitted, and what is behind it follows
    /// what was before.
    Note,
    /// A point in a stream whose time is written down: `cuEventRecord` of an event that keeps the time, which is that
    /// of the operation's end.
    Timestamp,
    /// What has changed in a graph goes to the device, at the beginning of a launch.
    Upload,
    /// `cuLaunchHostFunc`. The driver provides its length when it starts: [`super::Timeline::complete_host_function`].
    HostFunction,
    /// `cuStreamWaitValue32` and its variants. Ends when the caller says so: [`super::Timeline::value_came`].
    ValueWait,
}

/// Between which memories a copy moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CopyKind {
    /// Over the link to the device.
    HostToDevice,
    /// Over the link from the device.
    DeviceToHost,
    /// Within device memory.
    DeviceToDevice,
    /// Within host memory.
    HostToHost,
    /// From the memory of one device to that of another, over the link between them.
    PeerToPeer {
        /// The device that it leaves.
        from: u8,
        /// The device that it arrives at.
        to: u8,
    },
    /// The same without access to each other's memory: the driver stages the bytes in host memory.
    PeerThroughHost,
}

impl CopyKind {
    /// How many copy engines there are.
    pub(super) const ENGINES: usize = 5;

    /// The number of the engine that such copies take: peers have one, whichever way the bytes go.
    pub(super) fn engine(self) -> usize {
        match self {
            Self::HostToDevice => 0,
            Self::DeviceToHost => 1,
            Self::DeviceToDevice => 2,
            Self::HostToHost => 3,
            Self::PeerToPeer { .. } | Self::PeerThroughHost => 4,
        }
    }
}

/// What one block of a grid needs, field for field what the executor counted (`exec::BlockCost`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockTime {
    /// Cycles of the slowest warp's critical path, alone on a multiprocessor.
    pub latency_cycles: f64,
    /// Warp instructions by class, in the order of `exec::Class`.
    pub issue: [u32; CLASSES],
    /// Bytes of device memory that are read and written.
    pub dram_bytes: u64,
    /// Bytes moved between the L2 cache and the multiprocessor, those of device memory among them.
    pub cache_bytes: u64,
    /// The part of `cache_bytes` that bulk copies move.
    pub bulk_bytes: u64,
    /// The part of `cache_bytes` that the L2 cache delivers together with requests of other blocks.
    pub merged_bytes: u64,
    /// Bytes of device memory that are in the way of what the block waits for while it does nothing else.
    pub exposed_bytes: u64,
    /// Bytes moved between shared memory and registers.
    pub shared_bytes: u64,
    /// Bytes moved to and from the shared memory of other multiprocessors.
    pub cluster_bytes: u64,
    /// Atomic operations on global memory.
    pub atomics: u64,
    /// Cycles for which the block's accesses to host memory occupy its part of the link to the host.
    pub link_cycles: f64,
    /// How the block's warps depend on each other.
    pub coupling: Coupling,
}

/// How a block's warps depend on each other: what they wait for together, they cannot make up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coupling {
    /// Not at all.
    #[default]
    Free,
    /// Some hand data to others, through asynchronous copies.
    Handed,
    /// Barriers cut the block's life into phases.
    Phased,
}

/// What a grid needs: its blocks in order, equal neighbours merged.
///
/// When the counts do not add up to the grid's blocks, the last run is stretched or the surplus ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelCost {
    /// Number of blocks, and what each of them needs.
    pub runs: Vec<(u64, BlockTime)>,
}

impl KernelCost {
    /// `blocks` equal blocks.
    pub fn uniform(blocks: u64, block: BlockTime) -> Self {
        Self {
            runs: vec![(blocks, block)],
        }
    }
}

/// What the simulation reports, in order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The device began the operation. For a kernel or a host function the caller answers before the next step.
    Started {
        /// The operation.
        op: OpId,
        /// When.
        at: Time,
    },
    /// The operation's effects are complete.
    Ended {
        /// The operation.
        op: OpId,
        /// When.
        at: Time,
    },
}
