//! Races in shared memory: two threads of a block access the same bytes, one of them stores, and no synchronisation orders
//! them.
//!
//! Invariant: for each granule of shared memory, [`history`] keeps the last store, and [`loads`] at least one load since then of
//! every warp that loaded. An access that is not ordered after one of these is a race ([`order`](super::order) says what is ordered).
//!
//! Two kinds of races are missed. At most two loads of one warp's lanes are kept, one where other warps loaded too: a store that
//! is ordered after these, but not after the load of a third lane of its own warp, is not reported. Nor is a strong store whose
//! only race is with a weak load that was replaced by a strong one of the same thread or warp.

mod history;
mod lists;
mod loads;

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::context;
use super::super::fault::{Access, FaultLocation};
use super::super::grid::Grid;
use super::super::memory::Site;
use super::super::warp_handlers::LANES;
use super::Missing;
use super::order::{Moment, View, WarpClocks};
use history::{Granule, History, Kept, PIECE, ROW};
use lists::Lists;

/// Races of at most this many distinct pairs of instructions are reported.
const KEPT: usize = 64;

/// Two threads of a block that access the same shared memory without synchronisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedRace {
    /// The later access, as the executor's threads happened to run.
    pub place: FaultLocation,
    /// What it is.
    pub access: Access,
    /// The thread of the earlier one; of no meaning where the missing is [`Missing::ClusterBarrier`].
    pub earlier_thread: [u32; 3],
    /// The line of the earlier one.
    pub earlier_line: u32,
    /// What the earlier one is.
    pub earlier_access: Access,
    /// Address in shared memory of the first byte of the later access that both touch, to the granule.
    pub address: u32,
    /// What would order the two.
    pub missing: Missing,
}

impl SharedRace {
    /// The lines of both accesses, in rising order.
    pub(super) fn lines(&self) -> (u32, u32) {
        let (a, b) = (self.earlier_line, self.place.line);
        (a.min(b), a.max(b))
    }
}

struct PairOfAccesses {
    block: u64,
    address: u32,
    earlier: Kept,
    later: Kept,
}

/// A granule, an earlier access to it and a later one.
type Race = (u32, Kept, Kept);

/// The shared memory of the blocks that one host thread executes.
pub(super) struct Shared {
    history: History,
    /// How many granules there are.
    granules: u32,
    granule_bytes: u32,
    block: u64,
    serial: u32,
    found: Vec<PairOfAccesses>,
}

/// A contiguous access: lane `lane + i` accesses `bytes` bytes at `address + i * bytes`.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub lane: usize,
    pub count: u32,
    pub address: u32,
    /// Bytes of one lane.
    pub bytes: u32,
}

/// The first half of a warp.
const HALF: u32 = !0 >> (LANES / 2);

/// Where lanes of a warp access shared memory, each as many bytes.
#[derive(Clone, Copy, Default)]
pub(in crate::exec) struct Scattered {
    /// The lanes.
    pub mask: u32,
    /// The lanes whose store changes nothing.
    pub same: u32,
    /// By lane.
    pub addresses: [u32; LANES],
}

impl Scattered {
    /// Adds a lane; `same` says that its store changes nothing.
    #[inline(always)]
    pub fn push(&mut self, lane: usize, address: u32, same: bool) {
        self.mask |= 1 << lane;
        self.same |= u32::from(same) << lane;
        self.addresses[lane] = address;
    }

    /// Groups lanes by equal address, for addresses that are aligned to `bytes` bytes. Returns the mask of the groups' first
    /// lanes and, for each of these, the mask of its group.
    ///
    /// Mostly the addresses are neighbours, or both halves of the warp have the same ones: one comparison with a known
    /// address is then enough for all lanes.
    #[inline(always)]
    fn groups(&self, bytes: u32) -> (u32, [u32; LANES]) {
        if let Some((first, groups)) = self.groups_by_halves(bytes) {
            return (first, *groups);
        }
        let twice = self.halves_are_equal();
        match self.groups_in(bytes, twice) {
            // The second half of a group would come before a later group of the same address.
            (_, _, true) if twice => {
                let (first, groups, _) = self.groups_in(bytes, false);
                (first, groups)
            }
            (first, groups, _) => (first, groups),
        }
    }

