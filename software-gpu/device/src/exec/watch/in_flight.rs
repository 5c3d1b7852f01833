//! Shared memory that asynchronous copies write or read while they are under way.
//!
//! A copy may be performed at any time between its issue and the wait for it (PTX ISA, "Asynchronous copy: completion
//! mechanisms"). Until then no thread may touch what it writes, nor store to what it reads, whatever barriers are in
//! between. If the thread that issued the copy waits (`wait_group`), the copy counts as that thread's own
//! access at the time of the wait, so that others need a barrier behind it.
//!
//! Bulk copies belong to the asynchronous proxy: of what threads have stored they see what a `fence.proxy.async` has followed,
//! by the storing thread or by the one that issues the copy (PTX ISA, "Async proxy"). Fences are kept per warp.
//!
//! Not detected: a copy to another block's shared memory, and a thread that reads what came with an mbarrier object that
//! another thread has waited for.

use std::collections::BTreeMap;

use super::super::context::Context;
use super::super::fault::{Access, FaultLocation};
use super::super::grid::Grid;
use super::super::memory::Site;
use super::super::warp_handlers::LANES;
use super::{Missing, SharedRace, Watch, shared};

/// The unit of copies, in bytes.
const WORD: u32 = 4;
/// Races of at most this many distinct pairs of instructions are kept.
const KEPT: usize = 64;

/// Copies under way, and what threads have stored.
pub(super) struct InFlight {
    /// By word: the place in `copies`, plus 1, of the copy that writes or reads it.
    writes: Vec<u32>,
    reads: Vec<u32>,
    copies: Vec<CopyInFlight>,
    by_issue: BTreeMap<(u32, Thread), u32>,
    /// By word: the last store of a thread; none at time 0.
    stored: Vec<Stored>,
    /// By warp: when it last executed `fence.proxy.async`.
    fences: [u32; LANES],
    /// Counts stores and fences of the block.
    now: u32,
    block: u64,
    found: Vec<EarlyAccess>,
}

/// Warp and lane.
type Thread = (u32, usize);

/// A copy that a thread has issued.
#[derive(Clone, Copy)]
struct CopyInFlight {
    site: Site,
    thread: Thread,
    missing: Missing,
}

#[derive(Clone, Copy, Default)]
struct Stored {
    time: u32,
    line: u32,
    thread: Thread,
}

#[derive(Clone, Copy)]
struct EarlyAccess {
    block: u64,
    address: u32,
    missing: Missing,
    earlier: (Thread, u32, Access),
    later: (Thread, u32, Access),
}

impl InFlight {
    /// For a grid whose kernel copies asynchronously.
    pub fn of(grid: &Grid<'_>) -> Option<Box<Self>> {
        let words = grid.shared_bytes().div_ceil(WORD) as usize;
        let copies = grid.kernel.program.copies_asynchronously && words > 0;
        copies.then(|| {
            Box::new(Self {
                writes: vec![0; words],
                reads: vec![0; words],
                copies: Vec::new(),
                by_issue: BTreeMap::new(),
                stored: vec![Stored::default(); words],
                fences: [0; LANES],
                now: 0,
                block: 0,
                found: Vec::new(),
            })
        })
    }

    /// A block begins.
    pub fn start(&mut self, block: u64) {
        self.block = block;
        self.writes.fill(0);
        self.reads.fill(0);
        self.copies.clear();
        self.by_issue.clear();
        self.stored.fill(Stored::default());
        self.fences = [0; LANES];
        self.now = 0;
    }

    fn words(&self, address: u32, bytes: u32) -> std::ops::Range<usize> {
        let end = (address + bytes).div_ceil(WORD) as usize;
        let end = end.min(self.writes.len());
        ((address / WORD) as usize).min(end)..end
    }

