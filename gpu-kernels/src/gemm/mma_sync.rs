//! The kernel of [`gemm`](super) with `mma.sync`.
//!
//! A block of warps computes a tile of C, each warp 64 x 64 of it: 128 sums a lane. Tiles of A and B, 64 terms wide, come by `cp.async` into
//! a ring of stages. The 16 bytes number `i` of a row `r` lie in place `i ^ (r % 8)` of it: so `ldmatrix`, which reads the same 16 bytes of
//! eight rows, finds them in different banks.
//!
//! While the tensor cores multiply the fragments of 16 terms, those of the next 16 are loaded; and while all of this goes on, the tiles
//! of the stages behind are on their way.

use cuda_std::extensions::{SharedPtr, async_copy, mma};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warp;

use super::{GEMM_MMA_TILE, GEMM_TERMS, MMA_STAGES as STAGES, ROW, tile_of};
use crate::unroll::unroll;

/// Rows and columns of a block's tile of C, and of a warp's part of it.
const ROWS: u32 = GEMM_MMA_TILE[0];
const COLUMNS: u32 = GEMM_MMA_TILE[1];
const WARP: u32 = 64;
/// Warps of a block along the rows.
const DOWN: u32 = 2;
/// Tiles down that are computed together.
const GROUP: u32 = 32;
/// Bytes of a stage, which has a tile of A and one of B.
const STAGE: u32 = (ROWS + COLUMNS) * ROW;
/// Rows that all threads copy at once, eight threads each.
const AT_ONCE: u32 = 16;

/// `c` from `a` and `b`, of `m` rows, `n` columns and `k` terms. A block for each tile of each product, of
/// [`GEMM_MMA_THREADS`](super::GEMM_MMA_THREADS) threads with [`GEMM_MMA_SHARED_BYTES`](super::GEMM_MMA_SHARED_BYTES) bytes of dynamic shared
/// memory, two of which fit into a multiprocessor.
#[kernel(launch_bounds(128, 2))]
pub unsafe fn gemm_mma_sync(a: *const u16, b: *const u16, c: *mut u16, m: u32, n: u32, k: u32) {
    // SAFETY: the launch vouches for the operands.
    unsafe {
        multiply_all(Work {
            a,
            b,
            c,
            shape: [m, n, k],
        })
    }
}

/// The block's tile of C.
///
/// # Safety
/// The operands are of this shape, and all threads of the block are here.
#[inline(always)]
unsafe fn multiply_all(work: Work) {
    // SAFETY: all threads go the same way, and a stage is written behind the barrier after which no thread reads it.
    unsafe {
        let mut ring = Ring::new(work);
        for _ in 0..STAGES - 1 {
            ring.fetch();
        }
        ring.next();
        let mut now = ring.fragments(0);
        let mut sums = [[[0.0; 4]; 8]; 4];
        for _ in 0..work.shape[2].div_ceil(GEMM_TERMS) {
            let next = ring.fragments(1);
            ring.fetch();
            multiply(&mut sums, &now);
            let after = ring.fragments(2);
            multiply(&mut sums, &next);
            let last = ring.fragments(3);
            multiply(&mut sums, &after);
            ring.next();
            now = ring.fragments(0);
            multiply(&mut sums, &last);
        }
        async_copy::wait_all();
        work.store(&sums);
    }
}

/// The operands of a launch.
#[derive(Clone, Copy)]
struct Work {
    a: *const u16,
    b: *const u16,
    c: *mut u16,
    /// Rows, columns, terms.
    shape: [u32; 3],
}

impl Work {
    /// Tiles of C, down and along.
    #[inline(always)]
    fn edges(&self) -> [u32; 2] {
        [
            self.shape[0].div_ceil(ROWS),
            self.shape[1].div_ceil(COLUMNS),
        ]
    }

