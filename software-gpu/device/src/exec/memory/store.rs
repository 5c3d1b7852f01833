//! `st`.

use crate::ptx::ir::Space;

use super::super::context::Context;
use super::super::fault::Access;
use super::super::op::{Handler, Op};
use super::super::warp_handlers::{LANES, Shape, handler};
use super::super::watch::Scattered;
use super::cells::{cell, read, write};
use super::target::{Sectors, addresses, contiguous};
use super::{Site, is_local, is_parameter};

/// Whether memory has the values already that a lane is about to store.
///
/// # Safety
///
/// `at` is valid for reads of one lane's bytes; the site's rows are rows of the current frame.
pub(super) unsafe fn is_stored(cx: &Context<'_>, site: &Site, at: *const u8, lane: usize) -> bool {
    let unused = 64 - 8 * site.bytes;
    (0..site.count as usize).all(|element| {
        // SAFETY: the caller's promise.
        unsafe {
            let stored = read(at.add(element * site.bytes as usize), site.bytes, false);
            let value = cell(cx, site.rows[element], site.wide, lane);
            (stored ^ value) << unused == 0
        }
    })
}

struct Store;

impl Shape for Store {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        cx.watch_instruction();
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let bytes = site.lane_bytes();
        let movable =
            !matches!(site.space, Space::Local | Space::Param) && !is_local(site, addresses[0]);
        if cx.mask == !0
            && movable
            && contiguous(&addresses, bytes)
            && !is_parameter(site.space, addresses[0])
        {
            let whole = bytes * LANES as u64;
            if let Some(target) = cx.target(site, 0, addresses[0], whole) {
                cx.count_row(&target, addresses[0], whole, Access::Store);
                cx.watch_access(site, Access::Store, &target, whole, 0);
                if let Some((allocation, offset)) = target.global {
                    cx.hold.before_store(allocation, offset, whole as usize);
                }
                // SAFETY: the target has `whole` bytes, and the site's rows are rows of the frame.
                unsafe { store_rows(cx, site, target.pointer) };
                return;
            }
        }
        // SAFETY: as above.
        unsafe { store_lanes(cx, site, &addresses) }
    }
}

/// # Safety
///
/// `to` is valid for writes of all lanes' bytes; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn store_rows(cx: &Context<'_>, site: &Site, to: *mut u8) {
    // SAFETY: the caller's promise; rows and device memory never overlap.
    unsafe {
        match (site.bytes, site.count, site.wide) {
            (4, 1, false) => to.copy_from_nonoverlapping(cx.row::<u32>(site.rows[0]).cast(), 128),
            (8, 1, true) => to.copy_from_nonoverlapping(cx.row::<u64>(site.rows[0]).cast(), 256),
            (4, 4, false) => {
                let quads = &mut *to.cast::<[[[u8; 4]; 4]; LANES]>();
                for (element, slot) in site.rows.iter().enumerate() {
                    let row = &*cx.row::<u32>(*slot);
                    for lane in 0..LANES {
                        quads[lane][element] = row[lane].to_ne_bytes();
                    }
                }
            }
            (bytes, count, wide) => {
                for lane in 0..LANES {
                    for element in 0..count as usize {
                        let place = to.add((lane * count as usize + element) * bytes as usize);
                        write(place, bytes, cell(cx, site.rows[element], wide, lane));
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// The site's rows are rows of the current frame.
unsafe fn store_lanes(cx: &mut Context<'_>, site: &Site, addresses: &[u64; LANES]) {
    cx.watch_equal(site, Access::Store, addresses);
    let (mut sectors, mut shared) = (Sectors::default(), Scattered::default());
    for lane in cx.lanes() {
        let Some(target) = cx.lane_target(site, lane, addresses[lane], Access::Store) else {
            return cx.watch_lanes(site, Access::Store, &shared);
        };
        // SAFETY: the target has all elements of a lane, and the rows are the frame's.
        let same = |cx: &Context<'_>| unsafe { is_stored(cx, site, target.pointer, lane) };
        cx.watch_lane(site, Access::Store, &target, lane, &mut shared, same);
        match target.global {
            Some((allocation, offset)) => {
                sectors.touch(addresses[lane]);
                cx.hold
                    .before_store(allocation, offset, site.lane_bytes() as usize);
            }
            None => cx.count_shared(&target, site.lane_bytes()),
        }
        for element in 0..site.count as usize {
            // SAFETY: the target has all elements of a lane, and the rows are the frame's.
            unsafe {
                let value = cell(cx, site.rows[element], site.wide, lane);
                write(
                    target.pointer.add(element * site.bytes as usize),
                    site.bytes,
                    value,
                );
            }
        }
    }
    cx.watch_lanes(site, Access::Store, &shared);
    cx.count_sectors(&sectors, Access::Store);
}

/// Handler of `st`: address row `a`, site `x`.
pub(in crate::exec) fn store() -> Handler {
    handler::<Store>()
}
