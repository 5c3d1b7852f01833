//! What is remembered of accesses to shared memory.
//!
//! Warps mostly access whole rows of granules, and in the same way as the others: such a row has one history, which a
//! few comparisons bring up to date. The granules of other rows have a history each, until a warp stores to the whole row;
//! or each piece of 16 bytes has one, as long as no access touches less of it.

use std::ops::Range;

use super::super::super::fault::Access;
use super::super::super::warp_handlers::LANES;
use super::super::order::{Moment, View};

/// Granules of a row: 128 bytes, a full warp's words, when granules have 4.
pub(super) const ROW: u32 = 32;

/// Bytes of a piece.
pub(super) const PIECE: u32 = 16;

/// The most pieces of a row: granules have at most 4 bytes.
const PIECES: usize = 8;

/// An access that may conflict with later ones. Its stretch is 0 when there was none: everyone knows that one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// Stretch, strength, kind, warp and lane, from the high bits to the low ones.
    when: u64,
    /// The line, and which execution of a memory instruction it belongs to.
    what: u64,
}

/// Accesses of lanes side by side, each to `1 << spread` granules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The access to the first granule.
    pub first: Kept,
    spread: u32,
}

/// The accesses to a granule, or to all granules of a piece.
#[derive(Clone, Copy)]
pub(super) struct Granule {
    store: Kept,
    loads: [Kept; 2],
}

/// The accesses to the granules of a row.
#[derive(Clone, Copy)]
struct Row {
    division: Division,
    /// Of a row that is not divided.
    store: Run,
    loads: [Run; 2],
}

/// Which bytes of a row have a history of their own, and where that is in [`History`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Division {
    None,
    Pieces(u32),
    Granules(u32),
}

/// The accesses to all granules.
pub(super) struct History {
    rows: Vec<Row>,
    pieces: Vec<[Granule; PIECES]>,
    granules: Vec<[Granule; ROW as usize]>,
    /// Places in `pieces` and `granules` that no row uses.
    free_pieces: Vec<u32>,
    free_granules: Vec<u32>,
    /// A piece has `1 << piece` granules.
    piece: u32,
}

impl Kept {
    const NONE: Self = Self { when: 0, what: 0 };

    pub const fn new(
        moment: Moment,
        (line, serial): (u32, u32),
        access: Access,
        strong: bool,
    ) -> Self {
        let (strong, access) = ((strong as u64) << 24, (access as u64) << 16);
        let thread = (moment.warp as u64) << 8 | moment.lane as u64;
        Self {
            when: (moment.stretch as u64) << 32 | strong | access | thread,
            what: (line as u64) << 32 | serial as u64,
        }
    }

    #[inline(always)]
    pub fn moment(&self) -> Moment {
        Moment {
            warp: self.warp(),
            lane: self.when as u8,
            stretch: (self.when >> 32) as u32,
        }
    }

    #[inline(always)]
    fn warp(&self) -> u8 {
        (self.when >> 8) as u8
    }

    pub fn line(&self) -> u32 {
        (self.what >> 32) as u32
    }

    #[inline(always)]
    pub fn access(&self) -> Access {
        match (self.when >> 16) as u8 {
            kind if kind == Access::Load as u8 => Access::Load,
            kind if kind == Access::Store as u8 => Access::Store,
            _ => Access::Atomic,
        }
    }

    #[inline(always)]
    fn is_strong(&self) -> bool {
        self.when >> 24 & 1 == 1
    }

    #[inline(always)]
    fn is_of_instruction(&self, other: &Self) -> bool {
        self.what as u32 == other.what as u32
    }

    /// The same access by another lane.
    #[inline(always)]
    pub fn of_lane(self, lane: usize) -> Self {
        let when = self.when & !0xff | (lane % LANES) as u64;
        Self { when, ..self }
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
        let lane = usize::from(self.first.moment().lane) + (granule >> self.spread) as usize;
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
        let (earlier, moment) = (self.first.moment(), now.first.moment());
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
    /// Of so many granules of `1 << shift` bytes.
    pub fn new(granules: u32, shift: u32) -> Self {
        let none = Row {
            division: Division::None,
            store: Run::NONE,
            loads: [Run::NONE; 2],
        };
        Self {
            rows: vec![none; granules.div_ceil(ROW) as usize],
            pieces: Vec::new(),
            granules: Vec::new(),
            free_pieces: Vec::new(),
            free_granules: Vec::new(),
            piece: PIECE.trailing_zeros() - shift,
        }
    }

    /// Takes note of an access to a whole row, if that does the same to all of its granules and there is no race.
    #[inline]
    pub fn meet_row(&mut self, view: &View<'_>, row: usize, now: Run) -> bool {
        let row = &mut self.rows[row];
        if row.division != Division::None || now.first.is_strong() {
            return false;
        }
        let is_before = |run: &Run| run.is_before(view, &now);
        if is_before(&row.store) != Some(true) {
            return false;
        }
        let [first, second] = &mut row.loads;
        if now.first.access() != Access::Load {
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
                let same_warp = second.first.warp() == now.first.warp();
                if same_warp || is_before(second) == Some(true) {
                    *second = now;
                }
            }
            None => return false,
        }
        true
    }

    /// The histories of granules of a row, for accesses that differ, and how many granules each of them has. An access
    /// to `whole` pieces finds one for each piece, unless parts of the row's pieces have been accessed.
    #[inline(always)]
    pub fn cells(
        &mut self,
        row: usize,
        granules: Range<u32>,
        whole: bool,
    ) -> (&mut [Granule], u32) {
        let (from, to) = (granules.start as usize, granules.end as usize);
        let place = match self.rows[row].division {
            Division::Pieces(place) if whole => Some(place),
            Division::None if whole => self.divide_to_pieces(row),
            _ => None,
        };
        if let Some(place) = place {
            let pieces = &mut self.pieces[place as usize];
            return (
                &mut pieces[from >> self.piece..to >> self.piece],
                1 << self.piece,
            );
        }
        let place = match self.rows[row].division {
            Division::Granules(place) => place,
            _ => self.divide_to_granules(row),
        };
        (&mut self.granules[place as usize][from..to], 1)
    }

