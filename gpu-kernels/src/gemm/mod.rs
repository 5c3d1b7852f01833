//! A matrix product on tensor cores: C = A B, of `bf16` with sums of `f32`.
//!
//! - `gemm_mma_sync`, in the module of sm_80: every warp multiplies fragments that it keeps in registers (`mma.sync`), `cp.async` brings the
//!   next tiles. `gemm_mma_sync_wide` is the same with tiles as large as registers and shared memory of Hopper allow, and persistent blocks.
//! - `gemm_wgmma`, in that of sm_90a: four warps together multiply what lies in shared memory (`wgmma`), and one thread has tiles brought by
//!   copies with tensor maps.
//!
//! A launch computes several products of the same shape. Operands have their terms side by side: A is `[products][m][k]`, B is
//! `[products][n][k]`, by columns, as the weights of a linear layer lie, and C is `[products][m][n]`. `m` is any number; `k` and `n`
//! are multiples of [`GEMM_UNIT`].

#[cfg(any(
    not(target_os = "cuda"),
    all(target_feature = "ptx71", not(target_feature = "ptx80"))
))]
pub(crate) mod mma_sync;
#[cfg(any(
    not(target_os = "cuda"),
    all(target_feature = "ptx71", not(target_feature = "ptx80"))
))]
pub(crate) mod mma_sync_wide;
#[cfg(any(not(target_os = "cuda"), target_feature = "compute_90a"))]
pub(crate) mod wgmma;

/// What `k` and `n` are multiples of: 16 bytes of `bf16`.
pub const GEMM_UNIT: u32 = 8;

/// Terms of a tile: 128 bytes, which all banks of shared memory have together.
pub const GEMM_TERMS: u32 = 64;

/// Rows and columns of C that a block of `gemm_mma_sync` computes.
pub const GEMM_MMA_TILE: [u32; 2] = [128, 128];
/// Threads of a block of `gemm_mma_sync`.
pub const GEMM_MMA_THREADS: u32 = 2 * 2 * 32;
/// Dynamic shared memory of a block of `gemm_mma_sync`, in bytes.
pub const GEMM_MMA_SHARED_BYTES: u32 = MMA_STAGES * (GEMM_MMA_TILE[0] + GEMM_MMA_TILE[1]) * ROW;

const MMA_STAGES: u32 = 3;

/// Rows and columns of a tile of C, which a block of `gemm_mma_sync_wide` computes at a time.
pub const GEMM_MMA_WIDE_TILE: [u32; 2] = [256, 192];
/// Threads of a block of `gemm_mma_sync_wide`.
pub const GEMM_MMA_WIDE_THREADS: u32 = 4 * 2 * 32;
/// Dynamic shared memory of a block of `gemm_mma_sync_wide`, in bytes: more than compute capability 8.x has room for.
pub const GEMM_MMA_WIDE_SHARED_BYTES: u32 =
    WIDE_STAGES * (GEMM_MMA_WIDE_TILE[0] + GEMM_MMA_WIDE_TILE[1]) * ROW;

const WIDE_STAGES: u32 = 3;

/// Rows and columns of C that a block of `gemm_wgmma` computes.
pub const GEMM_WGMMA_TILE: [u32; 2] = [WGMMA_COMPUTING * 64, 256];
/// Threads of a block of `gemm_wgmma`: a warpgroup that brings, and those that compute.
pub const GEMM_WGMMA_THREADS: u32 = (1 + WGMMA_COMPUTING) * 128;
/// Dynamic shared memory of a block of `gemm_wgmma`, in bytes: the stages, the room where C is put together, mbarriers, and what aligns all
/// of it.
pub const GEMM_WGMMA_SHARED_BYTES: u32 = SWIZZLE
    + WGMMA_STAGES * (GEMM_WGMMA_TILE[0] + GEMM_WGMMA_TILE[1]) * ROW
    + WGMMA_COMPUTING * 2 * GEMM_WGMMA_OUTPUT_BOX[0] * ROW
    + 2 * WGMMA_STAGES * 8;
/// Terms and rows, or columns, of a box of A and of B.
pub const GEMM_WGMMA_BOX: [u32; 2] = [GEMM_TERMS, 128];
/// Columns and rows of a box of C.
pub const GEMM_WGMMA_OUTPUT_BOX: [u32; 2] = [64, 64];

/// Warpgroups of `gemm_wgmma` that compute.
const WGMMA_COMPUTING: u32 = 2;
const WGMMA_STAGES: u32 = 4;
/// What rows are aligned to that tensor maps swizzle, in bytes.
const SWIZZLE: u32 = 1024;

/// Bytes of a row of a tile.
const ROW: u32 = GEMM_TERMS * 2;

/// The tile of rows and that of columns with this number.
///
/// Blocks that run at the same time take tiles close to each other, `group` tiles down and then the next column: so they share rows and
/// columns in the L2 cache.
#[inline(always)]
fn tile_of(number: u32, [rows, columns]: [u32; 2], group: u32) -> [u32; 2] {
    // There is always one; said so that nothing can divide by zero.
    let in_group = (group * columns).max(1);
    let (first, inside) = (number / in_group * group, number % in_group);
    let height = (rows - first).min(group).max(1);
    [first + inside % height, inside / height]
}