    /// Lanes from `thread` on access `bytes` bytes each, side by side from `address` on.
    fn access(
        &mut self,
        line: u32,
        access: Access,
        (warp, lane): Thread,
        (address, bytes, count): (u32, u32, u32),
    ) {
        let words = self.words(address, bytes * count);
        let lane_of = |word: usize| {
            let offset = (word as u32 * WORD).saturating_sub(address);
            (warp, lane + (offset / bytes.max(1)) as usize)
        };
        if self.writes[words.clone()].iter().any(|copy| *copy != 0) {
            for word in words.clone() {
                let later = (lane_of(word), line, access);
                self.meet(self.writes[word], Access::Store, word, later);
            }
        }
        if access == Access::Load {
            return;
        }
        self.now += 1;
        for word in words {
            let thread = lane_of(word);
            if self.reads[word] != 0 {
                self.meet(self.reads[word], Access::Load, word, (thread, line, access));
            }
            let time = self.now;
            self.stored[word] = Stored { time, line, thread };
        }
    }

    /// Compares a bulk copy that a thread issues with the copies in flight.
    fn meet_bulk(
        &mut self,
        site: &Site,
        access: Access,
        thread: Thread,
        (address, bytes): (u32, u32),
    ) {
        let later = (thread, site.line, access);
        for word in self.words(address, bytes) {
            if self.writes[word] != 0 {
                self.meet(self.writes[word], Access::Store, word, later);
            }
            if access != Access::Load && self.reads[word] != 0 {
                self.meet(self.reads[word], Access::Load, word, later);
            }
        }
    }

    #[cold]
    fn meet(&mut self, copy: u32, access: Access, word: usize, later: (Thread, u32, Access)) {
        let CopyInFlight {
            site,
            thread,
            missing,
        } = match (copy as usize).checked_sub(1) {
            Some(place) => self.copies[place],
            None => return,
        };
        self.add(word, missing, (thread, site.line, access), later);
    }

    fn add(
        &mut self,
        word: usize,
        missing: Missing,
        earlier: (Thread, u32, Access),
        later: (Thread, u32, Access),
    ) {
        let found = EarlyAccess {
            block: self.block,
            address: word as u32 * WORD,
            missing,
            earlier,
            later,
        };
        let known = |known: &EarlyAccess| known.pair() == found.pair();
        if self.found.len() < KEPT && !self.found.iter().any(known) {
            self.found.push(found);
        }
    }

    /// The number of the copy that this instruction issues.
    fn issue(&mut self, site: &Site, thread: Thread, missing: Missing) -> u32 {
        let next = self.copies.len() as u32 + 1;
        let number = *self.by_issue.entry((site.line, thread)).or_insert(next);
        if number == next {
            self.copies.push(CopyInFlight {
                site: *site,
                thread,
                missing,
            });
        }
        number
    }

    /// A bulk copy that the thread issues is going to read these bytes.
    fn check_proxy(&mut self, site: &Site, thread: Thread, (address, bytes): (u32, u32)) {
        let fence = self.fences[thread.0 as usize % LANES];
        for word in self.words(address, bytes) {
            let stored = self.stored[word];
            let own = self.fences[stored.thread.0 as usize % LANES];
            if stored.time > own.max(fence) {
                let earlier = (stored.thread, stored.line, Access::Store);
                let later = (thread, site.line, Access::Load);
                self.add(word, Missing::ProxyFence, earlier, later);
            }
        }
    }

    /// The races of several host threads: the first one of each pair of instructions.
    pub fn races(all: impl Iterator<Item = Self>, grid: &Grid<'_>) -> Vec<SharedRace> {
        let mut found: Vec<EarlyAccess> = all.flat_map(|one| one.found).collect();
        found.sort_by_key(|found| found.block);
        let mut pairs = std::collections::BTreeSet::new();
        found.retain(|found| pairs.insert(found.pair()));
        found.iter().map(|found| found.told(grid)).collect()
    }
}

impl EarlyAccess {
    fn pair(&self) -> (u32, u32) {
        let (a, b) = (self.earlier.1, self.later.1);
        (a.min(b), a.max(b))
    }

