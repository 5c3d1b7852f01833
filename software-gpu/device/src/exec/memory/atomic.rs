//! `atom` and `red`.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::memory::{Allocation, AtomicChange};

use super::super::context::Context;
use super::super::fault::Access;
use super::super::op::{Handler, Op};
use super::super::warp_handlers::{Shape, handler};
use super::cells::{cell, read, set_cell, write};
use super::pattern::AddressCell;
use super::target::{Sectors, Target, addresses};
use super::{Site, is_parameter, note_lane_by_lane};

/// Combines the old value of an atomic operation with its operands, in the low bits.
pub(in crate::exec) type Combine = fn(old: u64, b: u64, c: u64) -> u64;

/// What an atomic operation does to memory.
#[derive(Clone, Copy)]
pub(in crate::exec) struct Combination {
    pub on_global: Combine,
    pub on_shared: Combine,
    pub change: AtomicChange,
}

struct Atomic;

impl Shape for Atomic {
    /// `rows[0]` receives the old value, `b` and `c` are the operands.
    #[inline(always)]
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        cx.watch_instruction();
        // They go one by one on the host: a loop of them is to be stopped as soon as one of other instructions.
        cx.extra_instructions += u64::from(cx.mask.count_ones());
        // SAFETY: lowering made `a` the site's address row, of the width that the site names.
        unsafe {
            match site.wide_address {
                true => atomic_at::<u64>(cx, site, op),
                false => atomic_at::<u32>(cx, site, op),
            }
        }
    }
}

/// # Safety
///
/// `op` is of the current frame, and its address row has cells of type `A`.
#[inline(always)]
unsafe fn atomic_at<A: AddressCell>(cx: &mut Context<'_>, site: &Site, op: &Op) {
    let Some(combination) = &site.combine else {
        return;
    };
    if cx.mask == 0 {
        return;
    }
    // SAFETY: the caller's promise. It is a copy, because the row may be that of the result, too.
    let row = unsafe { *cx.row::<A>(op.a) };
    let together = cx.together(site, &row);
    let Some(together) = together.filter(|to| !is_parameter(site.space, to.address)) else {
        // SAFETY: as above.
        return unsafe { atomic_lanes(cx, site, op, combination) };
    };
    let target = &together.target;
    cx.count_together(site, &row, &together, Access::Atomic);
    if let Some((allocation, first)) = target.global {
        cx.before_stores(site, &row, &together);
        cx.cost.atomics += u64::from(cx.mask.count_ones());
        if cx.watch.is_some() {
            cx.watch_together(site, Access::Atomic, &together, &row, 0);
        }
        for lane in cx.lanes() {
            let place = together.at(&row, lane);
            let offset = first + (place as usize - target.pointer as usize);
            // SAFETY: as above, and the memory of all lanes is checked.
            unsafe {
                update_global(
                    cx,
                    (site, op, combination),
                    lane,
                    place,
                    (allocation, offset),
                )
            };
        }
    } else {
        for lane in cx.lanes() {
            let place = together.at(&row, lane);
            watch_shared(cx, site, place, lane);
            // SAFETY: as above.
            unsafe { update_shared(cx, (site, op, combination), lane, place) };
        }
    }
}

/// Reports to the checkers one lane's operation on the block's shared memory, in its turn: it may see what the lane before has done.
#[inline(always)]
fn watch_shared(cx: &mut Context<'_>, site: &Site, place: *mut u8, lane: usize) {
    if cx.watch.is_some() {
        let target = Target {
            pointer: place,
            global: None,
            remote: false,
        };
        cx.watch_access(site, Access::Atomic, &target, site.lane_bytes(), lane);
    }
}

