//! A set of bytes of allocations that grows by many small insertions in any order.

use std::ops::Range;

use super::{Allocation, ByteRanges, PAGE};

/// Words of a page's bitmap.
const WORDS: usize = PAGE / 64;

/// A page without any byte of the set, and one with all of them. Other states are places in the pool, plus one.
const EMPTY: u32 = 0;
const FULL: u32 = u32::MAX;

/// A bit for each byte of the pages that are touched in part; a mark for those touched as a whole.
#[derive(Debug, Default)]
pub(crate) struct ByteMap {
    /// By slot of the allocation.
    tables: Vec<Option<PageTable>>,
    pool: Vec<[u64; WORDS]>,
    /// The pages that are not empty, in the order in which they were touched: slot and page.
    touched: Vec<(u32, u32)>,
    recent: Recent,
}

/// The page that the last insertion touched in part, if there is one: others mostly follow. Its place in the pool, plus 1.
#[derive(Debug, Default)]
struct Recent {
    slot: usize,
    page: usize,
    place: u32,
}

#[derive(Debug)]
struct PageTable {
    base: u64,
    /// By page of the allocation.
    pages: Vec<u32>,
}

impl ByteMap {
    /// Adds `bytes` bytes (at least one) at `offset` of `allocation`.
    #[inline]
    pub fn insert(&mut self, allocation: &Allocation, offset: usize, bytes: usize) {
        debug_assert!(bytes > 0 && offset + bytes <= allocation.len());
        let (slot, page) = (allocation.slot(), offset / PAGE);
        let part = offset % PAGE..offset % PAGE + bytes;
        let recent = &self.recent;
        if recent.place != 0 && recent.slot == slot && recent.page == page && part.end <= PAGE {
            set(
                &mut self.pool[recent.place as usize - 1],
                part.start,
                part.end,
            );
        } else {
            self.insert_elsewhere(slot, allocation, offset..offset + bytes);
        }
    }

    fn insert_elsewhere(&mut self, slot: usize, allocation: &Allocation, range: Range<usize>) {
        let table = table(&mut self.tables, slot, || PageTable::of(allocation));
        for index in range.start / PAGE..=(range.end - 1) / PAGE {
            let page = &mut table.pages[index];
            if *page == EMPTY {
                self.touched.push((slot as u32, index as u32));
            }
            let part = within(index, &range);
            if part.len() == PAGE {
                *page = FULL;
            } else if let Some(words) = bitmap(page, &mut self.pool) {
                set(words, part.start, part.end);
                self.recent = Recent {
                    slot,
                    page: index,
                    place: *page,
                };
            }
        }
    }

