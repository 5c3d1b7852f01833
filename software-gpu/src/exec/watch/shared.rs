//! Races in shared memory: two threads of a block touch the same bytes, one of them stores, and no barrier lies
//! between.
//!
//! For each granule of shared memory the last store is kept, and two loads since by different threads, of different
//! warps if there are any: a store that comes after both comes after what matters of the rest.

use std::collections::BTreeSet;

use super::super::fault::{Access, Place};
use super::super::grid::Grid;
use super::super::memory::Site;
use super::super::warp_handlers::LANES;
use super::order::{Moment, Order};

/// Races of so many pairs of instructions are told.
const KEPT: usize = 64;

/// Two threads of a block that touch the same shared memory without an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRace {
    /// The later access, as the executor's threads happened to run.
    pub place: Place,
    /// What it is.
    pub access: Access,
    /// The thread of the earlier one.
    pub earlier_thread: [u32; 3],
    /// The line of the earlier one.
    pub earlier_line: u32,
    /// What the earlier one is.
    pub earlier_access: Access,
    /// Address in shared memory of the first byte of the later access that both touch, to the granule.
    pub address: u32,
    /// Both threads belong to one warp: a warp barrier would order them.
    pub same_warp: bool,
}

/// An access that may conflict with later ones.
#[derive(Clone, Copy)]
struct Kept {
    moment: Moment,
    line: u32,
    /// Which execution of a memory instruction it belongs to.
    serial: u32,
    access: Access,
    strong: bool,
}

/// The accesses to a granule.
#[derive(Clone, Copy, Default)]
struct Granule {
    store: Option<Kept>,
    loads: [Option<Kept>; 2],
}

struct Found {
    block: u64,
    address: u32,
    earlier: Kept,
    later: Kept,
}

/// The shared memory of the blocks that one host thread executes.
pub(super) struct Shared {
    granules: Vec<Granule>,
    granule_bytes: u32,
    block: u64,
    serial: u32,
    found: Vec<Found>,
}

impl Shared {
    /// For `bytes` bytes of shared memory whose accesses are of `granule_bytes` bytes at least.
    pub fn new(bytes: u32, granule_bytes: u32) -> Self {
        let granules = vec![Granule::default(); bytes.div_ceil(granule_bytes) as usize];
        Self {
            granules,
            granule_bytes,
            block: 0,
            serial: 0,
            found: Vec::new(),
        }
    }

    /// A block begins.
    pub fn start(&mut self, rank: u64) {
        self.block = rank;
    }

    /// A warp executes a memory instruction: accesses from here on are of this one.
    #[inline]
    pub fn next_instruction(&mut self) {
        self.serial = self.serial.wrapping_add(1);
    }

    /// A lane is about to access the bytes of its elements at `address`. `same` says that a store changes nothing.
    #[inline]
    pub fn access(
        &mut self,
        order: &Order,
        site: &Site,
        access: Access,
        (warp, lane): (u32, usize),
        address: u32,
        same: bool,
    ) {
        let now = Kept {
            moment: order.now(warp, lane),
            line: site.line,
            serial: self.serial,
            access,
            strong: site.strength.strong,
        };
        let bytes = site.bytes * site.count;
        let first = address / self.granule_bytes;
        let last = (address + bytes - 1) / self.granule_bytes;
        for index in first..=last {
            let Some(granule) = self.granules.get_mut(index as usize) else {
                return;
            };
            if let Some(earlier) = granule.meet(order, now, same) {
                self.race(index, earlier, now);
            }
        }
    }

    #[cold]
    fn race(&mut self, index: u32, earlier: Kept, later: Kept) {
        let found = Found {
            block: self.block,
            address: index * self.granule_bytes,
            earlier,
            later,
        };
        let full = self.found.len() == KEPT;
        let known = self
            .found
            .iter_mut()
            .find(|known| known.pair() == found.pair());
        match known {
            // A barrier of the block helps where one of the warp would not.
            Some(known)
                if known.block == found.block && known.same_warp() && !found.same_warp() =>
            {
                *known = found;
            }
            Some(_) => {}
            None if full => {}
            None => self.found.push(found),
        }
    }

    /// The races that several host threads have seen: the first one of each pair of instructions.
    pub fn races(all: impl Iterator<Item = Self>, grid: &Grid<'_>) -> Vec<SharedRace> {
        let mut found: Vec<Found> = all.flat_map(|one| one.found).collect();
        found.sort_by_key(|found| found.block);
        let mut pairs = BTreeSet::new();
        found.retain(|found| pairs.insert(found.pair()));
        found.iter().map(|found| found.told(grid)).collect()
    }
}

impl Granule {
    /// Takes note of an access; returns one that it races with.
    #[inline]
    fn meet(&mut self, order: &Order, now: Kept, same: bool) -> Option<Kept> {
        let races = |earlier: &Kept| {
            // Lanes of one instruction that store the same value do no harm.
            let agree = same && earlier.serial == now.serial && earlier.access == Access::Store;
            let atomic = earlier.strong && now.strong;
            !agree && !atomic && !order.is_before(earlier.moment, now.moment)
        };
        let store = self.store.filter(races);
        if now.access == Access::Load {
            self.note_load(order, now);
            return store;
        }
        let load = self.loads.into_iter().flatten().find(races);
        self.store = Some(now);
        self.loads = [None; 2];
        store.or(load)
    }

    #[inline]
    fn note_load(&mut self, order: &Order, now: Kept) {
        let replaceable = |load: &Option<Kept>| {
            load.is_none_or(|earlier| order.is_before(earlier.moment, now.moment))
        };
        let [first, second] = &mut self.loads;
        if replaceable(first) {
            *first = Some(now);
        } else if replaceable(second)
            || second.is_some_and(|second| second.moment.warp == now.moment.warp)
        {
            *second = Some(now);
        }
    }
}

impl Found {
    /// The lines of both, whichever came first.
    fn pair(&self) -> (u32, u32) {
        let (a, b) = (self.earlier.line, self.later.line);
        (a.min(b), a.max(b))
    }

    fn same_warp(&self) -> bool {
        self.earlier.moment.warp == self.later.moment.warp
    }

    fn told(&self, grid: &Grid<'_>) -> SharedRace {
        let thread = |kept: &Kept| {
            let Moment { warp, lane, .. } = kept.moment;
            grid.thread(u32::from(warp) * LANES as u32 + u32::from(lane))
        };
        SharedRace {
            place: Place {
                kernel: grid.kernel.name().to_owned(),
                block: grid.block_index(self.block),
                thread: thread(&self.later),
                line: self.later.line,
            },
            access: self.later.access,
            earlier_thread: thread(&self.earlier),
            earlier_line: self.earlier.line,
            earlier_access: self.earlier.access,
            address: self.address,
            same_warp: self.same_warp(),
        }
    }
}
