//! The accesses to shared memory with which a later access can still race.
//!
//! Warps mostly access whole rows of granules, all in the same way. The history of a row therefore has three resolutions:
//!
//! | division of the row | one history for | chosen when |
//! |---|---|---|
//! | [`Division::None`] | the whole row, 32 granules | every access so far covers the row |
//! | [`Division::Pieces`] | each piece of 16 bytes | accesses cover parts of the row |
//! | [`Division::Granules`] | each granule | lanes of one warp access different bytes of a piece |
//!
//! Invariants:
//!
//! - A granule has its last store and, of the loads since then, the latest of each warp, unless a load of another warp is ordered
//!   after that one ([`Loads`]).
//! - A store clears the loads. An access that is ordered after the store is ordered after them, too; otherwise the store itself was a race.
//! - A list of loads has exactly one owner. Dividing a row gives each part a list of its own and ends the old one.
//! - A row of an earlier era counts as empty; `begin` clears it at its first access.
//!
//! This is FastTrack's shadow word (Flanagan and Freund, PLDI 2009) with two additions: the loads of several warps, and one word for
//! many granules.
//!
//! A division stays until a warp stores to the whole row or an [era](WarpClocks::era) ends: then no earlier access can race any more.

use std::ops::Range;

use super::super::super::fault::Access;
use super::super::super::warp_handlers::LANES;
use super::super::order::{Moment, View, WarpClocks};
use super::lists::Lists;
use super::loads::Loads;

/// Granules of a row: 128 bytes, a full warp's words, when granules have 4.
pub(super) const ROW: u32 = 32;

/// Bytes of a piece.
pub(super) const PIECE: u32 = 16;

/// The most pieces of a row: granules have at most 4 bytes.
const PIECES: usize = 8;

/// The access of adjacent lanes, each to `1 << spread` granules, that may conflict with a later one. The stretch is 0 when there was no access: every
/// clock includes stretch 0.
///
/// | bits of `when` | content |
/// |---|---|
/// | 63 to 32 | stretch of the warp, see [`WarpClocks`] |
/// | 31 to 28 | spread: log2 of the granules of each lane, at most 5 |
/// | 27 to 24 | of a strong access: log2 of its bytes, plus 1; else 0 |
/// | 23 to 16 | kind, an [`Access`] |
/// | 15 to 8 | warp |
/// | 7 to 0 | first lane |
///
/// | bits of `what` | content |
/// |---|---|
/// | 63 to 32 | line of the instruction |
/// | 31 to 0 | serial number of the execution of a memory instruction |
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    when: u64,
    what: u64,
}

/// The accesses to a granule, or to all granules of a piece or a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Granule {
    store: Kept,
    loads: Loads,
}

/// The accesses to the granules of a row.
#[derive(Clone, Copy)]
struct GranuleRow {
    division: Division,
    /// The history of a row that is not divided.
    all: Granule,
    /// When it was accessed last.
    era: u64,
}

/// The division of a row: the bytes with a history of their own, and its place in [`History`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Division {
    None,
    Pieces(u32),
    Granules(u32),
}

/// The accesses to all granules.
pub(super) struct History {
    era: u64,
    rows: Vec<GranuleRow>,
    pieces: Vec<[Granule; PIECES]>,
    granules: Vec<[Granule; ROW as usize]>,
    /// Places in `pieces` and `granules` that no row uses.
    free_pieces: Vec<u32>,
    free_granules: Vec<u32>,
    lists: Lists,
    /// A piece has `1 << piece` granules.
    piece: u32,
}

impl Kept {
    pub const NONE: Self = Self { when: 0, what: 0 };
    /// Where the spread is: at most 5, for a row.
    const SPREAD: u32 = 28;

