//! Attention of one query over keys and values in pages, in kernels that differ in how a page comes to the warps that compute.
//!
//! A page holds [`KV_PAGE_TOKENS`] neighbouring tokens of one sequence, as `[2][heads][KV_PAGE_TOKENS][KV_HEAD_DIM]` floats, first all
//! keys, then all values: a head's keys are one contiguous piece, and its values are another. The page table is
//! `[sequences][pages]` addresses. Queries and output are `[sequences][heads][KV_HEAD_DIM]`. The grid is `(heads, sequences)`.
//!
//! - `attention_direct`: every warp loads its tokens from global memory into registers.
//! - `attention_staged`: all warps load a page into shared memory by plain loads, wait for each other, compute, and wait again.
//! - `attention_prefetched`: one thread issues bulk copies into a ring of stages; mbarriers hand the pages over and the stages back. While
//!   warps compute with one page, the next ones are on their way.
//!
//! Each of eight warps takes two tokens of each page and keeps a running maximum, sum and mean; at the end the means are combined in the
//! order of the warps. The results of all kernels are the same bit for bit.

#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub(crate) mod kernels;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
mod mean;

/// Elements of a key, and of a value.
pub const KV_HEAD_DIM: u32 = 128;

/// Tokens of a page.
pub const KV_PAGE_TOKENS: u32 = 16;

/// Bytes of shared memory that a stage takes: a head's keys and values of a page.
pub const KV_STAGE_BYTES: u32 = 2 * TILE * size_of::<f32>() as u32;

/// Stages that `attention_prefetched` can have.
pub const KV_MAX_STAGES: u32 = 8;

/// Pages of a sequence that `attention_prefetched` takes at most.
pub const KV_MAX_PAGES: u32 = 256;

/// Threads of a block that compute.
pub const KV_CONSUMERS: u32 = 256;

/// Threads of a block of `attention_prefetched`: those that compute, and two warps of one working thread each.
pub const KV_THREADS: u32 = KV_CONSUMERS + 2 * LANES;

/// Elements of a head's keys in a page, and of its values.
const TILE: u32 = KV_PAGE_TOKENS * KV_HEAD_DIM;

/// Threads of a warp.
const LANES: u32 = 32;
