//! The kernels of [`kv_prefetch`](super).

use cuda_std::extensions::mbarrier::Mbarrier;
use cuda_std::extensions::{SharedPtr, bulk, clock64, fence};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{shared_array, warp};

use super::mean::{Mean, Means};
use super::{KV_CONSUMERS, KV_HEAD_DIM, KV_MAX_PAGES, KV_MAX_STAGES, KV_STAGE_BYTES, LANES, TILE};
use crate::float4::Float4;
use crate::pipeline_state::PipelineState;

/// What a block works on: one head of one sequence.
#[derive(Clone, Copy)]
struct Head {
    /// The sequence's part of the page table.
    table: *const *const f32,
    pages: u32,
    /// Floats from the beginning of a page to the head's keys, and from there to its values.
    keys: usize,
    values: usize,
    query: *const f32,
    output: *mut f32,
}

impl Head {
    /// # Safety
    /// The table, the queries and the output have room for the grid's heads and sequences.
    #[inline(always)]
    unsafe fn of_block(
        table: *const *const f32,
        pages: u32,
        queries: *const f32,
        output: *mut f32,
    ) -> Self {
        let (head, heads) = (
            thread::block_idx_x() as usize,
            thread::grid_dim_x() as usize,
        );
        let sequence = thread::block_idx_y() as usize;
        let row = (sequence * heads + head) * KV_HEAD_DIM as usize;
        // SAFETY: the caller's.
        unsafe {
            Self {
                table: table.add(sequence * pages as usize),
                pages,
                keys: head * TILE as usize,
                values: heads * TILE as usize,
                query: queries.add(row),
                output: output.add(row),
            }
        }
    }

    /// Calls `visit` with the number of each page and the head's keys in it. The table is read one page ahead.
    ///
    /// # Safety
    /// There is a page, and the table holds its address and those of the others.
    #[inline(always)]
    unsafe fn for_each_page(&self, mut visit: impl FnMut(u32, *const f32)) {
        // SAFETY: the caller's; the last page is looked up twice.
        unsafe {
            let mut next = *self.table;
            for page in 0..self.pages {
                let keys = next.add(self.keys);
                next = *self.table.add((page + 1).min(self.pages - 1) as usize);
                visit(page, keys);
            }
        }
    }
}

/// `output` from `queries` and the pages; plain loads into registers. Blocks of [`KV_CONSUMERS`] threads, one page or more.
#[kernel(launch_bounds(256))]
pub unsafe fn attention_direct(
    table: *const *const f32,
    pages: u32,
    queries: *const f32,
    output: *mut f32,
    scale: f32,
) {
    // SAFETY: the launch vouches for the pages, the queries and the output; all threads are here.
    unsafe {
        let head = Head::of_block(table, pages, queries, output);
        let means = Means::new();
        if thread::thread_idx_x() == 0 {
            means.initialise();
        }
        thread::sync_threads();
        let mut mean = Mean::of(head.query, scale);
        head.for_each_page(|_, keys| {
            let values = keys.add(head.values);
            let load = |from: *const f32, at: u32| (*from.add(at as usize).cast::<Float4>()).0;
            mean.add(|at| load(keys, at), |at| load(values, at));
        });
        means.combine(mean, head.output);
    }
}

/// `output` from `queries` and the pages; plain loads into one stage in shared memory. Blocks of [`KV_CONSUMERS`] threads, one page or
/// more.
#[kernel(launch_bounds(256))]
pub unsafe fn attention_staged(
    table: *const *const f32,
    pages: u32,
    queries: *const f32,
    output: *mut f32,
    scale: f32,
) {
    let stage: SharedPtr<f32> = SharedPtr::new(shared_array![Float4; 2 * TILE as usize / 4]).cast();
    let t = 4 * thread::thread_idx_x();
    // SAFETY: as above; barriers separate the stores to the stage from the loads of it.
    unsafe {
        let head = Head::of_block(table, pages, queries, output);
        let means = Means::new();
        if thread::thread_idx_x() == 0 {
            means.initialise();
        }
        thread::sync_threads();
        let mut mean = Mean::of(head.query, scale);
        head.for_each_page(|_, keys| {
            // Four loads of each thread are under way together.
            let half = 4 * KV_CONSUMERS;
            let (key, value) = (keys.add(t as usize), keys.add(head.values + t as usize));
            let load = |from: *const f32, at: u32| (*from.add(at as usize).cast::<Float4>()).0;
            let (key, more_keys) = (load(key, 0), load(key, half));
            let (value, more_values) = (load(value, 0), load(value, half));
            let own = stage.add(t);
            own.write_x4(key);
            own.add(half).write_x4(more_keys);
            own.add(TILE).write_x4(value);
            own.add(TILE + half).write_x4(more_values);
            thread::sync_threads();
            mean.add(
                |at| stage.add(at).read_x4(),
                |at| stage.add(TILE + at).read_x4(),
            );
            thread::sync_threads();
        });
        means.combine(mean, head.output);
    }
}

