//! Many ranges with one history: a kernel that touches the same scattered ranges as the last time costs one comparison.

use std::ops::Range;

use super::{Accessor, Cell, Entry, Shadow};
use crate::order::kinds::Kinds;

/// From so many ranges on a group pays.
const LEAST: usize = if cfg!(test) { 3 } else { 64 };

/// Ranges in rising order that have the same history. None of their bytes is in a cell.
#[derive(Clone, Debug)]
pub(super) struct Group {
    ranges: Vec<Range<u64>>,
    cell: Cell,
}

impl Group {
    pub(super) fn entries(&self) -> &[Entry] {
        &self.cell.entries
    }

    pub(super) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Drops entries; whether any is left.
    pub(super) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) -> bool {
        self.cell.entries.retain(keep);
        !self.cell.entries.is_empty()
    }

    /// Whether it has a byte in common with ranges in rising order.
    pub(super) fn meets(&self, ranges: &[Range<u64>]) -> bool {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
            return false;
        };
        let from = self.ranges.partition_point(|own| own.end <= first.start);
        let mut own = self.ranges[from..].iter().peekable();
        if own.peek().is_none_or(|own| own.start >= last.end) {
            return false;
        }
        ranges.iter().any(|range| {
            while own.next_if(|own| own.end <= range.start).is_some() {}
            own.peek().is_some_and(|own| own.start < range.end)
        })
    }
}

impl Shadow {
    /// Notes an access to just the ranges of a group; `false` if there is none.
    pub(super) fn access_group(
        &mut self,
        ranges: &[Range<u64>],
        kinds: Kinds,
        by: Accessor<'_>,
        conflict: &mut impl FnMut(&Entry, Range<u64>),
    ) -> bool {
        if ranges.len() < LEAST {
            return false;
        }
        let group = self.groups.iter_mut().find(|group| group.ranges == ranges);
        let Some(group) = group else { return false };
        group.cell.touch(kinds, by, |entry| {
            for range in ranges {
                conflict(entry, range.clone());
            }
        });
        true
    }

    /// Makes cells of the groups that have bytes of these ranges, which are in rising order.
    pub(super) fn break_up(&mut self, ranges: &[Range<u64>]) {
        let mut index = 0;
        while index < self.groups.len() {
            if self.groups[index].meets(ranges) {
                let group = self.groups.swap_remove(index);
                self.insert_all(group);
            } else {
                index += 1;
            }
        }
    }

    fn insert_all(&mut self, group: Group) {
        for range in group.ranges {
            let entries = group.cell.entries.clone();
            let end = range.end;
            self.cells.insert(range.start, Cell { end, entries });
        }
    }

    /// Makes a group of the ranges if all are cells that have the same history.
    pub(super) fn group(&mut self, ranges: &[Range<u64>]) {
        let [first, .., last] = ranges else { return };
        if ranges.len() < LEAST {
            return;
        }
        let cells = self.cells.range(first.start..last.end);
        let mut cells = cells.map(|(start, cell)| (*start..cell.end, &cell.entries));
        let Some(entries) = self.cells.get(&first.start).map(|cell| &cell.entries) else {
            return;
        };
        // Other cells may lie in between.
        let same = ranges.iter().all(|range| {
            let found = cells.find(|(own, _)| own.start >= range.start);
            found.is_some_and(|(own, history)| own == *range && history == entries)
        });
        if !same {
            return;
        }
        let cell = Cell {
            end: first.end,
            entries: entries.clone(),
        };
        if self.cells.len() == ranges.len() {
            self.cells.clear();
        } else {
            for range in ranges {
                self.cells.remove(&range.start);
            }
        }
        let ranges = ranges.to_vec();
        self.groups.push(Group { ranges, cell });
    }

    /// The same history without groups.
    #[cfg(test)]
    pub(super) fn broken_up(&self) -> Self {
        let mut cells = self.clone();
        for group in std::mem::take(&mut cells.groups) {
            cells.insert_all(group);
        }
        cells
    }
}
