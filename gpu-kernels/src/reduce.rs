//! Reductions: a grid-stride loop per thread, shuffles within a warp, shared memory within a block, one atomic
//! addition per block.

use cuda_std::{atomic, prelude::*};

const WARPS_PER_BLOCK: usize = 32;

/// `result[0] += x[0] + x[1] + ..`
#[kernel]
pub unsafe fn sum(x: &[f32], result: *mut f32) {
    let mut total = 0.0;
    for_each(x.len(), |i| total += x[i]);
    // SAFETY: every thread of the block arrives here.
    unsafe { add_block(total, result) };
}

/// `result[0] += x[0] y[0] + x[1] y[1] + ..`
#[kernel]
pub unsafe fn dot(x: &[f32], y: *const f32, result: *mut f32) {
    let mut total = 0.0f32;
    // SAFETY: y is as long as x.
    for_each(x.len(), |i| {
        total = x[i].mul_add(unsafe { *y.add(i) }, total)
    });
    // SAFETY: every thread of the block arrives here.
    unsafe { add_block(total, result) };
}

#[inline(always)]
fn for_each(n: usize, mut body: impl FnMut(usize)) {
    let stride = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i < n {
        body(i);
        i += stride;
    }
}

/// # Safety
/// Every thread of the block calls it; `result` points to one float.
#[inline(always)]
unsafe fn add_block(value: f32, result: *mut f32) {
    let partial = shared_array![f32; WARPS_PER_BLOCK];
    let (lane, warp) = (warp::lane_id(), thread::thread_idx_x() / 32);
    let total = unsafe { add_warp(value) };
    if lane == 0 {
        unsafe { *partial.add(warp as usize) = total };
    }
    thread::sync_threads();
    if warp == 0 {
        let warps = thread::block_dim_x().div_ceil(32);
        let value = if lane < warps {
            unsafe { *partial.add(lane as usize) }
        } else {
            0.0
        };
        let total = unsafe { add_warp(value) };
        if lane == 0 {
            unsafe { atomic::red_add_f32(result, total) };
        }
    }
}

#[inline(always)]
unsafe fn add_warp(mut value: f32) -> f32 {
    for delta in [16, 8, 4, 2, 1] {
        value += unsafe { warp::shuffle_down_f32(u32::MAX, value, delta) };
    }
    value
}
