//! Products of row-major matrices, tiled in shared memory.
//!
//! A block computes a tile of 64 by 64 elements of C, a thread 8 by 4 of them in registers, from slices of A and B that
//! are 16 deep. There are two buffers for the slices, so that one barrier per slice is enough: while the block computes
//! with one, its next slice is on the way into registers and then into the other. Sizes are arbitrary, but not 0;
//! what lies beyond them counts as zero.
//!
//! Each element is summed in `f32` with one FMA per term, in ascending order of the inner index: the same bits on
//! every run.
//!
//! Launch: blocks of 128 threads, grid `(ceil(n / 64), ceil(m / 64), batches)`.

#![allow(
    clippy::too_many_arguments,
    reason = "a kernel's parameters are plain numbers"
)]

use cuda_std::extensions::{SharedPtr};
use cuda_std::{shared_array, GpuFloat};
use cuda_std::prelude::*;

use crate::float4::Float4;

/// Rows and columns of a block's tile.
pub const TILE: u32 = 64;
/// Terms of the sums between two barriers.
const DEPTH: u32 = 16;
/// Threads of a block.
pub const THREADS: u32 = 128;
/// A thread's part of the tile.
const ROWS: u32 = 8;
const COLUMNS: u32 = 4;
/// Floats from one depth of a slice in shared memory to the next: 16-byte aligned, and not a multiple of the banks.
const PITCH: u32 = TILE + 4;
const SLICE: u32 = DEPTH * PITCH;
const LOADS: usize = (TILE * DEPTH / THREADS) as usize;

/// `C = alpha A B`: A is m by k, B is k by n, C is m by n, and `ld_` is the distance of two rows in elements. Block
/// `z` of the grid works on matrices that start `z` times `batch_` elements further on.
///
/// Blocks of [`MATMUL_THREADS`](crate::MATMUL_THREADS) threads, a grid of `(ceil(n / MATMUL_TILE), ceil(m / MATMUL_TILE),
/// batches)` with [`MATMUL_TILE`](crate::MATMUL_TILE).
#[kernel(launch_bounds(128))]
pub unsafe fn matmul(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    ld_a: u32,
    ld_b: u32,
    ld_c: u32,
    batch_a: u32,
    batch_b: u32,
    batch_c: u32,
    alpha: f32,
) {
    let a = Operand::<true>::new(a, batch_a, thread::block_idx_y(), m, k, ld_a);
    let b = Operand::<false>::new(b, batch_b, thread::block_idx_x(), n, k, ld_b);
    // SAFETY: the launch vouches for the matrices, and every thread of the block is here.
    unsafe {
        let sums = multiply(slices(), k, &a, &b);
        store(&sums, c, batch_c, m, n, ld_c, alpha);
    }
}

/// `C = alpha A Bᵀ`: as [`matmul`](fn@matmul), but B is n by k. The same launch.
#[kernel(launch_bounds(128))]
pub unsafe fn matmul_transposed(
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    ld_a: u32,
    ld_b: u32,
    ld_c: u32,
    batch_a: u32,
    batch_b: u32,
    batch_c: u32,
    alpha: f32,
) {
    let a = Operand::<true>::new(a, batch_a, thread::block_idx_y(), m, k, ld_a);
    let b = Operand::<true>::new(b, batch_b, thread::block_idx_x(), n, k, ld_b);
    // SAFETY: the launch vouches for the matrices, and every thread of the block is here.
    unsafe {
        let sums = multiply(slices(), k, &a, &b);
        store(&sums, c, batch_c, m, n, ld_c, alpha);
    }
}

/// Room for two slices of A and two of B.
#[inline(always)]
fn slices() -> SharedPtr<f32> {
    SharedPtr::new(shared_array![Float4; SLICE as usize]).cast()
}

/// What a block reads of A or B: 64 rows of A, or 64 columns of B, which run along the tile's edge. `ALONG_DEPTH`:
/// neighbours in memory are neighbours in depth.
struct Operand<const ALONG_DEPTH: bool> {
    /// The thread's first element of the first slice.
    data: *const f32,
    /// Elements between two neighbours along the edge, and in depth.
    edge_pitch: usize,
    depth_pitch: usize,
    /// The thread's first place in a slice, and how far the matrix goes from there.
    edge: u32,
    depth: u32,
    edge_left: u32,
    k: u32,
}

impl<const ALONG_DEPTH: bool> Operand<ALONG_DEPTH> {
    /// Steps along the edge and in depth from one of a thread's loads to the next.
    const STEP: (u32, u32) = if ALONG_DEPTH {
        (THREADS / DEPTH, 0)
    } else {
        (0, THREADS / TILE)
    };

    #[inline(always)]
    fn new(matrix: *const f32, batch: u32, tile: u32, extent: u32, k: u32, ld: u32) -> Self {
        let t = thread::thread_idx_x();
        let (edge, depth, edge_pitch, depth_pitch) = if ALONG_DEPTH {
            (t / DEPTH, t % DEPTH, ld as usize, 1)
        } else {
            (t % TILE, t / TILE, 1, ld as usize)
        };
        let first = tile * TILE + edge;
        let start = first as usize * edge_pitch + depth as usize * depth_pitch;
        let matrix = matrix.wrapping_add(thread::block_idx_z() as usize * batch as usize);
        Self {
            data: matrix.wrapping_add(start),
            edge_pitch,
            depth_pitch,
            edge,
            depth,
            edge_left: extent.saturating_sub(first),
            k,
        }
    }

