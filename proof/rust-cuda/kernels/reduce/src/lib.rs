//! Reductions that are generic over what they combine: through the launch's shared memory, and by shuffles of a warp.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{shared_array, warp};

pub trait Combine: Copy {
    const IDENTITY: Self;
    fn combine(self, other: Self) -> Self;
}

/// The least and the greatest of some numbers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Range {
    pub least: f32,
    pub greatest: f32,
}

impl Combine for Range {
    const IDENTITY: Self = Range { least: f32::INFINITY, greatest: f32::NEG_INFINITY };

    fn combine(self, other: Self) -> Self {
        Range { least: self.least.min(other.least), greatest: self.greatest.max(other.greatest) }
    }
}

impl Combine for u64 {
    const IDENTITY: Self = 0;

    fn combine(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

/// Each thread strides over the values; then half of the threads combine with the other half until one has all.
unsafe fn reduce<T: Combine, U>(values: &[U], load: impl Fn(&U) -> T) -> T {
    let scratch = dynamic_shared_mem::<T>();
    let (t, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let stride = threads * thread::grid_dim_x() as usize;
    let own = values.iter().skip(thread::index_1d() as usize).step_by(stride);
    let all = own.fold(T::IDENTITY, |all, value| all.combine(load(value)));
    unsafe {
        scratch.add(t).write(all);
        thread::sync_threads();
        let mut half = threads / 2;
        while half > 0 {
            if t < half {
                let other = *scratch.add(t + half);
                *scratch.add(t) = (*scratch.add(t)).combine(other);
            }
            thread::sync_threads();
            half /= 2;
        }
        *scratch
    }
}

#[kernel]
pub unsafe fn range(values: &[f32], out: *mut Range) {
    let all = unsafe { reduce(values, |&value| Range { least: value, greatest: value }) };
    if thread::thread_idx_x() == 0 {
        unsafe { out.add(thread::block_idx_x() as usize).write(all) };
    }
}

#[kernel]
pub unsafe fn checksum(values: &[u8], out: *mut u64) {
    let all = unsafe { reduce(values, |&value| 31 * value as u64) };
    if thread::thread_idx_x() == 0 {
        unsafe { out.add(thread::block_idx_x() as usize).write(all) };
    }
}

/// Sums of each thread's value and of those before it in the warp.
fn warp_scan(mut value: i64) -> i64 {
    let lane = warp::lane_id();
    let mut distance = 1;
    while distance < 32 {
        let (below, _) = unsafe { warp::warp_shuffle_up(u32::MAX, value, distance, 32) };
        if lane >= distance {
            value += below;
        }
        distance *= 2;
    }
    value
}

/// Inclusive sums within each block, of whole warps.
#[kernel]
pub unsafe fn scan(values: &[i64], out: *mut i64) {
    let sums = shared_array![i64; 32];
    let i = thread::index_1d() as usize;
    let inclusive = warp_scan(values.get(i).copied().unwrap_or(0));
    let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
    unsafe {
        if lane == 31 {
            *sums.add(warp as usize) = inclusive;
        }
        thread::sync_threads();
        if warp == 0 {
            let warps = thread::block_dim_x() / 32;
            let sum = if lane < warps { *sums.add(lane as usize) } else { 0 };
            *sums.add(lane as usize) = warp_scan(sum);
        }
        thread::sync_threads();
        let before = if warp > 0 { *sums.add(warp as usize - 1) } else { 0 };
        if i < values.len() {
            out.add(i).write(inclusive + before);
        }
    }
}
