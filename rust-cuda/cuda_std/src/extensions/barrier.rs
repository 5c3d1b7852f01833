//! Barriers for a part of a block: the sixteen named barriers that every block has.
//!
//! Barrier 0 is that of [`thread::sync_threads`](crate::thread::sync_threads); 1 to 15 are free. `threads` says how many
//! threads must come, those that wait and those that only arrive together: a multiple of 32, the same at every call for a
//! barrier until it completes. Then the barrier is ready for its next use.
//!
//! A producer that arrives and consumers that wait make a hand-over in one direction: what the arriving threads
//! stored before is visible to those that waited.
//!
//! The functions share their safety contract: all 32 lanes of a warp call them together, and the block's warps use a
//! barrier in such an order that it completes.
//!
//! PTX ISA, *Parallel Synchronization and Communication Instructions: bar, barrier*.

use crate::gpu_only;
#[cfg(target_os = "cuda")]
use crate::llvm;

/// Arrives at barrier number `barrier` and waits until `threads` threads have arrived (PTX `bar.sync`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn sync(barrier: u32, threads: u32) {
    // SAFETY: the caller keeps the contract.
    unsafe { llvm::barrier_sync(barrier, threads) }
}

/// Arrives at barrier number `barrier` and goes on (PTX `bar.arrive`).
///
/// # Safety
/// The module's contract.
#[gpu_only]
pub unsafe fn arrive(barrier: u32, threads: u32) {
    // SAFETY: the caller keeps the contract.
    unsafe { llvm::barrier_arrive(barrier, threads) }
}
