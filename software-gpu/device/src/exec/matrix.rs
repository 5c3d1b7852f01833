//! Matrices spread over the registers of a warp: `mma`, `movmatrix` (PTX ISA, "Warp Level Matrix Instructions").
//!
//! A fragment is the part of a matrix that one thread holds. Lane `4 g + t` holds, of a matrix of 8 × 8 elements of 16
//! bits, the elements `2 t` and `2 t + 1` of row `g` in one register; larger matrices are made of such tiles.
//!
//! How products are added: [`super::tensor_core`].

use super::context::Context;
use super::fault::Fault;
use super::op::{Handler, Op, Slot};
use super::tensor_core::{self, AccumulationRule, DEPTH, Factor, Factors, ROWS, Sums};
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

/// Multiplies by the entry `x` of the code's table; `d` is the line.
struct Multiply<F>(std::marker::PhantomData<F>);

impl<F: Factor> Shape for Multiply<F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        if !cx.is_whole_warp(op.d) {
            return;
        }
        let m = &cx.code.multiplications[op.x as usize];
        let (mut a, mut b) = (Factors::new(), Factors::new());
        cx.left_rows(m.a, &mut a.bits);
        a.decode::<F>();
        for (half, slot) in m.b.into_iter().enumerate() {
            // SAFETY: lowering made these rows of 32-bit cells. A lane holds two elements of a column.
            let tile = transposed(&tile_of(unsafe { &*cx.row::<u32>(slot) }));
            b.bits[half * TILE..][..TILE].copy_from_slice(&tile);
        }
        b.decode::<F>();
        let mut sums: Sums = [[0; TILE]; ROWS];
        cx.load_sums(&m.c, &mut sums);
        let rule = AccumulationRule::of(cx.grid.compute_capability.0);
        tensor_core::multiply::<F>(rule, &a, &b, &mut sums);
        cx.store_sums(&m.d, &sums);
    }
}

impl Context<'_> {
    /// 16 rows of A that the warp has in registers, by `[k][row]`: upper left, lower left, upper right, lower right.
    #[inline(always)]
    pub(super) fn left_rows(&self, slots: [Slot; 4], rows: &mut [[u16; ROWS]; DEPTH]) {
        for (quarter, slot) in slots.into_iter().enumerate() {
            // SAFETY: lowering made these rows of 32-bit cells.
            let tile = tile_of(unsafe { &*self.row::<u32>(slot) });
            let (lower, right) = (quarter % 2 * TILE, quarter / 2 * TILE);
            for (row, elements) in tile.into_iter().enumerate() {
                for (k, element) in elements.into_iter().enumerate() {
                    rows[right + k][lower + row] = element;
                }
            }
        }
    }

    /// Sums of eight columns from registers.
    #[inline(always)]
    pub(super) fn load_sums(&self, slots: &[Slot; 4], sums: &mut Sums) {
        for (index, slot) in slots.iter().enumerate() {
            // SAFETY: lowering made these rows of 32-bit cells.
            let row = unsafe { &*self.row::<u32>(*slot) };
            for (lane, value) in row.iter().enumerate() {
                let (row, column) = place_of_sum(index, lane);
                sums[row][column] = *value;
            }
        }
    }

    /// The way back.
    #[inline(always)]
    pub(super) fn store_sums(&mut self, slots: &[Slot; 4], sums: &Sums) {
        for (index, slot) in slots.iter().enumerate() {
            // SAFETY: lowering made these rows of 32-bit cells.
            let row = unsafe { &mut *self.row::<u32>(*slot) };
            for (lane, value) in row.iter_mut().enumerate() {
                let (row, column) = place_of_sum(index, lane);
                *value = sums[row][column];
            }
        }
    }
}

/// Row and column of the sum that a lane has in register `index`.
#[inline(always)]
fn place_of_sum(index: usize, lane: usize) -> (usize, usize) {
    let row = index / 2 * TILE + lane / 4;
    (row, lane % 4 * 2 + index % 2)
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
