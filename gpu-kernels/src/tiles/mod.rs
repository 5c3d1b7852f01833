//! One computation over tiles of an array, in kernels that differ in how the tiles come into shared memory.
//!
//! Every element goes through `rounds` dependent multiply-adds, `x = FACTOR x + SUMMAND`: with few rounds the kernels are
//! as fast as memory, with many as fast as arithmetic. In between an SM has to do both at the same time.
//!
//! - `fma_tiles_unspecialised`: all warps load a tile, wait for each other, compute, wait for each other. While a block
//!   computes it loads nothing.
//! - `fma_tiles_named_barriers`: producer warps load tiles by plain loads, consumer warps compute; named barriers hand the
//!   stages over. It runs on every GPU.
//! - `fma_tiles_cp_async`, in the modules of sm_80 and sm_90: one producer warp, `cp.async`, mbarriers.
//! - `fma_tiles_bulk`, in that of sm_90: one producer thread, bulk copies, mbarriers.
//!
//! The specialised kernels have [`STAGES`] tiles in shared memory: while consumers compute with one, the others are being
//! filled. A stage has a *full* barrier, which the producers complete and the consumers wait for, and an *empty* one for
//! the way back. No barrier of the whole block is in the loop.
//!
//! A block takes every tile whose number is its own plus a multiple of the grid's size, so that a grid that just fills the
//! GPU has a long loop. The results of all kernels are the same bit for bit. The array has a multiple of four elements,
//! input and output are aligned to 16 bytes; any grid of one dimension will do.

use cuda_std::GpuFloat;
use cuda_std::extensions::SharedPtr;
use cuda_std::prelude::*;

use crate::float4::Float4;
use crate::rounds::{FACTOR, SUMMAND, repeat};

#[cfg(any(not(target_os = "cuda"), target_feature = "ptx80"))]
pub(crate) mod bulk;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx71"))]
pub(crate) mod cp_async;
#[cfg(any(not(target_os = "cuda"), not(target_feature = "ptx71")))]
pub(crate) mod plain;
#[cfg(any(not(target_os = "cuda"), target_feature = "ptx71"))]
mod ring;

/// Elements of a tile.
pub const TILE: u32 = 2048;

/// Tiles in shared memory in the specialised kernels.
pub const STAGES: u32 = 4;

/// Threads that compute, in all kernels.
pub const CONSUMERS: u32 = 256;

/// Threads that load by plain loads, in `fma_tiles_named_barriers`.
pub const PLAIN_PRODUCERS: u32 = 128;

/// Groups of four elements of a tile that a consumer computes.
const GROUPS: u32 = TILE / 4 / CONSUMERS;

/// The array, as the launch gives it: a multiple of four elements, aligned to 16 bytes.
#[derive(Clone, Copy)]
struct Array {
    input: *const f32,
    output: *mut f32,
    n: usize,
}

impl Array {
    #[inline(always)]
    fn new(input: &[f32], output: *mut f32) -> Self {
        Self {
            input: input.as_ptr(),
            output,
            n: input.len(),
        }
    }

    /// Elements from one of a block's tiles to its next.
    #[inline(always)]
    fn stride() -> usize {
        thread::grid_dim_x() as usize * TILE as usize
    }

    /// The tiles of this block: where they begin, and how many elements they have.
    #[inline(always)]
    fn for_each_tile(self, mut visit: impl FnMut(usize, u32)) {
        let stride = Self::stride();
        let mut first = thread::block_idx_x() as usize * TILE as usize;
        while first < self.n {
            visit(first, (self.n - first).min(TILE as usize) as u32);
            first += stride;
        }
    }
}

/// Computes the consumer's groups of a tile in shared memory and stores them; `release` is called when it has read them.
///
/// # Safety
/// The tile is complete; it and the output have `len` elements from `first` on.
#[inline(always)]
unsafe fn compute(
    tile: SharedPtr<f32>,
    array: Array,
    first: usize,
    len: u32,
    rounds: u32,
    release: impl FnOnce(),
) {
    let t = thread::thread_idx_x() * 4;
    let mut x = [0.0; 4 * GROUPS as usize];
    for group in 0..GROUPS {
        // SAFETY: inside the tile's room in shared memory.
        let values = unsafe { tile.add(t + group * 4 * CONSUMERS).read_x4() };
        x[4 * group as usize..][..4].copy_from_slice(&values);
    }
    release();
    let x = repeat(rounds, x, |x| x.map(|x| x.mul_add(FACTOR, SUMMAND)));
    for group in 0..GROUPS {
        let at = t + group * 4 * CONSUMERS;
        if at < len {
            let i = 4 * group as usize;
            let values = Float4([x[i], x[i + 1], x[i + 2], x[i + 3]]);
            // SAFETY: inside the output, since `len` is a multiple of four.
            unsafe { *array.output.add(first + at as usize).cast() = values };
        }
    }
}
