//! The allocation that an address belongs to, from the point of view of an operation.
//!
//! A stream-ordered allocation has its address when the call returns, long before the operation runs, and a pool gives
//! the same address to the next allocation while operations with the earlier one are still waiting in their streams. So
//! an address has *generations*, and an operation means the newest that existed when it was submitted.
//!
//! Invariants: pieces do not overlap, and the generations of a piece are in order of their calls. Splitting a piece copies its
//! generations, so it changes no answer.

use std::collections::BTreeMap;
use std::ops::Range;

/// One allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RegionId(pub(super) u64);

impl RegionId {
    /// All memory outside of known allocations.
    pub(super) const UNKNOWN: Self = Self(0);
}

/// The allocations that an address has belonged to, oldest first: the number of the first call for which each counts, and its region.
type Generations = Vec<(u64, RegionId)>;

/// Owners of all addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    /// By their start. They do not overlap.
    pieces: BTreeMap<u64, OwnedRange>,
}

#[derive(Clone, Debug)]
struct OwnedRange {
    end: u64,
    generations: Generations,
}

/// A part of a range of addresses, with its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) range: Range<u64>,
    pub(super) region: RegionId,
    /// An allocation that has got these bytes since.
    pub(super) newer: Option<RegionId>,
}

impl Owners {
    /// From call number `since` on, these bytes belong to `region`.
    pub(super) fn add(&mut self, range: Range<u64>, since: u64, region: RegionId) {
        // After the two splits, every piece lies inside or outside of the range.
        self.split(range.start);
        self.split(range.end);
        let mut gaps = Vec::new();
        let mut at = range.start;
        for (start, piece) in self.pieces.range_mut(range.clone()) {
            if at < *start {
                gaps.push(at..*start);
            }
            at = piece.end;
            piece.generations.push((since, region));
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        for gap in gaps {
            let generations = vec![(since, region)];
            let end = gap.end;
            self.pieces
                .insert(gap.start, OwnedRange { end, generations });
        }
    }

    /// Removes the range. Returns the regions that it belonged to, newer and older ones.
    pub(super) fn remove(&mut self, range: Range<u64>) -> Vec<RegionId> {
        self.split(range.start);
        self.split(range.end);
        let starts: Vec<u64> = self.pieces.range(range).map(|(start, _)| *start).collect();
        let pieces = starts
            .into_iter()
            .filter_map(|start| self.pieces.remove(&start));
        let generations = pieces.flat_map(|piece| piece.generations);
        generations.map(|(_, region)| region).collect()
    }

    /// The owners of the bytes of `range` for a call made at `called`, in rising order of addresses. The
    /// whole range is covered.
    pub(super) fn of(&self, range: Range<u64>, called: u64, mut owned: impl FnMut(Owned)) {
        // The piece that begins last before the range may reach into it.
        let before = self.pieces.range(..=range.start).next_back();
        let first = before.map_or(range.start, |(start, _)| *start);
        let mut at = range.start;
        let unknown = |range: Range<u64>, owned: &mut dyn FnMut(Owned)| {
            if range.start < range.end {
                let (region, newer) = (RegionId::UNKNOWN, None);
                owned(Owned {
                    range,
                    region,
                    newer,
                });
            }
        };
        for (start, piece) in self.pieces.range(first..range.end) {
            if piece.end <= range.start {
                continue;
            }
            unknown(at..(*start).max(at), &mut owned);
            let start = (*start).max(range.start);
            at = piece.end.min(range.end);
            let (region, newer) = piece.owner(called);
            let range = start..at;
            owned(Owned {
                range,
                region,
                newer,
            });
        }
        unknown(at..range.end.max(at), &mut owned);
    }

    /// As [`of`](Self::of) for several ranges in rising order. Adjacent allocations of one owner are mostly passed together:
    /// then `owned` gets the first one's, and all of them.
    pub(super) fn of_all(
        &self,
        mut ranges: &[Range<u64>],
        called: u64,
        mut owned: impl FnMut(Owned, &[Range<u64>]),
    ) {
        while let Some(first) = ranges.first() {
            // The usual case: one lookup for all ranges that end within the first one's piece.
            let (end, of) = self.of_one(first.clone(), called);
            let (together, rest) = ranges.split_at(ranges.partition_point(|own| own.end <= end));
            if together.is_empty() {
                self.of(first.clone(), called, |of| {
                    let range = of.range.clone();
                    owned(of, std::slice::from_ref(&range));
                });
                ranges = &ranges[1..];
            } else {
                owned(of, together);
                ranges = rest;
            }
        }
    }

    /// The owner of the first byte of `range`, and the address up to which that owner holds. It owns the whole range if the range ends by
    /// then.
    fn of_one(&self, range: Range<u64>, called: u64) -> (u64, Owned) {
        let before = self.pieces.range(..=range.start).next_back();
        let (end, (region, newer)) = match before.filter(|(_, piece)| range.start < piece.end) {
            Some((_, piece)) => (piece.end, piece.owner(called)),
            None => {
                let next = self.pieces.range(range.start..).next();
                let end = next.map_or(u64::MAX, |(start, _)| *start);
                (end, (RegionId::UNKNOWN, None))
            }
        };
        let owned = Owned {
            range,
            region,
            newer,
        };
        (end, owned)
    }

    /// The newest allocation at `address`.
    pub(super) fn newest(&self, address: u64) -> Option<RegionId> {
        let (_, piece) = self.pieces.range(..=address).next_back()?;
        let (_, region) = piece.generations.last()?;
        (address < piece.end).then_some(*region)
    }

    /// Forgets the generations that no call at `oldest` or later can mean, and passes the remaining ones to `left`.
    pub(super) fn prune(&mut self, oldest: u64, mut left: impl FnMut(RegionId)) {
        let mut kept: Vec<(u64, OwnedRange)> = Vec::new();
        for (start, mut piece) in std::mem::take(&mut self.pieces) {
            let generations = &mut piece.generations;
            let older = generations.partition_point(|(since, _)| *since < oldest);
            // The newest of the older generations stays: a call at `oldest` may still mean it.
            generations.drain(..older.saturating_sub(1));
            generations.iter().for_each(|(_, region)| left(*region));
            match kept.last_mut() {
                // Neighbours whose generations have become equal are one piece again.
                Some((_, last)) if last.end == start && last.generations == piece.generations => {
                    last.end = piece.end;
                }
                _ => kept.push((start, piece)),
            }
        }
        self.pieces = kept.into_iter().collect();
    }

    fn split(&mut self, at: u64) {
        let Some((_, piece)) = self.pieces.range_mut(..at).next_back() else {
            return;
        };
        if piece.end > at {
            let behind = piece.clone();
            piece.end = at;
            self.pieces.insert(at, behind);
        }
    }
}

impl OwnedRange {
    /// The owner of the bytes for a call made at `called`, and the present owner if that is another one.
    fn owner(&self, called: u64) -> (RegionId, Option<RegionId>) {
        let behind = self
            .generations
            .partition_point(|(since, _)| *since < called);
        let region = match behind.checked_sub(1) {
            Some(own) => self.generations[own].1,
            None => RegionId::UNKNOWN,
        };
        let newest = self.generations.last().map(|(_, region)| *region);
        // Bytes outside of every allocation at the time of the call have no newer owner: the operation did not mean an allocation.
        let newer = newest.filter(|newest| behind > 0 && *newest != region);
        (region, newer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(owners: &Owners, range: Range<u64>, called: u64) -> Vec<(Range<u64>, u64, Option<u64>)> {
        let mut all = Vec::new();
        owners.of(range, called, |owned| {
            all.push((
                owned.range,
                owned.region.0,
                owned.newer.map(|newer| newer.0),
            ));
        });
        all
    }

    #[test]
    fn an_operation_means_the_newest_allocation_that_existed_when_it_was_submitted() {
        let mut owners = Owners::default();
        owners.add(10..30, 1, RegionId(1));
        owners.add(20..40, 5, RegionId(2));
        let now = [
            (0..10, 0, None),
            (10..20, 1, None),
            (20..30, 2, None),
            (30..40, 2, None),
            (40..50, 0, None),
        ];
        assert_eq!(of(&owners, 0..50, 6), now);
        let then = [(15..20, 1, None), (20..30, 1, Some(2)), (30..35, 0, None)];
        assert_eq!(of(&owners, 15..35, 3), then);
        assert_eq!(owners.newest(25), Some(RegionId(2)));
        assert_eq!(owners.newest(40), None);
    }

    #[test]
    fn ranges_of_one_owner_come_together() {
        let mut owners = Owners::default();
        owners.add(100..200, 1, RegionId(1));
        owners.add(200..300, 5, RegionId(2));
        owners.add(400..500, 5, RegionId(3));
        let ranges = [
            10..20,
            30..100,
            100..110,
            120..200,
            200..210,
            290..310,
            320..330,
            350..450,
            460..500,
            600..700,
        ];
        let mut all = Vec::new();
        owners.of_all(&ranges, 4, |owned, ranges| {
            assert_eq!(owned.range, ranges[0]);
            all.push((
                ranges.to_vec(),
                owned.region.0,
                owned.newer.map(|newer| newer.0),
            ));
        });
        let alone = |range: Range<u64>, newer| (vec![range], 0, newer);
        let expected = [
            (ranges[..2].to_vec(), 0, None),
            (ranges[2..4].to_vec(), 1, None),
            alone(200..210, None),
            alone(290..300, None),
            alone(300..310, None),
            alone(320..330, None),
            alone(350..400, None),
            alone(400..450, None),
            alone(460..500, None),
            alone(600..700, None),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn old_generations_are_forgotten_when_nothing_can_mean_them() {
        let mut owners = Owners::default();
        for since in 1..4 {
            owners.add(0..8, since * 10, RegionId(since));
        }
        let mut left = Vec::new();
        owners.prune(25, |region| left.push(region.0));
        assert_eq!(left, [2, 3]);
        assert_eq!(owners.remove(0..4), [RegionId(2), RegionId(3)]);
        assert_eq!(of(&owners, 0..8, 25), [(0..4, 0, None), (4..8, 2, Some(3))]);
    }

    #[test]
    fn pieces_with_one_history_become_one() {
        let mut owners = Owners::default();
        owners.add(0..4, 1, RegionId(1));
        owners.add(0..8, 5, RegionId(2));
        owners.prune(9, |_| {});
        assert_eq!(of(&owners, 0..8, 9), [(0..8, 2, None)]);
    }
}
