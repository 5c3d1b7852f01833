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

/// Every kernel of the baseline module.
pub const ALL: &[&str] = &[
    AFFINE,
    AFFINE_ROUNDS,
    AFFINE_ROUNDS_X4,
    AFFINE_X4,
    DOT,
    FILL,
    FMA_CHAIN,
    IOTA,
    SAXPY,
    SCALE,
    SPIN,
    SUM,
];
