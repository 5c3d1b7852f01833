//! The stages in shared memory, and the copies that fill them.
//!
//! A stage has 64 terms of the tile's rows of A, then of its columns of B. The copies know nothing of where one tile of C ends: behind
//! its last term they go on with the first of the next one, so that the multiplication never waits for a ring that starts empty.
//!
//! A thread's 14 copies of a stage are issued a few at a time, between multiplications, instead of all at once.

use core::ops::Range;
use cuda_std::extensions::{SharedPtr, async_copy};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

use super::schedule::Schedule;
use super::{COLUMNS, Matrices, ROWS, WIDE_STAGES as STAGES};
use crate::gemm::{GEMM_TERMS, ROW};

/// Bytes of a stage.
const STAGE: u32 = (ROWS + COLUMNS) * ROW;
/// Rows that all threads copy at once, eight threads each, and how often they do so for A and for a stage.
const AT_ONCE: u32 = 32;
const COPIES_OF_A: u32 = ROWS / AT_ONCE;
pub(super) const COPIES: u32 = (ROWS + COLUMNS) / AT_ONCE;

/// The stages, and where the block is among them.
pub(super) struct Ring {
    pub(super) matrices: Matrices,
    schedule: Schedule,
    stages: SharedPtr<u8>,
    /// The number of the tile of C that is fetched for, and the first term of the next stage.
    tile: u32,
    term: u32,
    /// Where that term of the tile's first row of A and of its first column of B lies, and how many rows and columns are inside of the
    /// matrices from there on.
    from: [*const u16; 2],
    inside: [u32; 2],
    /// The stage to fetch into, and the one to multiply.
    fetched: u32,
    current: u32,
}

impl Ring {
    /// With all stages but one on their way, and the first one there.
    ///
    /// # Safety
    /// All threads of the block call it, and the matrices are of their shape.
    #[inline(always)]
    pub(super) unsafe fn filled(matrices: Matrices, schedule: Schedule) -> Self {
        let mut ring = Self {
            matrices,
            schedule,
            stages: SharedPtr::new(dynamic_shared_mem::<u8>()),
            tile: 0,
            term: 0,
            from: [matrices.a, matrices.b],
            inside: [0, 0],
            fetched: 0,
            current: STAGES - 1,
        };
        ring.aim();
        for _ in 0..STAGES - 1 {
            // SAFETY: no thread uses the stages yet.
            unsafe { ring.fetch(0..COPIES) };
            ring.close();
            ring.advance();
        }
        // SAFETY: the caller's.
        unsafe { ring.next() };
        ring
    }

    /// Aims at the first terms of a tile of C; behind the last tile, at nothing.
    #[inline(always)]
    fn aim(&mut self) {
        let [m, _, k] = self.matrices.shape;
        self.term = 0;
        if self.tile >= self.schedule.count() {
            self.inside = [0, 0];
            return;
        }
        let tile = self.schedule.tile(self.tile);
        let first = |matrix: *const u16, row: u32| matrix.wrapping_add(row as usize * k as usize);
        self.from = [
            first(self.matrices.a, tile.row),
            first(self.matrices.b, tile.column),
        ];
        self.inside = [
            m.saturating_sub(tile.row),
            tile.end.saturating_sub(tile.column),
        ];
    }

    /// Issues the thread's copies of these numbers, with zeros for what is outside of the matrices.
    ///
    /// # Safety
    /// All threads have passed a barrier since they read the stage to fetch into.
    #[inline(always)]
    pub(super) unsafe fn fetch(&self, copies: Range<u32>) {
        let t = thread::thread_idx_x();
        let k = self.matrices.shape[2];
        let (row, term) = (t / 8, t % 8 * 8);
        // The addresses that advance are the block's. The thread's share is added here, for want of registers.
        let own = (row * k + term) as usize;
        let row = if self.term + term < k { row } else { 1 << 30 };
        let to = self.stages.add(self.fetched * STAGE + place(t / 8, t % 8));
        for i in copies {
            let (operand, first) = if i < COPIES_OF_A {
                (0, i * AT_ONCE)
            } else {
                (1, (i - COPIES_OF_A) * AT_ONCE)
            };
            let from = self.from[operand].wrapping_add(first as usize * k as usize + own);
            let bytes = if first + row < self.inside[operand] {
                16
            } else {
                0
            };
            let to = to.add(i * AT_ONCE * ROW);
            // SAFETY: inside the stage; nothing is read outside of the matrices.
            unsafe { async_copy::copy_16_zero_filled(to, from.cast(), bytes) };
        }
    }

    /// Says that all copies of a stage have been issued.
    #[inline(always)]
    pub(super) fn close(&mut self) {
        async_copy::commit_group();
        self.fetched = after(self.fetched);
        self.term += GEMM_TERMS;
        self.from = self.from.map(|from| from.wrapping_add(GEMM_TERMS as usize));
    }

    /// Goes on to the next tile of C behind the last term of one.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        if self.term >= self.matrices.shape[2] {
            self.tile += 1;
            self.aim();
        }
    }

    /// Waits for the next stage, and gives the current one back: the latest stage may still be on its way.
    ///
    /// # Safety
    /// All threads of the block call it, and have read of the current stage what they need.
    #[inline(always)]
    pub(super) unsafe fn next(&mut self) {
        async_copy::wait_group::<{ STAGES - 2 }>();
        thread::sync_threads();
        self.current = after(self.current);
    }

    /// Of a place in a stage, that in the current one, 16 terms times `quarter` further.
    #[inline(always)]
    pub(super) fn at(&self, place: u32, quarter: u32) -> SharedPtr<u8> {
        self.stages
            .add(self.current * STAGE)
            .add(place ^ (quarter * 32))
    }
}

#[inline(always)]
fn after(stage: u32) -> u32 {
    if stage + 1 == STAGES { 0 } else { stage + 1 }
}

/// Where the 16 bytes with this number of a row lie in a stage: in the eight rows that `ldmatrix` reads at once, in different banks.
#[inline(always)]
pub(super) fn place(row: u32, part: u32) -> u32 {
    row * ROW + ((part ^ (row % 8)) * 16)
}
