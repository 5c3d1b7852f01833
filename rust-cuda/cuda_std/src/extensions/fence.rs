//! Fences for memory that threads and the asynchronous copies of [`bulk`](mod@crate::extensions::bulk) both access.
//!
//! The fences between threads are in [`thread`](mod@crate::thread). The module needs sm_90; in a module for older GPUs
//! it does not exist.
//!
//! PTX ISA, *Parallel Synchronization and Communication Instructions: membar, fence*.

#[cfg(target_os = "cuda")]
use core::arch::asm;

use crate::gpu_only;

/// Orders this thread's accesses before it and asynchronous copies issued after it, in every state space (PTX
/// `fence.proxy.async`).
#[gpu_only]
pub fn proxy_async() {
    // SAFETY: a fence has no preconditions.
    unsafe { asm!("fence.proxy.async;", options(nostack, preserves_flags)) }
}

/// [`proxy_async`] for the block's shared memory alone (PTX `fence.proxy.async.shared::cta`).
#[gpu_only]
pub fn proxy_async_shared() {
    // SAFETY: a fence has no preconditions.
    unsafe {
        asm!(
            "fence.proxy.async.shared::cta;",
            options(nostack, preserves_flags)
        )
    }
}

/// [`proxy_async`] for the shared memory of all blocks of the cluster (PTX `fence.proxy.async.shared::cluster`).
#[gpu_only]
pub fn proxy_async_cluster() {
    // SAFETY: a fence has no preconditions.
    unsafe {
        asm!(
            "fence.proxy.async.shared::cluster;",
            options(nostack, preserves_flags)
        )
    }
}

/// Makes mbarrier objects that this thread has initialised visible to the cluster and to asynchronous copies (PTX
/// `fence.mbarrier_init.release.cluster`).
#[gpu_only]
pub fn mbarrier_init() {
    // SAFETY: a fence has no preconditions.
    unsafe {
        asm!(
            "fence.mbarrier_init.release.cluster;",
            options(nostack, preserves_flags)
        );
    }
}
