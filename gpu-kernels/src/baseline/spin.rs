//! A kernel whose duration is an argument.

use cuda_std::extensions::{global_timer};
use cuda_std::prelude::*;

/// Each block's first thread waits `ns` nanoseconds on the device's global timer, then stores the block's index:
/// `out[block] = block`.
#[kernel]
pub unsafe fn spin(ns: u64, out: *mut u32) {
    if thread::thread_idx_x() == 0 {
        let start = global_timer();
        while global_timer() - start < ns {}
        let block = thread::block_idx_x();
        // SAFETY: out has an element for every block.
        unsafe { *out.add(block as usize) = block };
    }
}
