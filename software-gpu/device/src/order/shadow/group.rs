//! Many ranges with one history: a kernel that touches the same scattered ranges as the last time costs one comparison, and
//! so does one that touches others if nothing else is known of the bytes around them.

use std::ops::Range;

use super::{Accessor, Cell, Entry, History, Shadow};
use crate::order::kinds::Kinds;
use crate::order::visited;

/// A group pays from this many ranges on.
const LEAST: usize = if cfg!(test) { 3 } else { 64 };

/// A group becomes cells in one walk over all cells, if there are at most this many cells for each of its ranges.
const CELLS_EACH: usize = 8;

/// Ranges in rising order that have the same history. None of their bytes is in a cell.
#[derive(Clone, Debug)]
pub(super) struct Group {
    ranges: Vec<Range<u64>>,
    history: History,
    /// The history of all bytes between the ranges, if that is one too: then none of these is in a cell either, nor in
    /// another group.
    between: Option<History>,
}

impl Group {
    /// Gives the bytes of each access that is `wanted`.
    pub(super) fn bytes_of(
        &self,
        wanted: impl Fn(&Entry) -> bool,
        mut each: impl FnMut(&Entry, Range<u64>),
    ) {
        for entry in self.history.entries().filter(|entry| wanted(entry)) {
            let ranges = self.ranges.iter();
            ranges.for_each(|range| each(entry, range.clone()));
        }
        let between = self.between.iter().flat_map(History::entries);
        for entry in between.filter(|entry| wanted(entry)) {
            gaps(&self.ranges).for_each(|gap| each(entry, gap));
        }
    }

    /// The histories of bytes of the range.
    pub(super) fn histories_in(&self, range: Range<u64>) -> impl Iterator<Item = &History> {
        let own = self.overlaps(std::slice::from_ref(&range));
        let within = range.start.max(self.span().start)..range.end.min(self.span().end);
        let last = self.ranges.partition_point(|own| own.start <= within.start);
        let covered = last > 0 && within.end <= self.ranges[last - 1].end;
        let between = self.between.as_ref();
        let between = between.filter(|_| !within.is_empty() && !covered);
        own.then_some(&self.history).into_iter().chain(between)
    }

    /// Drops entries; whether any is left.
    pub(super) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) -> bool {
        self.history.retain(&keep);
        let between = self.between.get_or_insert_default();
        between.retain(keep);
        if between.is_empty() {
            self.between = None;
        }
        !self.history.is_empty() || self.between.is_some()
    }

    /// From the first byte to the last one.
    pub(super) fn span(&self) -> Range<u64> {
        span(&self.ranges)
    }

    pub(super) fn is_within(&self, range: &Range<u64>) -> bool {
        let span = self.span();
        range.start <= span.start && span.end <= range.end
    }

    /// Whether a byte that only it remembers is one of these ranges, which are in rising order.
    fn meets(&self, ranges: &[Range<u64>]) -> bool {
        match self.between {
            None => self.overlaps(ranges),
            Some(_) => !within(ranges, &self.span()).is_empty(),
        }
    }

    /// Whether its ranges have a byte in common with these, which are in rising order.
    fn overlaps(&self, ranges: &[Range<u64>]) -> bool {
        let ranges = within(ranges, &self.span());
        let own = within(&self.ranges, &span(ranges));
        let (few, many) = if ranges.len() < own.len() {
            (ranges, own)
        } else {
            (own, ranges)
        };
        few.iter().any(|range| {
            visited::cell();
            !within(many, range).is_empty()
        })
    }

    /// Whether nothing is left of its histories when all of its bytes are written.
    fn is_replaced(&self, by: Accessor<'_>) -> bool {
        let between = self.between.iter().flat_map(History::entries);
        let mut entries = self.history.entries().chain(between);
        entries.all(|entry| by.comes_after(entry))
    }

    /// What its bytes remember, in cells in rising order.
    fn cells(&self) -> Vec<(u64, Cell)> {
        let mut cells = Vec::with_capacity(2 * self.ranges.len());
        let mut push = |bytes: Range<u64>, history: &History| {
            if !history.is_empty() {
                let (end, history) = (bytes.end, history.clone());
                cells.push((bytes.start, Cell { end, history }));
            }
        };
        let mut gaps = gaps(&self.ranges);
        for range in &self.ranges {
            push(range.clone(), &self.history);
            if let (Some(gap), Some(between)) = (gaps.next(), &self.between) {
                push(gap, between);
            }
        }
        cells
    }
}