    /// Adds all bytes of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (slot, page) in &other.touched {
            if let (Some(theirs), Some(words)) = (other.table(*slot), other.words(*slot, *page)) {
                self.add(*slot, *page, theirs, words);
            }
        }
    }

    /// Adds the bytes that are in both `left` and `right`.
    pub fn add_common(&mut self, left: &Self, right: &Self) {
        for (slot, page) in &left.touched {
            let Some(theirs) = left.table(*slot) else {
                continue;
            };
            if let (Some(a), Some(b)) = (left.words(*slot, *page), right.words(*slot, *page)) {
                let common: [u64; WORDS] = std::array::from_fn(|word| a[word] & b[word]);
                if common != [0; WORDS] {
                    self.add(*slot, *page, theirs, &common);
                }
            }
        }
    }

    /// Whether no byte is in the set.
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// Removes all bytes.
    pub fn clear(&mut self) {
        for (slot, page) in self.touched.drain(..) {
            if let Some(Some(table)) = self.tables.get_mut(slot as usize) {
                table.pages[page as usize] = EMPTY;
            }
        }
        self.pool.clear();
        self.recent = Recent::default();
    }

    /// Whether no byte of the pages that `range`, offsets in `allocation`, lies in is in the set.
    #[inline]
    pub fn has_none(&self, allocation: &Allocation, range: Range<usize>) -> bool {
        let pages = range.start / PAGE..range.end.div_ceil(PAGE);
        self.touched.is_empty()
            || self
                .table(allocation.slot() as u32)
                .is_none_or(|table| table.pages[pages].iter().all(|page| *page == EMPTY))
    }

    /// The parts of `range`, offsets in `allocation`, that are not in the set.
    pub fn gaps(&self, allocation: &Allocation, range: Range<usize>) -> Vec<Range<usize>> {
        let mut gaps = Vec::new();
        let mut covered = range.start;
        let slot = allocation.slot() as u32;
        for page in range.start / PAGE..range.end.div_ceil(PAGE) {
            let Some(words) = self.words(slot, page as u32) else {
                continue;
            };
            for run in runs(words) {
                let start = (page * PAGE + run.start).max(range.start);
                let end = (page * PAGE + run.end).min(range.end);
                if start < end {
                    if covered < start {
                        gaps.push(covered..start);
                    }
                    covered = end;
                }
            }
        }
        if covered < range.end {
            gaps.push(covered..range.end);
        }
        gaps
    }

    /// The addresses of all bytes.
    pub fn ranges(&self) -> ByteRanges {
        let start = |(slot, page): &(u32, u32)| {
            let base = self.table(*slot).map_or(0, |table| table.base);
            base + u64::from(*page) * PAGE as u64
        };
        let mut touched = self.touched.clone();
        touched.sort_unstable_by_key(start);
        let mut ranges = Ranges::default();
        for place in touched {
            let start = start(&place);
            match self.words(place.0, place.1) {
                None => {}
                Some(words) if std::ptr::eq(words, &ALL) => ranges.push(start..start + PAGE as u64),
                Some(words) => runs(words)
                    .for_each(|run| ranges.push(start + run.start as u64..start + run.end as u64)),
            }
        }
        ranges.0.into_iter().collect()
    }

    fn add(&mut self, slot: u32, page: u32, like: &PageTable, words: &[u64; WORDS]) {
        let ours = table(&mut self.tables, slot as usize, || PageTable {
            base: like.base,
            pages: vec![EMPTY; like.pages.len()],
        });
        let state = &mut ours.pages[page as usize];
        if *state == EMPTY {
            self.touched.push((slot, page));
        }
        if std::ptr::eq(words, &ALL) {
            *state = FULL;
        } else if let Some(ours) = bitmap(state, &mut self.pool) {
            ours.iter_mut()
                .zip(words)
                .for_each(|(word, bits)| *word |= bits);
        }
    }

    fn table(&self, slot: u32) -> Option<&PageTable> {
        self.tables.get(slot as usize)?.as_ref()
    }

    /// The bits of a page; [`ALL`] itself for a full one.
    fn words(&self, slot: u32, page: u32) -> Option<&[u64; WORDS]> {
        match *self.table(slot)?.pages.get(page as usize)? {
            EMPTY => None,
            FULL => Some(&ALL),
            place => self.pool.get(place as usize - 1),
        }
    }
}

impl PageTable {
    fn of(allocation: &Allocation) -> Self {
        Self {
            base: allocation.base(),
            pages: vec![EMPTY; allocation.len().div_ceil(PAGE)],
        }
    }
}

/// A full page.
static ALL: [u64; WORDS] = [!0; WORDS];

/// The part of `range` in a page, counted from the page's start.
#[inline]
fn within(page: usize, range: &Range<usize>) -> Range<usize> {
    let start = page * PAGE;
    range.start.max(start) - start..range.end.min(start + PAGE) - start
}

/// Ranges in rising order; those that touch become one.
#[derive(Default)]
struct Ranges(Vec<Range<u64>>);

impl Ranges {
    fn push(&mut self, next: Range<u64>) {
        match self.0.last_mut() {
            Some(last) if last.end == next.start => last.end = next.end,
            _ => self.0.push(next),
        }
    }
}

fn table(
    tables: &mut Vec<Option<PageTable>>,
    slot: usize,
    new: impl FnOnce() -> PageTable,
) -> &mut PageTable {
    if tables.len() <= slot {
        tables.resize_with(slot + 1, || None);
    }
    tables[slot].get_or_insert_with(new)
}

/// The bits of a page, unless all are set anyway.
#[inline]
fn bitmap<'p>(page: &mut u32, pool: &'p mut Vec<[u64; WORDS]>) -> Option<&'p mut [u64; WORDS]> {
    match *page {
        FULL => None,
        EMPTY => {
            pool.push([0; WORDS]);
            *page = pool.len() as u32;
            pool.last_mut()
        }
        place => pool.get_mut(place as usize - 1),
    }
}

