//! The ring of stages in the specialised kernels of [`tiles`](super) whose tiles come by asynchronous copies: producers
//! only issue them, and their bytes complete on mbarriers.
//!
//! The *full* barrier of a stage completes a phase when the tile is there, the *empty* one when all consumer warps have
//! read it. Both sides go around the ring and flip the parity that they wait for with each round; the producer begins with
//! the phase before the first, so that the stages are empty at the start.
//!
//! Neither side is more than one phase behind, as a parity demands: who has not waited does not arrive.

use cuda_std::extensions::{SharedPtr, mbarrier::Mbarrier};
use cuda_std::{shared_array, warp};

use super::{Array, CONSUMERS, STAGES, TILE, compute};
use crate::float4::Float4;
use crate::pipeline_state::PipelineState;

/// Threads of a warp.
pub(super) const LANES: u32 = 32;

/// The stages, and where a warp is among them.
pub(super) struct Ring {
    tiles: SharedPtr<f32>,
    barriers: Mbarrier,
    pub(super) at: PipelineState,
}

impl Ring {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let tiles = shared_array![Float4; (STAGES * TILE) as usize / 4];
        let barriers = shared_array![u64; 2 * STAGES as usize];
        Self {
            tiles: SharedPtr::new(tiles).cast(),
            barriers: Mbarrier::at(SharedPtr::new(barriers)),
            at: PipelineState::FIRST,
        }
    }

    /// Initialises the barriers; `producers` threads arrive when a stage is full.
    ///
    /// # Safety
    /// One thread of the block calls it, once, before the barrier of the block that all threads wait at.
    #[inline(always)]
    pub(super) unsafe fn initialise(&self, producers: u32) {
        for stage in 0..STAGES {
            // SAFETY: the places are the ring's, and no thread uses them yet.
            unsafe {
                self.barriers.add(stage).init(producers);
                self.barriers.add(STAGES + stage).init(CONSUMERS / LANES);
            }
        }
    }

    #[inline(always)]
    pub(super) fn full(&self) -> Mbarrier {
        self.barriers.add(self.at.stage)
    }

    #[inline(always)]
    pub(super) fn empty(&self) -> Mbarrier {
        self.barriers.add(STAGES + self.at.stage)
    }

    #[inline(always)]
    pub(super) fn tile(&self) -> SharedPtr<f32> {
        self.tiles.add(self.at.stage * TILE)
    }

    #[inline(always)]
    pub(super) fn advance(&mut self) {
        self.at.advance(STAGES);
    }

    /// The consumers' side: computes with each tile when it is there.
    ///
    /// # Safety
    /// The barriers are initialised, the first [`CONSUMERS`] threads call it, and the array is as it was described.
    #[inline(always)]
    pub(super) unsafe fn consume(mut self, array: Array, rounds: u32) {
        array.for_each_tile(|first, len| {
            // SAFETY: the tile is there after the wait, and stays until the last consumer warp has arrived.
            unsafe {
                self.full().wait_parity(self.at.parity);
                compute(self.tile(), array, first, len, rounds, || {
                    warp::sync_warp(u32::MAX);
                    if warp::lane_id() == 0 {
                        self.empty().arrive();
                    }
                });
            }
            self.advance();
        });
    }
}
