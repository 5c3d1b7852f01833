//! The multiplication of a tile, whose fragments roll through few registers.
//!
//! A warp needs four fragments of A for 16 terms, 16 registers, and `PAIRS` of B. Of B it has three at a time: as soon as one has been
//! multiplied with all of A, the one three places further takes its registers, from the next 16 terms if need be. So three
//! pairs times four rows, 24 instructions, hide the time that a fragment takes to come.

use cuda_std::extensions::mma;
use cuda_std::prelude::*;
use cuda_std::warp;

use super::ring::{COPIES, Ring, place};
use super::{DOWN, ROWS, Sums};
use crate::gemm::{GEMM_TERMS, ROW};
use crate::unroll::unroll;

/// The fragments that are in registers: of A, and of B two columns of matrices each.
struct Fragments {
    a: [[u32; 4]; 4],
    b: [[u32; 4]; 3],
}

/// The warp's sums of a tile of `PAIRS` x 16 columns.
///
/// # Safety
/// All threads of the block are here, and the ring's current stage is the tile's first.
#[inline(always)]
pub(super) unsafe fn multiply<const PAIRS: usize>(ring: &mut Ring) -> Sums {
    let places = places::<PAIRS>();
    let mut sums = [[[0.0; 4]; 12]; 4];
    // SAFETY: the caller's; a stage is fetched into behind the barrier after which no thread reads it.
    unsafe {
        let mut fragments = Fragments::first(ring, places);
        for _ in 0..ring.matrices.shape[2].div_ceil(GEMM_TERMS) {
            ring.fetch(0..COPIES / 3);
            fragments.multiply::<PAIRS, 0>(&mut sums, ring, places);
            ring.fetch(COPIES / 3..COPIES * 2 / 3);
            fragments.multiply::<PAIRS, 1>(&mut sums, ring, places);
            ring.fetch(COPIES * 2 / 3..COPIES);
            ring.close();
            fragments.multiply::<PAIRS, 2>(&mut sums, ring, places);
            fragments.multiply::<PAIRS, 3>(&mut sums, ring, places);
            ring.advance();
        }
    }
    sums
}

/// Where the lane's rows for `ldmatrix` begin in a stage, those of A and those of B.
///
/// The matrices of a fragment of A follow each other down the rows, those of B along the terms.
#[inline(always)]
fn places<const PAIRS: usize>() -> [u32; 2] {
    let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
    let down = warp % DOWN * 64;
    let along = warp / DOWN * (PAIRS as u32 * 16);
    [
        place(down + lane % 16, lane / 16),
        ROWS * ROW + place(along + lane % 8 + lane / 16 * 8, lane / 8 % 2),
    ]
}

impl Fragments {
    /// The first ones of the current stage.
    #[inline(always)]
    unsafe fn first(ring: &Ring, [a, b]: [u32; 2]) -> Self {
        let (a, b) = (ring.at(a, 0), ring.at(b, 0));
        let row = |i: u32| i * 16 * ROW;
        // SAFETY: the caller's.
        unsafe {
            Self {
                a: [
                    mma::load_x4(a),
                    mma::load_x4(a.add(row(1))),
                    mma::load_x4(a.add(row(2))),
                    mma::load_x4(a.add(row(3))),
                ],
                b: [
                    mma::load_x4(b),
                    mma::load_x4(b.add(row(1))),
                    mma::load_x4(b.add(row(2))),
                ],
            }
        }
    }

    /// Multiplies 16 terms, the `QUARTER`th of the current stage, and loads the first fragments of the next 16.
    ///
    /// # Safety
    /// As for [`multiply`], and the fragments are the first ones of these terms.
    #[inline(always)]
    unsafe fn multiply<const PAIRS: usize, const QUARTER: u32>(
        &mut self,
        sums: &mut Sums,
        ring: &mut Ring,
        [a, b]: [u32; 2],
    ) {
        let next = (QUARTER + 1) % 4;
        unroll! { for PAIR in [0 1 2 3 4 5] {
            if PAIR < PAIRS {
                unroll! { for I in [0 1 2 3] {
                    // SAFETY: the caller's.
                    unsafe {
                        self.multiply_pair::<I, PAIR>(sums);
                        if PAIR + 1 == PAIRS {
                            self.a[I] = mma::load_x4(ring.at(a, next).add(I as u32 * 16 * ROW));
                        }
                    }
                } }
                // The last three fragments of the terms are in registers: what is loaded from now on is of the next.
                let is_next = PAIR + 3 >= PAIRS;
                let (quarter, pair) = if is_next { (next, PAIR + 3 - PAIRS) } else { (QUARTER, PAIR + 3) };
                // SAFETY: the caller's; behind the last 16 terms of a stage, no thread needs it any more.
                unsafe {
                    if QUARTER == 3 && PAIR + 3 == PAIRS {
                        ring.next();
                    }
                    self.b[PAIR % 3] = mma::load_x4(ring.at(b, quarter).add(pair as u32 * 16 * ROW));
                }
            }
        } }
    }

    /// Multiplies a fragment of A with both columns of matrices of one of B.
    #[inline(always)]
    unsafe fn multiply_pair<const I: usize, const PAIR: usize>(&self, sums: &mut Sums) {
        let [a, b, c, d] = self.b[PAIR % 3];
        unroll! { for STEP in [0 1] {
            // Forth and back: neighbouring instructions share A or B, which saves reads of registers.
            let is_second = (STEP == 1) != (I % 2 == 1);
            let columns = if is_second { [c, d] } else { [a, b] };
            let sums = &mut sums[I][2 * PAIR + is_second as usize];
            // SAFETY: the caller's.
            *sums = unsafe { mma::m16n8k16_bf16(self.a[I], columns, *sums) };
        } }
    }
}
