//! Shadow memory: for each byte, the accesses with which a later access can still conflict.
//!
//! For each byte there are the accesses that no later one has made superfluous. A plain write that comes after an
//! earlier access replaces it: an access that is not ordered after the earlier one is not ordered after the write either, and
//! conflicts with it. A read replaces earlier reads in the same way, an atomic access earlier atomics. So a byte of a
//! program without races has one write and, per chain, one read and one atomic access; and the access executed last
//! among all those that conflict with a new one is always still there.

mod batch;
mod group;
mod groups;
mod history;

use std::collections::BTreeMap;
use std::ops::Range;

use groups::Groups;
use history::History;
pub(super) use history::{Accessor, Entry};

use crate::order::clock::Clock;
use crate::order::kinds::Kinds;
use crate::order::visited;

/// A maximal byte range with one access history.
#[derive(Clone, Debug)]
struct Cell {
    end: u64,
    history: History,
}

/// The histories of a range of addresses.
#[derive(Clone, Debug, Default)]
pub(in crate::order) struct Shadow {
    /// By their start. They do not overlap.
    cells: BTreeMap<u64, Cell>,
    /// Bytes in a group are in no cell.
    groups: Groups,
}

impl Shadow {
    /// Notes an access, and calls `conflict` with each earlier one that it conflicts with: in rising order of addresses,
    /// except in groups.
    pub(in crate::order) fn access(
        &mut self,
        range: Range<u64>,
        kinds: Kinds,
        by: Accessor<'_>,
        mut conflict: impl FnMut(&Entry, Range<u64>),
    ) {
        if kinds.has(Kinds::WRITE) {
            self.overwrite(std::slice::from_ref(&range), by);
        }
        let spans = self.access_groups_within(&range, kinds, by, &mut conflict);
        let mut at = range.start;
        for span in &spans {
            self.access_rest(at..span.start, kinds, by, &mut conflict);
            at = span.end;
        }
        self.access_rest(at..range.end, kinds, by, &mut conflict);
        if !spans.is_empty() {
            self.join_groups(range.clone());
            self.merge(range, 2 * spans.len());
        }
    }

    /// The same for bytes of which no group that ends there remembers anything.
    fn access_rest(
        &mut self,
        range: Range<u64>,
        kinds: Kinds,
        by: Accessor<'_>,
        conflict: &mut impl FnMut(&Entry, Range<u64>),
    ) {
        if !range.is_empty() {
            self.break_up(std::slice::from_ref(&range));
            self.access_cells(range, kinds, by, conflict);
        }
    }

