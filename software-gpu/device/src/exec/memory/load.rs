//! `ld` and `ldu`.

use crate::ptx::ir::Space;

use super::super::context::Context;
use super::super::fault::Access;
use super::super::op::{Handler, Op};
use super::super::warp_handlers::{LANES, Shape, handler};
use super::super::watch::Scattered;
use super::cells::{read, set_cell};
use super::target::{Sectors, addresses, contiguous, uniform};
use super::{Site, is_local};

struct Load;

impl Shape for Load {
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        cx.watch_instruction();
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let bytes = site.lane_bytes();
        if cx.mask == !0 && site.space != Space::Local && contiguous(&addresses, bytes) {
            let whole = bytes * LANES as u64;
            if let Some(target) = cx
                .target(site, 0, addresses[0], whole)
                .filter(|_| !is_local(site, addresses[0]))
            {
                cx.count_row(&target, addresses[0], whole, Access::Load);
                cx.watch_access(site, Access::Load, &target, whole, 0);
                // SAFETY: the target has `whole` bytes, and the site's rows are rows of the frame.
                unsafe { load_rows(cx, site, target.pointer) };
                return;
            }
        }
        if cx.mask == !0
            && uniform(&addresses)
            && addresses[0] & (bytes - 1) == 0
            && let Some(target) = cx
                .target(site, 0, addresses[0], bytes)
                .filter(|_| site.space != Space::Local && !is_local(site, addresses[0]))
        {
            cx.watch_access(site, Access::Load, &target, bytes, 0);
            cx.watch_equal(site, Access::Load, &addresses);
            if target.global.is_none() {
                // Two lanes stand for all of them: they differ from any one thread.
                cx.watch_access(site, Access::Load, &target, bytes, 1);
            }
            match target.global {
                Some(_) => cx.count_sector(addresses[0], Access::Load),
                None => cx.count_shared(&target, bytes * LANES as u64),
            }
            // SAFETY: the target has all elements of a lane, and the site's rows are rows of the frame.
            unsafe { load_element(cx, site, target.pointer) };
            return;
        }
        // SAFETY: as above.
        unsafe { load_lanes(cx, site, &addresses) }
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

/// # Safety
///
/// The site's rows are rows of the current frame.
unsafe fn load_lanes(cx: &mut Context<'_>, site: &Site, addresses: &[u64; LANES]) {
    cx.watch_equal(site, Access::Load, addresses);
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
