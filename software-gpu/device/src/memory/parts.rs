//! The allocations that memory pools cut out of larger ones.

use std::collections::BTreeMap;
use std::ops::Range;

/// One allocation of a memory pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolAllocation {
    /// The first address.
    pub base: u64,
    /// Bytes; never zero.
    pub bytes: u64,
    /// It was freed. Its memory is still mapped and has not been reused.
    pub freed: bool,
}

impl PoolAllocation {
    /// Its addresses.
    pub fn range(&self) -> Range<u64> {
        self.base..self.base + self.bytes
    }

    /// How far `address` is from it; 0 for one of its own.
    fn distance(&self, address: u64) -> u64 {
        let before = self.base.saturating_sub(address);
        let behind = address.saturating_sub(self.base + self.bytes - 1);
        before.max(behind)
    }
}

/// The parts of an address space. They do not overlap.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// By their first address.
    parts: BTreeMap<u64, PoolAllocation>,
}

impl Parts {
    /// A new part; freed ones that it overlaps are gone.
    pub(super) fn add(&mut self, base: u64, bytes: u64) {
        self.remove_all(base..base + bytes);
        let freed = false;
        self.parts
            .insert(base, PoolAllocation { base, bytes, freed });
    }

    /// Marks the part that starts at `base` as freed.
    pub(super) fn free(&mut self, base: u64) {
        if let Some(part) = self.parts.get_mut(&base) {
            part.freed = true;
        }
    }

    /// The part that contains `address`, freed or not.
    pub(super) fn find(&self, address: u64) -> Option<&PoolAllocation> {
        let (_, part) = self.parts.range(..=address).next_back()?;
        part.range().contains(&address).then_some(part)
    }

    /// The part inside `within` that is closest to `address`.
    pub(super) fn nearest(&self, address: u64, within: Range<u64>) -> Option<&PoolAllocation> {
        if within.is_empty() {
            return None;
        }
        let parts = self.parts.range(within).map(|(_, part)| part);
        parts.min_by_key(|part| part.distance(address))
    }

    /// Forgets the parts that share an address with `range`.
    pub(super) fn remove_all(&mut self, range: Range<u64>) {
        let before = self.find(range.start).map(|part| part.base);
        let inside = self.parts.range(range).map(|(base, _)| *base);
        let gone: Vec<_> = before.into_iter().chain(inside).collect();
        for base in gone {
            self.parts.remove(&base);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_until_its_memory_is_used_again() {
        let mut parts = Parts::default();
        parts.add(1000, 100);
        parts.add(1200, 50);
        assert_eq!(
            parts.find(1099).map(PoolAllocation::range),
            Some(1000..1100)
        );
        assert_eq!(parts.find(1100), None);
        parts.free(1000);
        assert_eq!(parts.find(1000).map(|part| part.freed), Some(true));
        parts.add(1050, 100);
        assert_eq!(parts.find(1000), None);
        assert_eq!(parts.find(1050).map(|part| part.freed), Some(false));
        parts.remove_all(1000..1201);
        assert_eq!(parts.find(1200), None);
        assert_eq!(parts.find(1050), None);
    }

    #[test]
    fn the_nearest_part_lies_within_the_range() {
        let mut parts = Parts::default();
        for base in [1000, 2000, 5000] {
            parts.add(base, 100);
        }
        assert_eq!(
            parts.nearest(1600, 0..4000).map(|part| part.base),
            Some(2000)
        );
        assert_eq!(
            parts.nearest(1500, 0..4000).map(|part| part.base),
            Some(1000)
        );
        assert_eq!(
            parts.nearest(4900, 0..4000).map(|part| part.base),
            Some(2000)
        );
        assert_eq!(parts.nearest(0, 3000..3000), None);
    }
}
