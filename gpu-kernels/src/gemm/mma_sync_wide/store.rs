//! From a warp's sums to C.
//!
//! A lane has two neighbouring elements of a row of each matrix, four bytes when rounded, and the three lanes beside it have the rest of
//! that row's 16. So four lanes exchange the words of four matrices: each of them then has one matrix's row and stores it at once.

use cuda_std::extensions::mma;
use cuda_std::prelude::*;
use cuda_std::warp;

use super::schedule::Tile;
use super::{DOWN, Matrices, Sums};
use crate::unroll::unroll;

/// A row of a matrix of 8 columns.
#[repr(align(16))]
#[expect(dead_code, reason = "it is written to C and read on the host")]
struct Row([u32; 4]);

/// Rounds a tile's sums, of `PAIRS` x 16 columns a warp, and stores what is inside of C.
///
/// # Safety
/// All lanes are here, and C is of its shape.
#[inline(always)]
pub(super) unsafe fn store<const PAIRS: usize>(matrices: &Matrices, tile: Tile, sums: &Sums) {
    let [m, n, _] = matrices.shape;
    let (lane, warp) = (warp::lane_id(), thread::thread_idx_x() / 32);
    let row = tile.row + warp % DOWN * 64 + lane / 4;
    let first = tile.column + warp / DOWN * (PAIRS as u32 * 16);
    let quarter = lane % 4;
    unroll! { for I in [0 1 2 3] {
        unroll! { for BELOW in [0 1] {
            let row = row + 16 * I as u32 + 8 * BELOW as u32;
            let to = matrices.c.wrapping_add(row as usize * n as usize);
            let word = |sums: &[f32; 4]| mma::pack_bf16(sums[2 * BELOW], sums[2 * BELOW + 1]);
            unroll! { for J in [0 4 8] {
                if J + 4 <= 2 * PAIRS {
                    let words = [word(&sums[I][J]), word(&sums[I][J + 1]), word(&sums[I][J + 2]), word(&sums[I][J + 3])];
                    let words = transposed(quarter, words);
                    let column = first + J as u32 * 8 + quarter * 8;
                    if row < m && column < tile.end {
                        // SAFETY: inside of C; `n` is a multiple of 8.
                        unsafe { *to.wrapping_add(column as usize).cast::<Row>() = Row(words) };
                    }
                }
            } }
            // Two matrices are left of half a tile.
            if PAIRS % 2 == 1 {
                unroll! { for LAST in [2 1] {
                    let j = 2 * PAIRS - LAST;
                    let column = first + j as u32 * 8 + quarter * 2;
                    if row < m && column < tile.end {
                        // SAFETY: inside of C; `n` and the column are even.
                        unsafe { *to.wrapping_add(column as usize).cast::<u32>() = word(&sums[I][j]) };
                    }
                } }
            }
        } }
    } }
}

/// Of four lanes side by side, the `i`th gets the `i`th word of each.
#[inline(always)]
fn transposed(quarter: u32, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let (is_odd, is_upper) = (quarter & 1 != 0, quarter & 2 != 0);
    // Single words of neighbours, then pairs of words of pairs of lanes.
    let (a, b) = exchange(a, b, is_odd, 1);
    let (c, d) = exchange(c, d, is_odd, 1);
    let (a, c) = exchange(a, c, is_upper, 2);
    let (b, d) = exchange(b, d, is_upper, 2);
    [a, b, c, d]
}

/// Exchanges the second word with the first one of the lane that is `lanes` further.
#[inline(always)]
fn exchange(first: u32, second: u32, is_further: bool, lanes: u32) -> (u32, u32) {
    let given = if is_further { first } else { second };
    // SAFETY: all lanes are here.
    let got = unsafe { warp::warp_shuffle_xor(u32::MAX, given, lanes, 32).0 };
    if is_further {
        (got, second)
    } else {
        (first, got)
    }
}
