//! `mbarrier`: operations on the objects of [`crate::exec::mbarrier`] in shared memory.

use super::super::async_copy::{Announced, Completion};
use super::super::context::Context;
use super::super::fault::{Access, Fault};
use super::super::mbarrier::{Mbarrier, Misuse, PhaseChange};
use super::super::op::{Handler, Op};
use super::super::warp_handlers::{Shape, plain_handler};
use super::Site;
use super::cells::{cell, set_cell};
use super::target::addresses;

/// From the completion of a phase to the end of the wait for it, in cycles.
const WAKE_UP: u64 = 20;

/// What an operation does to an mbarrier object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::exec) enum Update {
    Initialise,
    Invalidate,
    ExpectBytes,
    CompleteBytes,
    Arrive,
    /// `mbarrier.arrive.expect_tx`: the operand counts bytes, one thread arrives.
    ArriveAndExpectBytes,
    Drop,
    DropAndExpectBytes,
}

impl Update {
    /// Whether what the thread did before is to be known to those who wait.
    fn arrives(self) -> bool {
        !matches!(
            self,
            Self::Initialise | Self::Invalidate | Self::ExpectBytes
        )
    }

    /// The object after the operation; `None` after its invalidation.
    fn apply(self, bits: u64, operand: u32) -> Result<(Option<Mbarrier>, PhaseChange), Misuse> {
        if self == Self::Initialise {
            return Ok((Some(Mbarrier::new(operand)?), PhaseChange::Incomplete));
        }
        let mut barrier = Mbarrier::from_bits(bits)?;
        let outcome = match self {
            Self::Initialise | Self::Invalidate => return Ok((None, PhaseChange::Incomplete)),
            Self::ExpectBytes => barrier
                .expect_bytes(operand)
                .map(|()| PhaseChange::Incomplete)?,
            Self::CompleteBytes => barrier.complete_bytes(operand)?,
            Self::Arrive => barrier.arrive(operand)?,
            Self::Drop => barrier.arrive_and_drop(operand)?,
            Self::ArriveAndExpectBytes => {
                barrier.expect_bytes(operand)?;
                barrier.arrive(1)?
            }
            Self::DropAndExpectBytes => {
                barrier.expect_bytes(operand)?;
                barrier.arrive_and_drop(1)?
            }
        };
        Ok((Some(barrier), outcome))
    }
}

impl<'g> Context<'g> {
    /// Where the mbarrier object at an address is; reports the fault when it cannot be there.
    pub(super) fn mbarrier(&mut self, site: &Site, lane: usize, address: u64) -> Option<*mut u8> {
        let target = self.lane_target(site, lane, address, Access::Atomic)?;
        if target.global.is_some() {
            self.misused(lane, site.line, address, "it must be in shared memory");
            return None;
        }
        self.count_shared(&target, 8);
        Some(target.pointer)
    }

    /// One more arrival is pending; `false` when that is an error.
    pub(super) fn add_pending(
        &mut self,
        site: &Site,
        lane: usize,
        pointer: *mut u8,
        address: u64,
    ) -> bool {
        let object = pointer.cast::<u64>();
        // SAFETY: `mbarrier` found the object's 8 bytes.
        let barrier = Mbarrier::from_bits(unsafe { object.read_unaligned() });
        let added = barrier.and_then(|mut barrier| barrier.add_pending().map(|()| barrier));
        match added {
            // SAFETY: as above.
            Ok(barrier) => unsafe { object.write_unaligned(barrier.bits()) },
            Err(misuse) => self.misused(lane, site.line, address, &misuse.to_string()),
        }
        added.is_ok()
    }

    /// Reports to the checkers that a thread of this warp has arrived at the object, or will when its copies have landed. The shared
    /// memory of another block is not watched.
    pub(super) fn watch_arrival(&mut self, object: *mut u8) {
        let own = self.own_shared(object);
        let Some(watch) = &mut self.watch else { return };
        match own {
            Some(address) => watch.tell_mbarrier(self.warp, address),
            None => self.cluster.cross(object),
        }
    }

    /// Reports to the checkers that a thread of this warp has found a phase of the object complete.
    fn watch_completion(&mut self, object: *mut u8) {
        let own = self.own_shared(object);
        if let (Some(address), Some(watch)) = (own, &mut self.watch) {
            watch.hear_mbarrier(self.warp, address);
            if self.cluster.is_crossed(object) {
                watch.hear_cluster(self.warp);
            }
        }
    }

    #[cold]
    fn misused(&mut self, lane: usize, line: u32, address: u64, why: &str) {
        let message = format!("mbarrier object at {address:#x}: {why}");
        self.fail(lane as u32, line, |place| Fault::IllegalInstruction {
            place,
            message,
        });
    }

    /// Performs the copies that complete on the mbarrier object at `pointer`, and completes them there.
    fn land_announced(&mut self, pointer: *mut u8, address: u64) {
        for announced in self.cluster.take_announced(pointer) {
            // SAFETY: the instruction that announced the copies has checked both sides of each and the object; the
            // blocks of a cluster keep their memory until all have ended.
            let outcome = unsafe { land(&announced) };
            for transfer in &announced.transfers {
                self.watch_copy_ended(transfer.to, transfer.bytes, Access::Store, false);
            }
            let ready = announced
                .transfers
                .iter()
                .map(|transfer| transfer.ready)
                .max();
            match outcome {
                Ok(outcome) => self.cluster.arrived(pointer, ready.unwrap_or(0), outcome),
                Err(misuse) => self.misused(0, announced.line, address, &misuse.to_string()),
            }
        }
    }
}

