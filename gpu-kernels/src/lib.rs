//! The examples' kernels, and the PTX that they compile to.
//!
//! The crate has two faces. For the GPU it is the kernels, one file per topic, written with `cuda_std`. For the host
//! it is their PTX, kept in `ptx/` so that nobody needs the device compiler to run the examples; a type per kernel,
//! whose [`Signature`] is the kernel's name and parameters; and the constants that a launch or a reference on the CPU
//! needs. `build.rs` compares the sources with the digest in the PTX and recompiles when they differ;
//! `GPU_KERNELS_PTX=rebuild` recompiles in any case.

#![cfg_attr(target_os = "cuda", no_std)]
// On the host floats have the methods of `GpuFloat` by themselves.
#![cfg_attr(not(target_os = "cuda"), allow(unused_imports))]

#[cfg(any(
    not(target_os = "cuda"),
    not(target_feature = "ptx71"),
    target_feature = "ptx80"
))]
mod across;
mod cluster_product;
mod float4;
mod kv_prefetch;
mod rounds;
mod steps;
mod tiles;

#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx71")))]
mod baseline;

#[cfg(not(target_os = "cuda"))]
mod host;

pub use cluster_product::{
    PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_SHARED_BYTES, PRODUCT_TERMS, PRODUCT_THREADS,
};
#[cfg(not(target_os = "cuda"))]
pub use host::*;
pub use kv_prefetch::{
    KV_CONSUMERS, KV_HEAD_DIM, KV_MAX_PAGES, KV_MAX_STAGES, KV_PAGE_TOKENS, KV_STAGE_BYTES,
    KV_THREADS,
};
pub use rounds::{FACTOR, SUMMAND};
pub use tiles::{CONSUMERS, PLAIN_PRODUCERS, STAGES, TILE};
