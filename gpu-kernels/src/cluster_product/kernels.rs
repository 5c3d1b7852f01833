//! The kernels of [`cluster_product`](super): they differ in how a tile of B comes into shared memory.

use cuda_std::extensions::SharedPtr;
use cuda_std::extensions::mbarrier::Mbarrier;
use cuda_std::extensions::{bulk, cluster, fence};
use cuda_std::prelude::*;
use cuda_std::warp;

use super::stages::{Stages, Sums};
use super::{A_TILE, B_TILE, COMPUTING, LANES, PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_TERMS};
use crate::float4::Float4;

/// The operands of a launch.
#[derive(Clone, Copy)]
struct Product {
    /// The panel of A that is this block's, and that of B which is its cluster's.
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    /// Bytes that each block has fetched from global memory.
    fetched: *mut u32,
    tiles: u32,
}

impl Product {
    /// # Safety
    /// The operands have the panels and the elements that the grid needs.
    #[inline(always)]
    unsafe fn new(
        a: *const f32,
        b: *const f32,
        c: *mut f32,
        fetched: *mut u32,
        terms: u32,
    ) -> Self {
        let (row, column) = (
            thread::block_idx_x() as usize,
            thread::block_idx_y() as usize,
        );
        let terms = terms as usize;
        // SAFETY: the caller's.
        unsafe {
            Self {
                a: a.add(row * terms * PRODUCT_ROWS as usize),
                b: b.add(column * terms * PRODUCT_COLUMNS as usize),
                c,
                fetched,
                tiles: terms as u32 / PRODUCT_TERMS,
            }
        }
    }

    /// The block's tile of A.
    #[inline(always)]
    unsafe fn a_tile(&self, tile: u32) -> *const f32 {
        // SAFETY: the caller's.
        unsafe { self.a.add((tile * A_TILE) as usize) }
    }

    /// The cluster's tile of B.
    #[inline(always)]
    unsafe fn b_tile(&self, tile: u32) -> *const f32 {
        // SAFETY: the caller's.
        unsafe { self.b.add(tile as usize * B_TILE as usize) }
    }

    /// Notes how many bytes the block has fetched.
    #[inline(always)]
    unsafe fn note(&self, bytes: u32) {
        let block = thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x();
        // SAFETY: the launch vouches for a number per block.
        unsafe { *self.fetched.add(block as usize) = bytes };
    }

    /// Stores the thread's sums.
    #[inline(always)]
    unsafe fn store(&self, sums: Sums) {
        let columns = (thread::grid_dim_y() * PRODUCT_COLUMNS) as usize;
        let column = thread::block_idx_y() * PRODUCT_COLUMNS + 4 * thread::thread_idx_x();
        let first = (thread::block_idx_x() * PRODUCT_ROWS) as usize;
        for (row, sums) in (first..).zip(sums) {
            // SAFETY: inside the product, which has these rows and columns.
            unsafe { *self.c.add(row * columns + column as usize).cast() = Float4(sums) };
        }
    }
}

/// A bulk copy from global memory ([`bulk::copy_to_shared`]). Returns its bytes, so that what a block fetches is counted where it does.
///
/// # Safety
/// As for that function.
#[inline(always)]
unsafe fn fetch(to: SharedPtr<f32>, from: *const f32, bytes: u32, barrier: Mbarrier) -> u32 {
    // SAFETY: the caller's.
    unsafe { bulk::copy_to_shared(to, from, bytes, barrier) };
    bytes
}

/// The part of a tile of B that a block fetches for its cluster.
struct Share {
    rank: u32,
    blocks: u32,
    /// Its first element, and its bytes.
    first: u32,
    bytes: u32,
}

impl Share {
    #[inline(always)]
    fn of_block() -> Self {
        let (rank, blocks) = (cluster::block_rank(), cluster::block_count());
        // There is always one; said so that nothing can divide by zero.
        let len = B_TILE / blocks.max(1);
        Self {
            rank,
            blocks,
            first: rank * len,
            bytes: len * size_of::<f32>() as u32,
        }
    }
}

/// What the threads of the block are for.
#[derive(PartialEq, Eq)]
enum Role {
    Compute,
    Fetch,
    Pass,
    /// The other threads of the warps that fetch and pass on.
    Nothing,
}

#[inline(always)]
fn role() -> Role {
    match thread::thread_idx_x() {
        ..COMPUTING => Role::Compute,
        COMPUTING => Role::Fetch,
        t if t == COMPUTING + LANES => Role::Pass,
        _ => Role::Nothing,
    }
}

