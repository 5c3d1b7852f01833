//! Sets of addresses.

use std::ops::Range;

/// A set of addresses, as ranges that are in rising order and neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteRanges {
    ranges: Vec<Range<u64>>,
}

impl ByteRanges {
    /// The empty set.
    pub const fn new() -> Self {
        Self { ranges: Vec::new() }
    }

    /// The ranges, in rising order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }

    /// The same.
    pub(crate) fn as_slice(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there is no address in the set.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether any address of `range` is in the set.
    pub fn meets(&self, range: &Range<u64>) -> bool {
        let candidate = self
            .ranges
            .partition_point(|known| known.end <= range.start);
        let known = self.ranges.get(candidate);
        known.is_some_and(|known| known.start < range.end)
    }
}

impl From<Range<u64>> for ByteRanges {
    fn from(range: Range<u64>) -> Self {
        Self::from_iter([range])
    }
}

/// In any order, overlapping or empty: the set is their union.
impl FromIterator<Range<u64>> for ByteRanges {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut ranges: Vec<_> = ranges
            .into_iter()
            .filter(|range| range.start < range.end)
            .collect();
        if !ranges.is_sorted_by_key(|range| range.start) {
            ranges.sort_unstable_by_key(|range| range.start);
        }
        ranges.dedup_by(|next, kept| {
            let joins = next.start <= kept.end;
            if joins {
                kept.end = kept.end.max(next.end);
            }
            joins
        });
        Self { ranges }
    }
}

/// The accesses of one operation to memory, byte by byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Plain loads, and sources of copies.
    pub reads: ByteRanges,
    /// Plain stores, and destinations of copies and memsets.
    pub writes: ByteRanges,
    /// Atomic operations and strong loads and stores of a scope wider than the block: they do not conflict with each other, only with plain
    /// accesses.
    pub atomics: ByteRanges,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ranges: &[Range<u64>]) -> ByteRanges {
        ranges.iter().cloned().collect()
    }

    #[test]
    fn ranges_that_overlap_or_touch_become_one() {
        let ranges = set(&[8..12, 0..4, 4..8, 20..20, 10..16, 30..31]);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [0..16, 30..31]);
        assert!(ByteRanges::from(5..5).is_empty());
    }

    #[test]
    fn ranges_meet_those_with_a_common_address() {
        let ranges = set(&[4..8, 10..20]);
        assert!(ranges.meets(&(7..11)) && ranges.meets(&(0..5)) && !ranges.meets(&(8..10)));
        assert!(!ranges.meets(&(20..22)) && !ranges.meets(&(0..4)));
    }
}
