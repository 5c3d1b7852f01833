//! Matrices spread over the registers of a warp: `mma`, `movmatrix` (PTX ISA, "Warp Level Matrix Instructions").
//!
//! A fragment is the part of a matrix that one thread holds. Lane `4 g + t` holds, of a matrix of 8 × 8 elements of 16
//! bits, the elements `2 t` and `2 t + 1` of row `g` in one register; larger matrices are made of such tiles.
//!
//! The instruction set leaves the order of additions to the device. Here products are exact, are added in 64 bits, and the
//! sum is rounded to 32 bits once; the low bits of a GPU's sums may differ.

use half::{bf16, f16};

use super::context::Context;
use super::fault::Fault;
use super::op::{Handler, Op, Slot};
use super::warp_handlers::{LANES, Shape, handler, plain_handler};

/// Rows and columns of a tile.
pub(super) const TILE: usize = 8;

/// A tile of elements of 16 bits.
pub(super) type Tile = [[u16; TILE]; TILE];

/// The registers of `mma.m16n8k16`: `d = a * b + c`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multiplication {
    pub d: [Slot; 4],
    pub a: [Slot; 4],
    pub b: [Slot; 2],
    pub c: [Slot; 4],
}

/// The tile whose fragments are in a row of registers.
pub(super) fn tile_of(row: &[u32; LANES]) -> Tile {
    let mut tile = Tile::default();
    for (lane, pair) in row.iter().enumerate() {
        let (g, t) = (lane / 4, lane % 4);
        (tile[g][2 * t], tile[g][2 * t + 1]) = (*pair as u16, (*pair >> 16) as u16);
    }
    tile
}

/// The fragments of a tile.
pub(super) fn fragments_of(tile: &Tile) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let (g, t) = (lane / 4, lane % 4);
        u32::from(tile[g][2 * t]) | u32::from(tile[g][2 * t + 1]) << 16
    })
}

pub(super) fn transposed(tile: &Tile) -> Tile {
    std::array::from_fn(|row| std::array::from_fn(|column| tile[column][row]))
}

impl Context<'_> {
    /// Whether all threads of the warp are here, as an `.aligned` instruction demands; else reports the fault.
    pub(super) fn is_whole_warp(&mut self, line: u32) -> bool {
        if self.mask == !0 {
            return true;
        }
        let lane = self.lanes().next().unwrap_or(0) as u32;
        self.fail(lane, line, |place| Fault::IllegalInstruction {
            place,
            message: "all 32 threads of the warp must execute a matrix instruction together"
                .to_owned(),
        });
        false
    }
}

/// A format of factors.
pub(super) trait Factor: 'static {
    fn value(bits: u16) -> f64;
}

impl Factor for bf16 {
    #[inline(always)]
    fn value(bits: u16) -> f64 {
        f32::from_bits(u32::from(bits) << 16).into()
    }
}

impl Factor for f16 {
    #[inline(always)]
    fn value(bits: u16) -> f64 {
        f16::from_bits(bits).to_f64()
    }
}

/// Multiplies by the entry `x` of the code's table; `d` is the line.
struct Multiply<F>(std::marker::PhantomData<F>);

impl<F: Factor> Shape for Multiply<F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        if !cx.is_whole_warp(op.d) {
            return;
        }
        let rows = &cx.code.multiplications[op.x as usize];
        // SAFETY: lowering made these rows of 32-bit cells.
        let row = |slot: Slot| unsafe { *cx.row::<u32>(slot) };
        // 16 × 16, by quarters: upper left, lower left, upper right, lower right.
        let a = rows.a.map(|slot| tile_of(&row(slot)));
        // 16 × 8, by halves; a lane holds two elements of a column.
        let b = rows.b.map(|slot| transposed(&tile_of(&row(slot))));
        let c = rows.c.map(row);
        let mut factors = [[0.0; TILE]; 2 * TILE];
        for (k, factors) in factors.iter_mut().enumerate() {
            *factors = b[k / TILE][k % TILE].map(F::value);
        }
        let mut d = [[0; LANES]; 4];
        for m in 0..2 * TILE {
            let (upper, g) = (m / TILE, m % TILE);
            let mut sums = [0.0; TILE];
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum = f32::from_bits(c[2 * upper + n % 2][4 * g + n / 2]).into();
            }
            for (k, factors) in factors.iter().enumerate() {
                let factor = F::value(a[2 * (k / TILE) + upper][g][k % TILE]);
                for n in 0..TILE {
                    sums[n] += factor * factors[n];
                }
            }
            for (n, sum) in sums.iter().enumerate() {
                d[2 * upper + n % 2][4 * g + n / 2] = rounded(*sum);
            }
        }
        for (slot, out) in rows.d.iter().zip(d) {
            // SAFETY: as above.
            unsafe { *cx.row::<u32>(*slot) = out };
        }
    }
}

/// The bits of the nearest number of 32 bits, or the NaN that arithmetic gives.
fn rounded(sum: f64) -> u32 {
    match sum.is_nan() {
        true => 0x7fff_ffff,
        false => (sum as f32).to_bits(),
    }
}

/// Handler of `mma.m16n8k16` with sums of 32 bits: entry `x` of the multiplications, line `d`.
pub(super) fn multiply<F: Factor>() -> Handler {
    handler::<Multiply<F>>()
}

struct Transpose;

impl Shape for Transpose {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        if cx.is_whole_warp(op.x) {
            // SAFETY: lowering made `a` and `d` rows of 32-bit cells.
            unsafe {
                let tile = tile_of(&*cx.row::<u32>(op.a));
                *cx.row::<u32>(op.d) = fragments_of(&transposed(&tile));
            }
        }
    }
}

/// Handler of `movmatrix`: destination row `d`, source row `a`, line `x`.
pub(super) fn transpose() -> Handler {
    plain_handler::<Transpose>()
}
