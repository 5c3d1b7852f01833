//! What a block costs: counted while it runs, in units that a model of time can price.
//!
//! Latency is modelled per basic block by its dependency chains (see `lower::schedule`) and added when the block is
//! executed; a barrier brings all warps of a thread block to the latest of them. Throughput is counted as warp
//! instructions by [`Class`]; global memory traffic in 32-byte sectors actually touched.

use super::touched::Touched;

/// Classes of warp instructions by the unit that issues them.
///
/// The figure is the throughput of one Hopper SM (compute capability 9.0) in warp instructions per cycle, after the
/// table "Throughput of Native Arithmetic Instructions" of the CUDA C++ Programming Guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// 32-bit integer addition, logic, shifts, comparison, selection: 2 per cycle. 64-bit ones issue twice.
    Alu32,
    /// 32-bit floating-point addition, multiplication and FMA: 4 per cycle.
    Fma32,
    /// The same in 64 bits: 2 per cycle.
    Fma64,
    /// 32-bit integer multiplication: 2 per cycle.
    Multiply32,
    /// Reciprocals, roots, exponentials, sines, population counts: 0.5 per cycle.
    Special,
    /// Type conversion: 2 per cycle; those with 64-bit types issue more often.
    Convert,
    /// Loads, stores, atomics, shuffles: 1 per cycle.
    Memory,
    /// Branches, calls, barriers, votes: 1 per cycle.
    Control,
    /// Multiplications of matrices by a warp, each 2048 multiply-adds of 16-bit factors (`m16n8k16`): 0.65 per cycle, which is
    /// as much of the tensor cores as `mma` reaches.
    Mma,
    /// The same by warpgroups, counted in units of that size: 1 per cycle, all of the tensor cores.
    Wgmma,
}

impl Class {
    /// Number of classes.
    pub const COUNT: usize = 10;
    /// All classes in the order of [`BlockCost::issue`].
    pub const ALL: [Class; Self::COUNT] = [
        Self::Alu32,
        Self::Fma32,
        Self::Fma64,
        Self::Multiply32,
        Self::Special,
        Self::Convert,
        Self::Memory,
        Self::Control,
        Self::Mma,
        Self::Wgmma,
    ];

    /// Warp instructions per cycle and SM of a Hopper GPU.
    pub fn per_cycle(self) -> f64 {
        match self {
            Self::Fma32 => 4.0,
            Self::Alu32 | Self::Fma64 | Self::Multiply32 | Self::Convert => 2.0,
            Self::Memory | Self::Control | Self::Wgmma => 1.0,
            Self::Mma => 0.65,
            Self::Special => 0.5,
        }
    }
}

/// How the warps of a block depend on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coupling {
    /// Not at all: each continues as soon as its own operands are there.
    #[default]
    Free,
    /// Asynchronous copies and mbarriers, or barriers at which some do not wait, hand data from some to others.
    Handed,
    /// Warps wait for each other at barriers, so the block advances in phases.
    Phased,
}

/// Cost of one thread block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockCost {
    /// Modelled cycles of the slowest warp, the block being alone on an SM: dependency chains, memory latency, barriers;
    /// between barriers of the whole block at least what its busiest unit takes.
    pub latency_cycles: f64,
    /// How much shorter that is when all loads from global memory hit the L2 cache.
    pub cached_saving_cycles: f64,
    /// How its warps depend on each other.
    pub coupling: Coupling,
    /// Bytes that are in the way of loads for which all warps wait at a barrier: what the block has stored before them.
    pub exposed_bytes: u64,
    /// Warp instructions issued, by [`Class`].
    pub issue: [u32; Class::COUNT],
    /// Bytes read from global memory: 32 for each sector that a warp's load touches.
    pub global_read_bytes: u64,
    /// Bytes written to global memory, likewise.
    pub global_write_bytes: u64,
    /// The part of the bytes above that bulk copies move.
    pub bulk_bytes: u64,
    /// Bytes read that other blocks of the cluster read at the same time, too: one request for all of them reaches the L2 cache.
    pub merged_bytes: u64,
    /// Bytes moved to and from shared memory.
    pub shared_bytes: u64,
    /// Bytes that the block moves to and from the shared memory of other blocks of its cluster.
    pub cluster_bytes: u64,
    /// Atomic operations of threads on global memory.
    pub atomics: u64,
}

/// Cost of a grid: the costs of its blocks in block order, equal neighbours merged as (count, cost).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridCost {
    /// Run-length encoded block costs.
    pub runs: Vec<(u64, BlockCost)>,
    /// The granules of global memory that were read and written.
    pub touched: Touched,
}

impl GridCost {
    pub(super) fn push(&mut self, count: u64, cost: BlockCost) {
        match self.runs.last_mut() {
            Some((known, last)) if *last == cost => *known += count,
            _ => self.runs.push((count, cost)),
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.runs.iter().map(|(count, _)| count).sum()
    }

    /// Warp instructions of the whole grid.
    pub fn warp_instructions(&self) -> u64 {
        let issued = |cost: &BlockCost| {
            cost.issue
                .iter()
                .map(|count| u64::from(*count))
                .sum::<u64>()
        };
        self.runs
            .iter()
            .map(|(count, cost)| count * issued(cost))
            .sum()
    }
}

/// The cost of one PTX instruction: `issues` warp instructions of `class`, result ready after `latency` cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weight {
    pub class: Class,
    pub issues: u16,
    pub latency: u16,
    /// A load from global memory: `latency` is that of a miss, and the caches may answer earlier.
    pub is_load: bool,
}

/// Latencies in cycles, after published micro-benchmarks of Hopper (rounded). The latencies of memory that other threads see are the profile's:
/// [`super::latencies`].
pub(super) mod latency {
    pub const ALU: u16 = 4;
    pub const ALU64: u16 = 6;
    pub const FMA64: u16 = 8;
    pub const SPECIAL: u16 = 22;
    pub const CONVERT: u16 = 10;
    pub const SHUFFLE: u16 = 24;
    pub const CONSTANT: u16 = 30;
    pub const LOCAL: u16 = 35;
    pub const BRANCH: u16 = 10;
    /// What a branch to an earlier block takes beside that: instructions are fetched anew. Fitted to loops of 64 multiply-adds that
    /// wait for each other (`basic_streams --part kernels`): 278 cycles each on an H200.
    pub const AGAIN: u16 = 14;
    pub const BARRIER: u16 = 20;
    pub const CLOCK: u16 = 20;
}

impl Weight {
    /// Nothing: resolved by the compiler (constants, register renaming).
    pub const FREE: Self = Self::new(Class::Alu32, 0, 0);
    pub const ALU: Self = Self::new(Class::Alu32, 1, latency::ALU);
    pub const ALU64: Self = Self::new(Class::Alu32, 2, latency::ALU64);
    pub const FMA32: Self = Self::new(Class::Fma32, 1, latency::ALU);
    pub const FMA64: Self = Self::new(Class::Fma64, 1, latency::FMA64);
    pub const CONTROL: Self = Self::new(Class::Control, 1, latency::ALU);
    pub const CLOCK: Self = Self::new(Class::Control, 1, latency::CLOCK);

    pub const fn new(class: Class, issues: u16, latency: u16) -> Self {
        Self {
            class,
            issues,
            latency,
            is_load: false,
        }
    }

    /// A load from global memory that takes `latency` cycles when it misses the caches.
    pub const fn global_load(latency: u16) -> Self {
        Self {
            is_load: true,
            ..Self::new(Class::Memory, 1, latency)
        }
    }
}
