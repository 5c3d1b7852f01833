//! What handlers see: the running warp, its thread block and the launch.

use std::rc::Rc;

use crate::memory::WriteHold;

use super::async_copy::{Ahead, WarpCopies};
use super::bytes_in_flight::BytesInFlight;
use super::cluster::Cluster;
use super::cost::BlockCost;
use super::fault::{Fault, FaultLocation};
use super::grid::Grid;
use super::latencies::Latencies;
use super::memory::{Cached, NearLines};
use super::op::Slot;
use super::program::Code;
use super::touched::Touches;
use super::warp_handlers::LANES;
use super::warpgroup::Multiplications;
use super::watch::Watch;

/// The state of one host thread that executes blocks, as far as handlers need it.
///
/// The fields of the running warp are loaded by [`super::warp::Warp::run`] before it executes operations.
pub(super) struct Context<'g> {
    /// Start of the running frame's register file.
    pub registers: *mut u8,
    /// Lanes the current operation acts on: the active ones, less those excluded by a guard.
    pub mask: u32,
    /// Lanes that execute the current basic block.
    pub active: u32,
    /// What operations of the basic block take of the instruction budget beside their count: see `memory::atomic`.
    pub extra_instructions: u64,
    /// Modelled cycles of the running warp since its block started.
    pub cycles: u64,
    /// How many of them its loads would not have taken if all had hit the L2 cache.
    pub saving: u64,
    /// The running warp has tested an mbarrier object whose phase was not complete; its turn ends.
    pub in_vain: bool,
    /// The running warp's turn ends when its cycles reach this.
    pub limit: u64,
    /// Index of the running warp in its block.
    pub warp: u32,
    /// Local memory of the running warp: 32 stacks of `local_stride` bytes.
    pub local: *mut u8,
    /// Bytes of local memory per thread.
    pub local_stride: u32,
    /// Where the running frame begins in each thread's local memory.
    pub local_base: u32,
    /// For the last barrier: the number of threads that voted true, and the number that arrived.
    pub barrier_result: (u32, u32),
    /// The block's shared memory.
    pub shared: *mut u8,
    /// Its size.
    pub shared_bytes: u32,
    /// The cluster that the block belongs to: a launch without clusters has one for each block.
    pub cluster: Rc<Cluster>,
    /// The block's rank in it.
    pub cluster_rank: u32,
    /// The asynchronous copies of each warp; empty for a kernel without any.
    pub copies: Vec<WarpCopies>,
    /// The multiplications of each warp that are under way; empty for a kernel without `wgmma`.
    pub multiplications: Vec<Multiplications<'g>>,
    /// Block index.
    pub block: [u32; 3],
    /// Linear block index.
    pub block_rank: u64,
    /// Counters of the block.
    pub cost: BlockCost,
    /// What of it comes while the block computes.
    pub ahead: Ahead,
    /// The bytes that the running warp has in flight in this phase.
    pub in_flight: BytesInFlight,
    /// The memory that all blocks have touched.
    pub touches: Box<Touches>,
    /// The first fault of the block.
    pub fault: Option<Box<Fault>>,
    /// The last allocation that each memory instruction used.
    pub caches: Vec<Cached<'g>>,
    /// The lines of addresses that the L1 cache has.
    pub near: NearLines,
    /// The checkers, when they are on.
    pub watch: Option<Box<Watch<'g>>>,
    /// The code being executed.
    pub code: &'g Code,
    /// The launch.
    pub grid: &'g Grid<'g>,
    /// Device memory.
    pub hold: &'g WriteHold<'g>,
}

impl Context<'_> {
    /// The latencies of the device's memory.
    #[inline]
    pub fn latencies(&self) -> Latencies {
        self.grid.kernel.program.latencies
    }

    /// The row at `slot`.
    #[inline(always)]
    pub fn row<T>(&self, slot: Slot) -> *mut [T; LANES] {
        self.registers.wrapping_add(slot as usize).cast()
    }

    /// The predicate at `slot`, one bit per lane.
    ///
    /// # Safety
    ///
    /// The slot must be a predicate of the current frame.
    #[inline(always)]
    pub unsafe fn predicate(&self, slot: Slot) -> u32 {
        // SAFETY: by contract the slot lies in the frame; predicates are aligned to 4 bytes.
        unsafe { *self.registers.add(slot as usize).cast::<u32>() }
    }

    /// Writes the bits of `value` that the mask selects into the predicate at `slot`.
    ///
    /// # Safety
    ///
    /// The slot must be a predicate of the current frame.
    #[inline(always)]
    pub unsafe fn set_predicate(&mut self, slot: Slot, value: u32) {
        // SAFETY: by contract the slot lies in the frame; predicates are aligned to 4 bytes.
        let predicate = unsafe { &mut *self.registers.add(slot as usize).cast::<u32>() };
        *predicate = (*predicate & !self.mask) | (value & self.mask);
    }

    /// The lanes under the mask, ascending.
    #[inline(always)]
    pub fn lanes(&self) -> Lanes {
        Lanes(self.mask)
    }

    /// Reports a fault of `lane`; only the first one of a block counts.
    #[cold]
    pub fn fail(&mut self, lane: u32, line: u32, fault: impl FnOnce(FaultLocation) -> Fault) {
        if self.fault.is_none() {
            let place = self.place(self.warp, lane, line);
            self.fault = Some(Box::new(fault(place)));
        }
    }

    /// Names a thread of the current block.
    pub fn place(&self, warp: u32, lane: u32, line: u32) -> FaultLocation {
        let rank = warp * LANES as u32 + lane;
        FaultLocation {
            kernel: self.grid.kernel.name().to_owned(),
            block: self.block,
            thread: self.grid.thread(rank),
            line,
        }
    }
}

/// Iterator over the set bits of a mask.
pub(super) struct Lanes(pub u32);

impl Iterator for Lanes {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let lane = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    }
}
