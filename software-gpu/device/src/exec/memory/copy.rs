//! `cp.async` and `cp.async.bulk`: issuing copies and waiting for them.

use super::super::async_copy::{Announced, Completion, Transfer};
use super::super::cluster::map_address;
use super::super::context::{Context, Lanes};
use super::super::fault::{Access, Fault};
use super::super::latencies::Latencies;
use super::super::op::{Handler, Op};
use super::super::phases::CLUSTER_PER_CYCLE;
use super::super::warp_handlers::{Shape, plain_handler};
use super::super::watch::{Missing, Scattered};
use super::Site;
use super::cells::cell;
use super::target::{Sectors, Target, addresses};

/// Bytes that one multiprocessor moves per cycle, for the modelled end of a bulk copy.
pub(super) const BYTES_PER_CYCLE: u64 = 32;
/// Bulk copies move multiples of this, from and to multiples of it.
const BULK_UNIT: u32 = 16;

struct Issue;

impl Shape for Issue {
    /// `cp.async`: address rows `a` (to, site `x`) and `b` (from, site `x + 1`), bytes of the source in row `c`.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let (to_site, from_site) = (
            &cx.code.sites[op.x as usize],
            &cx.code.sites[op.x as usize + 1],
        );
        // SAFETY: lowering made these the sites' address rows.
        let (to, from) = unsafe { (addresses(cx, to_site, op.a), addresses(cx, from_site, op.b)) };
        let (mut sectors, mut shared) = (Sectors::default(), Scattered::default());
        cx.watch_instruction();
        for lane in cx.lanes() {
            let bytes = to_site.bytes * to_site.count;
            // SAFETY: lowering made `c` a row of 32-bit cells.
            let source_bytes = unsafe { cell(cx, op.c, false, lane) as u32 }.min(bytes);
            let Some(target) = cx.lane_target(to_site, lane, to[lane], Access::Store) else {
                return;
            };
            let mut source = target.pointer.cast_const();
            if source_bytes > 0 {
                let Some(found) = cx.lane_target(from_site, lane, from[lane], Access::Load) else {
                    return;
                };
                cx.watch_access(from_site, Access::Load, &found, source_bytes.into(), lane);
                sectors.touch(from[lane]);
                source = found.pointer;
            }
            // Lanes that copy the same bytes to the same place agree.
            let mut earlier = Lanes(cx.mask & !(!0 << lane));
            let agrees =
                cx.watch.is_some() && earlier.any(|e| (to[e], from[e]) == (to[lane], from[lane]));
            cx.watch_lane(to_site, Access::Store, &target, lane, &mut shared, |_| {
                agrees
            });
            cx.cost.shared_bytes += u64::from(bytes);
            let transfer = Transfer {
                from: source,
                to: target.pointer,
                source_bytes,
                bytes,
                ready: cx.cycles + u64::from(cx.latencies().global),
                phase: cx.ahead.phase,
            };
            cx.ahead.ask(&transfer);
            let warp = cx.warp as usize;
            cx.copies[warp].single.issue(lane, transfer);
        }
        cx.watch_lanes(to_site, Access::Store, &shared);
        cx.watch_copies(to_site, &shared);
        cx.count_sectors(&sectors, Access::Load);
    }
}

struct Commit<const BULK: bool>;

impl<const BULK: bool> Shape for Commit<BULK> {
    unsafe fn run(cx: &mut Context<'_>, _: &Op) {
        let (warp, lanes) = (cx.warp as usize, cx.lanes());
        let groups = cx.copies[warp].of_kind(BULK);
        lanes.for_each(|lane| groups.commit(lane));
    }
}

struct Wait<const BULK: bool, const ALL: bool>;

impl<const BULK: bool, const ALL: bool> Shape for Wait<BULK, ALL> {
    /// The latest `e` groups may stay under way; for `ALL` not even copies that are in no group.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let (warp, mask) = (cx.warp as usize, cx.mask);
        let groups = cx.copies[warp].of_kind(BULK);
        let mut taken = match ALL {
            true => groups.take_all(mask),
            false => groups.take(mask, op.e),
        };
        // An mbarrier object reports the others.
        let own = taken.len();
        if !BULK {
            taken.iter().for_each(|transfer| cx.ahead.wait(transfer));
            taken.extend(cx.cluster.take_transfers_of(cx.cluster_rank, cx.warp, mask));
        }
        for (index, transfer) in taken.into_iter().enumerate() {
            // SAFETY: both sides were checked when the copy was issued.
            unsafe { transfer.perform() };
            match BULK {
                true => cx.watch_copy_ended(
                    transfer.from.cast_mut(),
                    transfer.bytes,
                    Access::Load,
                    true,
                ),
                false => {
                    cx.watch_copy_ended(transfer.to, transfer.bytes, Access::Store, index < own)
                }
            }
            cx.cycles = cx.cycles.max(transfer.ready);
        }
    }
}

struct Announce<const COUNTED: bool>;

