//! The examples' kernels, and the PTX that they compile to.
//!
//! The crate has two faces. For the GPU it is the kernels, one file per topic, written with `cuda_std`. For the host
//! it is their PTX, kept in `ptx/` so that nobody needs the device compiler to run the examples, their [`names`], and
//! the constants that a reference on the CPU needs. `build.rs` compares the sources with the digest in the PTX and
//! recompiles when they differ; `GPU_KERNELS_PTX=rebuild` recompiles in any case.

#![cfg_attr(target_os = "cuda", no_std)]

mod affine;
mod chain;
mod elementwise;
mod float4;
mod gelu;
mod kv_cache;
mod matmul;
mod reduce;
mod rounds;
mod softmax;
mod spin;

#[cfg(not(target_os = "cuda"))]
pub mod names;

pub use chain::{FACTOR, SUMMAND};
pub use kv_cache::{kv_offset, kv_page_len};

/// The baseline module: PTX that every GPU since Volta and every driver since CUDA 9 loads.
#[cfg(not(target_os = "cuda"))]
pub static SM_70: &str = include_str!("../ptx/sm_70.ptx");
