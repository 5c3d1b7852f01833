//! Many ranges at once: a kernel that touches the same scattered ranges as the last time costs one walk over them, and
//! one that touches many others, one walk that makes all cells anew.

use std::ops::Range;

use super::{Accessor, Cell, Entry, History, Shadow};
use crate::order::kinds::Kinds;
use crate::order::visited;

/// With at least `MANY` remaining ranges, and at least one for `CELLS_EACH` cells, rebuilding the list of cells is cheaper than
/// splicing each range into it.
const MANY: usize = if cfg!(test) { 4 } else { 32 };
const CELLS_EACH: usize = 8;

/// Ranges that the walk leaves to be treated one by one.
#[derive(Default)]
struct Left {
    /// No cell has just these bytes.
    irregular: Vec<Range<u64>>,
    /// A neighbouring cell may have got an equal history.
    beside_equal: Vec<Range<u64>>,
}

impl Shadow {
    /// As [`access`](Self::access) for each of the ranges, which are in rising order and do not overlap; but conflicts
    /// come in any order. Returns how many pieces of history that took.
    pub(in crate::order) fn access_all(
        &mut self,
        ranges: &[Range<u64>],
        kinds: Kinds,
        by: Accessor<'_>,
        mut conflict: impl FnMut(&Entry, Range<u64>),
    ) -> usize {
        match ranges {
            [] => return 0,
            [range] => {
                self.access(range.clone(), kinds, by, conflict);
                return 1;
            }
            _ if self.access_group(ranges, kinds, by, &mut conflict) => return 1,
            _ => {}
        }
        if kinds.has(Kinds::WRITE) {
            self.overwrite(ranges, by);
        }
        self.break_up(ranges);
        if self.group_anew(ranges, kinds, by, &mut conflict) {
            return 1;
        }
        let left = self.walk(ranges, kinds, by, &mut conflict);
        let is_known = left.irregular.is_empty();
        let work = left.irregular.len() + left.beside_equal.len();
        if work >= MANY && work * CELLS_EACH >= self.cells.len() {
            self.renew(&left.irregular, kinds, by, &mut conflict);
        } else {
            for range in left.irregular {
                self.access_cells(range, kinds, by, &mut conflict);
            }
            for range in left.beside_equal {
                self.merge(range, 1);
            }
        }
        // Ranges that were not touched before may never be touched again.
        if is_known {
            self.group(ranges);
        }
        ranges.len()
    }

    /// Makes all cells anew, with the accesses to these ranges, and joins those that have become the same.
    fn renew(
        &mut self,
        ranges: &[Range<u64>],
        kinds: Kinds,
        by: Accessor<'_>,
        conflict: &mut impl FnMut(&Entry, Range<u64>),
    ) {
        let old = std::mem::take(&mut self.cells);
        let mut new = Joined(Vec::with_capacity(old.len() + 2 * ranges.len()));
        let fresh = || History::of(kinds, by);
        let mut ranges = ranges.iter().cloned();
        let mut next = ranges.next();
        for (mut at, cell) in old {
            visited::cell();
            while let Some(range) = next.as_mut().filter(|range| range.start < cell.end) {
                let start = range.start;
                let end = match start < at {
                    true => range.end.min(at),
                    false => range.end.min(cell.end),
                };
                if start < at {
                    new.push(start, end, fresh());
                } else {
                    if at < start {
                        new.push(at, start, cell.history.clone());
                    }
                    let mut piece = cell.history.clone();
                    piece.touch(kinds, by, |entry| conflict(entry, start..end));
                    new.push(start, end, piece);
                    at = end;
                }
                range.start = end;
                if range.is_empty() {
                    next = ranges.next();
                }
            }
            if at < cell.end {
                new.push(at, cell.end, cell.history);
            }
        }
        for range in next.into_iter().chain(ranges) {
            new.push(range.start, range.end, fresh());
        }
        self.cells = new.0.into_iter().collect();
    }