    /// An access to one granule.
    pub const fn new(
        moment: Moment,
        (line, serial): (u32, u32),
        access: Access,
        strength: u32,
    ) -> Self {
        let (strength, access) = ((strength as u64) << 24, (access as u64) << 16);
        let thread = (moment.warp as u64) << 8 | moment.lane as u64;
        Self {
            when: (moment.stretch as u64) << 32 | strength | access | thread,
            what: (line as u64) << 32 | serial as u64,
        }
    }

    #[inline(always)]
    pub fn moment(&self) -> Moment {
        Moment {
            warp: self.warp(),
            lane: self.when as u8,
            stretch: self.stretch(),
        }
    }

    #[inline(always)]
    pub fn warp(&self) -> u8 {
        (self.when >> 8) as u8
    }

    #[inline(always)]
    pub fn stretch(&self) -> u32 {
        (self.when >> 32) as u32
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
        self.strength() != 0
    }

    /// Strong accesses of one strength do not race. Strong accesses of different sizes do, as they overlap only in part (PTX ISA,
    /// "Morally strong operations").
    #[inline(always)]
    fn strength(&self) -> u64 {
        self.when >> 24 & 15
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

    #[inline(always)]
    fn spread(&self) -> u32 {
        self.when as u32 >> Self::SPREAD & 7
    }

    /// The same with `1 << spread` granules for each lane.
    #[inline(always)]
    pub fn with_spread(self, spread: u32) -> Self {
        let when = self.when & !(7 << Self::SPREAD) | u64::from(spread) << Self::SPREAD;
        Self { when, ..self }
    }

    /// Granules of each lane.
    #[inline(always)]
    pub fn each(&self) -> u32 {
        1 << self.spread()
    }

    /// The access to the granule so far behind the first one.
    #[inline(always)]
    pub fn at(&self, granule: u32) -> Self {
        self.part(granule, 0)
    }

    /// The accesses to `1 << size` granules from that one on. They begin with the first granule of a lane, or are of one.
    #[inline(always)]
    pub fn part(&self, granule: u32, size: u32) -> Self {
        // Adjacent lanes access adjacent granules, so the lane follows from the distance to the first granule.
        let lane = usize::from(self.moment().lane) + (granule >> self.spread()) as usize;
        self.of_lane(lane).with_spread(self.spread().min(size))
    }

    /// Whether it has that one's warp and stretch.
    #[inline(always)]
    pub fn is_at_time_of(&self, other: &Self) -> bool {
        self.warp() == other.warp() && self.stretch() == other.stretch()
    }

    /// Whether they differ only in the warp.
    #[inline(always)]
    pub fn is_equal_access(&self, other: &Self) -> bool {
        // All fields of `when` except the warp are equal. The serial number in `what` may differ.
        (self.when ^ other.when) & !(0xff << 8) == 0 && self.line() == other.line()
    }

    /// The same access by another warp.
    pub fn of_warp(self, warp: usize) -> Self {
        let when = self.when & !(0xff << 8) | (warp as u64) << 8;
        Self { when, ..self }
    }

    /// Whether each of its accesses comes before the one of `now` to the same granule. `None`: some may, some may not.
    #[inline(always)]
    fn is_before(&self, view: &View<'_>, now: &Self) -> Option<bool> {
        let (earlier, moment) = (self.moment(), now.moment());
        // The warp's clock includes the stretch, and so do those of all lanes.
        if view.knows_all(earlier) {
            return Some(true);
        }
        if earlier.warp != moment.warp {
            return Some(false);
        }
        // The lanes of all granules differ by as many.
        let same = self.spread() == now.spread();
        match earlier.lane == moment.lane {
            true => same.then_some(true),
            false => (same && view.knows_all_lanes_equally()).then_some(false),
        }
    }
}

impl History {
    /// The history of `granules` granules of `1 << shift` bytes.
    pub fn new(granules: u32, shift: u32) -> Self {
        let none = GranuleRow {
            division: Division::None,
            all: Granule::NONE,
            era: 0,
        };
        Self {
            era: 0,
            rows: vec![none; granules.div_ceil(ROW) as usize],
            pieces: Vec::new(),
            granules: Vec::new(),
            free_pieces: Vec::new(),
            free_granules: Vec::new(),
            lists: Lists::default(),
            piece: PIECE.trailing_zeros() - shift,
        }
    }

