//! The kernels of [`steps`](super) that run on every GPU.

use core::sync::atomic::Ordering;

use cuda_std::atomic::mid::{atomic_fetch_add_u32_device, atomic_load_32_device};
use cuda_std::prelude::*;

use super::relaxed;

/// One step, from `x` to `y`, one element per thread. `y` is another buffer, as long as `x`.
#[kernel]
pub unsafe fn relax(x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        // SAFETY: i is smaller than the length, which is y's as well.
        unsafe { *y.add(i) = relaxed(x.as_ptr(), x.len(), i) };
    }
}

/// `steps` steps, from `x` to `y` and back, one element per thread of the grid: of an even number the results are in `x`. `arrivals`
/// is one word, 0 at the beginning. For a cooperative launch: all blocks must be resident.
#[kernel]
pub unsafe fn relax_persistent(x: *mut f32, y: *mut f32, n: usize, arrivals: *mut u32, steps: u32) {
    let i = thread::index_1d() as usize;
    let (mut from, mut to) = (x, y);
    for step in 1..=steps {
        if i < n {
            // SAFETY: both buffers have n elements; all blocks have finished the step before.
            unsafe { *to.add(i) = relaxed(from, n, i) };
        }
        // SAFETY: all threads of all blocks are here, and the word is as the launch promises.
        unsafe { wait_for_all_blocks(arrivals, step) };
        (from, to) = (to, from);
    }
}

/// A barrier of the grid, number `round` from 1 on: each block adds one to the word, and looks at it until all have. What any thread
/// wrote before, all read after.
///
/// # Safety
/// All threads of all blocks call it with the same number, each time one more than the last; the word at `arrivals` is 0 before the
/// first round.
#[inline(always)]
unsafe fn wait_for_all_blocks(arrivals: *mut u32, round: u32) {
    // The block's writes come before its arrival: the barrier orders them before its first thread, the release behind it.
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        let all = round * thread::grid_dim_x();
        // SAFETY: the word is accessed atomically only. No thread arrives for the next round before all have arrived for this one.
        unsafe {
            atomic_fetch_add_u32_device(arrivals, Ordering::Release, 1);
            while atomic_load_32_device(arrivals, Ordering::Acquire) < all {}
        }
    }
    // What the first thread has acquired, the barrier hands to the others.
    thread::sync_threads();
}
