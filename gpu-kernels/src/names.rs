//! The kernels' names, as the host asks a module for them.

/// `data[i] = a data[i] + b`; parameters `(data: *mut f32, n: usize, a: f32, b: f32)`.
pub const AFFINE: &str = "affine";

/// [`AFFINE`], four elements per thread by 16-byte accesses; `data` is aligned to 16 bytes.
pub const AFFINE_X4: &str = "affine_x4";

/// [`AFFINE`] applied `rounds` times; parameters `(data: *mut f32, n: usize, a: f32, b: f32, rounds: u32)`.
pub const AFFINE_ROUNDS: &str = "affine_rounds";

/// [`AFFINE_ROUNDS`], four elements per thread.
pub const AFFINE_ROUNDS_X4: &str = "affine_rounds_x4";

/// `rounds` dependent steps `x = fma(x, FACTOR, SUMMAND)`; parameters
/// `(input: *const f32, n: usize, output: *mut f32, rounds: u32)`.
pub const FMA_CHAIN: &str = "fma_chain";

/// `out[i] = value`; parameters `(out: *mut f32, n: usize, value: f32)`.
pub const FILL: &str = "fill";

/// `out[i] = first + i`; parameters `(out: *mut u32, n: usize, first: u32)`.
pub const IOTA: &str = "iota";

/// `data[i] *= factor`; parameters `(data: *mut f32, n: usize, factor: f32)`.
pub const SCALE: &str = "scale";

/// `y[i] = a x[i] + y[i]`; parameters `(a: f32, x: *const f32, n: usize, y: *mut f32)`.
pub const SAXPY: &str = "saxpy";

/// `result += sum of x`; parameters `(x: *const f32, n: usize, result: *mut f32)`; any grid, blocks of a multiple of 32 threads.
pub const SUM: &str = "sum";

/// `result += sum of x y`; parameters `(x: *const f32, n: usize, y: *const f32, result: *mut f32)`.
pub const DOT: &str = "dot";

/// Each block waits `ns` on the global timer, then stores `out[block] = block`; parameters `(ns: u64, out: *mut u32)`.
pub const SPIN: &str = "spin";

/// `C = alpha A B` of row-major matrices; parameters `(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32,
/// ld_a: u32, ld_b: u32, ld_c: u32, batch_a: u32, batch_b: u32, batch_c: u32, alpha: f32)`. A is m by k, B is k by n; `ld_`
/// is the distance of rows, `batch_` that of the matrices of two neighbouring `z` of the grid, in elements. Blocks of
/// [`MATMUL_THREADS`] threads, grid `(ceil(n / MATMUL_TILE), ceil(m / MATMUL_TILE), batches)`.
pub const MATMUL: &str = "matmul";

/// `C = alpha A Bᵀ`: [`MATMUL`] with B n by k; the same parameters and launch.
pub const MATMUL_TRANSPOSED: &str = "matmul_transposed";

/// Threads per block of [`MATMUL`].
pub const MATMUL_THREADS: u32 = 128;

/// Rows and columns of C that a block of [`MATMUL`] computes.
pub const MATMUL_TILE: u32 = 64;

/// Softmax of each row, in place; parameters `(data: *mut f32, rows: u32, columns: u32, pitch: u32, causal: u32)`; `pitch`
/// is the distance of rows in elements; with `causal` not 0, row `r` sees its first `r % columns + 1` elements. A warp per row:
/// `32 rows` threads or more, in blocks of a multiple of 32.
pub const SOFTMAX_ROWS: &str = "softmax_rows";

/// `x = gelu(x + bias[column])`, tanh form; parameters `(data: *mut f32, n: u32, bias: *const f32, columns: u32)`.
pub const BIAS_GELU: &str = "bias_gelu";

/// `x += bias[column] + residual`; parameters `(data: *mut f32, n: u32, bias: *const f32, columns: u32,
/// residual: *const f32)`.
pub const BIAS_RESIDUAL: &str = "bias_residual";

/// Writes tokens `first .. first + count` into a paged cache; parameters `(pages: *const *mut f32, first: u32, count: u32,
/// keys: *const f32, values: *const f32, heads: u32, head_dim: u32, page_tokens: u32)`. `pages` holds the pages'
/// addresses, [`kv_offset`](crate::kv_offset) says where a token is in its page; keys and values are
/// `[count][heads][head_dim]`, one thread per element of either.
pub const APPEND_KV: &str = "append_kv";

/// Attention of one query per head over the first `tokens` tokens of a paged cache; parameters `(pages: *const *const f32,
/// tokens: u32, queries: *const f32, output: *mut f32, heads: u32, head_dim: u32, page_tokens: u32, scale: f32)`; queries
/// and output are `[heads][head_dim]`, `head_dim` a multiple of 4 up to 128. `heads` blocks of
/// [`PAGED_ATTENTION_THREADS`] threads.
pub const PAGED_ATTENTION: &str = "paged_attention";

/// Threads per block of [`PAGED_ATTENTION`].
pub const PAGED_ATTENTION_THREADS: u32 = 256;

/// `rounds` dependent steps `x = fma(x, FACTOR, SUMMAND)` per element, tile by tile; parameters `(input: *const f32,
/// n: usize, output: *mut f32, rounds: u32)`; `n` is a multiple of 4, both arrays are aligned to 16 bytes. All warps load a
/// tile, then all compute. Any grid; blocks of [`CONSUMERS`](crate::CONSUMERS) threads.
pub const FMA_TILES_UNSPECIALISED: &str = "fma_tiles_unspecialised";

/// [`FMA_TILES_UNSPECIALISED`] with producer warps that load by plain loads; named barriers hand the tiles over. The same
/// parameters; blocks of [`CONSUMERS`](crate::CONSUMERS) + [`PLAIN_PRODUCERS`](crate::PLAIN_PRODUCERS) threads.
pub const FMA_TILES_NAMED_BARRIERS: &str = "fma_tiles_named_barriers";

/// [`FMA_TILES_UNSPECIALISED`] with a producer warp that issues `cp.async` copies; mbarriers hand the tiles over. In the
/// modules of sm_80 and sm_90. The same parameters; blocks of [`CONSUMERS`](crate::CONSUMERS) + 32 threads.
pub const FMA_TILES_CP_ASYNC: &str = "fma_tiles_cp_async";

/// [`FMA_TILES_CP_ASYNC`] with one bulk copy per tile. In the module of sm_90.
pub const FMA_TILES_BULK: &str = "fma_tiles_bulk";

/// Every kernel of the sm_80 module.
pub const ALL_SM_80: &[&str] = &[FMA_TILES_CP_ASYNC];

/// Every kernel of the sm_90 module.
pub const ALL_SM_90: &[&str] = &[FMA_TILES_BULK, FMA_TILES_CP_ASYNC];

/// Every kernel of the baseline module.
pub const ALL: &[&str] = &[
    AFFINE,
    AFFINE_ROUNDS,
    AFFINE_ROUNDS_X4,
    AFFINE_X4,
    APPEND_KV,
    BIAS_GELU,
    BIAS_RESIDUAL,
    DOT,
    FILL,
    FMA_CHAIN,
    FMA_TILES_NAMED_BARRIERS,
    FMA_TILES_UNSPECIALISED,
    IOTA,
    MATMUL,
    MATMUL_TRANSPOSED,
    PAGED_ATTENTION,
    SAXPY,
    SCALE,
    SOFTMAX_ROWS,
    SPIN,
    SUM,
];