    /// Accesses from here on are of the present era.
    #[inline(always)]
    pub fn at_time_of(&mut self, order: &WarpClocks) {
        if self.era != order.era() {
            self.era = order.era();
            self.lists.give_all_back();
        }
    }

    /// A row is about to be accessed: forgets what earlier eras did to it.
    #[inline(always)]
    pub fn begin(&mut self, row: usize) {
        if self.rows[row].era != self.era {
            self.forget(row);
        }
    }

    #[cold]
    fn forget(&mut self, row: usize) {
        let all = Granule::NONE;
        self.undivided(row, all);
    }

    /// Unites a row's history.
    fn undivided(&mut self, row: usize, all: Granule) {
        // The places of the division become free; their contents stay until they are used again.
        let row = &mut self.rows[row];
        match row.division {
            Division::None => {}
            Division::Pieces(place) => self.free_pieces.push(place),
            Division::Granules(place) => self.free_granules.push(place),
        }
        *row = GranuleRow {
            division: Division::None,
            all,
            era: self.era,
        };
    }

    /// Records an access to a whole row, if it changes all of its granules in the same way and there is no race.
    #[inline]
    pub fn meet_row(&mut self, view: &View<'_>, row: usize, now: Kept) -> bool {
        let row = &mut self.rows[row];
        row.division == Division::None && row.all.meet_all(&mut self.lists, view, now)
    }

    /// Gives the histories of whole pieces of a row, with the granules before them, until one is refused. Returns the
    /// granule that is left to be looked at by itself, like all behind it.
    #[inline(always)]
    pub fn meet_pieces(
        &mut self,
        row: usize,
        granules: Range<u32>,
        mut meet: impl FnMut(u32, &mut Granule, &mut Lists) -> bool,
    ) -> u32 {
        let place = match self.rows[row].division {
            Division::Pieces(place) => place,
            Division::None => self.divide_to_pieces(row),
            Division::Granules(_) => return granules.start,
        };
        let pieces = &mut self.pieces[place as usize];
        let range = (granules.start >> self.piece) as usize..(granules.end >> self.piece) as usize;
        let mut at = granules.start;
        for piece in &mut pieces[range] {
            if !meet(at - granules.start, piece, &mut self.lists) {
                break;
            }
            at += 1 << self.piece;
        }
        at
    }

    /// The histories of granules of a row, for accesses that differ.
    #[inline(always)]
    pub fn granules(&mut self, row: usize, granules: Range<u32>) -> (&mut [Granule], &mut Lists) {
        if granules.is_empty() {
            return (&mut [], &mut self.lists);
        }
        let place = match self.rows[row].division {
            Division::Granules(place) => place,
            _ => self.divide_to_granules(row),
        };
        let range = granules.start as usize..granules.end as usize;
        (&mut self.granules[place as usize][range], &mut self.lists)
    }

    /// The history of one granule by itself.
    #[inline(always)]
    pub fn granule(&mut self, granule: u32) -> (&mut Granule, &mut Lists) {
        let row = (granule / ROW) as usize;
        self.begin(row);
        let place = match self.rows[row].division {
            Division::Granules(place) => place,
            _ => self.divide_to_granules(row),
        };
        let granules = &mut self.granules[place as usize];
        (&mut granules[(granule % ROW) as usize], &mut self.lists)
    }