    /// Loads the thread's elements of the slice that begins at depth `from`.
    ///
    /// # Safety
    /// The matrix has the extents that it was described with.
    #[inline(always)]
    unsafe fn load(&self, from: u32) -> [f32; LOADS] {
        let start = self.data.wrapping_add(from as usize * self.depth_pitch);
        let mut values = [0.0; LOADS];
        for i in 0..LOADS as u32 {
            let (edge, depth) = (i * Self::STEP.0, i * Self::STEP.1);
            let inside = edge < self.edge_left && from + self.depth + depth < self.k;
            let offset = edge as usize * self.edge_pitch + depth as usize * self.depth_pitch;
            // Each becomes a predicated load, and all are under way together. Loads from a chosen address would be too, but hold
            // sixteen addresses in registers: 111 of them instead of 80.
            values[i as usize] = if inside {
                // SAFETY: inside the matrix.
                unsafe { *start.wrapping_add(offset) }
            } else {
                0.0
            };
        }
        values
    }

    /// Stores what [`load`](Self::load) gave: element (depth, edge) at `depth * PITCH + edge`.
    ///
    /// # Safety
    /// No other thread reads the slice meanwhile.
    #[inline(always)]
    unsafe fn store(&self, values: [f32; LOADS], slice: SharedPtr<f32>) {
        let start = slice.add(self.depth * PITCH + self.edge);
        for i in 0..LOADS as u32 {
            let place = start.add(i * (Self::STEP.1 * PITCH + Self::STEP.0));
            // SAFETY: the caller's; the place is this thread's alone.
            unsafe { place.write(values[i as usize]) };
        }
    }
}

type Sums = [[f32; COLUMNS as usize]; ROWS as usize];

/// The thread's part of the block's tile of A B.
///
/// # Safety
/// The matrices have the extents that they were described with, and all threads of the block call this together.
#[inline(always)]
unsafe fn multiply<const B_ALONG_DEPTH: bool>(
    slices: SharedPtr<f32>,
    k: u32,
    a: &Operand<true>,
    b: &Operand<B_ALONG_DEPTH>,
) -> Sums {
    let mut sums = [[0.0; COLUMNS as usize]; ROWS as usize];
    let (mut current, mut next) = (slices, slices.add(2 * SLICE));
    // SAFETY: barriers separate the stores to a buffer from the loads of it.
    unsafe {
        a.store(a.load(0), current);
        b.store(b.load(0), current.add(SLICE));
        thread::sync_threads();
        let mut from = DEPTH;
        while from < k {
            let (of_a, of_b) = (a.load(from), b.load(from));
            accumulate(&mut sums, current);
            a.store(of_a, next);
            b.store(of_b, next.add(SLICE));
            thread::sync_threads();
            (current, next) = (next, current);
            from += DEPTH;
        }
        accumulate(&mut sums, current);
    }
    sums
}

/// Adds the products of one slice.
///
/// # Safety
/// Slices of A and B are complete in `slices`.
#[inline(always)]
unsafe fn accumulate(sums: &mut Sums, slices: SharedPtr<f32>) {
    let (row, column) = place();
    let (a, b) = (slices.add(row), slices.add(SLICE + column));
    for depth in 0..DEPTH {
        // SAFETY: inside the slices; rows and columns begin at multiples of four.
        let (a, b) = unsafe {
            let a = a.add(depth * PITCH);
            let [a, below] = [a.read_x4(), a.add(4).read_x4()];
            let b = b.add(depth * PITCH).read_x4();
            (
                [
                    a[0], a[1], a[2], a[3], below[0], below[1], below[2], below[3],
                ],
                b,
            )
        };
        for row in 0..ROWS as usize {
            for column in 0..COLUMNS as usize {
                sums[row][column] = a[row].mul_add(b[column], sums[row][column]);
            }
        }
    }
}

/// Stores the thread's part of C.
///
/// # Safety
/// C has the extents that it is described with.
#[inline(always)]
unsafe fn store(sums: &Sums, c: *mut f32, batch: u32, m: u32, n: u32, ld: u32, alpha: f32) {
    let (row, column) = place();
    let row = thread::block_idx_y() * TILE + row;
    let column = thread::block_idx_x() * TILE + column;
    let c = c.wrapping_add(thread::block_idx_z() as usize * batch as usize);
    for i in 0..ROWS {
        let c = c.wrapping_add((row + i) as usize * ld as usize);
        for j in 0..COLUMNS {
            if row + i < m && column + j < n {
                // SAFETY: inside C, and the place is this thread's alone.
                unsafe { *c.add((column + j) as usize) = alpha * sums[i as usize][j as usize] };
            }
        }
    }
}

/// The thread's first row and column in the block's tile.
#[inline(always)]
fn place() -> (u32, u32) {
    let t = thread::thread_idx_x();
    let across = TILE / COLUMNS;
    (t / across * ROWS, t % across * COLUMNS)
}