impl<const COUNTED: bool> Shape for Announce<COUNTED> {
    /// `cp.async.mbarrier.arrive`: the object's address row `a`, site `x`. Not `COUNTED` for `.noinc`.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let site = &cx.code.sites[op.x as usize];
        // SAFETY: lowering made `a` the site's address row.
        let addresses = unsafe { addresses(cx, site, op.a) };
        for lane in cx.lanes() {
            let Some(mbarrier) = cx.mbarrier(site, lane, addresses[lane]) else {
                return;
            };
            if COUNTED && !cx.add_pending(site, lane, mbarrier, addresses[lane]) {
                return;
            }
            cx.watch_arrival(mbarrier);
            let (rank, warp) = (cx.cluster_rank, cx.warp);
            let transfers = cx.copies[warp as usize].single.take_all(1 << lane);
            transfers
                .iter()
                .for_each(|transfer| cx.ahead.wait(transfer));
            cx.cluster.announce(Announced {
                mbarrier,
                transfers,
                completion: Completion::Arrival {
                    rank,
                    warp,
                    lane: lane as u32,
                },
                line: site.line,
            });
        }
    }
}

struct Bulk<const GROUPED: bool, const MULTICAST: bool>;

impl<const GROUPED: bool, const MULTICAST: bool> Shape for Bulk<GROUPED, MULTICAST> {
    /// `cp.async.bulk`: address rows `a` (to, site `x`) and `b` (from, site `x + 1`), bytes in row `c`; address row `d`
    /// of the mbarrier object (site `x + 2`) unless `GROUPED`; row `e` of block masks for `MULTICAST`.
    unsafe fn run(cx: &mut Context<'_>, op: &Op) {
        let sites = &cx.code.sites[op.x as usize..];
        let (to_site, from_site) = (&sites[0], &sites[1]);
        // SAFETY: lowering made these the sites' address rows.
        let (to, from) = unsafe { (addresses(cx, to_site, op.a), addresses(cx, from_site, op.b)) };
        for lane in cx.lanes() {
            // SAFETY: lowering made `c` a row of 32-bit cells.
            let bytes = unsafe { cell(cx, op.c, false, lane) as u32 };
            let Some(source) = cx.bulk_side(from_site, lane, from[lane], bytes, Access::Load)
            else {
                return;
            };
            if GROUPED {
                let Some(target) = cx.bulk_side(to_site, lane, to[lane], bytes, Access::Store)
                else {
                    return;
                };
                let transfer = transfer((cx.cycles, cx.latencies()), &source, &target, bytes);
                cx.watch_reads(from_site, source.pointer, bytes, lane);
                let warp = cx.warp as usize;
                cx.copies[warp].bulk.issue(lane, transfer);
                continue;
            }
            let site = &sites[2];
            // SAFETY: lowering made `d` the address row of the third site, and `e` a row of 32-bit cells.
            let (mbarrier, blocks) = unsafe {
                let blocks = if MULTICAST {
                    cell(cx, op.e, false, lane) as u32
                } else {
                    0
                };
                (addresses(cx, site, op.d)[lane], blocks & 0xffff)
            };
            if !MULTICAST {
                cx.announce_bulk(sites, lane, &source, [to[lane], mbarrier], bytes);
                continue;
            }
            for rank in Lanes(blocks) {
                let there = [to[lane], mbarrier].map(|address| map_address(address, rank as u32));
                cx.announce_bulk(sites, lane, &source, there, bytes);
            }
        }
    }
}

fn transfer(
    (now, latencies): (u64, Latencies),
    source: &Target<'_>,
    target: &Target<'_>,
    bytes: u32,
) -> Transfer {
    // From the block's own shared memory the way is to another block's, or out.
    let (latency, per_cycle) = match source.global {
        Some(_) => (latencies.global, BYTES_PER_CYCLE),
        None if crosses(source, target) => (latencies.cluster_shared, CLUSTER_PER_CYCLE),
        None => (latencies.cluster_shared, BYTES_PER_CYCLE),
    };
    Transfer {
        from: source.pointer,
        to: target.pointer,
        source_bytes: bytes,
        bytes,
        ready: now + u64::from(latency) + u64::from(bytes) / per_cycle,
        phase: 0,
    }
}

/// Whether a copy goes from one block's shared memory to another's. Data that a copy from global memory brings to other blocks comes from the L2
/// cache, not from the block that issued the copy.
fn crosses(source: &Target<'_>, target: &Target<'_>) -> bool {
    source.global.is_none() && target.remote
}

