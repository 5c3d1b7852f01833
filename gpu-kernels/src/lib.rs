//! The examples' kernels, and the PTX that they compile to.
//!
//! The crate has two faces. For the GPU it is the kernels, one file per topic, written with `cuda_std`. For the host
//! it is their PTX, kept in `ptx/` so that running the examples needs no device compiler; a type per kernel,
//! whose [`Signature`] is the kernel's name and parameters; and the constants that a launch or a reference on the CPU
//! needs. `build.rs` compares the sources with the digest in the PTX and recompiles when they differ;
//! `GPU_KERNELS_PTX=rebuild` recompiles in any case.

#![cfg_attr(target_os = "cuda", no_std)]
// On the host floats have the methods of `GpuFloat` by themselves.
#![cfg_attr(not(target_os = "cuda"), allow(unused_imports))]

#[cfg(any(
    not(target_os = "cuda"),
    not(target_feature = "ptx71"),
    all(target_feature = "ptx80", not(target_feature = "ptx83"))
))]
mod across;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
mod cluster_product;
mod float4;
mod gemm;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
mod kv_prefetch;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx71"))]
mod pipeline_state;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
mod rounds;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
mod steps;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
mod tiles;
mod unroll;

#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx71")))]
mod baseline;

#[cfg(not(target_os = "cuda"))]
mod host;

#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
pub use cluster_product::{
    PRODUCT_COLUMNS, PRODUCT_ROWS, PRODUCT_SHARED_BYTES, PRODUCT_TERMS, PRODUCT_THREADS,
};
pub use gemm::{
    GEMM_MMA_SHARED_BYTES, GEMM_MMA_THREADS, GEMM_MMA_TILE, GEMM_MMA_WIDE_SHARED_BYTES,
    GEMM_MMA_WIDE_THREADS, GEMM_MMA_WIDE_TILE, GEMM_TERMS, GEMM_UNIT, GEMM_WGMMA_BOX,
    GEMM_WGMMA_OUTPUT_BOX, GEMM_WGMMA_SHARED_BYTES, GEMM_WGMMA_THREADS, GEMM_WGMMA_TILE,
};
#[cfg(not(target_os = "cuda"))]
pub use host::*;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
pub use kv_prefetch::{
    KV_CONSUMERS, KV_HEAD_DIM, KV_MAX_PAGES, KV_MAX_STAGES, KV_PAGE_TOKENS, KV_STAGE_BYTES,
    KV_THREADS,
};
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
pub use rounds::{FACTOR, SUMMAND};
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx83")))]
pub use tiles::{CONSUMERS, PLAIN_PRODUCERS, STAGES, TILE};
