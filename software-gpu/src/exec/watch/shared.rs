//! Races in shared memory: two threads of a block touch the same bytes, one of them stores, and no barrier lies
//! between.
//!
//! For each granule of shared memory the last store is kept, and two loads since by different threads, of different
//! warps if there are any: a store that comes after both comes after what matters of the rest ([`history`]).

mod history;

use std::collections::BTreeSet;

use super::super::fault::{Access, Place};
use super::super::grid::Grid;
use super::super::memory::Site;
use super::super::warp_handlers::LANES;
use super::order::{Moment, Order, View};
use history::{History, Kept, ROW, Run};

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

struct Found {
    block: u64,
    address: u32,
    earlier: Kept,
    later: Kept,
}

/// The shared memory of the blocks that one host thread executes.
pub(super) struct Shared {
    history: History,
    /// How many granules there are.
    granules: u32,
    granule_bytes: u32,
    block: u64,
    serial: u32,
    found: Vec<Found>,
}

/// The bytes that lanes side by side access: `lane` those at `address`, each lane as many.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub lane: usize,
    pub count: u32,
    pub address: u32,
    /// Bytes of one lane.
    pub bytes: u32,
}

impl Shared {
    /// For `bytes` bytes of shared memory whose accesses are of `granule_bytes` bytes at least.
    pub fn new(bytes: u32, granule_bytes: u32) -> Self {
        let granules = bytes.div_ceil(granule_bytes);
        Self {
            history: History::new(granules),
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

    /// Lanes of a warp are about to access their bytes. `same` says that a store changes nothing.
    #[inline]
    pub fn access(
        &mut self,
        order: &Order,
        site: &Site,
        access: Access,
        warp: u32,
        lanes: Lanes,
        same: bool,
    ) {
        let view = order.view(warp);
        let now = Kept {
            moment: view.now(lanes.lane),
            line: site.line,
            serial: self.serial,
            access,
            strong: site.strength.strong,
        };
        let shift = self.granule_bytes.trailing_zeros();
        let aligned = (lanes.address | lanes.bytes) & (self.granule_bytes - 1) == 0;
        let each = lanes.bytes >> shift;
        if aligned && each.is_power_of_two() && lanes.count > 1 {
            let first = lanes.address >> shift;
            let end = (first + lanes.count * each).min(self.granules);
            let now = Run::new(now, each.trailing_zeros());
            self.run(&view, now, (first, end), same);
            return;
        }
        for index in 0..lanes.count {
            let address = lanes.address + index * lanes.bytes;
            let first = address >> shift;
            let end = ((address + lanes.bytes - 1) >> shift) + 1;
            let now = now.of_lane(lanes.lane + index as usize);
            // Lanes may share granules: each by itself.
            for granule in first..end.min(self.granules) {
                let cells = self.history.cells((granule / ROW) as usize);
                let cell = &mut cells[(granule % ROW) as usize];
                if let Some(earlier) = cell.meet(&view, now, same) {
                    self.race(granule, earlier, now);
                }
            }
        }
    }

    /// An access to granules side by side.
    fn run(&mut self, view: &View<'_>, now: Run, (first, end): (u32, u32), same: bool) {
        let mut at = first;
        while at < end {
            let (index, from) = ((at / ROW) as usize, at % ROW);
            let to = (end - at + from).min(ROW);
            let here = now.skip(at - first);
            let whole = to - from == ROW && (at - first) & (now.each() - 1) == 0;
            if !(whole && self.history.meet_row(view, index, here)) {
                let mut races = Vec::new();
                let cells = self.history.cells(index);
                for (offset, cell) in cells[from as usize..to as usize].iter_mut().enumerate() {
                    let offset = offset as u32;
                    let now = now.at(at - first + offset);
                    if let Some(earlier) = cell.meet(view, now, same) {
                        races.push((at + offset, earlier, now));
                    }
                }
                for (granule, earlier, later) in races {
                    self.race(granule, earlier, later);
                }
                if whole && now.first.access != Access::Load {
                    self.history.unite(index, here);
                }
            }
            at += to - from;
        }
    }

    /// Takes note of a race, if it is the first one of its pair of instructions.
    #[cold]
    fn race(&mut self, granule: u32, earlier: Kept, later: Kept) {
        let found = Found {
            block: self.block,
            address: granule * self.granule_bytes,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::ir::Space;

    const BYTES: u32 = 1024;
    const WARPS: u32 = 4;

    /// The next number below `end`.
    fn below(state: &mut u64, end: u32) -> u32 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 20) as u32 % end
    }

    fn found(shared: &Shared) -> Vec<(u32, Kept, Kept)> {
        let all = shared.found.iter();
        all.map(|found| (found.address, found.earlier, found.later))
            .collect()
    }

    #[test]
    fn lanes_at_once_do_what_they_do_one_by_one() {
        let (mut races, mut united, mut state) = (0, 0, 0x9e37_79b9_7f4a_7c15_u64);
        for round in 0..4000 {
            let (mut order, granule) = (Order::default(), 1 << (round % 3));
            order.start(WARPS as usize);
            let (mut whole, mut single) =
                (Shared::new(BYTES, granule), Shared::new(BYTES, granule));
            let mut next = |end| below(&mut state, end);
            for line in 0..40 {
                let warp = next(WARPS);
                match next(6) {
                    0 => order.warp_barrier(warp, !0 >> next(2), !0),
                    1 => order.all_met(),
                    2 => order.hear_all(warp),
                    _ => {}
                }
                let bytes = 4 << next(3);
                let count = [1, 8, 32][next(3) as usize];
                let site = Site {
                    line,
                    space: Space::Shared,
                    offset: 0,
                    relative: false,
                    wide_address: false,
                    bytes,
                    count: 1,
                    signed: false,
                    wide: false,
                    rows: Default::default(),
                    strength: Default::default(),
                    cache: 0,
                    exchanges: false,
                    combine: None,
                };
                let access = [Access::Load, Access::Store][next(2) as usize];
                let lanes = Lanes {
                    lane: next(2) as usize,
                    count,
                    address: next(BYTES / 64) * 64 + bytes * next(2),
                    bytes,
                };
                whole.next_instruction();
                single.next_instruction();
                whole.access(&order, &site, access, warp, lanes, false);
                for index in 0..count {
                    let lane = Lanes {
                        lane: (lanes.lane + index as usize) % LANES,
                        count: 1,
                        address: lanes.address + index * bytes,
                        bytes,
                    };
                    single.access(&order, &site, access, warp, lane, false);
                }
                assert!(
                    found(&whole) == found(&single),
                    "round {round}, line {line}"
                );
                united += usize::from(whole.history.united() > single.history.united());
            }
            races += whole.found.len();
        }
        assert!(races > 1000 && united > 10_000, "{races}, {united}");
    }
}