    /// The history of the piece that begins with that granule, unless its granules have histories of their own.
    #[inline(always)]
    pub fn piece_at(&mut self, granule: u32) -> Option<(&mut Granule, &mut Lists)> {
        let row = (granule / ROW) as usize;
        self.begin(row);
        let place = match self.rows[row].division {
            Division::Pieces(place) => place,
            Division::None => self.divide_to_pieces(row),
            Division::Granules(_) => return None,
        };
        let piece = ((granule % ROW) >> self.piece) as usize % PIECES;
        Some((&mut self.pieces[place as usize][piece], &mut self.lists))
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

    /// How many lists of loads are taken, and how many of the histories of this era have one.
    #[cfg(test)]
    pub fn lists(&self) -> (usize, usize) {
        let rows = self.rows.iter().filter(|row| row.era == self.era);
        let histories = rows.flat_map(|row| match row.division {
            Division::None => std::slice::from_ref(&row.all),
            Division::Pieces(place) => &self.pieces[place as usize],
            Division::Granules(place) => &self.granules[place as usize],
        });
        let owned = histories.filter(|granule| granule.loads.has_list());
        (self.lists.taken(), owned.count())
    }

    #[cold]
    fn divide_to_granules(&mut self, row: usize) -> u32 {
        let (row, lists) = (&mut self.rows[row], &mut self.lists);
        let granules = match row.division {
            Division::Pieces(place) => {
                self.free_pieces.push(place);
                let (pieces, rest) = (&self.pieces[place as usize], (1 << self.piece) - 1);
                let granules = std::array::from_fn(|at| {
                    let piece = &pieces[at >> self.piece];
                    piece.part(lists, at as u32 & rest, 0)
                });
                pieces.iter().for_each(|piece| piece.loads.end(lists));
                granules
            }
            _ if row.all == Granule::NONE => [Granule::NONE; ROW as usize],
            _ => {
                let granules = std::array::from_fn(|at| row.all.part(lists, at as u32, 0));
                row.all.loads.end(lists);
                granules
            }
        };
        let place = put(&mut self.granules, &mut self.free_granules, granules);
        row.division = Division::Granules(place);
        place
    }

    #[cold]
    fn divide_to_pieces(&mut self, row: usize) -> u32 {
        let (row, lists) = (&mut self.rows[row], &mut self.lists);
        let pieces = match row.all == Granule::NONE {
            true => [Granule::NONE; PIECES],
            false => {
                let start = |at| (at as u32) << self.piece;
                let pieces = std::array::from_fn(|at| row.all.part(lists, start(at), self.piece));
                row.all.loads.end(lists);
                pieces
            }
        };
        let place = put(&mut self.pieces, &mut self.free_pieces, pieces);
        row.division = Division::Pieces(place);
        place
    }

    /// A row has been stored to as a whole, and nothing else is left to remember.
    pub fn unite(&mut self, row: usize, store: Kept) {
        let divided: &[Granule] = match self.rows[row].division {
            _ if store.is_strong() => return,
            Division::None => return,
            Division::Pieces(place) => &self.pieces[place as usize],
            Division::Granules(place) => &self.granules[place as usize],
        };
        for granule in divided {
            granule.loads.end(&mut self.lists);
        }
        let all = Granule {
            store,
            ..Granule::NONE
        };
        self.undivided(row, all);
    }
}

/// Stores an element in a free place, or appends it; returns its place.
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
    pub const NONE: Self = Self {
        store: Kept::NONE,
        loads: Loads::NONE,
    };

    /// The histories of `1 << size` granules from that one on.
    fn part(&self, lists: &mut Lists, granule: u32, size: u32) -> Self {
        Self {
            store: self.store.part(granule, size),
            loads: self.loads.part(lists, granule, size),
        }
    }

