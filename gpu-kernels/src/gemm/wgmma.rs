//! The kernel of [`gemm`](super) with `wgmma`.
//!
//! Warps are specialised. One thread has the tiles of A and B brought, 64 terms wide, by copies with tensor maps into a ring of stages. Two
//! warpgroups multiply: each has 64 rows and 256 columns of the block's tile of C, 128 sums a thread, for which the threads that only
//! bring give up their registers. Mbarriers hand the stages to and fro.
//!
//! The blocks of a cluster lie along the rows and need the same tile of B: each brings a share of it for all of them.
//!
//! Blocks are persistent: each takes one tile of C after the other, and while it stores one, the stages fill up for the next.

use cuda_std::extensions::mbarrier::Mbarrier;
use cuda_std::extensions::tensor_map::{self, TensorMap};
use cuda_std::extensions::{SharedPtr, barrier, bulk, cluster, fence, mma, registers, wgmma};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warp;

use super::{
    GEMM_TERMS, GEMM_WGMMA_BOX, GEMM_WGMMA_OUTPUT_BOX, GEMM_WGMMA_TILE, ROW, SWIZZLE,
    WGMMA_COMPUTING as COMPUTING, WGMMA_STAGES as STAGES, tile_of,
};
use crate::pipeline_state::PipelineState;
use crate::unroll::unroll;

const WARPGROUP: u32 = 128;
/// Tiles of rows whose clusters run together.
const GROUP: u32 = 8;
/// Bytes of the tile of A, and of a stage: the tile of A, then that of B.
const A_TILE: u32 = GEMM_WGMMA_TILE[0] * ROW;
const STAGE: u32 = A_TILE + GEMM_WGMMA_TILE[1] * ROW;
/// Columns of a box of B, and its bytes.
const SHARE: u32 = GEMM_WGMMA_BOX[1];
const BOX: u32 = SHARE * ROW;
/// Bytes of a box of C, and of the room where a warpgroup puts C together.
const OUTPUT_BOX: u32 = GEMM_WGMMA_OUTPUT_BOX[1] * ROW;
const OUTPUT: u32 = 2 * OUTPUT_BOX;

/// C from A and B, `[k, m, products]`, `[k, n, products]` and `[n, m, products]` elements, innermost first, in boxes of
/// [`GEMM_WGMMA_BOX`] and [`GEMM_WGMMA_OUTPUT_BOX`], swizzled by 128 bytes. The maps of A, B and C lie in this order in global memory. Any grid of
/// one dimension, in clusters of 1 or 2 blocks; [`GEMM_WGMMA_THREADS`](super::GEMM_WGMMA_THREADS) threads and [`GEMM_WGMMA_SHARED_BYTES`](super::GEMM_WGMMA_SHARED_BYTES) bytes of dynamic shared memory.
#[kernel(launch_bounds(384, 1))]
pub unsafe fn gemm_wgmma(maps: *const TensorMap, m: u32, n: u32, k: u32, products: u32) {
    // There is always one; said so that nothing can divide by zero.
    let (t, blocks) = (thread::thread_idx_x(), cluster::block_count().max(1));
    // SAFETY: the launch vouches for the maps and the shared memory; whole warpgroups take each side, and wait for each phase one by one.
    unsafe {
        let work = Work {
            tiles: [
                m.div_ceil(GEMM_WGMMA_TILE[0]).div_ceil(blocks),
                n.div_ceil(GEMM_WGMMA_TILE[1]),
            ],
            products,
            steps: k.div_ceil(GEMM_TERMS),
        };
        let mut ring = Ring::new();
        if t == 0 {
            ring.initialise(blocks);
        }
        warp::sync_warp(u32::MAX);
        cluster::sync();
        if t < WARPGROUP {
            registers::decrease_to::<24>();
            if t == 0 {
                let own = [maps, maps.add(1)];
                for map in own {
                    tensor_map::acquire(map);
                }
                work.each(|tile| ring.bring(own, tile, work.steps, blocks));
            }
        } else {
            registers::increase_to::<240>();
            let output = Output::new(ring.output(), maps.add(2));
            work.each(|tile| {
                let sums = ring.multiply(work.steps, blocks);
                output.store(&sums, tile);
            });
            output.finish();
        }
        warp::sync_warp(u32::MAX);
        // No block exits while others write into its shared memory, or arrive at its barriers.
        cluster::sync();
    }
}

/// What the grid has to do.
struct Work {
    /// Tiles of the clusters down and along.
    tiles: [u32; 2],
    products: u32,
    steps: u32,
}

