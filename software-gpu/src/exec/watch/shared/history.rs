//! What is remembered of accesses to shared memory.
//!
//! Warps mostly access whole rows of granules, and in the same way as the others: such a row has one history, which a
//! few comparisons bring up to date. The granules of other rows have a history each, until a warp stores to the whole row.

use super::super::super::fault::Access;
use super::super::super::warp_handlers::LANES;
use super::super::order::{Moment, View};

/// Granules of a row: 128 bytes, a full warp's words, when granules have 4.
pub(super) const ROW: u32 = 32;

/// A row without cells.
const UNITED: u32 = u32::MAX;

/// An access that may conflict with later ones. Its stretch is 0 when there was none: everyone knows that one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub moment: Moment,
    pub line: u32,
    /// Which execution of a memory instruction it belongs to.
    pub serial: u32,
    pub access: Access,
    pub strong: bool,
}

/// Accesses of lanes side by side, each to `1 << spread` granules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The access to the first granule.
    pub first: Kept,
    spread: u32,
}

/// The accesses to a granule.
#[derive(Clone, Copy)]
pub(super) struct Granule {
    store: Kept,
    loads: [Kept; 2],
}

/// The accesses to the granules of a row.
#[derive(Clone, Copy)]
struct Row {
    /// Where its granules are in [`History::cells`], in rows; else what follows holds for all of them.
    cells: u32,
    store: Run,
    loads: [Run; 2],
}

/// The accesses to all granules.
pub(super) struct History {
    rows: Vec<Row>,
    cells: Vec<[Granule; ROW as usize]>,
    /// Places in `cells` that no row uses.
    free: Vec<u32>,
}

impl Kept {
    const NONE: Self = Self {
        moment: Moment {
            warp: 0,
            lane: 0,
            stretch: 0,
        },
        line: 0,
        serial: 0,
        access: Access::Load,
        strong: false,
    };

    /// The same access by another lane.
    #[inline(always)]
    pub fn of_lane(mut self, lane: usize) -> Self {
        self.moment.lane = (lane % LANES) as u8;
        self
    }
}

impl Run {
    const NONE: Self = Self::new(Kept::NONE, 0);

    pub const fn new(first: Kept, spread: u32) -> Self {
        Self { first, spread }
    }

    /// Granules of each lane.
    #[inline(always)]
    pub fn each(&self) -> u32 {
        1 << self.spread
    }

    /// The access to the granule so far behind the first one.
    #[inline(always)]
    pub fn at(&self, granule: u32) -> Kept {
        let lane = usize::from(self.first.moment.lane) + (granule >> self.spread) as usize;
        self.first.of_lane(lane)
    }

    /// What is left of it from that granule on, which is the first one of a lane.
    #[inline(always)]
    pub fn skip(self, granule: u32) -> Self {
        Self::new(self.at(granule), self.spread)
    }

    /// Whether each of its accesses comes before the one of `now` to the same granule. `None`: some may, some may not.
    #[inline(always)]
    fn is_before(&self, view: &View<'_>, now: &Self) -> Option<bool> {
        let (earlier, moment) = (self.first.moment, now.first.moment);
        if view.knows_all(earlier) {
            return Some(true);
        }
        if earlier.warp != moment.warp {
            return Some(false);
        }
        let same_lanes = earlier.lane == moment.lane && self.spread == now.spread;
        same_lanes.then_some(true)
    }
}

impl History {
    pub fn new(granules: u32) -> Self {
        let none = Row {
            cells: UNITED,
            store: Run::NONE,
            loads: [Run::NONE; 2],
        };
        Self {
            rows: vec![none; granules.div_ceil(ROW) as usize],
            cells: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Takes note of an access to a whole row, if that does the same to all of its granules and there is no race.
    #[inline]
    pub fn meet_row(&mut self, view: &View<'_>, row: usize, now: Run) -> bool {
        let row = &mut self.rows[row];
        if row.cells != UNITED || now.first.strong {
            return false;
        }
        let is_before = |run: &Run| run.is_before(view, &now);
        if is_before(&row.store) != Some(true) {
            return false;
        }
        let [first, second] = &mut row.loads;
        if now.first.access != Access::Load {
            let ordered = is_before(first) == Some(true) && is_before(second) == Some(true);
            if ordered {
                row.store = now;
                row.loads = [Run::NONE; 2];
            }
            return ordered;
        }
        match is_before(first) {
            Some(true) => *first = now,
            Some(false) => {
                let same_warp = second.first.moment.warp == now.first.moment.warp;
                if same_warp || is_before(second) == Some(true) {
                    *second = now;
                }
            }
            None => return false,
        }
        true
    }

    /// The granules of a row, for accesses that differ.
    #[inline]
    pub fn cells(&mut self, row: usize) -> &mut [Granule; ROW as usize] {
        if self.rows[row].cells == UNITED {
            self.divide(row);
        }
        &mut self.cells[self.rows[row].cells as usize]
    }

    /// How many rows have one history.
    #[cfg(test)]
    pub fn united(&self) -> usize {
        self.rows.iter().filter(|row| row.cells == UNITED).count()
    }

    fn divide(&mut self, row: usize) {
        let row = &mut self.rows[row];
        let granule = |at| Granule {
            store: row.store.at(at),
            loads: row.loads.map(|load| load.at(at)),
        };
        let cells = std::array::from_fn(|at| granule(at as u32));
        match self.free.pop() {
            Some(place) => {
                self.cells[place as usize] = cells;
                row.cells = place;
            }
            None => {
                row.cells = self.cells.len() as u32;
                self.cells.push(cells);
            }
        }
    }

    /// A row has been stored to as a whole, and nothing else is left to remember.
    pub fn unite(&mut self, row: usize, store: Run) {
        let row = &mut self.rows[row];
        if !store.first.strong && row.cells != UNITED {
            self.free.push(row.cells);
            *row = Row {
                cells: UNITED,
                store,
                loads: [Run::NONE; 2],
            };
        }
    }
}

impl Granule {
    /// Takes note of an access; returns one that it races with.
    #[inline(always)]
    pub fn meet(&mut self, view: &View<'_>, now: Kept, same: bool) -> Option<Kept> {
        let races = |earlier: &Kept| {
            // Lanes of one instruction that store the same value do no harm.
            let agree = same && earlier.serial == now.serial && earlier.access == Access::Store;
            let atomic = earlier.strong && now.strong;
            !view.is_before(earlier.moment, now.moment) && !agree && !atomic
        };
        let store = Some(self.store).filter(races);
        if now.access == Access::Load {
            self.note_load(view, now);
            return store;
        }
        let load = self.loads.into_iter().find(races);
        self.store = now;
        self.loads = [Kept::NONE; 2];
        store.or(load)
    }

    #[inline(always)]
    fn note_load(&mut self, view: &View<'_>, now: Kept) {
        let [first, second] = &mut self.loads;
        if view.is_before(first.moment, now.moment) {
            *first = now;
        } else if second.moment.warp == now.moment.warp || view.is_before(second.moment, now.moment)
        {
            *second = now;
        }
    }
}
