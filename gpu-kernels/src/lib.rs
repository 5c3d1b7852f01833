//! The examples' kernels, and the PTX that they compile to.
//!
//! The crate has two faces. For the GPU it is the kernels, one file per topic, written with `cuda_std`. For the host
//! it is their PTX, kept in `ptx/` so that nobody needs the device compiler to run the examples, their [`names`], and
//! the constants that a reference on the CPU needs. `build.rs` compares the sources with the digest in the PTX and
//! recompiles when they differ; `GPU_KERNELS_PTX=rebuild` recompiles in any case.

#![cfg_attr(target_os = "cuda", no_std)]

mod float4;
mod rounds;
mod tiles;

// The kernels that are in the baseline module only.
macro_rules! baseline {
    ($($topic:ident)*) => {$(
        #[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx71")))]
        mod $topic;
    )*};
}

baseline! { affine chain elementwise gelu kv_cache matmul reduce softmax spin }

#[cfg(not(target_os = "cuda"))]
pub mod names;

#[cfg(not(target_os = "cuda"))]
pub use kv_cache::{kv_offset, kv_page_len};
pub use rounds::{FACTOR, SUMMAND};
pub use tiles::{CONSUMERS, PLAIN_PRODUCERS, STAGES, TILE};

/// The baseline module: PTX that every GPU since Volta and every driver since CUDA 9 loads.
#[cfg(not(target_os = "cuda"))]
pub static SM_70: &str = include_str!("../ptx/sm_70.ptx");

/// The kernels that need Ampere or later, and a driver of CUDA 11.1 or later: `cp.async` and mbarriers.
#[cfg(not(target_os = "cuda"))]
pub static SM_80: &str = include_str!("../ptx/sm_80.ptx");

/// The kernels that need Hopper or later, and a driver of CUDA 12 or later: bulk copies that complete on mbarriers; and
/// those of [`SM_80`] once more, whose warps sleep while they wait for an mbarrier, where before Hopper they ask over and
/// over.
#[cfg(not(target_os = "cuda"))]
pub static SM_90: &str = include_str!("../ptx/sm_90.ptx");