/// # Safety
/// The transfers' sides and the mbarrier object are valid.
unsafe fn land(announced: &Announced) -> Result<PhaseChange, Misuse> {
    let object = announced.mbarrier.cast::<u64>();
    // SAFETY: the caller's promise.
    unsafe {
        announced
            .transfers
            .iter()
            .for_each(|transfer| transfer.perform());
        let mut barrier = Mbarrier::from_bits(object.read_unaligned())?;
        let outcome = match announced.completion {
            Completion::Bytes(bytes) => barrier.complete_bytes(bytes)?,
            Completion::Arrival { .. } => barrier.arrive(1)?,
        };
        object.write_unaligned(barrier.bits());
        Ok(outcome)
    }
}

struct Updating<const UPDATE: u8>;

impl<const UPDATE: u8> Updating<UPDATE> {
    const KIND: Update = match UPDATE {
        0 => Update::Initialise,
        1 => Update::Invalidate,
        2 => Update::ExpectBytes,
        3 => Update::CompleteBytes,
        4 => Update::Arrive,
        5 => Update::ArriveAndExpectBytes,
        6 => Update::Drop,
        _ => Update::DropAndExpectBytes,
    };
}

impl<const UPDATE: u8> Shape for Updating<UPDATE> {
    /// Address row `a`, operand row `b`; the row `d` of 64-bit cells receives the state before.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        for lane in cx.lanes() {
            let Some(pointer) = cx.mbarrier(site, lane, addresses[lane]) else {
                return;
            };
            // SAFETY: the object has 8 bytes; `b` is a row of 32-bit cells and `d` one of 64-bit cells.
            let (bits, operand) = unsafe {
                let bits = pointer.cast::<u64>().read_unaligned();
                set_cell(cx, op.d, true, lane, bits);
                (bits, cell(cx, op.b, false, lane) as u32)
            };
            match Self::KIND.apply(bits, operand) {
                Ok((barrier, outcome)) => {
                    let bits = barrier.map_or(0, Mbarrier::bits);
                    // SAFETY: as above.
                    unsafe { pointer.cast::<u64>().write_unaligned(bits) };
                    cx.cluster.arrived(pointer, cx.cycles, outcome);
                    if Self::KIND.arrives() {
                        cx.watch_arrival(pointer);
                    }
                }
                Err(misuse) => {
                    return cx.misused(lane, site.line, addresses[lane], &misuse.to_string());
                }
            }
        }
    }
}

struct Test<const PARITY: bool>;

impl<const PARITY: bool> Shape for Test<PARITY> {
    /// Address row `a`; row `b` holds the parity, or the state in 64-bit cells; predicate `d`.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        let (mut holds, mut until) = (0_u32, 0);
        let mut completed = None;
        for lane in cx.lanes() {
            let Some(pointer) = cx.mbarrier(site, lane, addresses[lane]) else {
                return;
            };
            cx.land_announced(pointer, addresses[lane]);
            // SAFETY: the object has 8 bytes, and `b` is a row of this width.
            let (bits, operand) = unsafe {
                (
                    pointer.cast::<u64>().read_unaligned(),
                    cell(cx, op.b, !PARITY, lane),
                )
            };
            let phase = match Mbarrier::from_bits(bits) {
                Ok(barrier) => barrier.phase(),
                Err(misuse) => {
                    return cx.misused(lane, site.line, addresses[lane], &misuse.to_string());
                }
            };
            let awaited = match PARITY {
                true => operand & 1 != 0,
                false => Mbarrier::from_bits(operand).is_ok_and(Mbarrier::phase),
            };
            if phase != awaited {
                // What the other lanes hear of the same object is the same.
                if completed != Some(pointer) {
                    cx.watch_completion(pointer);
                    completed = Some(pointer);
                }
                holds |= 1 << lane;
                until = until.max(cx.cluster.completed(pointer) + WAKE_UP);
            }
        }
        if holds == cx.mask {
            cx.cycles = cx.cycles.max(until);
        } else {
            // Another thread has to act first.
            cx.limit = 0;
            cx.in_vain = true;
        }
        // SAFETY: lowering made `d` a predicate.
        unsafe { cx.set_predicate(op.d, holds) }
    }
}

/// Handler of an operation that changes an mbarrier object: address row `a`, operand row `b`, state row `d`, site `x`.
pub(in crate::exec) fn update_mbarrier(update: Update) -> Handler {
    match update {
        Update::Initialise => plain_handler::<Updating<0>>(),
        Update::Invalidate => plain_handler::<Updating<1>>(),
        Update::ExpectBytes => plain_handler::<Updating<2>>(),
        Update::CompleteBytes => plain_handler::<Updating<3>>(),
        Update::Arrive => plain_handler::<Updating<4>>(),
        Update::ArriveAndExpectBytes => plain_handler::<Updating<5>>(),
        Update::Drop => plain_handler::<Updating<6>>(),
        Update::DropAndExpectBytes => plain_handler::<Updating<7>>(),
    }
}

/// Handler of `mbarrier.test_wait` and `try_wait`: address row `a`, row `b` of parities or states, predicate `d`,
/// site `x`.
pub(in crate::exec) fn test_mbarrier(parity: bool) -> Handler {
    match parity {
        true => plain_handler::<Test<true>>(),
        false => plain_handler::<Test<false>>(),
    }
}