/// Sets the bits `from..to`, at least one.
#[inline]
fn set(words: &mut [u64; WORDS], from: usize, to: usize) {
    let (first, last) = (from / 64, (to - 1) / 64);
    let low = !0 << (from % 64);
    let high = !0 >> (63 - (to - 1) % 64);
    if first == last {
        words[first] |= low & high;
        return;
    }
    words[first] |= low;
    words[first + 1..last].fill(!0);
    words[last] |= high;
}

/// The ranges of set bits in rising order; one that crosses words comes in pieces.
fn runs(words: &[u64; WORDS]) -> impl Iterator<Item = Range<usize>> + '_ {
    words.iter().enumerate().flat_map(|(index, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let start = rest.trailing_zeros();
            if start == 64 {
                return None;
            }
            let length = (rest >> start).trailing_ones();
            let end = start + length;
            rest = if end == 64 { 0 } else { rest & (!0 << end) };
            Some(index * 64 + start as usize..index * 64 + end as usize)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::{AddressSpace, AllocationKind};
    use super::*;

    const BYTES: usize = 3 * PAGE + 100;

    type Insertions = Vec<(bool, usize, usize)>;

    /// Two maps of two allocations, and the same sets byte by byte.
    struct TwoMaps {
        space: AddressSpace,
        bases: [u64; 2],
        maps: [ByteMap; 2],
        naive: [BTreeSet<u64>; 2],
    }

    impl TwoMaps {
        fn new(insertions: &Insertions) -> Self {
            let mut space = AddressSpace::new(&[1 << 20], 1 << 20);
            let bases = [(); 2].map(|()| {
                let base = space.allocate(0, BYTES, AllocationKind::Device);
                base.expect("fits")
            });
            let (maps, naive) = Default::default();
            let mut scene = Self {
                space,
                bases,
                maps,
                naive,
            };
            for (second, offset, bytes) in insertions {
                let end = (offset + bytes).min(BYTES);
                let base = scene.bases[offset % 2];
                let allocation = scene.space.find(base).expect("mapped");
                scene.maps[usize::from(*second)].insert(allocation, *offset, end - offset);
                scene.naive[usize::from(*second)].extend(base + *offset as u64..base + end as u64);
            }
            scene
        }
    }

    fn ranges(bytes: impl IntoIterator<Item = u64>) -> ByteRanges {
        bytes.into_iter().map(|byte| byte..byte + 1).collect()
    }

    #[test]
    fn a_cleared_map_knows_no_recent_page() {
        let TwoMaps { space, bases, .. } = TwoMaps::new(&Vec::new());
        let insert = |map: &mut ByteMap, offset| {
            map.insert(space.find(bases[0]).expect("mapped"), offset, 1);
        };
        let (mut map, mut other) = (ByteMap::default(), ByteMap::default());
        insert(&mut map, 5);
        insert(&mut other, PAGE + 7);
        map.clear();
        map.merge(&other);
        insert(&mut map, 5);
        let at = |offset: usize| bases[0] + offset as u64;
        assert_eq!(map.ranges(), ranges([at(5), at(PAGE + 7)]));
    }

    fn insertions() -> impl Strategy<Value = Insertions> {
        prop::collection::vec((any::<bool>(), 0..BYTES, 1..2 * PAGE), 0..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        #[test]
        fn union_and_intersection_are_exact(insertions in insertions()) {
            let TwoMaps { maps: [mut a, b], naive: [x, y], .. } = TwoMaps::new(&insertions);
            let mut common = ByteMap::default();
            common.add_common(&a, &b);
            prop_assert_eq!(common.ranges(), ranges(x.intersection(&y).copied()));
            a.merge(&b);
            prop_assert_eq!(a.ranges(), ranges(x.union(&y).copied()));
            a.clear();
            prop_assert!(a.ranges().is_empty());
        }

        #[test]
        fn gaps_are_what_is_not_in_the_set(insertions in insertions(), start in 0..BYTES, len in 1..BYTES) {
            let scene = TwoMaps::new(&insertions);
            let base = scene.bases[0];
            let range = start..(start + len).min(BYTES);
            let gaps = scene.maps[0].gaps(scene.space.find(base).expect("mapped"), range.clone());
            let missing = range.map(|offset| base + offset as u64).filter(|byte| !scene.naive[0].contains(byte));
            let gaps: Vec<_> = gaps.iter().map(|gap| base + gap.start as u64..base + gap.end as u64).collect();
            prop_assert_eq!(&gaps, &ranges(missing).iter().collect::<Vec<_>>());
        }
    }
}