/// The cases that [`Context::together`] leaves open.
///
/// # Safety
///
/// `op` is of the current frame.
#[cold]
unsafe fn atomic_lanes(cx: &mut Context<'_>, site: &Site, op: &Op, combination: &Combination) {
    note_lane_by_lane();
    // SAFETY: the caller's promise.
    let addresses = unsafe { addresses(cx, site, op.a) };
    let mut sectors = Sectors::default();
    for lane in cx.lanes() {
        let Some(target) = cx.lane_target(site, lane, addresses[lane], Access::Atomic) else {
            return;
        };
        cx.watch_access(site, Access::Atomic, &target, site.lane_bytes(), lane);
        let what = (site, op, combination);
        match target.global {
            Some((allocation, offset)) => {
                cx.hold
                    .before_store(allocation, offset, site.bytes as usize);
                // SAFETY: the target is aligned and has that many bytes; the rest is the caller's promise.
                unsafe { update_global(cx, what, lane, target.pointer, (allocation, offset)) };
                cx.cost.atomics += 1;
                sectors.touch(addresses[lane]);
            }
            None => {
                cx.count_shared(&target, u64::from(site.bytes));
                // SAFETY: as above.
                unsafe { update_shared(cx, what, lane, target.pointer) };
            }
        }
    }
    cx.count_sectors(&sectors, Access::Atomic);
}

/// One lane's operation on global memory.
///
/// # Safety
///
/// `place` is aligned and valid for the site's bytes; `op` is of the current frame.
#[inline(always)]
unsafe fn update_global(
    cx: &Context<'_>,
    (site, op, combination): (&Site, &Op, &Combination),
    lane: usize,
    place: *mut u8,
    (allocation, offset): (&Allocation, usize),
) {
    let (bytes, combine) = (site.bytes as usize, combination.on_global);
    // SAFETY: the caller's promise.
    let [b, c] = unsafe { [op.b, op.c].map(|row| cell(cx, row, site.wide, lane)) };
    let old = match (combination.change, site.bytes) {
        // SAFETY: as above; only other atomic operations share the memory.
        (AtomicChange::Adds, 4) => unsafe {
            let counter = AtomicU32::from_ptr(place.cast());
            counter.fetch_add(b as u32, SeqCst).into()
        },
        // SAFETY: as above.
        _ => unsafe { update(place, site.bytes, |old| combine(old, b, c)) },
    };
    let change = match combination.change {
        AtomicChange::Bits if !sets_all(|old| combine(old, b, c), old, bytes) => {
            AtomicChange::BitsAgain
        }
        change => change,
    };
    cx.hold
        .changed_atomically(allocation, offset, bytes, change);
    // SAFETY: as above.
    unsafe { set_cell(cx, site.rows[0], site.wide, lane, old) };
}

/// One lane's operation on shared memory. The blocks that see it run on one host thread.
///
/// # Safety
///
/// That of [`update_global`].
#[inline(always)]
unsafe fn update_shared(
    cx: &Context<'_>,
    (site, op, combination): (&Site, &Op, &Combination),
    lane: usize,
    place: *mut u8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let [b, c] = [op.b, op.c].map(|row| cell(cx, row, site.wide, lane));
        let old = read(place, site.bytes, false);
        write(place, site.bytes, (combination.on_shared)(old, b, c));
        set_cell(cx, site.rows[0], site.wide, lane, old);
    }
}

/// Whether `combine` has changed all bits of `old`, a value of `bytes` bytes, that it sets or clears.
fn sets_all(combine: impl Fn(u64) -> u64, old: u64, bytes: usize) -> bool {
    let value = u64::MAX >> (u64::BITS as usize - 8 * bytes);
    // Operations whose result is the same from either.
    let settled = !(combine(0) ^ combine(u64::MAX)) & value;
    (combine(old) ^ old) & value == settled
}

/// Replaces the value at `pointer` atomically and returns the old one.
///
/// # Safety
///
/// `pointer` is aligned to `bytes` (2, 4 or 8) and valid for that many bytes, shared only with other atomics.
unsafe fn update(pointer: *mut u8, bytes: u32, f: impl Fn(u64) -> u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            2 => AtomicU16::from_ptr(pointer.cast())
                .fetch_update(SeqCst, SeqCst, |old| Some(f(old.into()) as u16))
                .map(u64::from)
                .unwrap_or_else(u64::from),
            4 => AtomicU32::from_ptr(pointer.cast())
                .fetch_update(SeqCst, SeqCst, |old| Some(f(old.into()) as u32))
                .map(u64::from)
                .unwrap_or_else(u64::from),
            _ => AtomicU64::from_ptr(pointer.cast())
                .fetch_update(SeqCst, SeqCst, |old| Some(f(old)))
                .unwrap_or_else(|old| old),
        }
    }
}

/// Handler of `atom` and `red`: address row `a`, operands `b` and `c`, site `x`.
pub(in crate::exec) fn atomic() -> Handler {
    handler::<Atomic>()
}