    /// The same if each half of a whole warp has one address, or both have the same neighbours: so tiles of matrices are
    /// loaded.
    #[inline(always)]
    fn groups_by_halves(&self, bytes: u32) -> Option<(u32, &'static [u32; LANES])> {
        const HALVES: [u32; LANES] = {
            let mut groups = [0; LANES];
            (groups[0], groups[LANES / 2]) = (HALF, !HALF);
            groups
        };
        const PAIRS: [u32; LANES] = {
            let (mut groups, mut lane) = ([0; LANES], 0);
            while lane < LANES / 2 {
                groups[lane] = 1 << lane | 1 << (lane + LANES / 2);
                lane += 1;
            }
            groups
        };
        if self.mask != !0 {
            return None;
        }
        let (low, high) = self.addresses.split_at(LANES / 2);
        let steps_by = |half: &[u32], step: u32| {
            let mut differs = 0;
            for (lane, address) in half.iter().enumerate() {
                differs |= address ^ half[0].wrapping_add(lane as u32 * step);
            }
            differs == 0
        };
        if low[0] == high[0] {
            (steps_by(low, bytes) && steps_by(high, bytes)).then_some((HALF, &PAIRS))
        } else {
            let first = 1 | 1 << (LANES / 2);
            (steps_by(low, 0) && steps_by(high, 0)).then_some((first, &HALVES))
        }
    }

    /// The same, of both halves at once if they are equal; and whether there may be several groups with one address.
    #[inline(always)]
    fn groups_in(&self, bytes: u32, twice: bool) -> (u32, [u32; LANES], bool) {
        let shift = bytes.trailing_zeros();
        let (mut first, mut groups, mut again) = (0, [0; LANES], false);
        // The last lane that was first of its address, plus 1, by some bits of that.
        let mut known = [0_u8; LANES];
        let mask = if twice { self.mask & HALF } else { self.mask };
        let heads = mask & !self.repeating();
        for lane in context::Lanes(heads) {
            let behind = heads & (!1 << lane);
            let before_next = (behind & behind.wrapping_neg()).wrapping_sub(1);
            let lanes = mask & (!0 << lane) & before_next;
            let lanes = lanes | if twice { lanes << HALF.count_ones() } else { 0 };
            let address = self.addresses[lane];
            let known = &mut known[(address >> shift) as usize % LANES];
            let other = usize::from(known.wrapping_sub(1)) % LANES;
            if *known != 0 && self.addresses[other] == address {
                groups[other] |= lanes;
            } else {
                again |= *known != 0;
                *known = lane as u8 + 1;
                first |= 1 << lane;
                groups[lane] = lanes;
            }
        }
        (first, groups, again)
    }

    /// Whether the second half of the warp has the lanes and the addresses of the first.
    #[inline(always)]
    fn halves_are_equal(&self) -> bool {
        let (low, high) = self.addresses.split_at(LANES / 2);
        self.mask >> HALF.count_ones() == self.mask & HALF && low == high
    }

    /// The lanes that have the address of the lane before.
    #[inline(always)]
    fn repeating(&self) -> u32 {
        let mut same = 0;
        for lane in 1..LANES {
            let repeats = self.addresses[lane] == self.addresses[lane - 1];
            same |= if repeats { 1 << lane } else { 0 };
        }
        same & self.mask & self.mask << 1
    }
}

