//! Which tiles of C a block computes, and in which order.
//!
//! Blocks are persistent: there are as many as multiprocessors, and block `b` of `B` takes the tiles `b`, `b + B`, `b + 2 B`, and so on. `B` tiles
//! that are computed at the same time are a wave. The last wave takes as long as the others, however few tiles are left for it; when they are
//! enough for half of the blocks at most, two blocks take half of the columns of a tile each. 8192 x 8192 elements are 32 x 43 tiles,
//! which keep 132 multiprocessors busy for 10.4 waves: with halves they take the time of 10.5, without it would be 11.
//!
//! A wave reads the rows and columns of its tiles once from memory, and then from the L2 cache, so they should be few: the wave should be
//! square. [`GROUP`] tiles down and then the next column, 132 tiles have 8 x 256 rows and 16.5 x 192 columns, 5,216 together; in groups of 16 they
//! have 5,680, and side by side, a row of 43 tiles after the other, about 9,000.

use cuda_std::prelude::*;

use super::{COLUMNS, ROWS};
use crate::gemm::tile_of;

/// Tiles down that are computed together.
const GROUP: u32 = 8;
const HALF: u32 = COLUMNS / 2;

/// A tile of C, or half of one: its first row and column, and the column behind its last.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) row: u32,
    pub(super) column: u32,
    pub(super) end: u32,
}

/// The block's tiles.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    /// Tiles of C, down and along, and its columns.
    edges: [u32; 2],
    columns: u32,
    /// How many whole tiles the block computes, and whether half a tile behind them.
    pub(super) whole: u32,
    pub(super) has_half: bool,
}

impl Schedule {
    #[inline(always)]
    pub(super) fn new(rows: u32, columns: u32) -> Self {
        let edges = [rows.div_ceil(ROWS), columns.div_ceil(COLUMNS)];
        // There is always one; said so that nothing can divide by zero.
        let (blocks, block) = (thread::grid_dim_x().max(1), thread::block_idx_x());
        let tiles = edges[0] * edges[1];
        let (waves, rest) = (tiles / blocks, tiles % blocks);
        let halves = 2 * rest <= blocks;
        Self {
            edges,
            columns,
            whole: waves + u32::from(!halves && block < rest),
            has_half: halves && block < 2 * rest,
        }
    }

    /// How many tiles the block computes, a half counted as one.
    #[inline(always)]
    pub(super) fn count(&self) -> u32 {
        self.whole + u32::from(self.has_half)
    }

    /// The block's `i`th tile.
    #[inline(always)]
    pub(super) fn tile(&self, i: u32) -> Tile {
        let (blocks, block) = (thread::grid_dim_x(), thread::block_idx_x());
        let is_half = self.has_half && i == self.whole;
        let number = i * blocks + if is_half { block / 2 } else { block };
        let [row, column] = tile_of(number, self.edges, GROUP);
        let (mut column, mut end) = (column * COLUMNS, (column + 1) * COLUMNS);
        if is_half {
            column += block % 2 * HALF;
            end = end.min(column + HALF);
        }
        Tile {
            row: row * ROWS,
            column,
            end: end.min(self.columns),
        }
    }
}