    /// The first row, the first column and the product of the block's tile.
    #[inline(always)]
    fn tile(&self) -> [u32; 3] {
        let [down, along] = self.edges();
        // There is always one; said so that nothing can divide by zero.
        let in_product = (down * along).max(1);
        let number = thread::block_idx_x();
        let [row, column] = tile_of(number % in_product, [down, along], GROUP);
        [row * ROWS, column * COLUMNS, number / in_product]
    }

    /// What the block's tile needs of A and of B.
    #[inline(always)]
    fn operands(&self) -> [Operand; 2] {
        let ([m, n, k], [row, column, product]) = (self.shape, self.tile());
        let product = product as usize * k as usize;
        [
            Operand::new(self.a.wrapping_add(product * m as usize), row, m, k),
            Operand::new(self.b.wrapping_add(product * n as usize), column, n, k),
        ]
    }

    /// Rounds a tile's sums and stores what is inside of C, two elements at a time.
    ///
    /// # Safety
    /// C is of this shape.
    #[inline(always)]
    unsafe fn store(&self, sums: &Sums) {
        let ([m, n, _], [row, column, product]) = (self.shape, self.tile());
        let (lane, warp) = (warp::lane_id(), thread::thread_idx_x() / 32);
        let row = row + warp % DOWN * WARP + lane / 4;
        let column = column + warp / DOWN * WARP + lane % 4 * 2;
        let c = self
            .c
            .wrapping_add(product as usize * m as usize * n as usize);
        let put = |row: u32, column: u32, low: f32, high: f32| {
            if row < m && column < n {
                let to = c.wrapping_add(row as usize * n as usize + column as usize);
                // SAFETY: inside of C; `n` and the column are even.
                unsafe { *to.cast::<u32>() = mma::pack_bf16(low, high) };
            }
        };
        unroll! { for I in [0 1 2 3] {
            unroll! { for J in [0 1 2 3 4 5 6 7] {
                let (row, column) = (row + 16 * I as u32, column + 8 * J as u32);
                let [low, high, low_below, high_below] = sums[I][J];
                put(row, column, low, high);
                put(row + 8, column, low_below, high_below);
            } }
        } }
    }
}

/// The rows of A, or those behind B's columns, that a block needs.
#[derive(Clone, Copy)]
struct Operand {
    /// Where the thread's part of its first row begins, and how many rows are left from there on.
    from: *const u16,
    rows: u32,
    terms: u32,
}

impl Operand {
    #[inline(always)]
    fn new(operand: *const u16, first: u32, rows: u32, terms: u32) -> Self {
        let t = thread::thread_idx_x();
        let row = first + t / 8;
        Self {
            // What is outside of the operand is computed, not read.
            from: operand.wrapping_add(row as usize * terms as usize + (t % 8 * 8) as usize),
            rows: rows.saturating_sub(row),
            terms,
        }
    }

    /// Issues the thread's copies of a tile of `rows` rows, `at_once` by all threads, with zeros for what is outside of the operand.
    ///
    /// # Safety
    /// No thread uses the tile's room.
    #[inline(always)]
    unsafe fn fetch(&self, to: SharedPtr<u8>, first_term: u32, rows: u32, at_once: u32) {
        let t = thread::thread_idx_x();
        let is_inside = first_term + t % 8 * 8 < self.terms;
        let left = if is_inside { self.rows } else { 0 };
        let from = self.from.wrapping_add(first_term as usize);
        for i in 0..rows / at_once {
            let row = i * at_once;
            let bytes = if row < left { 16 } else { 0 };
            let from = from.wrapping_add(row as usize * self.terms as usize);
            // SAFETY: inside the tile; nothing is read outside of the operand.
            unsafe { async_copy::copy_16_zero_filled(to.add(row * ROW), from.cast(), bytes) };
        }
    }
}

/// The stages, and where the block is among them.
struct Ring {
    /// What the tile needs, and the first term of the next stage.
    operands: [Operand; 2],
    term: u32,
    stages: SharedPtr<u8>,
    /// The stage to fetch into, and the one to multiply.
    fetched: u32,
    current: u32,
    /// Where the thread's copies go in a tile, and where its rows for `ldmatrix` begin in a stage, with the place of the
    /// first 16 terms.
    to: u32,
    rows: [u32; 2],
}