impl<'g> Context<'g> {
    /// One side of a bulk copy, checked, counted and made known to the checkers.
    fn bulk_side(
        &mut self,
        site: &Site,
        lane: usize,
        address: u64,
        bytes: u32,
        access: Access,
    ) -> Option<Target<'g>> {
        if !bytes.is_multiple_of(BULK_UNIT) || bytes == 0 {
            let message = format!("a bulk copy of {bytes} bytes, which is not a multiple of 16");
            self.fail(lane as u32, site.line, |place| Fault::IllegalInstruction {
                place,
                message,
            });
            return None;
        }
        // The first bytes, for the alignment; then all.
        self.lane_target(site, lane, address, access)?;
        let Some(target) = self.target(site, lane, address, bytes.into()) else {
            self.fail_access(site, lane, address, access);
            return None;
        };
        self.watch_bulk(site, access, &target, bytes, lane);
        match target.global {
            Some((allocation, offset)) => {
                self.count_bulk(&target, address, bytes.into(), access);
                if access == Access::Store {
                    self.hold.before_store(allocation, offset, bytes as usize);
                }
            }
            None => self.cost.shared_bytes += u64::from(bytes),
        }
        Some(target)
    }

    /// A bulk copy to an address of shared memory that tells the mbarrier object at another one.
    fn announce_bulk(
        &mut self,
        sites: &[Site],
        lane: usize,
        source: &Target<'g>,
        [to, mbarrier]: [u64; 2],
        bytes: u32,
    ) {
        let Some(target) = self.bulk_side(&sites[0], lane, to, bytes, Access::Store) else {
            return;
        };
        if crosses(source, &target) {
            self.cost.cluster_bytes += u64::from(bytes);
        }
        let Some(mbarrier) = self.mbarrier(&sites[2], lane, mbarrier) else {
            return;
        };
        self.watch_arrival(mbarrier);
        self.watch_writes(&sites[0], target.pointer, bytes, lane);
        self.cluster.announce(Announced {
            mbarrier,
            transfers: vec![transfer(
                (self.cycles, self.latencies()),
                source,
                &target,
                bytes,
            )],
            completion: Completion::Bytes(bytes),
            line: sites[2].line,
        });
    }

    /// Reports to the checkers that lanes have issued copies to these places of shared memory.
    fn watch_copies(&mut self, site: &Site, lanes: &Scattered) {
        let Some(watch) = &mut self.watch else { return };
        for lane in Lanes(lanes.mask) {
            let (thread, place) = (
                (self.warp, lane),
                (lanes.addresses[lane], site.bytes * site.count),
            );
            watch.copy_writes(site, thread, place, Missing::WaitForGroup);
        }
    }

    /// Reports to the checkers that a bulk copy writes to the block's shared memory until its mbarrier object is waited for.
    pub(super) fn watch_writes(&mut self, site: &Site, to: *mut u8, bytes: u32, lane: usize) {
        let address = self.own_shared(to);
        if let (Some(address), Some(watch)) = (address, &mut self.watch) {
            let thread = (self.warp, lane);
            watch.copy_writes(site, thread, (address, bytes), Missing::WaitForMbarrier);
        }
    }

    /// Reports to the checkers that a bulk copy reads the block's shared memory until it is waited for.
    pub(super) fn watch_reads(&mut self, site: &Site, from: *mut u8, bytes: u32, lane: usize) {
        let address = self.own_shared(from);
        if let (Some(address), Some(watch)) = (address, &mut self.watch) {
            watch.copy_reads(site, (self.warp, lane), (address, bytes));
        }
    }

    /// The copies to global memory that no thread has waited for: they complete with the block.
    pub(in crate::exec) fn finish_copies(&mut self) {
        for copies in &mut self.copies {
            for transfer in copies.bulk.take_all(!0) {
                // SAFETY: both sides were checked when the copy was issued, and the block's memory is still there.
                unsafe { transfer.perform() };
            }
        }
    }
}

/// Handler of `cp.async`; see its shape for the operands.
pub(in crate::exec) fn copy_async() -> Handler {
    plain_handler::<Issue>()
}

/// Handler of `cp.async.commit_group` and `cp.async.bulk.commit_group`.
pub(in crate::exec) fn commit_copies(bulk: bool) -> Handler {
    match bulk {
        true => plain_handler::<Commit<true>>(),
        false => plain_handler::<Commit<false>>(),
    }
}

/// Handler of `wait_group`: the latest `e` groups may stay under way.
pub(in crate::exec) fn wait_for_copies(bulk: bool) -> Handler {
    match bulk {
        true => plain_handler::<Wait<true, false>>(),
        false => plain_handler::<Wait<false, false>>(),
    }
}

/// Handler of `cp.async.wait_all`.
pub(in crate::exec) fn wait_for_all_copies() -> Handler {
    plain_handler::<Wait<false, true>>()
}

/// Handler of `cp.async.mbarrier.arrive`: address row `a`, site `x`.
pub(in crate::exec) fn announce_copies(counted: bool) -> Handler {
    match counted {
        true => plain_handler::<Announce<true>>(),
        false => plain_handler::<Announce<false>>(),
    }
}

/// Handler of `cp.async.bulk`; see its shape for the operands.
pub(in crate::exec) fn copy_bulk(grouped: bool, multicast: bool) -> Handler {
    match (grouped, multicast) {
        (true, _) => plain_handler::<Bulk<true, false>>(),
        (false, false) => plain_handler::<Bulk<false, false>>(),
        (false, true) => plain_handler::<Bulk<false, true>>(),
    }
}