/// From the first byte of ranges in rising order to the last one.
fn span(ranges: &[Range<u64>]) -> Range<u64> {
    let start = ranges.first().map_or(0, |first| first.start);
    start..ranges.last().map_or(start, |last| last.end)
}

/// The ranges, out of some in rising order, that overlap this one.
fn within<'a>(ranges: &'a [Range<u64>], range: &Range<u64>) -> &'a [Range<u64>] {
    let from = ranges.partition_point(|own| own.end <= range.start);
    let to = ranges.partition_point(|own| own.start < range.end);
    &ranges[from..to.max(from)]
}

/// The gaps between ranges in rising order.
fn gaps(ranges: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> {
    let pairs = ranges.iter().zip(ranges.iter().skip(1));
    pairs.map(|(left, right)| left.end..right.start)
}

/// Notes an access to ranges with this history.
fn touch_ranges(
    history: &mut History,
    ranges: &[Range<u64>],
    kinds: Kinds,
    by: Accessor<'_>,
    conflict: &mut impl FnMut(&Entry, Range<u64>),
) {
    history.touch(kinds, by, |entry| {
        let ranges = ranges.iter();
        ranges.for_each(|range| conflict(entry, range.clone()));
    });
}

impl Shadow {
    /// Notes an access to exactly the ranges of a group; `false` if there is no such group.
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
        let group = self.groups.at(&span(ranges));
        let Some(group) = group.filter(|group| group.ranges == ranges) else {
            return false;
        };
        touch_ranges(&mut group.history, ranges, kinds, by, conflict);
        true
    }

    /// Notes an access to ranges around which all bytes have the same history, and makes a group of them; `false` if
    /// that is not so. No group has bytes of the ranges.
    pub(super) fn group_anew(
        &mut self,
        ranges: &[Range<u64>],
        kinds: Kinds,
        by: Accessor<'_>,
        conflict: &mut impl FnMut(&Entry, Range<u64>),
    ) -> bool {
        let span = span(ranges);
        if ranges.len() < LEAST || !self.groups.has_room(&span) || self.has_groups_in(&span) {
            return false;
        }
        let below = self.cells.range(..span.end).next_back();
        let below = below.filter(|(_, cell)| cell.end > span.start);
        let between = match below {
            None => History::default(),
            Some((start, cell)) if *start <= span.start && span.end <= cell.end => {
                cell.history.clone()
            }
            Some(_) => return false,
        };
        let mut history = between.clone();
        touch_ranges(&mut history, ranges, kinds, by, conflict);
        if history == between {
            return true;
        }
        self.split(span.start);
        self.split(span.end);
        self.cells.remove(&span.start);
        self.groups.insert(Group {
            ranges: ranges.to_vec(),
            history,
            between: Some(between),
        });
        true
    }

    fn has_groups_in(&self, span: &Range<u64>) -> bool {
        let mut groups = self.groups.near(span.clone());
        groups.any(|group| group.meets(std::slice::from_ref(span)))
    }

    /// Notes an access to all bytes of the groups within the range that remember what is between their ranges. Their spans, in rising order, are
    /// excluded from the rest of the access.
    pub(super) fn access_groups_within(
        &mut self,
        range: &Range<u64>,
        kinds: Kinds,
        by: Accessor<'_>,
        conflict: &mut impl FnMut(&Entry, Range<u64>),
    ) -> Vec<Range<u64>> {
        let mut spans = Vec::new();
        self.groups.change_within(range, |group| {
            let span = group.span();
            let Some(between) = &mut group.between else {
                return;
            };
            spans.push(span);
            touch_ranges(&mut group.history, &group.ranges, kinds, by, conflict);
            between.touch(kinds, by, |entry| {
                gaps(&group.ranges).for_each(|gap| conflict(entry, gap));
            });
        });
        spans.sort_unstable_by_key(|span| span.start);
        spans
    }

    /// Makes cells of the groups near the range whose bytes have all got the same history.
    pub(super) fn join_groups(&mut self, range: Range<u64>) {
        let same = |group: &Group| group.between.as_ref() == Some(&group.history);
        for group in self.groups.take(range, same) {
            let (Range { start, end }, history) = (group.span(), group.history);
            self.cells.insert(start, Cell { end, history });
        }
    }

    /// Drops the groups of which nothing is left when these ranges, in rising order, are written.
    pub(super) fn overwrite(&mut self, ranges: &[Range<u64>], by: Accessor<'_>) {
        self.groups.take_of(ranges, |group| {
            let start = group.span().start;
            let over = ranges.get(ranges.partition_point(|range| range.end <= start));
            over.is_some_and(|range| group.is_within(range)) && group.is_replaced(by)
        });
    }

    /// Drops the groups within the range.
    pub(super) fn forget_groups(&mut self, range: &Range<u64>) {
        self.groups
            .take(range.clone(), |group| group.is_within(range));
    }

    /// Makes cells of the groups that have bytes of these ranges, which are in rising order.
    pub(super) fn break_up(&mut self, ranges: &[Range<u64>]) {
        for group in self.groups.take_of(ranges, |group| group.meets(ranges)) {
            self.insert_all(&group);
        }
    }

    fn insert_all(&mut self, group: &Group) {
        let cells = group.cells();
        cells.iter().for_each(|_| visited::cell());
        if cells.len() * CELLS_EACH >= self.cells.len() {
            self.cells.append(&mut cells.into_iter().collect());
        } else {
            self.cells.extend(cells);
        }
    }

    /// Makes a group of the ranges if all are cells that have the same history.
    pub(super) fn group(&mut self, ranges: &[Range<u64>]) {
        let [first, .., last] = ranges else { return };
        if ranges.len() < LEAST || !self.groups.has_room(&span(ranges)) {
            return;
        }
        let cells = self.cells.range(first.start..last.end);
        let mut cells = cells.map(|(start, cell)| (*start..cell.end, &cell.history));
        let Some(history) = self.cells.get(&first.start).map(|cell| &cell.history) else {
            return;
        };
        // Other cells may lie in between.
        let same = ranges.iter().all(|range| {
            let found = cells.find(|(own, _)| {
                visited::cell();
                own.start >= range.start
            });
            found.is_some_and(|(own, found)| own == *range && found == history)
        });
        if !same {
            return;
        }
        let history = history.clone();
        if self.cells.len() == ranges.len() {
            self.cells.clear();
        } else {
            for range in ranges {
                self.cells.remove(&range.start);
            }
        }
        self.groups.insert(Group {
            ranges: ranges.to_vec(),
            history,
            between: None,
        });
    }

    /// The same history without groups.
    #[cfg(test)]
    pub(super) fn broken_up(&self) -> Self {
        let mut cells = self.clone();
        for group in std::mem::take(&mut cells.groups).iter() {
            cells.insert_all(group);
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::order::clock::{Clock, Epoch};
    use crate::order::ids::ThreadId;
    use crate::order::site::{AccessSite, Site};

    const BYTES: u64 = 64;
    const CHAINS: usize = 3;

    /// A history with groups and the same one without, both of a few bytes.
    #[derive(Default)]
    struct Twins {
        grouped: Shadow,
        plain: Shadow,
        executed: u64,
        /// The last step of each chain.
        last: [u64; CHAINS],
    }

    impl Twins {
        /// Accesses by the next step of a chain, which comes after all other steps or only its own chain's.
        fn access(&mut self, ranges: &[Range<u64>], kinds: Kinds, chain: usize, after_all: bool) {
            self.executed += 1;
            let position = self.executed;
            let epoch = Epoch { chain, position };
            let thread = ThreadId::UNREGISTERED;
            let place = AccessSite::Host {
                thread,
                access: position,
            };
            let site = Site::new(epoch, place, "access".into(), thread, position);
            let site = Arc::new(site);
            let mut clock = if after_all {
                self.all()
            } else {
                Clock::default()
            };
            clock.learn(epoch);
            self.last[chain] = position;
            let by = Accessor {
                site: &site,
                clock: &clock,
                executed: position,
            };
            let (mut all, mut each) = (Vec::new(), Vec::new());
            self.grouped.access_all(ranges, kinds, by, |entry, range| {
                push(&mut all, entry, range)
            });
            for range in ranges {
                self.plain.access(range.clone(), kinds, by, |entry, range| {
                    push(&mut each, entry, range)
                });
            }
            all.sort_unstable();
            each.sort_unstable();
            assert_eq!(all, each, "access {position}: {ranges:?}");
        }

        fn all(&self) -> Clock {
            let mut clock = Clock::default();
            for (chain, position) in self.last.into_iter().enumerate() {
                clock.learn(Epoch { chain, position });
            }
            clock
        }

        fn assert_same(&self, range: Range<u64>, clock: &Clock) {
            let broken = self.grouped.broken_up();
            assert_eq!(bytes(&broken), bytes(&self.plain));
            let writers = |shadow: &Shadow| -> BTreeSet<u64> {
                let writers = shadow.writers(range.clone());
                writers.map(|entry| entry.executed).collect()
            };
            assert_eq!(writers(&self.grouped), writers(&self.plain), "{range:?}");
            let unknown = |shadow: &Shadow| {
                let mut all = Vec::new();
                shadow.unknown_to(clock, |entry, range| push(&mut all, entry, range));
                all.sort_unstable();
                all
            };
            assert_eq!(unknown(&self.grouped), unknown(&self.plain));
        }
    }

    fn push(to: &mut Vec<(u64, u64, &str)>, entry: &Entry, range: Range<u64>) {
        to.extend(range.map(|byte| (byte, entry.executed, entry.kinds.verb())));
    }

    /// The history of each byte.
    fn bytes(shadow: &Shadow) -> Vec<Vec<Entry>> {
        let mut bytes = vec![Vec::new(); BYTES as usize];
        for (start, cell) in &shadow.cells {
            let entries: Vec<Entry> = cell.history.entries().cloned().collect();
            bytes[*start as usize..cell.end as usize].fill(entries);
        }
        bytes
    }

    #[test]
    fn groups_remember_what_each_byte_does() {
        let patterns = [
            vec![4..8, 12..13, 20..24, 28..30],
            vec![5..7, 16..20, 26..27],
            vec![32..34, 40..44, 48..50],
            vec![8..10, 36..38, 46..47, 54..60],
            vec![0..31, 33..64],
        ];
        let single = [0..64, 2..40, 30..64, 6..29];
        let mut numbers = fastrand::Rng::with_seed(1);
        let mut random = |bound: u64| numbers.u64(..bound);
        let (mut grouped, mut with_gaps, mut several) = (0, 0, 0);
        for _ in 0..6000 {
            let mut twins = Twins::default();
            for _ in 0..2 + random(12) {
                let kinds = [Kinds::READ, Kinds::WRITE, Kinds::ATOMIC][random(3) as usize];
                let start = random(BYTES - 1);
                let range = start..start + 1 + random(BYTES - start);
                match random(12) {
                    0 => {
                        twins.grouped.forget(range.clone());
                        twins.plain.forget(range.clone());
                    }
                    1 => {
                        let mut everyone = Clock::default();
                        let chains = 1 + random(CHAINS as u64) as usize;
                        for (chain, position) in twins.last.into_iter().enumerate().take(chains) {
                            everyone.learn(Epoch { chain, position });
                        }
                        twins.grouped.prune(&everyone);
                        twins.plain.prune(&everyone);
                    }
                    number => {
                        let pattern = random((patterns.len() + single.len()) as u64) as usize;
                        let ranges = match number {
                            2 => std::slice::from_ref(&range),
                            _ if pattern < single.len() => std::slice::from_ref(&single[pattern]),
                            _ => &patterns[pattern - single.len()],
                        };
                        let chain = random(CHAINS as u64) as usize;
                        twins.access(ranges, kinds, chain, random(3) > 0);
                    }
                }
                let groups = &twins.grouped.groups;
                grouped += usize::from(groups.len() > 0);
                let has_gaps =
                    |group: &Group| group.between.as_ref().is_some_and(|e| !e.is_empty());
                with_gaps += usize::from(groups.iter().any(has_gaps));
                several += usize::from(groups.len() > 1);
                let mut clock = Clock::default();
                let chain = random(CHAINS as u64) as usize;
                let position = twins.last[chain];
                clock.learn(Epoch { chain, position });
                twins.assert_same(range, &clock);
            }
        }
        assert!(
            grouped > 8000 && with_gaps > 2000 && several > 400,
            "{grouped}, {with_gaps}, {several}"
        );
    }
}