    /// Notes the accesses to ranges that are cells. The search stops after many cells.
    fn walk(
        &mut self,
        ranges: &[Range<u64>],
        kinds: Kinds,
        by: Accessor<'_>,
        conflict: &mut impl FnMut(&Entry, Range<u64>),
    ) -> Left {
        let mut left = Left::default();
        let first = ranges.first().map_or(0, |range| range.start);
        let mut behind = self
            .cells
            .range(..first)
            .next_back()
            .map(|(_, cell)| cell.clone());
        let mut cells = self.cells.range_mut(first..).peekable();
        let mut before: Option<&mut Cell> = behind.as_mut();
        for range in ranges {
            for _ in 0..CELLS_EACH {
                let Some((_, cell)) = cells.next_if(|(start, _)| **start < range.start) else {
                    break;
                };
                visited::cell();
                before = Some(cell);
            }
            let same =
                |(start, cell): &(&u64, &mut Cell)| **start == range.start && cell.end == range.end;
            let Some((_, cell)) = cells.next_if(same) else {
                left.irregular.push(range.clone());
                continue;
            };
            visited::cell();
            cell.history
                .touch(kinds, by, |entry| conflict(entry, range.clone()));
            let joins_before = before
                .is_some_and(|before| before.end == range.start && before.history == cell.history);
            let joins_next = cells
                .peek()
                .is_some_and(|(start, next)| **start == range.end && next.history == cell.history);
            if joins_before || joins_next {
                left.beside_equal.push(range.clone());
            }
            before = Some(cell);
        }
        left
    }
}

/// Cells in rising order.
struct Joined(Vec<(u64, Cell)>);

impl Joined {
    /// Adds a cell behind the others, or its bytes to the last one if that is the same.
    fn push(&mut self, start: u64, end: u64, history: History) {
        match self.0.last_mut() {
            Some((_, last)) if last.end == start && last.history == history => last.end = end,
            _ => self.0.push((start, Cell { end, history })),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::order::clock::{Clock, Epoch};
    use crate::order::ids::ThreadId;
    use crate::order::site::{AccessSite, Site};

    fn site(position: u64) -> Arc<Site> {
        let epoch = Epoch {
            chain: position as usize % 3,
            position,
        };
        let thread = ThreadId::UNREGISTERED;
        let place = AccessSite::Host {
            thread,
            access: position,
        };
        Arc::new(Site::new(epoch, place, "access".into(), thread, position))
    }

    /// Ranges of a row of bits: one where it is set.
    fn ranges(bits: u64) -> Vec<Range<u64>> {
        let set = (0..24).filter(|bit| bits >> bit & 1 == 1);
        let pieces = set.map(|bit| bit * 2..bit * 2 + 1 + (bits >> (bit + 24) & 1));
        crate::memory::ByteRanges::from_iter(pieces)
            .iter()
            .collect()
    }

    #[test]
    fn a_batch_does_what_its_ranges_do_one_by_one() {
        let (mut batch, mut single) = (Shadow::default(), Shadow::default());
        let mut random = fastrand::Rng::with_seed(1);
        let mut grouped = 0;
        for position in 1..2000 {
            if position % 16 == 1 {
                (batch, single) = Default::default();
            }
            let bits = random.u64(..);
            let site = site(position);
            let mut clock = Clock::default();
            clock.learn(site.epoch);
            let by = Accessor {
                site: &site,
                clock: &clock,
                executed: position,
            };
            let kinds = [Kinds::READ, Kinds::WRITE, Kinds::ATOMIC][(bits % 3) as usize];
            // The same ranges follow each other now and then, so that they are cells.
            let ranges = ranges(if position % 4 == 0 {
                bits
            } else {
                0x0000_5a5a_55aa_5a5a
            });
            let (mut all, mut each) = (Vec::new(), Vec::new());
            grouped += usize::from(batch.groups.len() > 0);
            batch.access_all(&ranges, kinds, by, |entry, range| {
                all.push((range.start, range.end, entry.executed))
            });
            for range in ranges {
                single.access(range, kinds, by, |entry, range| {
                    each.push((range.start, range.end, entry.executed))
                });
            }
            all.sort_unstable();
            each.sort_unstable();
            assert_eq!(all, each);
            let cells = |shadow: &Shadow| -> Vec<_> {
                let cells = shadow.cells.iter();
                cells
                    .map(|(start, cell)| (*start, cell.end, cell.history.clone()))
                    .collect()
            };
            assert_eq!(cells(&batch.broken_up()), cells(&single.broken_up()));
        }
        assert!(grouped > 100, "{grouped}");
    }
}
