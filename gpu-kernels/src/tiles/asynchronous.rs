//! The specialised kernels of [`tiles`](super) whose tiles come by asynchronous copies: one producer warp, which
//! only issues them, and mbarriers, which are told when the bytes have come.
//!
//! The *full* barrier of a stage completes a phase when the tile is there, the *empty* one when all consumer warps have
//! read it. Both sides go around the ring of stages and flip the parity that they wait for with each round; the producer
//! begins with the phase before the first, so that the stages are empty at the start.

use cuda_std::mbarrier::Mbarrier;
use cuda_std::prelude::*;
use cuda_std::shared::SharedPtr;
use cuda_std::{async_copy, bulk, fence};

use super::{Array, CONSUMERS, STAGES, TILE, compute};
use crate::float4::Float4;

const LANES: u32 = 32;
/// What each lane of the producer warp copies of a tile, in groups of four elements.
const GROUPS: u32 = TILE / 4 / LANES;

/// `output[i]` from `input[i]`; the producer warp copies 16 bytes per lane and instruction (`cp.async`). Blocks of
/// [`CONSUMERS`] threads that compute, and 32.
#[kernel(launch_bounds(288))]
pub unsafe fn fma_tiles_cp_async(input: *const f32, n: usize, output: *mut f32, rounds: u32) {
    let array = Array { input, output, n };
    let mut ring = Ring::new();
    let t = thread::thread_idx_x();
    // SAFETY: the launch vouches for the array; all threads of the block are here, whole warps take each side.
    unsafe {
        ring.start(LANES);
        if t < CONSUMERS {
            return ring.consume(array, rounds);
        }
        let own = 4 * (t - CONSUMERS);
        array.for_each_tile(|first, len| {
            ring.empty().wait_parity(ring.parity ^ 1);
            let (tile, from) = (ring.tile().add(own), input.add(first + own as usize));
            for group in 0..GROUPS {
                let at = 4 * LANES * group;
                if own + at < len {
                    async_copy::copy_16(tile.add(at), from.add(at as usize));
                }
            }
            ring.full().arrive_after_copies();
            ring.advance();
        });
    }
}

/// `output[i]` from `input[i]`; one thread issues one copy per tile (`cp.async.bulk`). Blocks of [`CONSUMERS`] threads that
/// compute, and 32.
#[kernel(launch_bounds(288))]
pub unsafe fn fma_tiles_bulk(input: *const f32, n: usize, output: *mut f32, rounds: u32) {
    let array = Array { input, output, n };
    let mut ring = Ring::new();
    let t = thread::thread_idx_x();
    // SAFETY: the launch vouches for the array; all threads of the block are here, whole warps take each side.
    unsafe {
        ring.start(1);
        if t < CONSUMERS {
            return ring.consume(array, rounds);
        }
        if t > CONSUMERS {
            return;
        }
        array.for_each_tile(|first, len| {
            ring.empty().wait_parity(ring.parity ^ 1);
            let bytes = len * size_of::<f32>() as u32;
            ring.full().arrive_expect_tx(bytes);
            bulk::copy_to_shared(ring.tile(), input.add(first), bytes, ring.full());
            ring.advance();
        });
    }
}

/// The stages, and where a warp is among them.
struct Ring {
    tiles: SharedPtr<f32>,
    barriers: Mbarrier,
    stage: u32,
    /// Of the phase in which the stage is full.
    parity: u32,
}

impl Ring {
    #[inline(always)]
    fn new() -> Self {
        let tiles = shared_array![Float4; (STAGES * TILE) as usize / 4];
        let barriers = shared_array![u64; 2 * STAGES as usize];
        Self {
            tiles: SharedPtr::new(tiles).cast(),
            barriers: Mbarrier::at(SharedPtr::new(barriers)),
            stage: 0,
            parity: 0,
        }
    }

    /// Initialises the barriers; `producers` threads arrive when a stage is full.
    ///
    /// # Safety
    /// All threads of the block call it together, once.
    #[inline(always)]
    unsafe fn start(&self, producers: u32) {
        if thread::thread_idx_x() == 0 {
            for stage in 0..STAGES {
                // SAFETY: the places are the ring's, and nobody uses them yet.
                unsafe {
                    self.barriers.add(stage).init(producers);
                    self.barriers.add(STAGES + stage).init(CONSUMERS / LANES);
                }
            }
            fence::mbarrier_init();
        }
        thread::sync_threads();
    }

    #[inline(always)]
    fn full(&self) -> Mbarrier {
        self.barriers.add(self.stage)
    }

    #[inline(always)]
    fn empty(&self) -> Mbarrier {
        self.barriers.add(STAGES + self.stage)
    }

    #[inline(always)]
    fn tile(&self) -> SharedPtr<f32> {
        self.tiles.add(self.stage * TILE)
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.stage += 1;
        if self.stage == STAGES {
            (self.stage, self.parity) = (0, self.parity ^ 1);
        }
    }

    /// The consumers' side: computes with each tile when it is there.
    ///
    /// # Safety
    /// The ring is started, the first [`CONSUMERS`] threads call it, and the array is as it was described.
    #[inline(always)]
    unsafe fn consume(mut self, array: Array, rounds: u32) {
        array.for_each_tile(|first, len| {
            // SAFETY: the tile is there after the wait, and stays until the last consumer warp has arrived.
            unsafe {
                self.full().wait_parity(self.parity);
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