    /// Records an access to all granules that share this history, if that does the same to all of them and there
    /// is no race.
    #[inline(always)]
    pub fn meet_all(&mut self, lists: &mut Lists, view: &View<'_>, now: Kept) -> bool {
        let is_before = |kept: &Kept| kept.is_before(view, &now);
        // A strong access races with some accesses and not with others: it is checked granule by granule.
        if now.is_strong() || is_before(&self.store) != Some(true) {
            return false;
        }
        if now.access() != Access::Load {
            // A store must be ordered after every load since the last store.
            let ordered = self.loads.all(lists, |load| is_before(load) == Some(true));
            if ordered {
                self.store = now;
                self.loads.clear(lists);
            }
            return ordered;
        }
        match is_before(&self.loads.first) {
            Some(true) => self.loads.first = now,
            Some(false) => self.loads.note_beside_first(lists, view, now),
            None => return false,
        }
        true
    }

    /// Records an access to one granule; returns one that it races with.
    #[inline(always)]
    pub fn meet(
        &mut self,
        lists: &mut Lists,
        view: &View<'_>,
        now: Kept,
        same: bool,
    ) -> Option<Kept> {
        let races = |earlier: &Kept| {
            // Lanes of one instruction that store the same value do no harm.
            let agree =
                same && earlier.is_of_instruction(&now) && earlier.access() == Access::Store;
            let atomic = now.is_strong() && earlier.strength() == now.strength();
            !view.is_before(earlier.moment(), now.moment()) && !agree && !atomic
        };
        let store = Some(self.store).filter(races);
        if now.access() == Access::Load {
            self.note_load(lists, view, now);
            return store;
        }
        // A race is reported once; afterwards this store is the last one, whether or not it was ordered.
        let load = self.loads.find(lists, races);
        self.store = now;
        self.loads.clear(lists);
        store.or(load)
    }

    /// As [`meet`](Self::meet), of an access that stores.
    #[inline(always)]
    pub fn meet_store(
        &mut self,
        lists: &mut Lists,
        view: &View<'_>,
        now: Kept,
        same: bool,
    ) -> Option<Kept> {
        let harmless = |earlier: &Kept| {
            let atomic = now.is_strong() && earlier.strength() == now.strength();
            atomic || view.knows_all(earlier.moment())
        };
        if !(harmless(&self.store) && self.loads.all(lists, harmless)) {
            return self.meet(lists, view, now, same);
        }
        self.store = now;
        self.loads.clear(lists);
        None
    }

    #[inline(always)]
    fn note_load(&mut self, lists: &mut Lists, view: &View<'_>, now: Kept) {
        match view.is_before(self.loads.first.moment(), now.moment()) {
            true => self.loads.first = now,
            false => self.loads.note_beside_first(lists, view, now),
        }
    }

    /// Records one load by each of these lanes, in rising order; `now` is the first one's. `false`, and nothing is
    /// noted, if that is more than a few comparisons.
    #[inline(always)]
    pub fn meet_loads(
        &mut self,
        lists: &mut Lists,
        view: &View<'_>,
        now: Kept,
        lanes: u32,
    ) -> bool {
        // The fast path: all lanes have the same clock, and the last store happens before all of them.
        if !view.knows_all_lanes_equally() || !view.knows_all(self.store.moment()) {
            return false;
        }
        let first = &mut self.loads.first;
        let (earlier, moment) = (first.moment(), now.moment());
        let known = view.knows_all(earlier);
        let own = earlier.warp == moment.warp;
        if !known && !own {
            // Other warps need only the first lane of a stretch.
            self.loads.note_beside_first(lists, view, now);
            return true;
        }
        if !known && (first.spread() != now.spread() || earlier.stretch != moment.stretch) {
            return false;
        }
        let mut others = lanes;
        if known || earlier.lane == moment.lane {
            // The first lane's load is kept there, and no later one comes after it.
            *first = now;
            others &= others - 1;
        } else if lanes >> earlier.lane & 1 == 1 {
            // That lane has loaded before.
            *first = now.of_lane(earlier.lane.into());
            others &= !(1 << earlier.lane);
        }
        // Each of the others replaces its predecessor.
        if others != 0 {
            let last = now.of_lane(31 - others.leading_zeros() as usize);
            self.loads.note_lane(view, last);
        }
        true
    }
}
