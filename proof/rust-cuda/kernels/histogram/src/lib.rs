//! Counts in shared memory: once as a static of atomics, once as an array that atomics are made of.

use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::atomic::{AtomicF64, mid};
use cuda_std::prelude::*;
use cuda_std::{address_space, shared_array};

const BINS: usize = 64;

/// A block counts what it strides over, then adds its counts to the grid's.
#[kernel]
#[allow(static_mut_refs)]
pub unsafe fn counts(data: &[u8], bins: *mut u32) {
    #[address_space(shared)]
    static mut LOCAL: [AtomicU32; BINS] = [const { AtomicU32::new(0) }; BINS];

    let (t, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    for bin in (t..BINS).step_by(threads) {
        unsafe { LOCAL[bin].store(0, Ordering::Relaxed) };
    }
    thread::sync_threads();
    for i in (thread::index_1d() as usize..data.len()).step_by(threads * thread::grid_dim_x() as usize) {
        unsafe { LOCAL[data[i] as usize % BINS].fetch_add(1, Ordering::Relaxed) };
    }
    thread::sync_threads();
    for bin in (t..BINS).step_by(threads) {
        unsafe {
            let count = LOCAL[bin].load(Ordering::Relaxed);
            mid::atomic_fetch_add_u32_device(bins.add(bin), Ordering::Relaxed, count);
        }
    }
}

/// One value per thread; the sum of all in one number.
#[kernel]
pub unsafe fn counts_and_sum(data: &[u8], bins: *mut u32, sum: &AtomicF64) {
    let local = shared_array![u32; BINS];
    let t = thread::thread_idx_x() as usize;
    if t < BINS {
        unsafe { *local.add(t) = 0 };
    }
    thread::sync_threads();
    if let Some(&value) = data.get(thread::index_1d() as usize) {
        unsafe { mid::atomic_fetch_add_u32_block(local.add(value as usize % BINS), Ordering::Relaxed, 1) };
        sum.fetch_add(value as f64, Ordering::Relaxed);
    }
    thread::sync_threads();
    if t < BINS {
        unsafe { mid::atomic_fetch_add_u32_device(bins.add(t), Ordering::Relaxed, *local.add(t)) };
    }
}