    fn told(&self, grid: &Grid<'_>) -> SharedRace {
        let thread = |(warp, lane): Thread| grid.thread(warp * LANES as u32 + lane as u32);
        SharedRace {
            place: FaultLocation {
                kernel: grid.kernel.name().to_owned(),
                block: grid.block_index(self.block),
                thread: thread(self.later.0),
                line: self.later.1,
            },
            access: self.later.2,
            earlier_thread: thread(self.earlier.0),
            earlier_line: self.earlier.1,
            earlier_access: self.earlier.2,
            address: self.address,
            missing: self.missing,
        }
    }
}

impl Watch<'_> {
    /// Lanes of a warp, from `thread` on, access shared memory side by side, `bytes` bytes each.
    #[inline(always)]
    pub(super) fn meet_copies(
        &mut self,
        site: &Site,
        access: Access,
        thread: Thread,
        place: (u32, u32, u32),
    ) {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.access(site.line, access, thread, place);
        }
    }

    /// A thread issues a bulk copy that accesses these bytes; the copy is not a store of the thread.
    pub fn bulk(
        &mut self,
        site: &Site,
        access: Access,
        thread: Thread,
        (address, bytes): (u32, u32),
    ) {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.meet_bulk(site, access, thread, (address, bytes));
        }
        let count = bytes / (site.bytes * site.count).max(1);
        self.shared_in_order(site, access, thread, (address, count), false);
    }

    /// A warp has executed `fence.proxy.async`.
    pub fn proxy_fence(&mut self, warp: u32) {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.now += 1;
            in_flight.fences[warp as usize % LANES] = in_flight.now;
        }
    }

    /// A thread has issued a copy that writes these bytes of shared memory until the `missing` wait has happened.
    pub fn copy_writes(
        &mut self,
        site: &Site,
        thread: Thread,
        (address, bytes): (u32, u32),
        missing: Missing,
    ) {
        if let Some(in_flight) = &mut self.in_flight {
            let number = in_flight.issue(site, thread, missing);
            let words = in_flight.words(address, bytes);
            in_flight.writes[words].fill(number);
        }
    }

    /// A thread has issued a bulk copy that reads these bytes of shared memory until a thread waits for it.
    pub fn copy_reads(&mut self, site: &Site, thread: Thread, (address, bytes): (u32, u32)) {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.check_proxy(site, thread, (address, bytes));
            let number = in_flight.issue(site, thread, Missing::WaitForRead);
            let words = in_flight.words(address, bytes);
            in_flight.reads[words].fill(number);
        }
    }

    /// A copy that writes or reads these bytes has completed. `waited`: the thread that issued it has waited for it.
    pub fn copy_ended(&mut self, (address, bytes): (u32, u32), access: Access, waited: bool) {
        let Some(in_flight) = &mut self.in_flight else {
            return;
        };
        let words = in_flight.words(address, bytes);
        let under_way = match access {
            Access::Load => &mut in_flight.reads[words],
            _ => &mut in_flight.writes[words],
        };
        let number = under_way.first().copied().unwrap_or(0);
        under_way.fill(0);
        let copy = in_flight.copies.get((number as usize).wrapping_sub(1));
        if let (true, Some(copy), Some((order, shared))) = (waited, copy, &mut self.shared) {
            let (warp, lane) = copy.thread;
            let lanes = shared::Lanes {
                lane,
                count: 1,
                address,
                bytes,
            };
            shared.next_instruction();
            shared.access(order, &copy.site, access, warp, lanes, false);
        }
    }
}

impl Context<'_> {
    /// Reports to the checkers that a copy with this side in the block's shared memory has completed.
    pub(in crate::exec) fn watch_copy_ended(
        &mut self,
        side: *mut u8,
        bytes: u32,
        access: Access,
        waited: bool,
    ) {
        if self.watch.is_none() {
            return;
        }
        let address = self.own_shared(side);
        if let (Some(address), Some(watch)) = (address, &mut self.watch) {
            watch.copy_ended((address, bytes), access, waited);
        }
    }
}
