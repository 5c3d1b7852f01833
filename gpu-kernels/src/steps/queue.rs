//! A kernel that takes its work from a queue in host memory, which the host fills meanwhile.

use core::sync::atomic::Ordering;

use cuda_std::atomic::mid::{atomic_load_32_system, atomic_store_32_system};
use cuda_std::prelude::*;
use cuda_std::{GpuFloat, shared_array};

/// Answers requests `first..last` of a ring of `slots` slots, a power of two, each with an element per thread of the one block: `2 x + 1`. `published` counts
/// the requests that the host has written, `answered` those that this kernel has. It ends behind request `last - 1`, or after it has loaded
/// `published` `patience` times in a row and found nothing new.
#[kernel]
pub unsafe fn serve_queue(
    requests: *const f32,
    answers: *mut f32,
    published: *mut u32,
    answered: *mut u32,
    slots: u32,
    first: u32,
    last: u32,
    patience: u32,
) {
    let seen = shared_array![u32; 1];
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let mut next = first;
    while next != last {
        if thread == 0 {
            // SAFETY: host and kernel access the word atomically; only this thread stores to the shared one, between the barriers.
            unsafe { *seen = poll(published, next, patience) };
        }
        // What the first thread has acquired, the barrier hands to the others.
        thread::sync_threads();
        // SAFETY: the first thread has stored it before the barrier.
        let end = unsafe { *seen };
        if end == next {
            return;
        }
        while next != end {
            let i = ((next & (slots - 1)) * threads + thread) as usize;
            // SAFETY: i is in the ring, and the host neither writes this slot's request nor reads its answer before it is counted.
            unsafe { *answers.add(i) = (*requests.add(i)).mul_add(2.0, 1.0) };
            next += 1;
        }
        // The answers of all threads come before the count: the barrier orders them before the first thread, its release behind it.
        thread::sync_threads();
        if thread == 0 {
            // SAFETY: host and kernel access the word atomically.
            unsafe { atomic_store_32_system(answered, Ordering::Release, next) };
        }
    }
}

/// Loads the word at most `patience` times, until it is not `known`: the value of the last load.
///
/// # Safety
/// The word is accessed atomically only.
#[inline(always)]
unsafe fn poll(word: *mut u32, known: u32, patience: u32) -> u32 {
    let mut loads = 1;
    loop {
        // SAFETY: the caller keeps the contract.
        let value = unsafe { atomic_load_32_system(word, Ordering::Acquire) };
        if value != known || loads >= patience {
            return value;
        }
        loads += 1;
    }
}