/// The end of all kernels: no block exits while others write into its shared memory or arrive at its barriers.
///
/// # Safety
/// All threads of the cluster are here.
#[inline(always)]
unsafe fn leave_together() {
    // SAFETY: the caller's; the roles of a warp meet first.
    unsafe {
        warp::sync_warp(u32::MAX);
        cluster::sync();
    }
}

const A_BYTES: u32 = A_TILE * size_of::<f32>() as u32;
const B_BYTES: u32 = B_TILE * size_of::<f32>() as u32;

/// `c` from `a` and `b`, all tiles from global memory. Blocks of [`PRODUCT_THREADS`](super::PRODUCT_THREADS) threads, of which one
/// warp has nothing to do.
#[kernel(launch_bounds(192))]
pub unsafe fn product_global(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    fetched: *mut u32,
    terms: u32,
) {
    // SAFETY: the launch vouches for the operands; all threads of the cluster are here, and each has its role.
    unsafe {
        let product = Product::new(a, b, c, fetched, terms);
        let mut stages = Stages::new(false);
        match role() {
            Role::Compute => product.store(stages.compute_each(product.tiles, false)),
            Role::Fetch => {
                product.note(stages.fetch_each(product.tiles, |stage, tile| {
                    stage.full().arrive_expect_tx(A_BYTES + B_BYTES);
                    fetch(stage.a(), product.a_tile(tile), A_BYTES, stage.full())
                        + fetch(stage.b(), product.b_tile(tile), B_BYTES, stage.full())
                }));
            }
            Role::Pass | Role::Nothing => {}
        }
        leave_together();
    }
}

/// `c` from `a` and `b`; a block fetches its share of each tile of `b` and passes it on to the other blocks of its cluster.
#[kernel(launch_bounds(192))]
pub unsafe fn product_dsmem(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    fetched: *mut u32,
    terms: u32,
) {
    // SAFETY: as above. A share is at the same place of every block's stage.
    unsafe {
        let product = Product::new(a, b, c, fetched, terms);
        let mut stages = Stages::new(true);
        let Share {
            rank,
            blocks,
            first,
            bytes,
        } = Share::of_block();
        match role() {
            Role::Compute => product.store(stages.compute_each(product.tiles, true)),
            Role::Fetch => {
                product.note(stages.fetch_each(product.tiles, |stage, tile| {
                    // The others' shares and the tile of A; whoever passes the own share on arrives for it.
                    stage.full().expect_tx(A_BYTES + B_BYTES - bytes);
                    let of_a = fetch(stage.a(), product.a_tile(tile), A_BYTES, stage.full());
                    stage.come().arrive_expect_tx(bytes);
                    let (to, from) = (
                        stage.b().add(first),
                        product.b_tile(tile).add(first as usize),
                    );
                    of_a + fetch(to, from, bytes, stage.come())
                }));
            }
            Role::Pass => stages.pass_each(product.tiles, |stage| {
                // The share has arrived through the asynchronous proxy, and its arrival was seen by this thread: now it is read
                // through that proxy again.
                fence::proxy_async_shared();
                stage.full().arrive();
                let own = stage.b().add(first);
                let mut other = 0;
                while other < blocks {
                    if other != rank {
                        let there = cluster::map_shared_rank(own, other);
                        let full = cluster::map_shared_rank(stage.full().place(), other);
                        bulk::copy_to_cluster(there, own, bytes, full);
                    }
                    other += 1;
                }
            }),
            Role::Nothing => {}
        }
        leave_together();
    }
}

/// `c` from `a` and `b`; a block fetches its share of each tile of `b` into the shared memory of all blocks of its cluster.
#[kernel(launch_bounds(192))]
pub unsafe fn product_multicast(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    fetched: *mut u32,
    terms: u32,
) {
    // SAFETY: as above.
    unsafe {
        let product = Product::new(a, b, c, fetched, terms);
        let mut stages = Stages::new(true);
        let Share {
            blocks,
            first,
            bytes,
            ..
        } = Share::of_block();
        let all = ((1u32 << blocks) - 1) as u16;
        match role() {
            Role::Compute => product.store(stages.compute_each(product.tiles, true)),
            Role::Fetch => {
                product.note(stages.fetch_each(product.tiles, |stage, tile| {
                    // Every block expects the whole tile: its own share and those that the others send.
                    stage.full().arrive_expect_tx(A_BYTES + B_BYTES);
                    let of_a = fetch(stage.a(), product.a_tile(tile), A_BYTES, stage.full());
                    let (to, from) = (
                        stage.b().add(first),
                        product.b_tile(tile).add(first as usize),
                    );
                    bulk::multicast_to_cluster(to, from, bytes, stage.full(), all);
                    of_a + bytes
                }));
            }
            Role::Pass | Role::Nothing => {}
        }
        leave_together();
    }
}