/// A warp's fragments for 16 terms: four of A, and of B four with two columns of matrices each.
type Fragments = [[[u32; 4]; 4]; 2];

impl Ring {
    #[inline(always)]
    fn new(work: Work) -> Self {
        let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
        let warp = t / 32;
        let [down, along] = [warp % DOWN * WARP, warp / DOWN * WARP];
        // The matrices of a fragment of A follow each other down the rows, those of B along the terms.
        let a = (down + lane % 16, lane / 16);
        let b = (along + lane % 8 + lane / 16 * 8, lane / 8 % 2);
        let place = |(row, part): (u32, u32)| row * ROW + ((part ^ (row % 8)) * 16);
        Self {
            operands: work.operands(),
            term: 0,
            stages: SharedPtr::new(dynamic_shared_mem::<u8>()),
            fetched: 0,
            current: STAGES - 1,
            to: place((t / 8, t % 8)),
            rows: [place(a), ROWS * ROW + place(b)],
        }
    }

    /// Issues the copies of the next stage: zeros behind the last.
    ///
    /// # Safety
    /// All threads have passed a barrier since they read that stage.
    #[inline(always)]
    unsafe fn fetch(&mut self) {
        let to = self.stages.add(self.fetched * STAGE + self.to);
        // SAFETY: the caller's.
        unsafe {
            self.operands[0].fetch(to, self.term, ROWS, AT_ONCE);
            let to = to.add(ROWS * ROW);
            self.operands[1].fetch(to, self.term, COLUMNS, AT_ONCE);
        }
        async_copy::commit_group();
        self.fetched = Self::after(self.fetched);
        self.term += GEMM_TERMS;
    }

    /// Goes on to the next stage when it is there.
    ///
    /// # Safety
    /// All threads of the block call it.
    #[inline(always)]
    unsafe fn next(&mut self) {
        // The latest stage but one is needed.
        async_copy::wait_group::<{ STAGES - 2 }>();
        thread::sync_threads();
        self.current = Self::after(self.current);
    }

    #[inline(always)]
    fn after(stage: u32) -> u32 {
        if stage + 1 == STAGES { 0 } else { stage + 1 }
    }

    /// The warp's fragments of 16 terms, the `part`th of the stage.
    ///
    /// # Safety
    /// All lanes are here, and the stage is.
    #[inline(always)]
    unsafe fn fragments(&self, part: u32) -> Fragments {
        let stage = self.stages.add(self.current * STAGE);
        self.rows.map(|rows| {
            let first = stage.add(rows ^ (part * 32));
            // SAFETY: rows of the stage.
            unsafe {
                [
                    mma::load_x4(first),
                    mma::load_x4(first.add(16 * ROW)),
                    mma::load_x4(first.add(32 * ROW)),
                    mma::load_x4(first.add(48 * ROW)),
                ]
            }
        })
    }
}

/// The sums of a lane: of four matrices down and eight along.
type Sums = [[[f32; 4]; 8]; 4];

/// Adds the products of 16 terms.
///
/// # Safety
/// All lanes are here.
#[inline(always)]
unsafe fn multiply(sums: &mut Sums, [a, b]: &Fragments) {
    unroll! { for I in [0 1 2 3] {
        unroll! { for STEP in [0 1 2 3 4 5 6 7] {
            // Forth and back: neighbouring instructions share A or B, which saves reads of registers.
            const J: usize = if I.is_multiple_of(2) { STEP } else { 7 - STEP };
            let columns = [b[J / 2][J % 2 * 2], b[J / 2][J % 2 * 2 + 1]];
            // SAFETY: the caller's.
            sums[I][J] = unsafe { mma::m16n8k16_bf16(a[I], columns, sums[I][J]) };
        } }
    } }
}
