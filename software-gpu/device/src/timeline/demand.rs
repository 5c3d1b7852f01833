//! The share of each unit that a block uses at full speed.
//!
//! A block takes `max(latency_cycles, cycles of its busiest pipe) + turnover`, where the turnover is a constant and a
//! share per warp. The pipes are those of one multiprocessor: a pipe per class of instructions, the schedulers (all
//! classes together), shared memory, the port to the memory system (or to host memory, whichever it needs for longer), atomics, the start of blocks, which limits
//! grids of many short blocks, and the network to the other multiprocessors of a cluster; their widths are figures of the profile. Over that time its use of each pipe and of
//! device memory is taken as even. When the demand on a pipe or on device memory exceeds its rate, blocks run slower.

use super::CLASSES;
use super::profile::Profile;
use super::work::{BlockTime, Coupling};

/// Pipes of one multiprocessor: the classes, then schedulers, shared memory, memory port, atomics, block starts, the
/// network of clusters.
pub(super) const PIPES: usize = CLASSES + 6;
/// The port to the memory system among them.
pub(super) const PORT: usize = CLASSES + 2;

/// The machine's side of the reckoning.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    picos_per_cycle: f64,
    turnover_cycles: f64,
    turnover_cycles_per_warp: f64,
    per_cycle: [f64; PIPES],
    /// What the L2 cache delivers to threads, and to bulk copies, in bytes per picosecond.
    cache: f64,
    bulk_cache: f64,
}

impl Rates {
    pub fn new(profile: &Profile) -> Self {
        let kernels = &profile.kernels;
        let mut per_cycle = [0.0; PIPES];
        per_cycle[..CLASSES].copy_from_slice(&kernels.per_cycle());
        per_cycle[CLASSES] = kernels.dispatch_per_cycle.value;
        per_cycle[CLASSES + 1] = kernels.shared_bytes_per_cycle.value;
        per_cycle[PORT] = kernels.global_bytes_per_cycle.value;
        per_cycle[CLASSES + 3] = kernels.atomics_per_cycle.value;
        per_cycle[CLASSES + 4] = 1.0 / kernels.block_start_cycles.value;
        per_cycle[CLASSES + 5] = kernels.cluster_bytes_per_cycle.value;
        Self {
            picos_per_cycle: 1e6 / f64::from(profile.device.clock_mhz),
            turnover_cycles: kernels.block_turnover_cycles.value,
            turnover_cycles_per_warp: kernels.block_turnover_cycles_per_warp.value,
            per_cycle,
            cache: profile.memory.l2_gb_per_s.bytes_per_pico(),
            bulk_cache: profile.memory.l2_bulk_gb_per_s.bytes_per_pico(),
        }
    }

    /// The demand of a block of `warps` that costs `block`.
    pub fn demand(&self, block: &BlockTime, warps: u32) -> Demand {
        let mut amounts = [0.0; PIPES];
        for (amount, count) in amounts.iter_mut().zip(block.issue) {
            *amount = f64::from(count);
        }
        amounts[CLASSES] = block.issue.iter().map(|&count| f64::from(count)).sum();
        amounts[CLASSES + 1] = block.shared_bytes as f64;
        amounts[PORT] = block.cache_bytes.max(block.dram_bytes) as f64;
        amounts[CLASSES + 3] = block.atomics as f64;
        amounts[CLASSES + 4] = 1.0;
        amounts[CLASSES + 5] = block.cluster_bytes as f64;
        let mut pipes = [0.0; PIPES];
        for ((pipe, amount), per_cycle) in pipes.iter_mut().zip(amounts).zip(self.per_cycle) {
            *pipe = amount / per_cycle;
        }
        pipes[PORT] = pipes[PORT].max(block.link_cycles);
        let busiest = pipes.iter().copied().fold(0.0, f64::max);
        let turnover = self.turnover_cycles + self.turnover_cycles_per_warp * f64::from(warps);
        let cycles = (block.latency_cycles.max(busiest) + turnover).max(1.0);
        let picos = cycles * self.picos_per_cycle;
        let by_threads = block.cache_bytes.saturating_sub(block.bulk_bytes);
        let merged = block.merged_bytes as f64 / block.cache_bytes.max(1) as f64;
        let cache_picos =
            by_threads as f64 / self.cache + block.bulk_bytes as f64 / self.bulk_cache;
        Demand {
            picos,
            pipes: pipes.map(|pipe| pipe / cycles),
            peak: busiest / cycles,
            waiting: (block.latency_cycles + turnover) / cycles,
            bytes_per_pico: block.dram_bytes as f64 / picos,
            cache: cache_picos * (1.0 - merged) / picos,
            exposed_per_pico: block.exposed_bytes as f64 / picos,
            coupling: block.coupling,
        }
    }
}

/// The demand of one block at full speed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Demand {
    /// How long it takes.
    pub picos: f64,
    /// The share of each pipe of its multiprocessor.
    pub pipes: [f64; PIPES],
    /// The largest of these shares.
    pub peak: f64,
    /// The share of that time that its slowest warp needs.
    pub waiting: f64,
    /// Its draw on device memory.
    pub bytes_per_pico: f64,
    /// The share of the L2 cache's bandwidth.
    pub cache: f64,
    /// The part of its draw on device memory that is in the way of what it waits for.
    pub exposed_per_pico: f64,
    /// How its warps depend on each other.
    pub coupling: Coupling,
}
