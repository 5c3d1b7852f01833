//! A matrix product whose blocks form clusters: the blocks of a cluster need the same tiles of B.
//!
//! A block computes [`PRODUCT_ROWS`] rows and [`PRODUCT_COLUMNS`] columns of C = A B. The blocks of a cluster lie along the rows:
//! each has rows of A to itself, and all of them walk down the same columns of B, a tile of [`PRODUCT_TERMS`] rows at a time. So a tile
//! can be fetched by each block for itself, or once for the whole cluster:
//!
//! - `product_global`: every block fetches whole tiles from global memory.
//! - `product_dsmem`: every block fetches its share of a tile, and passes it on to the others through distributed shared memory.
//! - `product_multicast`: every block fetches its share of a tile, and the copy writes it into the shared memory of all of them.
//!
//! In all of them warps are specialised: four compute, one thread fetches, and another one passes on where that is needed. Stages,
//! order of the sums and grid are the same, and so are the results, bit for bit.
//!
//! Operands lie in panels, so that a tile is one contiguous piece: A as `[rows / PRODUCT_ROWS][terms][PRODUCT_ROWS]`, B as
//! `[columns / PRODUCT_COLUMNS][terms][PRODUCT_COLUMNS]`; C is `[rows][columns]`. The number of terms is a multiple of
//! [`PRODUCT_TERMS`], the grid is `(rows / PRODUCT_ROWS, columns / PRODUCT_COLUMNS)`, and clusters are `(2, 4 or 8, 1)` blocks along x; for
//! `product_global`, which shares nothing, of 1 too.

#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub(crate) mod kernels;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
mod stages;

/// Rows of the product that a block computes.
pub const PRODUCT_ROWS: u32 = 4;

/// Columns of the product that a block computes.
pub const PRODUCT_COLUMNS: u32 = 4 * COMPUTING;

/// Threads of a block: those that compute, and two warps of one working thread each.
pub const PRODUCT_THREADS: u32 = COMPUTING + 2 * LANES;

/// Rows of B in a tile.
pub const PRODUCT_TERMS: u32 = 8;

/// Dynamic shared memory of a block in bytes: its tiles.
pub const PRODUCT_SHARED_BYTES: u32 = STAGES * (A_TILE + B_TILE) * size_of::<f32>() as u32;

/// Tiles under way or in use: so many that a multiprocessor's share of the L2 cache's bandwidth is used by one block, which waits about
/// a microsecond for each.
const STAGES: u32 = 6;

/// Elements of a tile of A, and of one of B.
const A_TILE: u32 = PRODUCT_TERMS * PRODUCT_ROWS;
const B_TILE: u32 = PRODUCT_TERMS * PRODUCT_COLUMNS;

/// Threads that compute, four columns each.
const COMPUTING: u32 = 128;

/// Threads of a warp.
const LANES: u32 = 32;
