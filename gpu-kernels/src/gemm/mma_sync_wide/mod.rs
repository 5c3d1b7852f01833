//! The kernel of [`gemm`](super) with `mma.sync` and the largest tile of C that a multiprocessor's registers hold.
//!
//! At the data sheet's rate a multiprocessor of Hopper would finish one `m16n8k16` a clock. `mma.sync` reaches about two thirds of it: an
//! instruction takes 1.5 clocks, in which shared memory moves 192 bytes, 128 a clock. Both the operands that are loaded from
//! it and the tiles that are copied into it have to fit in there, and larger tiles need less of either:
//!
//! | | [`gemm_mma_sync`](super::mma_sync) | `gemm_mma_sync_wide` |
//! |---|---|---|
//! | a warp's part of C | 64 x 64 | 64 x 96 |
//! | loads for 16 terms: 32 bytes a row and a column | 4,096 bytes | 5,120 bytes |
//! | instructions for 16 terms | 32 | 48 |
//! | loaded for an instruction | 128 bytes | 107 bytes |
//! | a block's tile of C | 128 x 128 | 256 x 192 |
//! | copied for 64 terms: 128 bytes a row and a column | 32,768 bytes | 57,344 bytes |
//! | instructions for 64 terms | 512 | 1,536 |
//! | copied for an instruction | 64 bytes | 37 bytes |
//! | both | 192 bytes: all of it | 144 bytes |
//!
//! The price is registers: 192 of a lane's 255 are sums. One block fills a multiprocessor, and has to hide all latencies by itself:
//!
//! - [`schedule`]: blocks are persistent, and share the tiles out in waves.
//! - [`ring`]: while one stage is multiplied, two more are on their way, at the end of a tile those of the next one.
//! - [`multiply`]: fragments are loaded while others are multiplied, and give their registers to the next ones at once.
//! - [`store`]: sums leave for C in rows of 16 bytes.

mod multiply;
mod ring;
mod schedule;
mod store;

use cuda_std::extensions::async_copy;
use cuda_std::prelude::*;

use super::{GEMM_MMA_WIDE_TILE, WIDE_STAGES};
use multiply::multiply;
use ring::Ring;
use schedule::Schedule;
use store::store;

/// Rows and columns of a tile of C.
const ROWS: u32 = GEMM_MMA_WIDE_TILE[0];
const COLUMNS: u32 = GEMM_MMA_WIDE_TILE[1];
/// Warps of a block along the rows, of 64 rows each.
const DOWN: u32 = 4;
/// Pairs of matrices, of 8 columns each, that a warp has of a tile, and of half a tile.
const PAIRS: usize = 6;
const PAIRS_OF_HALF: usize = PAIRS / 2;

/// The sums of a lane: of four matrices down and twelve along, of 16 x 8 elements.
type Sums = [[[f32; 4]; 2 * PAIRS]; 4];

/// `c` from `a` and `b`, of `m` rows, `n` columns and `k` terms. A grid of any number of blocks along x, of which each multiprocessor runs
/// one, and of products along y; [`GEMM_MMA_WIDE_THREADS`](super::GEMM_MMA_WIDE_THREADS) threads with
/// [`GEMM_MMA_WIDE_SHARED_BYTES`](super::GEMM_MMA_WIDE_SHARED_BYTES) bytes of dynamic shared memory.
#[kernel(launch_bounds(256, 1))]
pub unsafe fn gemm_mma_sync_wide(
    a: *const u16,
    b: *const u16,
    c: *mut u16,
    m: u32,
    n: u32,
    k: u32,
) {
    let matrices = Matrices::of_product(a, b, c, [m, n, k]);
    let schedule = Schedule::new(m, n);
    // SAFETY: the launch vouches for the matrices; all threads of the block go the same way.
    unsafe {
        let mut ring = Ring::filled(matrices, schedule);
        for i in 0..schedule.whole {
            let sums = multiply::<PAIRS>(&mut ring);
            store::<PAIRS>(&matrices, schedule.tile(i), &sums);
        }
        if schedule.has_half {
            let sums = multiply::<PAIRS_OF_HALF>(&mut ring);
            store::<PAIRS_OF_HALF>(&matrices, schedule.tile(schedule.whole), &sums);
        }
    }
    async_copy::wait_all();
}

/// The matrices of the product that the block works on.
#[derive(Clone, Copy)]
struct Matrices {
    a: *const u16,
    b: *const u16,
    c: *mut u16,
    /// Rows, columns, terms.
    shape: [u32; 3],
}

impl Matrices {
    #[inline(always)]
    fn of_product(a: *const u16, b: *const u16, c: *mut u16, shape: [u32; 3]) -> Self {
        let product = thread::block_idx_y() as usize;
        let [m, n, k] = shape.map(|len| len as usize);
        Self {
            a: a.wrapping_add(product * m * k),
            b: b.wrapping_add(product * n * k),
            c: c.wrapping_add(product * m * n),
            shape,
        }
    }
}
