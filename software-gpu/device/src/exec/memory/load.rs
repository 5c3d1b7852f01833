//! `ld` and `ldu`.

use super::super::context::Context;
use super::super::fault::Access;
use super::super::op::{Handler, Op, Slot};
use super::super::warp_handlers::{LANES, Shape, handler};
use super::super::watch::Scattered;
use super::cells::{read, set_cell};
use super::lanes::Together;
use super::pattern::{AddressCell, HALF, HalfWarpPattern, Pattern};
use super::target::{Sectors, addresses};
use super::{Site, note_lane_by_lane};

struct Load;

impl Shape for Load {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        cx.watch_instruction();
        // SAFETY: lowering made `a` the site's address row, of the width that the site names.
        unsafe {
            match site.wide_address {
                true => load_at::<u64>(cx, site, op.a),
                false => load_at::<u32>(cx, site, op.a),
            }
        }
    }
}

/// # Safety
///
/// `slot` is the site's address row, with cells of type `A`; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn load_at<A: AddressCell>(cx: &mut Context<'_>, site: &Site, slot: Slot) {
    // SAFETY: the caller's promise. It is a copy, because the row may be that of the result, too.
    let row = unsafe { *cx.row::<A>(slot) };
    let pattern = Pattern::of(site, &row, cx.mask);
    if cx.watch.is_some() && pattern != Pattern::Row {
        // SAFETY: the caller's promise.
        cx.watch_equal(site, Access::Load, &unsafe { addresses(cx, site, slot) });
    }
    match pattern {
        Pattern::Row => {
            if let Some((target, address)) = cx.row_target(site, &row) {
                let whole = site.lane_bytes() * LANES as u64;
                cx.count_row(&target, address, whole, Access::Load);
                cx.watch_access(site, Access::Load, &target, whole, 0);
                // SAFETY: the target has `whole` bytes, and the site's rows are rows of the frame.
                return unsafe { load_rows(cx, site, target.pointer) };
            }
        }
        Pattern::Halves(halves) => {
            if let Some(together) = cx.halves_together(site, &row) {
                cx.count_together(site, &row, &together, Access::Load);
                if cx.watch.is_some() {
                    cx.watch_halves(site, &together, &row, halves);
                }
                // SAFETY: the memory of all lanes is checked, and the site's rows are rows of the frame.
                return unsafe { load_halves(cx, site, &row, halves, &together) };
            }
        }
        Pattern::Any => {}
    }
    if cx.mask == 0 {
        return;
    }
    let Some(together) = cx.together(site, &row) else {
        // SAFETY: as above.
        return unsafe { load_lanes(cx, site, &addresses(cx, site, slot)) };
    };
    if cx.mask == !0 && together.is_uniform() {
        // SAFETY: as above.
        return unsafe { load_uniform(cx, site, &together) };
    }
    cx.count_together(site, &row, &together, Access::Load);
    if cx.watch.is_some() {
        cx.watch_together(site, Access::Load, &together, &row, 0);
    }
    // SAFETY: as above, and the memory of all lanes is checked.
    unsafe { gather(cx, site, &row, &together) }
}

/// Each half of a whole warp loads words in a row, or one word.
///
/// # Safety
///
/// `together` has the memory of all lanes, with the addresses of `row`, and no lane has memory of its own; the site's rows are
/// rows of the current frame.
#[inline(always)]
unsafe fn load_halves<A: AddressCell>(
    cx: &Context<'_>,
    site: &Site,
    row: &[A; LANES],
    halves: [HalfWarpPattern; 2],
    together: &Together<'_>,
) {
    let to = cx.row::<u32>(site.rows[0]).cast::<[u32; HALF]>();
    for (index, half) in halves.into_iter().enumerate() {
        let from = together.at(row, index * HALF);
        // SAFETY: the caller's promise.
        unsafe {
            *to.add(index) = match half {
                HalfWarpPattern::Row => from.cast::<[u32; HALF]>().read_unaligned(),
                HalfWarpPattern::Same => [from.cast::<u32>().read_unaligned(); HALF],
            };
        }
    }
}

/// All lanes of a whole warp load the same elements.
///
/// # Safety
///
/// The site's rows are rows of the current frame.
#[inline(always)]
unsafe fn load_uniform<'g>(cx: &mut Context<'g>, site: &Site, together: &Together<'g>) {
    let (target, bytes) = (&together.target, site.lane_bytes());
    cx.watch_access(site, Access::Load, target, bytes, 0);
    if target.global.is_none() {
        // Two lanes stand for all of them: they differ from any one thread.
        cx.watch_access(site, Access::Load, target, bytes, 1);
    }
    match target.global {
        Some(_) => cx.count_sector(together.address, Access::Load),
        None => cx.count_shared(target, bytes * LANES as u64),
    }
    // SAFETY: the target has all elements of a lane; the rest is the caller's promise.
    unsafe { load_element(cx, site, target.pointer) }
}