    /// A piece has `1 << piece` granules.
    #[inline(always)]
    pub fn piece(&self) -> u32 {
        self.piece
    }

    /// How many rows have one history, and how many have one for each piece.
    #[cfg(test)]
    pub fn united(&self) -> [usize; 2] {
        let rows = |wanted: fn(&Division) -> bool| {
            let divisions = self.rows.iter().map(|row| row.division);
            divisions.filter(wanted).count()
        };
        [
            rows(|division| *division == Division::None),
            rows(|division| matches!(division, Division::Pieces(_))),
        ]
    }

    #[cold]
    fn divide_to_granules(&mut self, row: usize) -> u32 {
        let row = &mut self.rows[row];
        let granules = match row.division {
            Division::Pieces(place) => {
                self.free_pieces.push(place);
                let pieces = &self.pieces[place as usize];
                std::array::from_fn(|at| pieces[at >> self.piece])
            }
            _ => std::array::from_fn(|at| row.granule(at as u32)),
        };
        let place = put(&mut self.granules, &mut self.free_granules, granules);
        row.division = Division::Granules(place);
        place
    }

    #[cold]
    fn divide_to_pieces(&mut self, row: usize) -> Option<u32> {
        let row = &mut self.rows[row];
        let runs = [row.store, row.loads[0], row.loads[1]];
        let is_whole = |run: &Run| run.spread >= self.piece || *run == Run::NONE;
        if !runs.iter().all(is_whole) {
            return None;
        }
        let pieces = std::array::from_fn(|at| row.granule((at as u32) << self.piece));
        let place = put(&mut self.pieces, &mut self.free_pieces, pieces);
        row.division = Division::Pieces(place);
        Some(place)
    }

    /// A row has been stored to as a whole, and nothing else is left to remember.
    pub fn unite(&mut self, row: usize, store: Run) {
        let row = &mut self.rows[row];
        if store.first.is_strong() {
            return;
        }
        match row.division {
            Division::None => return,
            Division::Pieces(place) => self.free_pieces.push(place),
            Division::Granules(place) => self.free_granules.push(place),
        }
        *row = Row {
            division: Division::None,
            store,
            loads: [Run::NONE; 2],
        };
    }
}

impl Row {
    /// The history of one granule, if the row is not divided.
    fn granule(&self, at: u32) -> Granule {
        Granule {
            store: self.store.at(at),
            loads: self.loads.map(|load| load.at(at)),
        }
    }
}

/// Puts it to where there is room.
fn put<T>(all: &mut Vec<T>, free: &mut Vec<u32>, one: T) -> u32 {
    match free.pop() {
        Some(place) => {
            all[place as usize] = one;
            place
        }
        None => {
            all.push(one);
            all.len() as u32 - 1
        }
    }
}

impl Granule {
    #[cfg(test)]
    pub const NONE: Self = Self {
        store: Kept::NONE,
        loads: [Kept::NONE; 2],
    };

    /// Takes note of an access; returns one that it races with.
    #[inline(always)]
    pub fn meet(&mut self, view: &View<'_>, now: Kept, same: bool) -> Option<Kept> {
        let races = |earlier: &Kept| {
            // Lanes of one instruction that store the same value do no harm.
            let agree =
                same && earlier.is_of_instruction(&now) && earlier.access() == Access::Store;
            let atomic = earlier.is_strong() && now.is_strong();
            !view.is_before(earlier.moment(), now.moment()) && !agree && !atomic
        };
        let store = Some(self.store).filter(races);
        if now.access() == Access::Load {
            self.note_load(view, now);
            return store;
        }
        let [first, second] = self.loads;
        let load = match races(&first) {
            true => Some(first),
            false => Some(second).filter(races),
        };
        self.store = now;
        self.loads = [Kept::NONE; 2];
        store.or(load)
    }

    #[inline(always)]
    fn note_load(&mut self, view: &View<'_>, now: Kept) {
        let [first, second] = &mut self.loads;
        if view.is_before(first.moment(), now.moment()) {
            *first = now;
        } else if second.warp() == now.warp() || view.is_before(second.moment(), now.moment()) {
            *second = now;
        }
    }

    /// Takes note of one load by each of these lanes, in rising order; `now` is the first one's. `false`, and nothing is
    /// noted, if that is more than a few comparisons.
    #[inline(always)]
    pub fn meet_loads(&mut self, view: &View<'_>, now: Kept, lanes: u32) -> bool {
        if !view.knows_lanes_alike() || !view.knows_all(self.store.moment()) {
            return false;
        }
        let [first, second] = &mut self.loads;
        let (earlier, moment) = (first.moment(), now.moment());
        let own = earlier.warp == moment.warp;
        let mut others = lanes;
        if view.knows_all(earlier) || own && earlier.lane == moment.lane {
            // The first lane's load is kept there, and no later one comes after it.
            *first = now;
            others &= others - 1;
        } else if own && lanes >> earlier.lane & 1 == 1 {
            // That lane has loaded before.
            *first = now.of_lane(earlier.lane.into());
            others &= !(1 << earlier.lane);
        }
        // Of the rest, each replaces the one before it.
        if others != 0 && (second.warp() == now.warp() || view.knows_all(second.moment())) {
            *second = now.of_lane(31 - others.leading_zeros() as usize);
        }
        true
    }
}
