//! The stages in shared memory that the kernels of [`cluster_product`](super) fetch into and compute from.
//!
//! The *full* barrier of a stage completes a phase when the block's tiles of A and B are there. The *empty* one completes a phase
//! when the stage may be written again: where blocks write into each other's stages, all computing warps of the cluster have
//! to say so, and they do so at the empty barrier of each block. The *come* barrier is for a block's own share of a tile, before it is
//! passed on.
//!
//! The tiles lie in the launch's dynamic shared memory: first those of B, then those of A.

use cuda_std::extensions::mbarrier::Mbarrier;
use cuda_std::extensions::{SharedPtr, cluster, fence};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{GpuFloat, shared_array, warp};

use super::{
    A_TILE, B_TILE, COMPUTING, LANES, PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_TERMS, STAGES,
};
use crate::pipeline_state::PipelineState;

/// The stages, and where a warp is among them.
pub(super) struct Stages {
    a: SharedPtr<f32>,
    b: SharedPtr<f32>,
    barriers: Mbarrier,
    at: PipelineState,
}

/// The sums of a thread: four columns of each row.
pub(super) type Sums = [[f32; 4]; PRODUCT_ROWS as usize];

impl Stages {
    /// Reserves the stages and initialises their barriers; `shared` says whether blocks write into each other's stages.
    ///
    /// # Safety
    /// All threads of the cluster call it, once.
    #[inline(always)]
    pub(super) unsafe fn new(shared: bool) -> Self {
        let b = SharedPtr::new(dynamic_shared_mem::<f32>());
        let barriers = shared_array![u64; 3 * STAGES as usize];
        let new = Self {
            a: b.add(STAGES * B_TILE),
            b,
            barriers: Mbarrier::at(SharedPtr::new(barriers)),
            at: PipelineState::FIRST,
        };
        let computing_warps = COMPUTING / LANES;
        let blocks = if shared { cluster::block_count() } else { 1 };
        // SAFETY: the places are this struct's, and no thread uses them before the barrier of the cluster.
        unsafe {
            if thread::thread_idx_x() == 0 {
                for stage in 0..STAGES {
                    new.barriers.add(stage).init(1);
                    new.barriers
                        .add(STAGES + stage)
                        .init(computing_warps * blocks);
                    new.barriers.add(2 * STAGES + stage).init(1);
                }
                fence::mbarrier_init();
            }
            warp::sync_warp(u32::MAX);
            cluster::sync();
        }
        new
    }

    #[inline(always)]
    pub(super) fn a(&self) -> SharedPtr<f32> {
        self.a.add(self.at.stage * A_TILE)
    }

    #[inline(always)]
    pub(super) fn b(&self) -> SharedPtr<f32> {
        self.b.add(self.at.stage * B_TILE)
    }

    #[inline(always)]
    pub(super) fn full(&self) -> Mbarrier {
        self.barriers.add(self.at.stage)
    }

    #[inline(always)]
    fn empty(&self) -> Mbarrier {
        self.barriers.add(STAGES + self.at.stage)
    }

    #[inline(always)]
    pub(super) fn come(&self) -> Mbarrier {
        self.barriers.add(2 * STAGES + self.at.stage)
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.at.advance(STAGES);
    }

    /// Calls `fetch` with the number of each tile, when its stage may be written. Returns how many bytes that fetched altogether.
    ///
    /// # Safety
    /// One thread calls it.
    #[inline(always)]
    pub(super) unsafe fn fetch_each(
        &mut self,
        tiles: u32,
        fetch: impl Fn(&Self, u32) -> u32,
    ) -> u32 {
        let mut bytes = 0;
        for tile in 0..tiles {
            // SAFETY: the barriers are initialised, and a stage's phases are waited for one by one.
            unsafe { self.empty().wait_parity(self.at.parity ^ 1) };
            bytes += fetch(self, tile);
            self.advance();
        }
        bytes
    }

    /// Calls `pass` when the block's own share of each tile has arrived.
    ///
    /// # Safety
    /// One thread calls it, which is not the one that fetches.
    #[inline(always)]
    pub(super) unsafe fn pass_each(&mut self, tiles: u32, pass: impl Fn(&Self)) {
        for _ in 0..tiles {
            // SAFETY: as above.
            unsafe { self.come().wait_parity(self.at.parity) };
            pass(self);
            self.advance();
        }
    }

    /// Multiplies each tile when it is there, and releases its stage: to the block, or to all blocks of the cluster if they
    /// write into it.
    ///
    /// # Safety
    /// The first [`COMPUTING`] threads call it together.
    #[inline(always)]
    pub(super) unsafe fn compute_each(&mut self, tiles: u32, shared: bool) -> Sums {
        // The blocks that wait for this one's warps, from the first on.
        let (own, readers) = match shared {
            true => (0, cluster::block_count()),
            false => (cluster::block_rank(), 1),
        };
        let mut sums = [[0.0; 4]; PRODUCT_ROWS as usize];
        for _ in 0..tiles {
            // SAFETY: the tiles are there after the wait, and stay until this warp has arrived. The blocks' objects stay until
            // all have met at the end.
            unsafe {
                self.full().wait_parity(self.at.parity);
                self.multiply(&mut sums);
                warp::sync_warp(u32::MAX);
                let lane = warp::lane_id();
                if lane < readers {
                    self.empty().arrive_at_having_read(own + lane);
                }
            }
            self.advance();
        }
        sums
    }

    /// # Safety
    /// The stage is full.
    #[inline(always)]
    unsafe fn multiply(&self, sums: &mut Sums) {
        let columns = self.b().add(4 * thread::thread_idx_x());
        for term in 0..PRODUCT_TERMS {
            // SAFETY: inside the tiles.
            let (a, b) = unsafe {
                let a = self.a().add(term * PRODUCT_ROWS);
                let b = columns.add(term * PRODUCT_COLUMNS);
                (a.read_x4(), b.read_x4())
            };
            // By number: iterators would keep the sums in local memory.
            for row in 0..PRODUCT_ROWS as usize {
                for column in 0..4 {
                    let sum = &mut sums[row][column];
                    *sum = a[row].mul_add(b[column], *sum);
                }
            }
        }
    }
}
