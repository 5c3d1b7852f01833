//! The kernel-side API of Rust-CUDA on rustc's own NVPTX backend.

#![cfg_attr(
    target_os = "cuda",
    no_std,
    feature(
        asm_experimental_arch,
        core_float_math,
        link_llvm_intrinsics,
        stdarch_nvptx
    )
)]

pub mod atomic;
pub mod float;
pub mod misc;
#[cfg(target_os = "cuda")]
mod rt;
pub mod shared;
pub mod thread;
pub mod warp;

pub use cuda_std_macros::{gpu_only, kernel, shared_array};

/// What a kernel's source usually imports.
pub mod prelude {
    pub use crate::float::GpuFloat;
    pub use crate::{gpu_only, kernel, misc, shared, shared_array, thread, warp};
}
