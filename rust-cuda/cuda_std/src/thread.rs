//! Threads.
use crate::gpu_only;
#[cfg(target_os = "cuda")]
use core::arch::nvptx;

/// x
#[gpu_only]
pub fn thread_idx_x() -> u32 {
    unsafe { nvptx::_thread_idx_x() }
}
/// x
#[gpu_only]
pub fn block_idx_x() -> u32 {
    unsafe { nvptx::_block_idx_x() }
}
/// x
#[gpu_only]
pub fn block_dim_x() -> u32 {
    unsafe { nvptx::_block_dim_x() }
}
/// x
#[gpu_only]
pub fn grid_dim_x() -> u32 {
    unsafe { nvptx::_grid_dim_x() }
}
/// x
#[gpu_only]
pub fn sync_threads() {
    unsafe { nvptx::_syncthreads() }
}
/// Index of this thread in a one-dimensional launch.
#[gpu_only]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}
