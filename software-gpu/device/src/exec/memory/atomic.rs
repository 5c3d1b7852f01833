//! `atom` and `red`.

use crate::memory::AtomicChange;

use super::super::context::Context;
use super::super::fault::Access;
use super::super::op::{Handler, Op};
use super::super::warp_handlers::{Shape, plain_handler};
use super::cells::{cell, set_cell};
use super::target::{Sectors, addresses};

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
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        cx.watch_instruction();
        let Some(combination) = site.combine else {
            return;
        };
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        // They go lane by lane on the host: a loop of them is to be stopped as soon as one of other instructions.
        cx.extra_instructions += u64::from(cx.mask.count_ones());
        let mut sectors = Sectors::default();
        for lane in cx.lanes() {
            let Some(target) = cx.lane_target(site, lane, addresses[lane], Access::Atomic) else {
                return;
            };
            cx.watch_access(site, Access::Atomic, &target, site.lane_bytes(), lane);
            if let Some((allocation, offset)) = target.global {
                cx.hold
                    .before_store(allocation, offset, site.bytes as usize);
            }
            let combine = if target.global.is_some() {
                combination.on_global
            } else {
                combination.on_shared
            };
            // SAFETY: the rows are rows of the frame.
            let [b, c] = [op.b, op.c].map(|row| unsafe { cell(cx, row, site.wide, lane) });
            // SAFETY: the target is aligned and has that many bytes.
            let old = unsafe { update(target.pointer, site.bytes, |old| combine(old, b, c)) };
            match target.global {
                Some((allocation, offset)) => {
                    let bytes = site.bytes as usize;
                    let change = match combination.change {
                        AtomicChange::Bits if !sets_all(|old| combine(old, b, c), old, bytes) => {
                            AtomicChange::BitsAgain
                        }
                        change => change,
                    };
                    cx.hold
                        .changed_atomically(allocation, offset, bytes, change);
                    cx.cost.atomics += 1;
                    sectors.touch(addresses[lane]);
                }
                None => cx.count_shared(&target, u64::from(site.bytes)),
            }
            // SAFETY: as above.
            unsafe { set_cell(cx, site.rows[0], site.wide, lane, old) };
        }
        cx.count_sectors(&sectors, Access::Atomic);
    }
}

/// Whether `combine` has changed all bits of `old`, a value of `bytes` bytes, that it sets or clears.
fn sets_all(combine: impl Fn(u64) -> u64, old: u64, bytes: usize) -> bool {
    let value = u64::MAX >> (u64::BITS as usize - 8 * bytes);
    // Those that come out the same from either.
    let settled = !(combine(0) ^ combine(u64::MAX)) & value;
    (combine(old) ^ old) & value == settled
}

/// Replaces the value at `pointer` atomically and returns the old one.
///
/// # Safety
///
/// `pointer` is aligned to `bytes` (2, 4 or 8) and valid for that many bytes, shared only with other atomics.
unsafe fn update(pointer: *mut u8, bytes: u32, f: impl Fn(u64) -> u64) -> u64 {
    use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};
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
    plain_handler::<Atomic>()
}
