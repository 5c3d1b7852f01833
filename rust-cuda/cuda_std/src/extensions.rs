//! What Rust-CUDA does not have.
//!
//! Beside this module, the [atomic types](crate::atomic) of integers, and of the types of floats the methods `from_ptr`,
//! `as_ptr`, `swap` and `compare_exchange`, are this crate's own; so are `#[kernel(launch_bounds(..))]` and the
//! [signatures](crate::signature) of kernels on the host.

#[cfg(any(not(target_os = "cuda"), target_feature = "ptx71"))]
pub mod async_copy;
pub mod barrier;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub mod bulk;
mod clocks;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub mod cluster;
mod fast_float;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub mod fence;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub mod grid_dependency;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx71"))]
pub mod mbarrier;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx71"))]
pub mod mma;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod registers;
mod shared_ptr;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub mod tensor_map;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub mod wgmma;

pub use clocks::{clock64, global_timer};
pub use fast_float::FastFloat;
pub use shared_ptr::SharedPtr;