    /// The same for bytes of which no group remembers anything: at least one.
    fn access_cells(
        &mut self,
        range: Range<u64>,
        kinds: Kinds,
        by: Accessor<'_>,
        conflict: &mut impl FnMut(&Entry, Range<u64>),
    ) {
        let mut near = self.cells.range_mut(..=range.end).rev().peekable();
        let behind = near.next_if(|(start, _)| **start == range.end);
        let behind = behind.map(|(_, cell)| &cell.history);
        match near.next() {
            Some((start, cell)) if *start == range.start && cell.end == range.end => {
                visited::cell();
                cell.history
                    .touch(kinds, by, |entry| conflict(entry, range.clone()));
                let before = near.next().filter(|(_, cell)| cell.end == range.start);
                let before = before.map(|(_, cell)| &cell.history);
                if [before, behind].contains(&Some(&cell.history)) {
                    self.merge(range, 2);
                }
                return;
            }
            Some((_, cell)) if cell.end > range.start => {}
            below => {
                let history = History::of(kinds, by);
                let before = below.filter(|(_, cell)| cell.end == range.start);
                let before = before.map(|(_, cell)| &cell.history);
                let joins = [before, behind].contains(&Some(&history));
                let end = range.end;
                self.cells.insert(range.start, Cell { end, history });
                if joins {
                    self.merge(range, 2);
                }
                return;
            }
        }
        self.split(range.start);
        self.split(range.end);
        let mut gaps = Vec::new();
        let mut at = range.start;
        let mut pieces = 0;
        for (start, cell) in self.cells.range_mut(range.clone()) {
            if at < *start {
                gaps.push(at..*start);
            }
            at = cell.end;
            pieces += 1;
            visited::cell();
            cell.history
                .touch(kinds, by, |entry| conflict(entry, *start..at));
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        pieces += gaps.len();
        for gap in gaps {
            let history = History::of(kinds, by);
            let end = gap.end;
            self.cells.insert(gap.start, Cell { end, history });
        }
        self.merge(range, pieces);
    }

    /// Passes each access in the range that `clock` does not include to `unordered`.
    pub(in crate::order) fn unknown_to(
        &self,
        clock: &Clock,
        mut unordered: impl FnMut(&Entry, Range<u64>),
    ) {
        for (start, cell) in &self.cells {
            for entry in cell.history.entries() {
                if !clock.knows(entry.site.epoch) {
                    unordered(entry, *start..cell.end);
                }
            }
        }
        for group in self.groups.iter() {
            let is_unknown = |entry: &Entry| !clock.knows(entry.site.epoch);
            group.bytes_of(is_unknown, &mut unordered);
        }
    }

    /// The writes and atomic accesses of bytes of the range.
    pub(in crate::order) fn writers(&self, range: Range<u64>) -> impl Iterator<Item = &Entry> {
        let first = self.cells.range(..=range.start).next_back();
        let first = first.map_or(range.start, |(start, _)| *start);
        let start = range.start;
        let touched = self
            .cells
            .range(first..range.end)
            .filter(move |(_, cell)| cell.end > start);
        let of_cells = touched.flat_map(|(_, cell)| cell.history.writers());
        let groups = self.groups.near(range.clone());
        let histories = groups.flat_map(move |group| group.histories_in(range.clone()));
        of_cells.chain(histories.flat_map(History::writers))
    }

    /// Drops all history of these bytes.
    pub(in crate::order) fn forget(&mut self, range: Range<u64>) {
        self.forget_groups(&range);
        self.break_up(std::slice::from_ref(&range));
        self.split(range.start);
        self.split(range.end);
        let starts: Vec<u64> = self.cells.range(range).map(|(start, _)| *start).collect();
        for start in starts {
            self.cells.remove(&start);
        }
    }

    /// Drops the accesses that `everyone` includes: no later access can conflict with them.
    pub(in crate::order) fn prune(&mut self, everyone: &Clock) {
        let unknown = |entry: &Entry| !everyone.knows(entry.site.epoch);
        self.groups.retain(|group| group.retain(unknown));
        self.join_groups(0..u64::MAX);
        let mut kept: Vec<(u64, Cell)> = Vec::new();
        for (start, mut cell) in std::mem::take(&mut self.cells) {
            visited::cell();
            cell.history.retain(unknown);
            match kept.last_mut() {
                _ if cell.history.is_empty() => {}
                Some((_, last)) if last.end == start && last.history == cell.history => {
                    last.end = cell.end;
                }
                _ => kept.push((start, cell)),
            }
        }
        self.cells = kept.into_iter().collect();
    }

    /// How many ranges of bytes have different histories.
    pub(in crate::order) fn len(&self) -> usize {
        self.cells.len() + self.groups.len()
    }

    /// Makes `at` a border between cells.
    fn split(&mut self, at: u64) {
        let Some((_, cell)) = self.cells.range_mut(..at).next_back() else {
            return;
        };
        if cell.end > at {
            let behind = Cell {
                end: cell.end,
                history: cell.history.clone(),
            };
            cell.end = at;
            self.cells.insert(at, behind);
        }
    }

    /// Joins neighbours that have become the same, in the range and at both of its borders. There are `pieces` of them
    /// in the range.
    fn merge(&mut self, range: Range<u64>, pieces: usize) {
        if pieces == 1 && !self.is_like_a_neighbour(&range) {
            return;
        }
        let before = self.cells.range(..range.start).next_back();
        let first = before.map_or(range.start, |(start, _)| *start);
        let cells = self.cells.range(first..=range.end);
        let mut same: Vec<(u64, u64, u64)> = Vec::new();
        let mut previous: Option<(u64, &Cell)> = None;
        for (start, cell) in cells {
            visited::cell();
            match previous {
                Some((kept, last)) if last.end == *start && last.history == cell.history => {
                    match same.last_mut() {
                        Some((from, _, end)) if *from == kept => *end = cell.end,
                        _ => same.push((kept, *start, cell.end)),
                    }
                    previous = Some((kept, cell));
                }
                _ => previous = Some((*start, cell)),
            }
        }
        for (kept, second, end) in same {
            let gone: Vec<u64> = self
                .cells
                .range(second..end)
                .map(|(start, _)| *start)
                .collect();
            for start in gone {
                self.cells.remove(&start);
            }
            if let Some(cell) = self.cells.get_mut(&kept) {
                cell.end = end;
            }
        }
    }

    /// Whether the cell of this range has become the same as the one before it or behind it.
    fn is_like_a_neighbour(&self, range: &Range<u64>) -> bool {
        let mut below = self.cells.range(..=range.end).rev().peekable();
        let behind = below.next_if(|(start, _)| **start == range.end);
        let Some((start, own)) = below.next() else {
            return false;
        };
        let same =
            |end: u64, start: u64, other: &Cell| end == start && other.history == own.history;
        let is_next = behind.is_some_and(|(next, behind)| same(own.end, *next, behind));
        is_next
            || below
                .next()
                .is_some_and(|(_, before)| same(before.end, *start, before))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::order::clock::Epoch;
    use crate::order::ids::ThreadId;
    use crate::order::site::{AccessSite, Site};

    /// Chains without order among each other, one access after the other.
    #[derive(Default)]
    struct UnorderedRun {
        shadow: Shadow,
        executed: u64,
    }

    impl UnorderedRun {
        /// Accesses as a step of a chain whose clock includes its own steps; returns the conflicts.
        fn access(
            &mut self,
            chain: usize,
            kinds: Kinds,
            range: Range<u64>,
        ) -> Vec<(usize, Range<u64>)> {
            self.executed += 1;
            let position = self.executed;
            let epoch = Epoch { chain, position };
            let mut clock = Clock::default();
            clock.learn(epoch);
            let thread = ThreadId::UNREGISTERED;
            let place = AccessSite::Host {
                thread,
                access: position,
            };
            let site = Arc::new(Site::new(epoch, place, "access".into(), thread, position));
            let by = Accessor {
                site: &site,
                clock: &clock,
                executed: position,
            };
            let mut found = Vec::new();
            self.shadow.access(range, kinds, by, |entry, range| {
                found.push((entry.site.epoch.chain, range))
            });
            found
        }

        fn cells(&self) -> Vec<(Range<u64>, usize)> {
            let cells = self.shadow.cells.iter();
            cells
                .map(|(start, cell)| (*start..cell.end, cell.history.entries().count()))
                .collect()
        }
    }

    #[test]
    fn cells_split_where_histories_differ_and_join_where_they_are_the_same() {
        let mut run = UnorderedRun::default();
        run.access(0, Kinds::WRITE, 0..16);
        run.access(0, Kinds::READ, 4..8);
        assert_eq!(run.cells(), [(0..4, 1), (4..8, 2), (8..16, 1)]);
        run.access(0, Kinds::WRITE, 2..20);
        assert_eq!(run.cells(), [(0..2, 1), (2..20, 1)]);
        run.access(0, Kinds::WRITE, 0..20);
        assert_eq!(run.cells(), [(0..20, 1)]);
    }

    #[test]
    fn a_read_replaces_reads_that_it_comes_after_and_no_others() {
        let mut run = UnorderedRun::default();
        for chain in [0, 1, 0, 1] {
            assert_eq!(run.access(chain, Kinds::READ, 0..8), []);
        }
        assert_eq!(run.cells(), [(0..8, 2)]);
        run.access(0, Kinds::ATOMIC, 8..16);
        run.access(0, Kinds::READ, 8..16);
        assert_eq!(run.cells(), [(0..8, 2), (8..16, 2)]);
    }

    #[test]
    fn unordered_accesses_stay_and_are_met_again() {
        let mut run = UnorderedRun::default();
        run.access(0, Kinds::WRITE, 0..8);
        assert_eq!(run.access(1, Kinds::WRITE, 4..12), [(0, 4..8)]);
        assert_eq!(
            run.access(2, Kinds::READ, 0..16),
            [(0, 0..4), (1, 4..8), (0, 4..8), (1, 8..12)]
        );
    }

    #[test]
    fn accesses_that_all_clocks_include_are_dropped() {
        let mut run = UnorderedRun::default();
        run.access(0, Kinds::WRITE, 0..8);
        run.access(1, Kinds::WRITE, 8..16);
        let mut everyone = Clock::default();
        everyone.learn(Epoch {
            chain: 0,
            position: 1,
        });
        run.shadow.prune(&everyone);
        assert_eq!(run.cells(), [(8..16, 1)]);
        run.shadow.forget(10..12);
        assert_eq!(run.cells(), [(8..10, 1), (12..16, 1)]);
    }
}
