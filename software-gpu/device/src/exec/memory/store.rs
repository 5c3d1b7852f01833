//! `st`.

use super::super::context::Context;
use super::super::fault::Access;
use super::super::op::{Handler, Op, Slot};
use super::super::warp_handlers::{LANES, Shape, handler};
use super::super::watch::Scattered;
use super::cells::{cell, read, write};
use super::lanes::Together;
use super::pattern::{AddressCell, Pattern};
use super::target::{Sectors, addresses};
use super::{Site, is_parameter, note_lane_by_lane};

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
        // SAFETY: lowering made `a` the site's address row, of the width that the site names.
        unsafe {
            match site.wide_address {
                true => store_at::<u64>(cx, site, op.a),
                false => store_at::<u32>(cx, site, op.a),
            }
        }
    }
}

/// # Safety
///
/// `slot` is the site's address row, with cells of type `A`; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn store_at<A: AddressCell>(cx: &mut Context<'_>, site: &Site, slot: Slot) {
    // SAFETY: the caller's promise.
    let row = unsafe { *cx.row::<A>(slot) };
    let pattern = Pattern::of(site, &row, cx.mask);
    if cx.watch.is_some() && pattern != Pattern::Row {
        // SAFETY: the caller's promise.
        cx.watch_equal(site, Access::Store, &unsafe { addresses(cx, site, slot) });
    }
    if pattern == Pattern::Row
        && let Some((target, address)) = cx.row_target(site, &row)
        && !is_parameter(site.space, address)
    {
        let whole = site.lane_bytes() * LANES as u64;
        cx.count_row(&target, address, whole, Access::Store);
        cx.watch_access(site, Access::Store, &target, whole, 0);
        if let Some((allocation, offset)) = target.global {
            cx.hold.before_store(allocation, offset, whole as usize);
        }
        // SAFETY: the target has `whole` bytes, and the site's rows are rows of the frame.
        return unsafe { store_rows(cx, site, target.pointer) };
    }
    if cx.mask == 0 {
        return;
    }
    let together = cx.together(site, &row);
    let writable = together.filter(|to| !is_parameter(site.space, to.address));
    let Some(together) = writable else {
        // SAFETY: as above.
        return unsafe { store_lanes(cx, site, &addresses(cx, site, slot)) };
    };
    cx.count_together(site, &row, &together, Access::Store);
    if together.target.global.is_some() {
        cx.before_stores(site, &row, &together);
    }
    let mut same = 0;
    if cx.watch.is_some() && together.target.global.is_none() {
        // SAFETY: as above, and the memory of all lanes is checked.
        same = unsafe { scatter_watched(cx, site, &row, &together) };
    } else {
        // SAFETY: as above.
        unsafe { scatter(cx, site, &row, &together) }
    }
    if cx.watch.is_some() {
        cx.watch_together(site, Access::Store, &together, &row, same);
    }
}

/// Each lane under the mask stores to its own address.
///
/// # Safety
///
/// `together` has the memory of these lanes, with the addresses of `row`; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn scatter<A: AddressCell>(
    cx: &Context<'_>,
    site: &Site,
    row: &[A; LANES],
    together: &Together<'_>,
) {
    let shared = together.lane_stride == 0;
    // SAFETY: the caller's promise.
    unsafe {
        match (site.bytes, site.count, site.wide) {
            (4, 1, false) if shared => scatter_cells::<A, u32>(cx, site, row, together),
            (8, 1, true) if shared => scatter_cells::<A, u64>(cx, site, row, together),
            _ => cx
                .lanes()
                .for_each(|lane| store_lane(cx, site, together.at(row, lane), lane)),
        }
    }
}

/// The same, of elements as wide as the cells of their row.
///
/// # Safety
///
/// That of [`scatter`], and no lane has memory of its own.
#[inline(always)]
unsafe fn scatter_cells<A: AddressCell, T: Copy>(
    cx: &Context<'_>,
    site: &Site,
    row: &[A; LANES],
    together: &Together<'_>,
) {
    let (base, from) = (together.base(), cx.row::<T>(site.rows[0]).cast::<T>());
    let place = |lane: usize| {
        let cell: u64 = row[lane].into();
        base.wrapping_add(cell as usize).cast::<T>()
    };
    // SAFETY: the caller's promise.
    unsafe {
        if cx.mask == !0 {
            for lane in 0..LANES {
                place(lane).write_unaligned(*from.add(lane));
            }
        } else {
            for lane in cx.lanes() {
                place(lane).write_unaligned(*from.add(lane));
            }
        }
    }
}

/// The same as [`scatter`], and returns the lanes whose store changes nothing.
///
/// # Safety
///
/// That of [`scatter`].
unsafe fn scatter_watched<A: AddressCell>(
    cx: &Context<'_>,
    site: &Site,
    row: &[A; LANES],
    together: &Together<'_>,
) -> u32 {
    let mut same = 0;
    for lane in cx.lanes() {
        let place = together.at(row, lane);
        // SAFETY: the caller's promise.
        unsafe {
            same |= u32::from(is_stored(cx, site, place, lane)) << lane;
            store_lane(cx, site, place, lane);
        }
    }
    same
}

/// One lane stores its elements.
///
/// # Safety
///
/// `to` is valid for writes of one lane's bytes; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn store_lane(cx: &Context<'_>, site: &Site, to: *mut u8, lane: usize) {
    for element in 0..site.count as usize {
        // SAFETY: the caller's promise.
        unsafe {
            let value = cell(cx, site.rows[element], site.wide, lane);
            write(to.add(element * site.bytes as usize), site.bytes, value);
        }
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

/// The cases that [`Context::together`] leaves open.
///
/// # Safety
///
/// The site's rows are rows of the current frame.
#[cold]
unsafe fn store_lanes(cx: &mut Context<'_>, site: &Site, addresses: &[u64; LANES]) {
    note_lane_by_lane();
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
        // SAFETY: the target has all elements of a lane, and the rows are the frame's.
        unsafe { store_lane(cx, site, target.pointer, lane) };
    }
    cx.watch_lanes(site, Access::Store, &shared);
    cx.count_sectors(&sectors, Access::Store);
}

/// Handler of `st`: address row `a`, site `x`.
pub(in crate::exec) fn store() -> Handler {
    handler::<Store>()
}