impl Work {
    /// Calls `visit` with the first row, the first column and the product of each of the block's tiles.
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut([u32; 3])) {
        let (rank, blocks) = (cluster::block_rank(), cluster::block_count());
        let in_product = (self.tiles[0] * self.tiles[1]).max(1);
        let mut number = cluster::cluster_idx_x();
        while number < in_product * self.products {
            let [down, along] = tile_of(number % in_product, self.tiles, GROUP);
            let row = (down * blocks + rank) * GEMM_WGMMA_TILE[0];
            visit([row, along * GEMM_WGMMA_TILE[1], number / in_product]);
            number += cluster::grid_clusters_x();
        }
    }
}

/// The stages, and where a warp is among them.
struct Ring {
    stages: SharedPtr<u8>,
    barriers: Mbarrier,
    at: PipelineState,
}

impl Ring {
    #[inline(always)]
    fn new() -> Self {
        let first = SharedPtr::new(dynamic_shared_mem::<u8>());
        let stages = first.add(first.address().wrapping_neg() % SWIZZLE);
        let barriers = stages.add(STAGES * STAGE + COMPUTING * OUTPUT);
        Self {
            stages,
            barriers: Mbarrier::at(barriers.cast()),
            at: PipelineState::FIRST,
        }
    }

    /// # Safety
    /// One thread calls it, before a barrier of the cluster.
    #[inline(always)]
    unsafe fn initialise(&self, blocks: u32) {
        for stage in 0..STAGES {
            // SAFETY: the places are the ring's, and no thread uses them yet.
            unsafe {
                self.barriers.add(stage).init(1);
                self.barriers
                    .add(STAGES + stage)
                    .init(COMPUTING * WARPGROUP / 32 * blocks);
            }
        }
        fence::mbarrier_init();
    }

    /// The room where the warpgroup puts C together.
    #[inline(always)]
    fn output(&self) -> SharedPtr<u8> {
        let warpgroup = thread::thread_idx_x() / WARPGROUP - 1;
        self.stages.add(STAGES * STAGE + warpgroup * OUTPUT)
    }

    #[inline(always)]
    fn full(&self) -> Mbarrier {
        self.barriers.add(self.at.stage)
    }

    #[inline(always)]
    fn empty(&self) -> Mbarrier {
        self.barriers.add(STAGES + self.at.stage)
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.at.advance(STAGES);
    }

    /// Has the tiles brought that a tile of C needs, each when its stage is empty: all of A, and of B the block's share, for all blocks of the
    /// cluster.
    ///
    /// # Safety
    /// One thread calls it.
    #[inline(always)]
    unsafe fn bring(
        &mut self,
        [a, b]: [*const TensorMap; 2],
        [row, column, product]: [u32; 3],
        steps: u32,
        blocks: u32,
    ) {
        let all = ((1u32 << blocks) - 1) as u16;
        for step in 0..steps {
            let term = step * GEMM_TERMS;
            let to = self.stages.add(self.at.stage * STAGE);
            // SAFETY: the stage is empty in all blocks of the cluster, and each expects all bytes that come.
            unsafe {
                self.empty().wait_parity_of_cluster(self.at.parity ^ 1);
                self.full().arrive_expect_tx(STAGE);
                tensor_map::copy_to_shared(to, a, [term, row, product], self.full());
                if blocks == 1 {
                    let (first, second) = (to.add(A_TILE), to.add(A_TILE + BOX));
                    tensor_map::copy_to_shared(first, b, [term, column, product], self.full());
                    tensor_map::copy_to_shared(
                        second,
                        b,
                        [term, column + SHARE, product],
                        self.full(),
                    );
                } else {
                    let share = cluster::block_rank();
                    let to = to.add(A_TILE + share * BOX);
                    let column = column + share * SHARE;
                    tensor_map::multicast_to_cluster(
                        to,
                        b,
                        [term, column, product],
                        self.full(),
                        all,
                    );
                }
            }
            self.advance();
        }
    }