/// Each lane under the mask loads from its own address.
///
/// # Safety
///
/// `together` has the memory of these lanes, with the addresses of `row`; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn gather<A: AddressCell>(
    cx: &Context<'_>,
    site: &Site,
    row: &[A; LANES],
    together: &Together<'_>,
) {
    let shared = together.lane_stride == 0;
    // SAFETY: the caller's promise.
    unsafe {
        match (site.bytes, site.count, site.wide) {
            (4, 1, false) if shared => gather_cells::<A, u32>(cx, site, row, together),
            (8, 1, true) if shared => gather_cells::<A, u64>(cx, site, row, together),
            (bytes, count, wide) => {
                for lane in cx.lanes() {
                    let place = together.at(row, lane);
                    for element in 0..count as usize {
                        let value = read(place.add(element * bytes as usize), bytes, site.signed);
                        set_cell(cx, site.rows[element], wide, lane, value);
                    }
                }
            }
        }
    }
}

/// The same, of elements as wide as the cells of their row.
///
/// # Safety
///
/// That of [`gather`], and no lane has memory of its own.
#[inline(always)]
unsafe fn gather_cells<A: AddressCell, T: Copy>(
    cx: &Context<'_>,
    site: &Site,
    row: &[A; LANES],
    together: &Together<'_>,
) {
    let (base, to) = (together.base(), cx.row::<T>(site.rows[0]).cast::<T>());
    let place = |lane: usize| {
        let cell: u64 = row[lane].into();
        base.wrapping_add(cell as usize).cast::<T>()
    };
    // SAFETY: the caller's promise.
    unsafe {
        if cx.mask == !0 {
            for lane in 0..LANES {
                *to.add(lane) = place(lane).read_unaligned();
            }
        } else {
            for lane in cx.lanes() {
                *to.add(lane) = place(lane).read_unaligned();
            }
        }
    }
}

/// # Safety
///
/// `from` is valid for reads of all lanes' bytes; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn load_rows(cx: &Context<'_>, site: &Site, from: *const u8) {
    // SAFETY: the caller's promise; rows and device memory never overlap.
    unsafe {
        match (site.bytes, site.count, site.wide) {
            (4, 1, false) => from.copy_to_nonoverlapping(cx.row::<u32>(site.rows[0]).cast(), 128),
            (8, 1, true) => from.copy_to_nonoverlapping(cx.row::<u64>(site.rows[0]).cast(), 256),
            (4, 4, false) => {
                let quads = &*from.cast::<[[[u8; 4]; 4]; LANES]>();
                for (element, slot) in site.rows.iter().enumerate() {
                    let row = &mut *cx.row::<u32>(*slot);
                    for lane in 0..LANES {
                        row[lane] = u32::from_ne_bytes(quads[lane][element]);
                    }
                }
            }
            (bytes, count, wide) => {
                for lane in 0..LANES {
                    for element in 0..count as usize {
                        let place = from.add((lane * count as usize + element) * bytes as usize);
                        set_cell(
                            cx,
                            site.rows[element],
                            wide,
                            lane,
                            read(place, bytes, site.signed),
                        );
                    }
                }
            }
        }
    }
}

/// All lanes load the same elements.
///
/// # Safety
///
/// `from` is valid for reads of one lane's bytes; the site's rows are rows of the current frame.
#[inline(always)]
unsafe fn load_element(cx: &Context<'_>, site: &Site, from: *const u8) {
    for element in 0..site.count as usize {
        // SAFETY: the caller's promise.
        unsafe {
            let place = from.add(element * site.bytes as usize);
            let value = read(place, site.bytes, site.signed);
            match site.wide {
                true => *cx.row::<u64>(site.rows[element]) = [value; LANES],
                false => *cx.row::<u32>(site.rows[element]) = [value as u32; LANES],
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
unsafe fn load_lanes(cx: &mut Context<'_>, site: &Site, addresses: &[u64; LANES]) {
    note_lane_by_lane();
    let (mut sectors, mut shared) = (Sectors::default(), Scattered::default());
    for lane in cx.lanes() {
        let Some(target) = cx.lane_target(site, lane, addresses[lane], Access::Load) else {
            return cx.watch_lanes(site, Access::Load, &shared);
        };
        cx.watch_lane(site, Access::Load, &target, lane, &mut shared, |_| false);
        match target.global {
            Some(_) => sectors.touch(addresses[lane]),
            None => cx.count_shared(&target, site.lane_bytes()),
        }
        for element in 0..site.count as usize {
            // SAFETY: the target has all elements of a lane, and the rows are the frame's.
            unsafe {
                let value = read(
                    target.pointer.add(element * site.bytes as usize),
                    site.bytes,
                    site.signed,
                );
                set_cell(cx, site.rows[element], site.wide, lane, value);
            }
        }
    }
    cx.watch_lanes(site, Access::Load, &shared);
    cx.count_sectors(&sectors, Access::Load);
}

/// Handler of `ld`: address row `a`, site `x`.
pub(in crate::exec) fn load() -> Handler {
    handler::<Load>()
}
