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
    tables: Vec<Option<Table>>,
    pool: Vec<[u64; WORDS]>,
}

#[derive(Debug)]
struct Table {
    base: u64,
    /// By page of the allocation.
    pages: Vec<u32>,
    /// The pages that are not empty lie in here.
    touched: Range<usize>,
}

impl ByteMap {
    /// Adds `bytes` bytes (at least one) at `offset` of `allocation`.
    #[inline]
    pub fn insert(&mut self, allocation: &Allocation, offset: usize, bytes: usize) {
        debug_assert!(bytes > 0 && offset + bytes <= allocation.len());
        let table = table(&mut self.tables, allocation.slot(), || Table {
            base: allocation.base(),
            pages: vec![EMPTY; allocation.len().div_ceil(PAGE)],
            touched: usize::MAX..0,
        });
        let (first, last) = (offset / PAGE, (offset + bytes - 1) / PAGE);
        table.touched.start = table.touched.start.min(first);
        table.touched.end = table.touched.end.max(last + 1);
        for page in first..=last {
            let from = if page == first { offset % PAGE } else { 0 };
            let to = if page == last {
                (offset + bytes - 1) % PAGE + 1
            } else {
                PAGE
            };
            if from == 0 && to == PAGE {
                table.pages[page] = FULL;
            } else if let Some(words) = bitmap(&mut table.pages[page], &mut self.pool) {
                set(words, from, to);
            }
        }
    }

    /// Adds all bytes of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (slot, theirs) in other.tables.iter().enumerate() {
            let Some(theirs) = theirs else { continue };
            let ours = table(&mut self.tables, slot, || Table {
                base: theirs.base,
                pages: vec![EMPTY; theirs.pages.len()],
                touched: usize::MAX..0,
            });
            ours.touched.start = ours.touched.start.min(theirs.touched.start);
            ours.touched.end = ours.touched.end.max(theirs.touched.end);
            for page in theirs.touched.clone() {
                match theirs.pages[page] {
                    EMPTY => {}
                    FULL => ours.pages[page] = FULL,
                    place => {
                        if let Some(words) = bitmap(&mut ours.pages[page], &mut self.pool) {
                            let more = &other.pool[place as usize - 1];
                            words
                                .iter_mut()
                                .zip(more)
                                .for_each(|(word, bits)| *word |= bits);
                        }
                    }
                }
            }
        }
    }

    /// The addresses of all bytes.
    pub fn ranges(&self) -> ByteRanges {
        let mut tables: Vec<&Table> = self.tables.iter().flatten().collect();
        tables.sort_unstable_by_key(|table| table.base);
        let mut ranges = Ranges::default();
        for table in tables {
            for page in table.touched.clone() {
                let start = table.base + (page * PAGE) as u64;
                match table.pages[page] {
                    EMPTY => {}
                    FULL => ranges.push(start, start + PAGE as u64),
                    place => {
                        for run in runs(&self.pool[place as usize - 1]) {
                            ranges.push(start + run.start as u64, start + run.end as u64);
                        }
                    }
                }
            }
        }
        ranges.0.into_iter().collect()
    }
}

/// Ranges in rising order; those that touch become one.
#[derive(Default)]
struct Ranges(Vec<Range<u64>>);

impl Ranges {
    fn push(&mut self, start: u64, end: u64) {
        match self.0.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => self.0.push(start..end),
        }
    }
}

fn table(tables: &mut Vec<Option<Table>>, slot: usize, new: impl FnOnce() -> Table) -> &mut Table {
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
    use proptest::prelude::*;

    use super::super::{AddressSpace, AllocationKind};
    use super::*;

    const BYTES: usize = 3 * PAGE + 100;

    proptest! {
        #[test]
        fn the_union_of_two_maps_has_exactly_the_inserted_bytes(
            insertions in prop::collection::vec((any::<bool>(), 0..BYTES, 1..2 * PAGE), 0..40)
        ) {
            let mut space = AddressSpace::new(&[1 << 20], 1 << 20);
            let base = space.allocate(0, BYTES, AllocationKind::Device).expect("fits");
            let other = space.allocate(0, BYTES, AllocationKind::Device).expect("fits");
            let mut naive = vec![];
            let (mut map, mut second) = (ByteMap::default(), ByteMap::default());
            for (into_second, offset, bytes) in insertions {
                let bytes = bytes.min(BYTES - offset);
                let into = if into_second { &mut second } else { &mut map };
                let base = if offset % 3 == 0 { base } else { other };
                into.insert(space.find(base).expect("mapped"), offset, bytes);
                let start = base + offset as u64;
                naive.push(start..start + bytes as u64);
            }
            map.merge(&second);
            prop_assert_eq!(map.ranges(), naive.into_iter().collect::<ByteRanges>());
        }
    }
}
