//! Kernels whose duration is an argument.

use cuda_std::prelude::*;

/// Each block's first thread waits `ns` nanoseconds on the device's global timer, then stores the block's index:
/// `out[block] = block`.
#[kernel]
pub unsafe fn spin(ns: u64, out: *mut u32) {
    if thread::thread_idx_x() == 0 {
        let start = misc::global_timer();
        while misc::global_timer() - start < ns {}
        let block = thread::block_idx_x();
        // SAFETY: out has an element for every block.
        unsafe { *out.add(block as usize) = block };
    }
}

/// As [`spin`], in blocks whose other threads wait for the first: until it ends, a block holds room for all its threads. It
/// looks at the timer only as often as a load from memory takes, which leaves the multiprocessor to others.
#[kernel]
pub unsafe fn hold(ns: u64, out: *mut u32) {
    /// No block has this number.
    const NEVER: u32 = u32::MAX - 1;
    if thread::thread_idx_x() == 0 {
        let block = thread::block_idx_x();
        let start = misc::global_timer();
        // SAFETY: out has an element for every block.
        let place = unsafe { out.add(block as usize) };
        // SAFETY: as above; the value read does not matter.
        while misc::global_timer() - start < ns && unsafe { place.read_volatile() } != NEVER {}
        // SAFETY: as above.
        unsafe { place.write(block) };
    }
    thread::sync_threads();
}