/// `output` from `queries` and the pages; bulk copies into `stages` stages, 1 to [`KV_MAX_STAGES`]. Blocks of
/// [`KV_THREADS`](super::KV_THREADS) threads with [`KV_STAGE_BYTES`] bytes of dynamic shared memory for each stage, 1 to
/// [`KV_MAX_PAGES`] pages.
///
/// Where `stamps` is not null, block (0, 0) stores the multiprocessor's clock for each page: when its copies were issued, and, `pages`
/// places further on, when they had arrived.
#[kernel(launch_bounds(320))]
pub unsafe fn attention_prefetched(
    table: *const *const f32,
    pages: u32,
    queries: *const f32,
    output: *mut f32,
    scale: f32,
    stages: u32,
    stamps: *mut u64,
) {
    let t = thread::thread_idx_x();
    let is_first = thread::block_idx_x() == 0 && thread::block_idx_y() == 0;
    let stamps = if is_first {
        stamps
    } else {
        core::ptr::null_mut()
    };
    // SAFETY: as above, of the stages and the stamps too; whole warps take each side, and wait for each phase one by one.
    unsafe {
        let head = Head::of_block(table, pages, queries, output);
        let (means, mut ring) = (Means::new(), Ring::new(stages));
        if t == 0 {
            means.initialise();
            ring.initialise(!stamps.is_null());
            fence::mbarrier_init();
        }
        thread::sync_threads();
        if t < KV_CONSUMERS {
            ring.look_up(&head);
            let mut mean = Mean::of(head.query, scale);
            for _ in 0..pages {
                ring.full().wait_parity(ring.at.parity);
                let stage = ring.tiles();
                mean.add(
                    |at| stage.add(at).read_x4(),
                    |at| stage.add(TILE + at).read_x4(),
                );
                warp::sync_warp(u32::MAX);
                if warp::lane_id() == 0 {
                    ring.empty().arrive();
                }
                ring.advance();
            }
            means.combine(mean, head.output);
        } else if t == KV_CONSUMERS {
            ring.looked_up().wait_parity(0);
            for page in 0..pages {
                ring.empty().wait_parity(ring.at.parity ^ 1);
                if !stamps.is_null() {
                    *stamps.add(page as usize) = clock64();
                }
                ring.fetch(page, head.values);
                ring.advance();
            }
        } else if t == KV_CONSUMERS + LANES && !stamps.is_null() {
            // A witness, who does nothing but look at the clock when a page has come.
            for page in 0..pages {
                ring.full().wait_parity(ring.at.parity);
                *stamps.add((pages + page) as usize) = clock64();
                ring.empty().arrive();
                ring.advance();
            }
        }
    }
}

/// The head's keys of each page, as they were looked up; the stages, and where a warp is among them.
struct Ring {
    keys: SharedPtr<u64>,
    first: SharedPtr<f32>,
    barriers: Mbarrier,
    stages: u32,
    at: PipelineState,
}

impl Ring {
    #[inline(always)]
    fn new(stages: u32) -> Self {
        Self {
            keys: SharedPtr::new(shared_array![u64; KV_MAX_PAGES as usize]),
            first: SharedPtr::new(dynamic_shared_mem::<f32>()),
            barriers: Mbarrier::at(SharedPtr::new(
                shared_array![u64; 2 * KV_MAX_STAGES as usize + 1],
            )),
            stages,
            at: PipelineState::FIRST,
        }
    }

    /// Initialises the barriers: of a full stage, for the thread that fetches, and of an empty one, for the warps that compute, and for
    /// the witness if there is one.
    ///
    /// # Safety
    /// One thread calls it, before a barrier of the block.
    #[inline(always)]
    unsafe fn initialise(&self, witnessed: bool) {
        let warps = KV_CONSUMERS / LANES;
        // SAFETY: the places are the ring's, and no thread uses them yet.
        unsafe {
            for stage in 0..self.stages {
                self.barriers.add(stage).init(1);
                let empty = self.barriers.add(KV_MAX_STAGES + stage);
                empty.init(warps + u32::from(witnessed));
            }
            self.looked_up().init(warps);
        }
    }

    /// The computing threads look the pages up together, for the one that fetches: it would wait for each address by itself.
    ///
    /// # Safety
    /// The barriers are initialised, all computing threads call it, and there are at most [`KV_MAX_PAGES`] pages.
    #[inline(always)]
    unsafe fn look_up(&self, head: &Head) {
        let mut page = thread::thread_idx_x();
        // SAFETY: each page is one thread's.
        unsafe {
            while page < head.pages {
                let keys = (*head.table.add(page as usize)).add(head.keys);
                self.keys.add(page).write(keys as u64);
                page += KV_CONSUMERS;
            }
            warp::sync_warp(u32::MAX);
            if warp::lane_id() == 0 {
                self.looked_up().arrive();
            }
        }
    }

    /// Completes when all pages have been looked up.
    #[inline(always)]
    fn looked_up(&self) -> Mbarrier {
        self.barriers.add(2 * KV_MAX_STAGES)
    }

    #[inline(always)]
    fn full(&self) -> Mbarrier {
        self.barriers.add(self.at.stage)
    }

    #[inline(always)]
    fn empty(&self) -> Mbarrier {
        self.barriers.add(KV_MAX_STAGES + self.at.stage)
    }

    /// The stage's keys; its values follow.
    #[inline(always)]
    fn tiles(&self) -> SharedPtr<f32> {
        self.first.add(self.at.stage * 2 * TILE)
    }

    /// Issues the copies of a page: the head's keys, and its values, which lie `values` further on.
    ///
    /// # Safety
    /// The stage is empty, the pages have been looked up, and one thread calls it.
    #[inline(always)]
    unsafe fn fetch(&self, page: u32, values: usize) {
        // Warps have read the stage as threads do, the copies write it through the async proxy: the barrier alone does not order
        // the two.
        fence::proxy_async_shared();
        let (to, bytes) = (self.tiles(), KV_STAGE_BYTES / 2);
        // SAFETY: the caller's.
        unsafe {
            let keys = self.keys.add(page).read() as *const f32;
            self.full().arrive_expect_tx(KV_STAGE_BYTES);
            bulk::copy_to_shared(to, keys, bytes, self.full());
            bulk::copy_to_shared(to.add(TILE), keys.add(values), bytes, self.full());
        }
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.at.advance(self.stages);
    }
}
