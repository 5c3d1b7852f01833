//! A thread's place in its block and grid, barriers and fences.
//!
//! PTX ISA, *Special Registers* for indices and dimensions, *Parallel Synchronization and Communication Instructions*
//! for the rest.

#[cfg(target_os = "cuda")]
use core::arch::nvptx;

use crate::gpu_only;
#[cfg(target_os = "cuda")]
use crate::llvm;

#[cfg(feature = "glam")]
mod vectors;

#[cfg(feature = "glam")]
pub use vectors::*;

macro_rules! special_register {
    ($($function:ident, $intrinsic:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[gpu_only]
        pub fn $function() -> u32 {
            // SAFETY: reads a special register.
            unsafe { nvptx::$intrinsic() }
        }
    )*};
}

special_register! {
    thread_idx_x, _thread_idx_x, "The thread's index in its block, `x` (PTX `%tid.x`).";
    thread_idx_y, _thread_idx_y, "The thread's index in its block, `y` (PTX `%tid.y`).";
    thread_idx_z, _thread_idx_z, "The thread's index in its block, `z` (PTX `%tid.z`).";
    block_idx_x, _block_idx_x, "The block's index in the grid, `x` (PTX `%ctaid.x`).";
    block_idx_y, _block_idx_y, "The block's index in the grid, `y` (PTX `%ctaid.y`).";
    block_idx_z, _block_idx_z, "The block's index in the grid, `z` (PTX `%ctaid.z`).";
    block_dim_x, _block_dim_x, "Threads per block, `x` (PTX `%ntid.x`).";
    block_dim_y, _block_dim_y, "Threads per block, `y` (PTX `%ntid.y`).";
    block_dim_z, _block_dim_z, "Threads per block, `z` (PTX `%ntid.z`).";
    grid_dim_x, _grid_dim_x, "Blocks in the grid, `x` (PTX `%nctaid.x`).";
    grid_dim_y, _grid_dim_y, "Blocks in the grid, `y` (PTX `%nctaid.y`).";
    grid_dim_z, _grid_dim_z, "Blocks in the grid, `z` (PTX `%nctaid.z`).";
}

/// The thread's index in a launch of one dimension: `blockIdx.x * blockDim.x + threadIdx.x`. Wraps beyond 2³² threads.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x()
        .wrapping_mul(block_dim_x())
        .wrapping_add(thread_idx_x())
}

/// The thread's number in a launch of any shape: threads of a block count without a gap, `x` fastest, and so do blocks.
/// Wraps beyond 2³² threads.
#[inline(always)]
pub fn index() -> u32 {
    let grid = [grid_dim_x(), grid_dim_y(), grid_dim_z()];
    let block = [block_dim_x(), block_dim_y(), block_dim_z()];
    let linear = |[x, y, z]: [u32; 3], of: [u32; 3]| {
        z.wrapping_mul(of[1])
            .wrapping_add(y)
            .wrapping_mul(of[0])
            .wrapping_add(x)
    };
    let threads = block[0] * block[1] * block[2];
    linear([block_idx_x(), block_idx_y(), block_idx_z()], grid)
        .wrapping_mul(threads)
        .wrapping_add(linear(
            [thread_idx_x(), thread_idx_y(), thread_idx_z()],
            block,
        ))
}

/// Whether this is the thread number 0 of the launch: true in one thread only.
#[inline(always)]
pub fn first() -> bool {
    [block_idx_x(), block_idx_y(), block_idx_z()] == [0; 3]
        && [thread_idx_x(), thread_idx_y(), thread_idx_z()] == [0; 3]
}

/// Threads of a warp: 32 on every GPU so far (PTX `WARP_SZ`).
#[inline(always)]
pub const fn warp_size() -> u32 {
    32
}

/// Waits until all threads of the block have arrived; what they stored before is visible after (PTX `bar.sync 0`,
/// CUDA C++ `__syncthreads`). All threads of the block must get here, or none.
#[gpu_only]
pub fn sync_threads() {
    // SAFETY: a barrier has no preconditions; a divergent one hangs.
    unsafe { nvptx::_syncthreads() }
}

/// [`sync_threads`] that counts the threads whose `predicate` is not 0 (PTX `bar.red.popc`).
#[gpu_only]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: as for `sync_threads`.
    unsafe { llvm::barrier_count(0, predicate != 0) }
}

/// [`sync_threads`] that says (1 or 0) whether no thread's `predicate` is 0 (PTX `bar.red.and`).
#[gpu_only]
pub fn sync_threads_and(predicate: u32) -> u32 {
    // SAFETY: as for `sync_threads`.
    unsafe { llvm::barrier_and(0, predicate != 0) as u32 }
}

/// [`sync_threads`] that says (1 or 0) whether any thread's `predicate` is not 0 (PTX `bar.red.or`).
#[gpu_only]
pub fn sync_threads_or(predicate: u32) -> u32 {
    // SAFETY: as for `sync_threads`.
    unsafe { llvm::barrier_or(0, predicate != 0) as u32 }
}

/// Orders this thread's memory accesses as the block sees them (PTX `membar.cta`, CUDA C++ `__threadfence_block`).
#[gpu_only]
pub fn block_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { llvm::fence_block() }
}

/// Orders this thread's memory accesses as the whole grid sees them. PTX has no scope between a block and the device:
/// this is [`device_fence`].
#[inline(always)]
pub fn grid_fence() {
    device_fence();
}

/// Orders this thread's memory accesses as the device sees them (PTX `membar.gl`, CUDA C++ `__threadfence`).
#[gpu_only]
pub fn device_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { llvm::fence_device() }
}

/// Orders this thread's memory accesses as the host and all devices see them (PTX `membar.sys`, CUDA C++
/// `__threadfence_system`).
#[gpu_only]
pub fn system_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { llvm::fence_system() }
}

/// Suspends the thread for about `nanoseconds`: anything from 0 to twice as long, at most 1 ms (PTX `nanosleep.u32`,
/// from PTX 6.3 on). In a module of an older version, such as the baseline's, it polls
/// [`extensions::global_timer`](crate::extensions::global_timer).
#[gpu_only]
pub fn nanosleep(nanoseconds: u32) {
    #[cfg(target_feature = "ptx63")]
    // SAFETY: no preconditions.
    unsafe {
        llvm::nanosleep(nanoseconds)
    }
    #[cfg(not(target_feature = "ptx63"))]
    {
        let start = crate::extensions::global_timer();
        while crate::extensions::global_timer() - start < u64::from(nanoseconds.min(1_000_000)) {}
    }
}
