//! Reductions: a grid-stride loop per thread, shuffles within a warp, shared memory within a block, one atomic
//! addition per block. They take any grid of one-dimensional blocks whose size is a multiple of 32.

use core::sync::atomic::Ordering;

use cuda_std::atomic::AtomicF32;
use cuda_std::{shared_array, warp, GpuFloat};
use cuda_std::prelude::*;

const LANES: u32 = 32;
const WARPS_PER_BLOCK: usize = 32;

/// `result[0] += x[0] + x[1] + ..`; any grid, blocks of a multiple of 32 threads.
#[kernel]
pub unsafe fn sum(x: &[f32], result: *mut f32) {
    let mut total = 0.0;
    for_each(x.len(), |i| total += x[i]);
    // SAFETY: every thread of the block arrives here.
    unsafe { add_block(total, result) };
}

/// `result[0] += x[0] y[0] + x[1] y[1] + ..`; any grid, blocks of a multiple of 32 threads.
#[kernel]
pub unsafe fn dot(x: &[f32], y: *const f32, result: *mut f32) {
    let mut total = 0.0f32;
    for_each(x.len(), |i| {
        // SAFETY: y is as long as x.
        let y = unsafe { *y.add(i) };
        total = x[i].mul_add(y, total);
    });
    // SAFETY: every thread of the block arrives here.
    unsafe { add_block(total, result) };
}

/// Visits every `i < n` that falls to this thread.
#[inline(always)]
fn for_each(n: usize, mut visit: impl FnMut(usize)) {
    let stride = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i < n {
        visit(i);
        i += stride;
    }
}

/// Adds the values of all threads of the block to `result`.
///
/// # Safety
/// Every thread of the block calls it once; `result` points to one float.
#[inline(always)]
unsafe fn add_block(value: f32, result: *mut f32) {
    let sums = shared_array![f32; WARPS_PER_BLOCK];
    let (warp, lane) = (thread::thread_idx_x() / LANES, warp::lane_id());

    // SAFETY: all lanes are here.
    let sum = unsafe { add_warp(value) };
    if lane == 0 {
        // SAFETY: a block has at most 32 warps.
        unsafe { *sums.add(warp as usize) = sum };
    }
    thread::sync_threads();
    if warp != 0 {
        return;
    }

    let warps = thread::block_dim_x() / LANES;
    let mut sum = 0.0;
    if lane < warps {
        // SAFETY: each of the block's warps has stored its sum.
        sum = unsafe { *sums.add(lane as usize) };
    }
    // SAFETY: all lanes of the first warp are here.
    sum = unsafe { add_warp(sum) };
    if lane == 0 {
        // SAFETY: the caller vouches for `result`, and every block adds to it atomically.
        unsafe { &*result.cast::<AtomicF32>() }.fetch_add(sum, Ordering::Relaxed);
    }
}

/// The sum over a warp, in lane 0.
///
/// # Safety
/// All 32 lanes call it together.
#[inline(always)]
unsafe fn add_warp(mut value: f32) -> f32 {
    for delta in [16, 8, 4, 2, 1] {
        // SAFETY: all lanes take part.
        value += unsafe { warp::warp_shuffle_down(u32::MAX, value, delta, LANES).0 };
    }
    value
}
