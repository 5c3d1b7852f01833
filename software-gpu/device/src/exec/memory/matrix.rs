//! `ldmatrix` and `stmatrix`: tiles between shared memory and the registers of a warp.

use super::super::context::Context;
use super::super::fault::{Access, Fault};
use super::super::matrix::{TILE, Tile, fragments_of, tile_of, transposed};
use super::super::op::{Handler, Op};
use super::super::warp_handlers::{Shape, plain_handler};
use super::super::watch::Scattered;
use super::Site;
use super::target::addresses;

/// Bytes of a row of a tile.
const ROW_BYTES: u64 = 16;

/// The memory of row `row` of tile `tile`, whose address the lane of that number gives.
fn row_of(
    cx: &mut Context<'_>,
    site: &Site,
    lane: usize,
    address: u64,
    access: Access,
    shared: &mut Scattered,
) -> Option<*mut [u16; TILE]> {
    let target = cx.lane_target(site, lane, address, access)?;
    if target.global.is_some() {
        cx.fail(lane as u32, site.line, |place| Fault::IllegalInstruction {
            place,
            message: format!("the row of a matrix at {address:#x} must be in shared memory"),
        });
        return None;
    }
    cx.watch_lane(site, access, &target, lane, shared, |_| false);
    cx.cost.shared_bytes += ROW_BYTES;
    Some(target.pointer.cast())
}

struct LoadTiles<const COUNT: usize, const TRANSPOSED: bool>;

impl<const COUNT: usize, const TRANSPOSED: bool> Shape for LoadTiles<COUNT, TRANSPOSED> {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        if !cx.is_whole_warp(site.line) {
            return;
        }
        cx.watch_instruction();
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let (mut tiles, mut shared) = ([Tile::default(); COUNT], Scattered::default());
        for lane in 0..COUNT * TILE {
            let row = row_of(cx, site, lane, addresses[lane], Access::Load, &mut shared);
            let Some(row) = row else {
                return cx.watch_lanes(site, Access::Load, &shared);
            };
            // SAFETY: `row_of` found 16 bytes there, aligned to as many.
            tiles[lane / TILE][lane % TILE] = unsafe { row.read_volatile() };
        }
        cx.watch_lanes(site, Access::Load, &shared);
        for (slot, tile) in site.rows.iter().zip(tiles) {
            let tile = if TRANSPOSED { transposed(&tile) } else { tile };
            // SAFETY: lowering made these rows of 32-bit cells.
            unsafe { *cx.row::<u32>(*slot) = fragments_of(&tile) };
        }
    }
}

struct StoreTiles<const COUNT: usize, const TRANSPOSED: bool>;

impl<const COUNT: usize, const TRANSPOSED: bool> Shape for StoreTiles<COUNT, TRANSPOSED> {
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        if !cx.is_whole_warp(site.line) {
            return;
        }
        cx.watch_instruction();
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let mut shared = Scattered::default();
        for (number, slot) in site.rows.iter().take(COUNT).enumerate() {
            // SAFETY: lowering made these rows of 32-bit cells.
            let tile = tile_of(unsafe { &*cx.row::<u32>(*slot) });
            let tile = if TRANSPOSED { transposed(&tile) } else { tile };
            for (row, elements) in tile.into_iter().enumerate() {
                let lane = number * TILE + row;
                let to = row_of(cx, site, lane, addresses[lane], Access::Store, &mut shared);
                let Some(to) = to else {
                    return cx.watch_lanes(site, Access::Store, &shared);
                };
                // SAFETY: `row_of` found 16 bytes there, aligned to as many.
                unsafe { to.write_volatile(elements) };
            }
        }
        cx.watch_lanes(site, Access::Store, &shared);
    }
}

/// Handler of `ldmatrix` of 1, 2 or 4 tiles: address row `a`, site `x` with the destination rows.
pub(in crate::exec) fn load_tiles(count: u32, transposed: bool) -> Option<Handler> {
    Some(match (count, transposed) {
        (1, false) => plain_handler::<LoadTiles<1, false>>(),
        (2, false) => plain_handler::<LoadTiles<2, false>>(),
        (4, false) => plain_handler::<LoadTiles<4, false>>(),
        (1, true) => plain_handler::<LoadTiles<1, true>>(),
        (2, true) => plain_handler::<LoadTiles<2, true>>(),
        (4, true) => plain_handler::<LoadTiles<4, true>>(),
        _ => return None,
    })
}

/// Handler of `stmatrix`, likewise with the source rows.
pub(in crate::exec) fn store_tiles(count: u32, transposed: bool) -> Option<Handler> {
    Some(match (count, transposed) {
        (1, false) => plain_handler::<StoreTiles<1, false>>(),
        (2, false) => plain_handler::<StoreTiles<2, false>>(),
        (4, false) => plain_handler::<StoreTiles<4, false>>(),
        (1, true) => plain_handler::<StoreTiles<1, true>>(),
        (2, true) => plain_handler::<StoreTiles<2, true>>(),
        (4, true) => plain_handler::<StoreTiles<4, true>>(),
        _ => return None,
    })
}
