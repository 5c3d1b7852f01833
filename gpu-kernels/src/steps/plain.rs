//! The kernels of [`steps`](super) that run on every GPU.

use core::sync::atomic::Ordering;

use cuda_std::atomic::mid::{atomic_load_32_device, atomic_store_32_device};
use cuda_std::prelude::*;

use super::relaxed;

/// Words from one block's flag to the next: each has a cache line to itself.
pub const FLAG_WORDS: u32 = 32;

/// One step, from `x` to `y`, one element per thread. `y` is another buffer, as long as `x`.
#[kernel]
pub unsafe fn relax(x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        // SAFETY: i is smaller than the length, which is y's as well.
        unsafe { *y.add(i) = relaxed(x.as_ptr(), x.len(), i) };
    }
}

/// So many steps, from `x` to `y` and back, one element per thread of the grid: of an even number the results are in `x`. `flags`
/// has [`FLAG_WORDS`] words for each block, all 0 at the beginning. For a cooperative launch: all blocks must be resident.
#[kernel]
pub unsafe fn relax_persistent(x: *mut f32, y: *mut f32, n: usize, flags: *mut u32, steps: u32) {
    let i = thread::index_1d() as usize;
    let (mut from, mut to) = (x, y);
    for step in 1..=steps {
        if i < n {
            // SAFETY: both buffers have n elements; all blocks have finished the step before.
            unsafe { *to.add(i) = relaxed(from, n, i) };
        }
        // SAFETY: all threads of all blocks are here, and the flags are as the launch promises.
        unsafe { wait_for_all_blocks(flags, step) };
        (from, to) = (to, from);
    }
}

/// A barrier of the grid, number `round` from 1 on: each block says that it has come so far, in a word of its own, and looks
/// at all others' words until they say the same. What any thread wrote before, all read after.
///
/// # Safety
/// All threads of all blocks call it with the same number, each time one more than the last; `flags` has [`FLAG_WORDS`] words for
/// each block, all 0 before the first round.
#[inline(always)]
unsafe fn wait_for_all_blocks(flags: *mut u32, round: u32) {
    let flag = |block: u32| flags.wrapping_add((block * FLAG_WORDS) as usize);
    let t = thread::thread_idx_x();
    // The block's writes come before the flag: the barrier orders them before its first thread, the release behind it.
    thread::sync_threads();
    if t == 0 {
        // SAFETY: each block has its word, which is accessed atomically only.
        unsafe { atomic_store_32_device(flag(thread::block_idx_x()), Ordering::Release, round) };
    }
    let mut other = t;
    while other < thread::grid_dim_x() {
        // A block that is faster is a round ahead at most.
        // SAFETY: as above.
        while unsafe { atomic_load_32_device(flag(other), Ordering::Acquire) } < round {}
        other += thread::block_dim_x();
    }
    thread::sync_threads();
}