    /// The warpgroup's sums of a tile of C. While the tensor cores work on one stage, the one before is given back.
    ///
    /// # Safety
    /// All threads of a computing warpgroup call it together.
    #[inline(always)]
    unsafe fn multiply(&mut self, steps: u32, blocks: u32) -> wgmma::Sums256 {
        let rows = (thread::thread_idx_x() / WARPGROUP - 1) * 64;
        let mut sums = wgmma::NO_SUMS;
        let mut before = self.empty();
        for step in 0..steps {
            let stage = self.stages.add(self.at.stage * STAGE);
            let a = wgmma::Descriptor::swizzled_128(stage.add(rows * ROW));
            let b = wgmma::Descriptor::swizzled_128(stage.add(A_TILE));
            // SAFETY: the stage is full, and stays so until its products are done.
            unsafe {
                self.full().wait_parity(self.at.parity);
                wgmma::fence();
                wgmma::m64n256k16_bf16(&mut sums, a, b, step > 0);
                wgmma::m64n256k16_bf16(&mut sums, a.skip(16), b.skip(16), true);
                wgmma::m64n256k16_bf16(&mut sums, a.skip(32), b.skip(32), true);
                wgmma::m64n256k16_bf16(&mut sums, a.skip(48), b.skip(48), true);
                wgmma::commit_group();
                wgmma::wait_group::<1>();
                if step > 0 {
                    release(before, blocks);
                }
            }
            before = self.empty();
            self.advance();
        }
        // SAFETY: as above.
        unsafe {
            wgmma::wait_group::<0>();
            release(before, blocks);
        }
        sums
    }
}

/// Gives a stage back to all blocks of the cluster, which write into it.
///
/// # Safety
/// All lanes of the warp call it; the products that read the stage are done.
#[inline(always)]
unsafe fn release(empty: Mbarrier, blocks: u32) {
    let lane = warp::lane_id();
    if lane < blocks {
        // SAFETY: the caller's; no block exits before all have met at the end.
        unsafe { empty.arrive_at_having_read(lane) };
    }
}

/// Where a warpgroup puts its part of C together, half of its columns at a time, and what copies it out.
struct Output {
    room: SharedPtr<u8>,
    /// The row of 16 bytes that the thread names for `stmatrix`, and which part of it comes first.
    row: SharedPtr<u8>,
    part: u32,
    map: *const TensorMap,
    /// Number of the named barrier, and of the warpgroup.
    barrier: u32,
    is_first: bool,
}

impl Output {
    #[inline(always)]
    unsafe fn new(room: SharedPtr<u8>, map: *const TensorMap) -> Self {
        let (t, lane) = (thread::thread_idx_x() % WARPGROUP, warp::lane_id());
        let row = t / 32 * 16 + lane % 16;
        if t == 0 {
            // SAFETY: the caller's.
            unsafe { tensor_map::acquire(map) };
        }
        Self {
            room,
            row: room.add(row * ROW),
            part: lane / 16,
            map,
            barrier: thread::thread_idx_x() / WARPGROUP,
            is_first: t == 0,
        }
    }

    /// Rounds the sums and has them copied to C.
    ///
    /// # Safety
    /// All threads of the warpgroup call it together.
    #[inline(always)]
    unsafe fn store(&self, sums: &wgmma::Sums256, [row, column, product]: [u32; 3]) {
        let row = row + (self.barrier - 1) * 64;
        // The first 64 columns that C has room for, then the next, in two boxes at a time.
        unroll! { for HALF in [0 1] {
            // SAFETY: the room is the warpgroup's, and empty after the first barrier; the copy reads it behind the second.
            unsafe {
                if self.is_first {
                    bulk::wait_group_read::<0>();
                }
                barrier::sync(self.barrier, WARPGROUP);
                unroll! { for PAIR in [0 1 2 3 4 5 6 7] {
                    const FIRST: usize = (HALF * 8 + PAIR) * 8;
                    let place = (2 * (PAIR as u32 % 4) + self.part) ^ (warp::lane_id() % 8);
                    let to = self.row.add(PAIR as u32 / 4 * OUTPUT_BOX + place * 16);
                    mma::store_x4(to, [
                        mma::pack_bf16(sums[FIRST], sums[FIRST + 1]),
                        mma::pack_bf16(sums[FIRST + 2], sums[FIRST + 3]),
                        mma::pack_bf16(sums[FIRST + 4], sums[FIRST + 5]),
                        mma::pack_bf16(sums[FIRST + 6], sums[FIRST + 7]),
                    ]);
                } }
                fence::proxy_async_shared();
                barrier::sync(self.barrier, WARPGROUP);
                if self.is_first {
                    let column = column + 128 * HALF as u32;
                    tensor_map::copy_to_global(self.map, [column, row, product], self.room);
                    tensor_map::copy_to_global(self.map, [column + 64, row, product], self.room.add(OUTPUT_BOX));
                    bulk::commit_group();
                }
            }
        } }
    }

    /// Waits until everything has been copied.
    #[inline(always)]
    fn finish(&self) {
        if self.is_first {
            bulk::wait_group::<0>();
        }
    }
}
