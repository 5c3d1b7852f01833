//! `wmma.load` and `wmma.store`: matrices in memory to the registers of a warp and back.
//!
//! PTX leaves open which thread has which elements. Here a fragment has the tiles of `mma.m16n8k16`, so that
//! `wmma.mma` is some of these multiplications.

use super::super::context::Context;
use super::super::fault::Access;
use super::super::op::{Handler, Op, Slot};
use super::super::warp_handlers::{LANES, Shape, plain_handler};
use super::super::watch::Scattered;
use super::cells::cell;
use super::target::{Sectors, addresses};

/// The registers of a fragment, at most.
pub(in crate::exec) const REGISTERS: usize = 8;

/// Constants of an instruction.
pub(in crate::exec) struct Fragment {
    pub matrix: Matrix,
    /// Rows of the whole product, which tell how its blocks lie: 8, 16 or 32.
    pub rows: u32,
    /// Elements of a row follow each other in memory; otherwise those of a column do.
    pub by_rows: bool,
    /// Elements from one row or column to the next: a row of 32-bit cells.
    pub stride: Slot,
    pub registers: [Slot; REGISTERS],
    /// How many of them have elements. Others are set to zero.
    pub used: usize,
    pub count: usize,
}

/// Which matrix of `d = a * b + c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Matrix {
    /// Two elements of 16 bits in a register.
    A,
    /// Likewise.
    B,
    /// One element of 32 bits in a register.
    Sum,
}

impl Fragment {
    fn elements_per_register(&self) -> usize {
        match self.matrix {
            Matrix::A | Matrix::B => 2,
            Matrix::Sum => 1,
        }
    }

    /// Row and column of an element that a lane has in a register.
    fn place(&self, register: usize, lane: usize, half: usize) -> (usize, usize) {
        let (group, pair) = (lane / 4, lane % 4 * 2);
        match self.matrix {
            // A fragment of 8 rows has no lower half.
            Matrix::A if self.rows == 8 => (group, register * 8 + pair + half),
            Matrix::A => {
                let (block, quarter) = (register / 4, register % 4);
                let row = block * 16 + quarter % 2 * 8 + group;
                (row, quarter / 2 * 8 + pair + half)
            }
            Matrix::B => (register % 2 * 8 + pair + half, register / 2 * 8 + group),
            Matrix::Sum if self.rows == 8 => (group, register / 2 * 8 + pair + register % 2),
            Matrix::Sum => {
                let (block, index) = (register / 4, register % 4);
                let (row, column) = (index / 2 * 8 + group, pair + index % 2);
                match self.rows {
                    32 => (block * 16 + row, column),
                    _ => (row, block * 8 + column),
                }
            }
        }
    }
}

struct Move<const STORES: bool>;

impl<const STORES: bool> Shape for Move<STORES> {
    /// Address row `a`, site `x`, fragment `c`.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let code = cx.code;
        let (site, fragment) = (&code.sites[op.x as usize], &code.fragments[op.c as usize]);
        if !cx.is_whole_warp(site.line) {
            return;
        }
        let access = if STORES { Access::Store } else { Access::Load };
        // SAFETY: lowering made `a` the site's address row.
        let bases = unsafe { addresses(cx, site, op.a) };
        let per_register = fragment.elements_per_register();
        for register in 0..fragment.used {
            // SAFETY: lowering made the registers rows of 32-bit cells.
            let row = unsafe { *cx.row::<u32>(fragment.registers[register]) };
            let mut words = [0_u32; LANES];
            for half in 0..per_register {
                cx.watch_instruction();
                let (mut sectors, mut shared) = (Sectors::default(), Scattered::default());
                for lane in 0..LANES {
                    // SAFETY: the stride is a row of 32-bit cells.
                    let stride = unsafe { cell(cx, fragment.stride, false, lane) };
                    let (row_index, column) = fragment.place(register, lane, half);
                    let (major, minor) = match fragment.by_rows {
                        true => (row_index, column),
                        false => (column, row_index),
                    };
                    let index = (major as u64).wrapping_mul(stride) + minor as u64;
                    let address = bases[lane].wrapping_add(index * u64::from(site.bytes));
                    let Some(target) = cx.lane_target(site, lane, address, access) else {
                        return cx.watch_lanes(site, access, &shared);
                    };
                    cx.watch_lane(site, access, &target, lane, &mut shared, |_| false);
                    match target.global {
                        Some((allocation, offset)) => {
                            sectors.touch(address);
                            if STORES {
                                cx.hold
                                    .before_store(allocation, offset, site.bytes as usize);
                            }
                        }
                        None => cx.count_shared(&target, site.bytes.into()),
                    }
                    // SAFETY: the target has an element of 2 or 4 bytes, as the fragment's matrix says.
                    unsafe {
                        match (STORES, per_register) {
                            (true, _) => target.pointer.cast::<u32>().write_unaligned(row[lane]),
                            (false, 1) => {
                                words[lane] = target.pointer.cast::<u32>().read_unaligned()
                            }
                            (false, _) => {
                                let element = target.pointer.cast::<u16>().read_unaligned();
                                words[lane] |= u32::from(element) << (16 * half);
                            }
                        }
                    }
                }
                cx.watch_lanes(site, access, &shared);
                cx.count_sectors(&sectors, access);
            }
            if !STORES {
                // SAFETY: as above.
                unsafe { *cx.row::<u32>(fragment.registers[register]) = words };
            }
        }
        if !STORES {
            for slot in &fragment.registers[fragment.used..fragment.count] {
                // SAFETY: as above.
                unsafe { *cx.row::<u32>(*slot) = [0; LANES] };
            }
        }
    }
}

/// Handler of `wmma.load`.
pub(in crate::exec) fn load_fragment() -> Handler {
    plain_handler::<Move<false>>()
}

/// Handler of `wmma.store`.
pub(in crate::exec) fn store_fragment() -> Handler {
    plain_handler::<Move<true>>()
}