impl Shared {
    /// For `bytes` bytes of shared memory whose accesses are of `granule_bytes` bytes at least.
    pub fn new(bytes: u32, granule_bytes: u32) -> Self {
        let granules = bytes.div_ceil(granule_bytes);
        Self {
            history: History::new(granules, granule_bytes.trailing_zeros()),
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

    #[inline(always)]
    fn now(&self, view: &View<'_>, site: &Site, access: Access, lane: usize) -> Kept {
        let (moment, what) = (view.now(lane), (site.line, self.serial));
        let strength = match site.strength.strong {
            true => 1 + site.bytes.trailing_zeros(),
            false => 0,
        };
        Kept::new(moment, what, access, strength)
    }

    /// Lanes of a warp are about to access their bytes. `same` says that a store changes nothing.
    #[inline]
    pub fn access(
        &mut self,
        order: &WarpClocks,
        site: &Site,
        access: Access,
        warp: u32,
        lanes: Lanes,
        same: bool,
    ) {
        self.history.at_time_of(order);
        let view = order.view(warp);
        let now = self.now(&view, site, access, lanes.lane);
        let shift = self.granule_bytes.trailing_zeros();
        if (lanes.count, lanes.bytes) == (1, self.granule_bytes) && access != Access::Load {
            let granule = lanes.address >> shift;
            let (cell, lists) = self.history.granule(granule);
            if let Some(earlier) = cell.meet_store(lists, &view, now, same) {
                self.race(granule, earlier, now);
            }
            return;
        }
        let aligned = (lanes.address | lanes.bytes) & (self.granule_bytes - 1) == 0;
        let each = lanes.bytes >> shift;
        if aligned && each.is_power_of_two() && lanes.count > 1 {
            let first = lanes.address >> shift;
            let end = (first + lanes.count * each).min(self.granules);
            let now = now.with_spread(each.trailing_zeros());
            self.run(&view, now, (first, end), same);
            return;
        }
        let mut races = Vec::new();
        for index in 0..lanes.count {
            let address = lanes.address + index * lanes.bytes;
            let now = now.of_lane(lanes.lane + index as usize);
            self.lane(&view, now, (address, lanes.bytes), same, &mut races);
        }
        self.races_of(races);
    }

    /// Lanes of a warp are about to access `bytes` bytes each, at addresses of their own.
    pub fn scattered(
        &mut self,
        order: &WarpClocks,
        site: &Site,
        access: Access,
        warp: u32,
        (lanes, bytes): (&Scattered, u32),
    ) {
        self.history.at_time_of(order);
        let view = order.view(warp);
        let now = self.now(&view, site, access, 0);
        let mut races = Vec::new();
        if access == Access::Load && bytes.is_power_of_two() {
            let (first, groups) = lanes.groups(bytes);
            for lane in context::Lanes(first) {
                let place = (lanes.addresses[lane], bytes);
                self.loads(&view, now.of_lane(lane), groups[lane], place, &mut races);
            }
            // Loads of different bytes are independent, but reports must not depend on the grouping: sort them by lane.
            races.sort_by_key(|(granule, _, later): &Race| (later.moment().lane, *granule));
        } else {
            for lane in context::Lanes(lanes.mask) {
                let (now, address) = (now.of_lane(lane), lanes.addresses[lane]);
                let same = lanes.same >> lane & 1 == 1;
                if bytes != self.granule_bytes {
                    self.lane(&view, now, (address, bytes), same, &mut races);
                    continue;
                }
                let granule = address >> bytes.trailing_zeros();
                let (cell, lists) = self.history.granule(granule);
                let earlier = cell.meet_store(lists, &view, now, same);
                races.extend(earlier.map(|earlier| (granule, earlier, now)));
            }
        }
        self.races_of(races);
    }

    /// Loads of the same bytes by some lanes, the first of which is that of `now`.
    #[inline(always)]
    fn loads(
        &mut self,
        view: &View<'_>,
        now: Kept,
        lanes: u32,
        (address, bytes): (u32, u32),
        races: &mut Vec<Race>,
    ) {
        let all = now.with_spread(self.history.piece());
        if bytes == PIECE
            && address & (PIECE - 1) == 0
            && let Some((piece, lists)) = self
                .history
                .piece_at(address >> self.granule_bytes.trailing_zeros())
            && piece.meet_loads(lists, view, all, lanes)
        {
            return;
        }
        let one = lanes.is_power_of_two();
        self.granules_of(
            address,
            bytes,
            |piece, lists| {
                piece.meet_loads(lists, view, all, lanes) || one && piece.meet_all(lists, view, all)
            },
            |granule, cell, lists| {
                if !cell.meet_loads(lists, view, now, lanes) {
                    for lane in context::Lanes(lanes) {
                        let now = now.of_lane(lane);
                        let earlier = cell.meet(lists, view, now, false);
                        races.extend(earlier.map(|earlier| (granule, earlier, now)));
                    }
                }
            },
        );
    }

    /// An access by one lane.
    fn lane(
        &mut self,
        view: &View<'_>,
        now: Kept,
        (address, bytes): (u32, u32),
        same: bool,
        races: &mut Vec<Race>,
    ) {
        let all = now.with_spread(self.history.piece());
        self.granules_of(
            address,
            bytes,
            |piece, lists| piece.meet_all(lists, view, all),
            |granule, cell, lists| {
                let earlier = cell.meet(lists, view, now, same);
                races.extend(earlier.map(|earlier| (granule, earlier, now)));
            },
        );
    }

    /// Gives the histories of these bytes, in rising order: `all` those of pieces of which the access has all bytes, as
    /// long as it takes them, and `each` those of granules by their number.
    #[inline(always)]
    fn granules_of(
        &mut self,
        address: u32,
        bytes: u32,
        mut all: impl FnMut(&mut Granule, &mut Lists) -> bool,
        mut each: impl FnMut(u32, &mut Granule, &mut Lists),
    ) {
        let shift = self.granule_bytes.trailing_zeros();
        let mut first = address >> shift;
        let end = (((address + bytes - 1) >> shift) + 1).min(self.granules);
        let whole = (address | bytes) & (PIECE - 1) == 0;
        while first < end {
            let (row, from) = ((first / ROW) as usize, first % ROW);
            let to = (end - first + from).min(ROW);
            self.history.begin(row);
            let left = match whole {
                true => self
                    .history
                    .meet_pieces(row, from..to, |_, piece, lists| all(piece, lists)),
                false => from,
            };
            let (granules, lists) = self.history.granules(row, left..to);
            for (granule, cell) in (first + left - from..).zip(granules) {
                each(granule, cell, lists);
            }
            first += to - from;
        }
    }

    /// An access to granules side by side.
    fn run(&mut self, view: &View<'_>, now: Kept, (first, end): (u32, u32), same: bool) {
        let mut at = first;
        while at < end {
            let (index, from) = ((at / ROW) as usize, at % ROW);
            let to = (end - at + from).min(ROW);
            self.history.begin(index);
            let here = now.part(at - first, ROW.trailing_zeros());
            let whole = to - from == ROW && (at - first) & (now.each() - 1) == 0;
            if !(whole && self.history.meet_row(view, index, here)) {
                self.part_of_row(view, now, first, at..at + (to - from), same);
                if whole && now.access() != Access::Load {
                    self.history.unite(index, here);
                }
            }
            at += to - from;
        }
    }

    /// An access to granules of one row, part of `now`, which begins at granule `first`.
    fn part_of_row(
        &mut self,
        view: &View<'_>,
        now: Kept,
        first: u32,
        part: Range<u32>,
        same: bool,
    ) {
        let (row, from) = ((part.start / ROW) as usize, part.start % ROW);
        let (to, skipped) = (from + part.len() as u32, part.start - first);
        let piece = self.history.piece();
        // Pieces begin where lanes begin, or have one lane each.
        let left = match (first | from | to) & ((1 << piece) - 1) {
            0 => self
                .history
                .meet_pieces(row, from..to, |at, history, lists| {
                    history.meet_all(lists, view, now.part(skipped + at, piece))
                }),
            _ => from,
        };
        let mut races = Vec::new();
        let (granules, lists) = self.history.granules(row, left..to);
        for (at, cell) in (left - from..).zip(granules) {
            let now = now.at(skipped + at);
            let earlier = cell.meet(lists, view, now, same);
            races.extend(earlier.map(|earlier| (part.start + at, earlier, now)));
        }
        self.races_of(races);
    }

    /// Records races, in this order.
    #[inline(always)]
    fn races_of(&mut self, races: Vec<Race>) {
        for (granule, earlier, later) in races {
            self.race(granule, earlier, later);
        }
    }

    /// Records a race, if it is the first one of its pair of instructions.
    #[cold]
    fn race(&mut self, granule: u32, earlier: Kept, later: Kept) {
        let found = PairOfAccesses {
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
        let mut found: Vec<PairOfAccesses> = all.flat_map(|one| one.found).collect();
        found.sort_by_key(|found| found.block);
        let mut pairs = BTreeSet::new();
        found.retain(|found| pairs.insert(found.pair()));
        let others = grid.warps_per_block();
        let told = |found: &PairOfAccesses| {
            let is_other = |kept: &Kept| u32::from(kept.warp()) == others;
            match (is_other(&found.earlier), is_other(&found.later)) {
                (true, _) => found.told_of_others(grid, found.later, found.earlier),
                (_, true) => found.told_of_others(grid, found.earlier, found.later),
                _ => found.told(grid),
            }
        };
        found.iter().map(told).collect()
    }
}

impl PairOfAccesses {
    /// The lines of both, whichever came first.
    fn pair(&self) -> (u32, u32) {
        let (a, b) = (self.earlier.line(), self.later.line());
        (a.min(b), a.max(b))
    }

    fn same_warp(&self) -> bool {
        self.earlier.moment().warp == self.later.moment().warp
    }

    fn told(&self, grid: &Grid<'_>) -> SharedRace {
        let thread = |kept: &Kept| {
            let Moment { warp, lane, .. } = kept.moment();
            grid.thread(u32::from(warp) * LANES as u32 + u32::from(lane))
        };
        SharedRace {
            place: FaultLocation {
                kernel: grid.kernel.name().to_owned(),
                block: grid.block_index(self.block),
                thread: thread(&self.later),
                line: self.later.line(),
            },
            access: self.later.access(),
            earlier_thread: thread(&self.earlier),
            earlier_line: self.earlier.line(),
            earlier_access: self.earlier.access(),
            address: self.address,
            missing: match self.same_warp() {
                true => Missing::WarpBarrier,
                false => Missing::BlockBarrier,
            },
        }
    }

    /// A race with another block of the cluster. Which of its threads it was is not kept.
    fn told_of_others(&self, grid: &Grid<'_>, own: Kept, others: Kept) -> SharedRace {
        let of_others = Self {
            later: own,
            earlier: Kept::NONE,
            ..*self
        };
        SharedRace {
            earlier_line: others.line(),
            earlier_access: others.access(),
            missing: Missing::ClusterBarrier,
            ..of_others.told(grid)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::memory::Strength;
    use crate::ptx::ir::Space;

    const BYTES: u32 = 1024;
    const WARPS: u32 = 4;

    fn found(shared: &Shared) -> Vec<(u32, Kept, Kept)> {
        let all = shared.found.iter();
        all.map(|found| (found.address, found.earlier, found.later))
            .collect()
    }

    /// The rules without rows and pieces: each granule by itself, each lane by itself.
    struct Plain {
        granules: Vec<Granule>,
        lists: Lists,
        found: Shared,
    }

    impl Plain {
        fn new(granule: u32) -> Self {
            Self {
                granules: vec![Granule::NONE; (BYTES / granule) as usize],
                lists: Lists::default(),
                found: Shared::new(BYTES, granule),
            }
        }

        fn lane(&mut self, view: &View<'_>, now: Kept, address: u32, bytes: u32, same: bool) {
            let granule = self.found.granule_bytes;
            for at in address / granule..(address + bytes).div_ceil(granule) {
                let cell = &mut self.granules[at as usize];
                let earlier = cell.meet(&mut self.lists, view, now, same);
                if let Some(earlier) = earlier {
                    self.found.race(at, earlier, now);
                }
            }
        }
    }

    fn site(line: u32, bytes: u32, strong: bool) -> Site {
        Site {
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
            strength: Strength {
                strong,
                ..Strength::default()
            },
            cache: 0,
            exchanges: false,
            combine: None,
        }
    }

    /// Addresses of lanes as kernels have them, aligned to their bytes.
    fn addresses(bytes: u32, next: &mut impl FnMut(u32) -> u32) -> [u32; LANES] {
        let (pattern, start, odd) = (next(9), next(4) * 128, next(32));
        let mut address = |lane: u32| {
            let place = match pattern {
                0 => lane,
                1 => lane / 16 * 5,
                2 => lane % 16,
                3 => lane * 17,
                4 => lane % 2,
                5 => lane % 4 * 32 + lane / 8,
                6 => lane / 16 * 5 + u32::from(lane == odd),
                7 => lane % 16 + u32::from(lane == odd),
                _ => next(32),
            };
            (start + place * bytes) % BYTES
        };
        std::array::from_fn(|lane| address(lane as u32))
    }

    /// Warps arrive at a block barrier, mostly all, and mostly wait there; some have exited.
    fn some_meet(order: &mut WarpClocks, next: &mut impl FnMut(u32) -> u32) {
        let exited = next(8);
        for warp in (0..WARPS).filter(|warp| *warp != exited) {
            match next(12) {
                0 => {}
                1 => order.arrive(warp, 0, 0xffff, true, !0),
                other => order.arrive(warp, 0, !0, other != 2, !0),
            }
        }
        order.complete(0, |warp| if warp as u32 == exited { 0 } else { !0 });
    }

    #[test]
    fn lanes_at_once_do_what_they_do_one_by_one() {
        let (mut races, mut united, mut pieces) = (0, 0, 0);
        let mut random = fastrand::Rng::with_seed(1);
        for round in 0..3000 {
            let (mut order, granule) = (WarpClocks::default(), 1 << (round % 3));
            order.start(WARPS as usize);
            let (mut whole, mut plain) = (Shared::new(BYTES, granule), Plain::new(granule));
            let mut next = |end| random.u32(..end);
            // Some programs touch whole pieces alone, and some have no races among a warp's lanes.
            let (least, syncs) = ([4, 16][next(2) as usize], next(2) == 0);
            // In some programs a warp accesses memory with an earlier clock.
            let (mut remembered, remembers) = (None, next(4) == 0);
            for line in 0..40 {
                let warp = next(WARPS);
                match next(7) {
                    0 => order.warp_barrier(warp, !0 >> next(2), !0),
                    1 => order.all_met(),
                    2 => order.hear_all(warp),
                    3 => some_meet(&mut order, &mut next),
                    _ if syncs => order.warp_barrier(warp, !0, !0),
                    _ => {}
                }
                if remembers && next(4) == 0 {
                    remembered = Some((warp, order.knowledge(warp)));
                }
                let mut earlier = remembered.take_if(|_| next(3) == 0);
                let warp = earlier.as_ref().map_or(warp, |(warp, _)| *warp);
                if let Some((warp, knowledge)) = &mut earlier {
                    order.exchange(*warp, knowledge);
                }
                let bytes = (4_u32 << next(3)).max(least);
                let site = site(line, bytes, next(8) == 0);
                let access = [Access::Load, Access::Store][next(2) as usize];
                let view = order.view(warp);
                whole.next_instruction();
                plain.found.next_instruction();
                let now = plain.found.now(&view, &site, access, 0);
                if next(2) == 0 {
                    let lanes = Lanes {
                        lane: next(2) as usize,
                        count: [1, 8, 32][next(3) as usize],
                        address: next(BYTES / 64) * 64 + bytes * next(2),
                        bytes,
                    };
                    let count = lanes.count.min((BYTES - lanes.address) / bytes);
                    let lanes = Lanes { count, ..lanes };
                    whole.access(&order, &site, access, warp, lanes, false);
                    for index in 0..count {
                        let now = now.of_lane(lanes.lane + index as usize);
                        let address = lanes.address + index * bytes;
                        plain.lane(&view, now, address, bytes, false);
                    }
                } else {
                    let mask = [!0, 0xffff, next(u32::MAX)][next(3) as usize];
                    let same = [0, !0, next(u32::MAX)][next(3) as usize];
                    let addresses = addresses(bytes, &mut next);
                    let mut lanes = Scattered::default();
                    for lane in context::Lanes(mask) {
                        lanes.push(lane, addresses[lane], same >> lane & 1 == 1);
                    }
                    whole.scattered(&order, &site, access, warp, (&lanes, bytes));
                    for lane in context::Lanes(mask) {
                        let (now, same) = (now.of_lane(lane), same >> lane & 1 == 1);
                        plain.lane(&view, now, addresses[lane], bytes, same);
                    }
                }
                if let Some((warp, knowledge)) = &mut earlier {
                    order.exchange(*warp, knowledge);
                }
                assert!(
                    found(&whole) == found(&plain.found),
                    "round {round}, line {line}"
                );
                let [none, some] = whole.history.united();
                united += none;
                pieces += some;
            }
            races += whole.found.len();
        }
        assert!(
            races > 10_000 && united > 50_000 && pieces > 50_000,
            "{races}, {united}, {pieces}"
        );
    }

    /// All accesses to a word that may race: the last store and the loads since, in no order.
    #[derive(Clone, Default)]
    struct All(Vec<Moment>);

    impl All {
        /// Whether an access of another warp does not come before this one, which is noted.
        fn meet(
            &mut self,
            view: &View<'_>,
            now: Moment,
            access: Access,
            stores: &mut Moment,
        ) -> bool {
            let unordered =
                |earlier: &Moment| earlier.warp != now.warp && !view.knows_all(*earlier);
            if access == Access::Load {
                self.0.push(now);
                return unordered(stores);
            }
            let races = unordered(stores) || self.0.iter().any(unordered);
            *stores = now;
            self.0.clear();
            races
        }
    }

    #[test]
    fn a_store_is_reported_if_and_only_if_it_did_not_wait_for_some_warp() {
        const WARPS: u32 = 6;
        const WORDS: u32 = 2 * history::ROW;
        let (mut told, mut clean, mut listed) = (0, 0, 0);
        let mut random = fastrand::Rng::with_seed(2);
        for round in 0..4000 {
            let mut next = |end| random.u32(..end);
            let (mut order, mut shared) = (WarpClocks::default(), Shared::new(WORDS * 4, 4));
            order.start(WARPS as usize);
            let mut words = vec![(All::default(), Moment::default()); WORDS as usize];
            let (stores, lines) = (2 + next(8), 1 + next(3));
            // Some programs touch few words alone.
            let end = [WORDS, 4][next(2) as usize];
            for step in 0..80 {
                let warp = next(WARPS);
                match next(10) {
                    0 => order.warp_barrier(warp, !0, !0),
                    1 | 2 => {
                        let (object, other) = (next(3) * 8, next(WARPS));
                        order.tell(warp, object, true);
                        order.hear(other, object, true);
                    }
                    3 => {
                        let members = next(1 << WARPS);
                        for warp in (0..WARPS).filter(|warp| members >> warp & 1 == 1) {
                            order.arrive(warp, 1, !0, next(4) != 0, !0);
                        }
                        order.complete(1, |_| !0);
                    }
                    4 if next(12) == 0 => order.all_met(),
                    _ => {}
                }
                let access = [Access::Store, Access::Load][usize::from(next(stores) != 0)];
                // A word has the same lane in all stores. Loads are sometimes by other lanes, or by many.
                let (address, count, lanes_at_word) = match next(4) {
                    0 | 1 if end == WORDS => (next(WORDS / 32) * 32, 32, None),
                    2 => (next(end / 4) * 4, 4, None),
                    _ => {
                        let (word, own) = (next(end), next(2) == 0);
                        let lanes = match next(3) {
                            _ if own || access != Access::Load => 1 << (word % 32),
                            0 => !0,
                            1 => 1 << next(32),
                            _ => next(u32::MAX).max(1),
                        };
                        (word, 1, (next(2) == 0 || !own).then_some(lanes))
                    }
                };
                let line = match access {
                    Access::Load => 1 + next(lines),
                    _ => 100 + step,
                };
                let site = site(line, 4, false);
                let view = order.view(warp);
                let mut expected = Vec::new();
                for word in address..address + count {
                    let (loads, store) = &mut words[word as usize];
                    if loads.meet(&view, view.now(word as usize % LANES), access, store) {
                        expected.push(word * 4);
                    }
                }
                shared.next_instruction();
                if let Some(mask) = lanes_at_word {
                    let mut lanes = Scattered::default();
                    for lane in context::Lanes(mask) {
                        lanes.push(lane, address * 4, false);
                    }
                    shared.scattered(&order, &site, access, warp, (&lanes, 4));
                } else {
                    let lane = address as usize % LANES;
                    let lanes = Lanes {
                        lane,
                        count,
                        address: address * 4,
                        bytes: 4,
                    };
                    shared.access(&order, &site, access, warp, lanes, false);
                }
                let reports = found(&shared);
                let is_missed = reports.is_empty() && !expected.is_empty();
                assert!(!is_missed, "round {round}, step {step}");
                for (address, earlier, later) in &reports {
                    let (earlier, later) = (earlier.moment(), later.moment());
                    let is_expected = match earlier.warp == later.warp {
                        true => earlier.lane != later.lane,
                        false => expected.contains(address),
                    };
                    assert!(is_expected, "round {round}, step {step}");
                    assert!(!view.knows_all(earlier), "round {round}, step {step}");
                }
                let (lists, owned) = shared.history.lists();
                assert_eq!(lists, owned, "round {round}, step {step}");
                listed += lists;
                told += reports.len();
                clean += usize::from(expected.is_empty() && access == Access::Store);
                shared.found.clear();
            }
        }
        assert!(
            told > 10_000 && clean > 5_000 && listed > 10_000,
            "{told}, {clean}, {listed}"
        );
    }

    #[test]
    fn lanes_of_one_address_come_in_their_order_when_both_halves_are_equal() {
        let mut order = WarpClocks::default();
        order.start(1);
        let mut shared = Shared::new(BYTES, 4);
        let mut access = |line, access, lanes: &[(usize, u32)]| {
            let mut scattered = Scattered::default();
            for (lane, address) in lanes {
                scattered.push(*lane, *address, false);
            }
            shared.scattered(&order, &site(line, 4, false), access, 0, (&scattered, 4));
        };
        access(1, Access::Load, &[(30, 0)]);
        // Both words go to one place of what is known of addresses.
        let all: Vec<(usize, u32)> = (0..LANES)
            .map(|lane| (lane, lane as u32 % 2 * 128))
            .collect();
        access(2, Access::Load, &all);
        access(3, Access::Store, &[(30, 0)]);
        let found = found(&shared);
        assert_eq!(found.len(), 1);
        let (_, earlier, later) = found[0];
        assert_eq!((earlier.line(), later.line()), (2, 3));
        assert_eq!((earlier.moment().lane, later.moment().lane), (28, 30));
    }

    #[test]
    fn a_barrier_of_all_makes_one_history_of_a_divided_row() {
        let mut order = WarpClocks::default();
        order.start(2);
        let mut shared = Shared::new(BYTES, 4);
        let rows = (BYTES / 4 / history::ROW) as usize;
        let mut backwards = Scattered::default();
        (0..LANES).for_each(|lane| backwards.push(lane, 124 - 4 * lane as u32, false));
        let words = (&backwards, 4);
        shared.scattered(&order, &site(1, 4, false), Access::Store, 0, words);
        assert_eq!(shared.history.united(), [rows - 1, 0]);
        let mut first = Scattered::default();
        first.push(0, 0, false);
        for (arrived, united) in [(1, [rows - 1, 0]), (2, [rows - 1, 1])] {
            (0..arrived).for_each(|warp| order.arrive(warp, 0, !0, true, !0));
            order.complete(0, |_| !0);
            let (site, piece) = (site(2, PIECE, false), (&first, PIECE));
            shared.scattered(&order, &site, Access::Load, 0, piece);
            assert_eq!(shared.history.united(), united);
        }
        assert!(shared.found.is_empty());
    }

    #[test]
    fn words_of_a_piece_keep_their_lanes_when_one_lane_loads_it_whole() {
        let mut order = WarpClocks::default();
        order.start(1);
        let mut shared = Shared::new(BYTES, 4);
        let words = Lanes {
            lane: 0,
            count: 4,
            address: 0,
            bytes: 4,
        };
        shared.access(&order, &site(1, 4, false), Access::Load, 0, words, false);
        let mut whole = Scattered::default();
        whole.push(0, 0, false);
        let of_piece = site(2, PIECE, false);
        shared.scattered(&order, &of_piece, Access::Load, 0, (&whole, PIECE));
        let second_word = Lanes {
            count: 1,
            address: 4,
            ..words
        };
        let store = site(3, 4, false);
        shared.access(&order, &store, Access::Store, 0, second_word, false);
        let found = found(&shared);
        assert_eq!(found.len(), 1);
        let (address, earlier, later) = found[0];
        assert_eq!((address, earlier.line(), later.line()), (4, 1, 3));
        assert_eq!((earlier.moment().lane, later.moment().lane), (1, 0));
    }
}
