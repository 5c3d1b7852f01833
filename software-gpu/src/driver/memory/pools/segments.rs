//! The memory of one pool: which addresses are in use, and which can be used again by whom.
//!
//! A pool reserves *chunks*. Each chunk is cut into segments without gaps: segments in use, segments that were freed,
//! and what was never used. Freed segments remember the operation that frees them until the host has seen its end.

use std::collections::{BTreeMap, BTreeSet};

use super::unseen::UnseenFrees;
use crate::driver::c_abi::types::CUstream;
use crate::timeline::OpId;

/// Sizes in a pool are multiples of this many bytes.
pub(in crate::driver) const GRANULE: u64 = 512;

/// A `cuMemFreeAsync`: the operation, and the stream that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct FreePoint {
    pub(in crate::driver) stream: CUstream,
    pub(in crate::driver) op: OpId,
}

/// How good memory is for an allocation: the first rank that has enough is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::driver) enum Rank {
    /// Freed earlier in the same stream, or so long ago that the host has seen it.
    Available,
    /// The allocating stream is ordered after the free.
    Ordered,
    /// The free happens to have been executed.
    Complete,
    /// Never used.
    Fresh,
    /// The free is still to come: the allocating stream has to wait for it.
    Pending,
}

impl Rank {
    const ALL: [Self; 5] = [
        Self::Available,
        Self::Ordered,
        Self::Complete,
        Self::Fresh,
        Self::Pending,
    ];
}

/// Where an allocation goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Placement {
    pub(in crate::driver) address: u64,
    /// The frees that the memory is taken from.
    pub(in crate::driver) freed_by: Vec<FreePoint>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fresh,
    Used,
    /// `None` when the host has seen the end of the free.
    Freed(Option<FreePoint>),
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    bytes: u64,
    state: State,
}

/// The chunks of one pool and what they are used for.
#[derive(Debug, Default)]
pub(in crate::driver) struct Segments {
    /// By address, without gaps inside a chunk.
    segments: BTreeMap<u64, Segment>,
    /// Those that are not in use: bytes and addresses.
    unused: BTreeSet<(u64, u64)>,
    /// Allocations whose free the host has not observed.
    unseen: UnseenFrees,
    /// Bytes of each chunk, by its address.
    chunks: BTreeMap<u64, u64>,
    reserved: u64,
    used: u64,
}

impl Segments {
    /// Bytes of all chunks.
    pub(in crate::driver) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Bytes in use.
    pub(in crate::driver) fn used(&self) -> u64 {
        self.used
    }

    /// Whether `address` lies in a chunk.
    pub(in crate::driver) fn contains(&self, address: u64) -> bool {
        let chunk = self.chunks.range(..=address).next_back();
        chunk.is_some_and(|(start, bytes)| address - start < *bytes)
    }

    /// The frees whose end the host has not seen.
    pub(in crate::driver) fn unseen(&self) -> &UnseenFrees {
        &self.unseen
    }

    /// A new chunk. Chunks do not touch each other.
    pub(in crate::driver) fn add_chunk(&mut self, address: u64, bytes: u64) {
        self.insert(address, bytes, State::Fresh);
        self.chunks.insert(address, bytes);
        self.reserved += bytes;
    }

    /// Uses `bytes` bytes, a multiple of [`GRANULE`], of memory whose rank is at most `worst`. `rank` says how good
    /// the memory of a free is; `None` when it must not be used.
    pub(in crate::driver) fn take(
        &mut self,
        bytes: u64,
        worst: Rank,
        rank: impl Fn(&FreePoint) -> Option<Rank>,
    ) -> Option<Placement> {
        let limits = Rank::ALL.into_iter().filter(|limit| *limit <= worst);
        let address = limits
            .filter_map(|limit| {
                let usable = |address: u64| {
                    let segment = self.segments.get(&address);
                    let found = segment.and_then(|segment| segment.state.rank(&rank));
                    found.is_some_and(|found| found <= limit)
                };
                self.smallest(bytes, usable)
                    .or_else(|| self.smallest_joined(bytes, usable))
            })
            .next()?;
        let freed_by = self.cut(address, bytes);
        Some(Placement { address, freed_by })
    }

    /// The smallest usable segment with `bytes` bytes; the lowest one of several.
    fn smallest(&self, bytes: u64, usable: impl Fn(u64) -> bool) -> Option<u64> {
        let enough = self.unused.range((bytes, 0)..);
        let mut addresses = enough.map(|(_, address)| *address);
        addresses.find(|address| usable(*address))
    }

    /// The same for usable neighbours together.
    fn smallest_joined(&self, bytes: u64, usable: impl Fn(u64) -> bool) -> Option<u64> {
        let usable = self.unused.iter().filter(|(_, at)| usable(*at));
        let mut runs: Vec<_> = usable.map(|(bytes, at)| (*at, *bytes)).collect();
        runs.sort_unstable();
        runs.dedup_by(|next, last| {
            let joins = last.0 + last.1 == next.0;
            last.1 += if joins { next.1 } else { 0 };
            joins
        });
        let enough = runs.into_iter().filter(|(_, all)| *all >= bytes);
        let smallest = enough.min_by_key(|(at, all)| (*all, *at));
        smallest.map(|(at, _)| at)
    }

    /// Ends the use of the segment at `address`, from `by` on; `None` when the host knows that no operation uses it any more.
    /// Returns its size.
    pub(in crate::driver) fn free(&mut self, address: u64, by: Option<FreePoint>) -> Option<u64> {
        let segment = self.segments.get(&address)?;
        if segment.state != State::Used {
            return None;
        }
        let bytes = segment.bytes;
        self.used -= bytes;
        self.insert(address, bytes, State::Freed(by));
        if by.is_none() {
            self.merge(address);
        }
        Some(bytes)
    }

    /// The host has observed the end of the frees for which `seen` is true.
    pub(in crate::driver) fn see(&mut self, seen: impl Fn(&FreePoint) -> bool) {
        for (address, bytes) in self.unseen.seen(seen) {
            self.insert(address, bytes, State::Freed(None));
            self.merge(address);
        }
    }

    /// Gives up chunks that are not in use as long as `keep` bytes stay reserved. Returns their addresses.
    pub(in crate::driver) fn trim(&mut self, keep: u64) -> Vec<u64> {
        self.release(|reserved, chunk| reserved - chunk >= keep)
    }

    /// Gives up chunks that are not in use until at most `limit` bytes are reserved. Returns their addresses.
    pub(in crate::driver) fn release_above(&mut self, limit: u64) -> Vec<u64> {
        self.release(|reserved, _| reserved > limit)
    }

    /// Gives up chunks that are not in use, newest first, if `goes` is true of the bytes reserved and those of the chunk.
    fn release(&mut self, goes: impl Fn(u64, u64) -> bool) -> Vec<u64> {
        let newest_first = self.chunks.iter().rev();
        let mut left = self.reserved;
        let mut released = Vec::new();
        for (address, bytes) in newest_first {
            if goes(left, *bytes) && self.is_unused(*address, *bytes) {
                left -= bytes;
                released.push(*address);
            }
        }
        for address in &released {
            let bytes = self.chunks.remove(address).unwrap_or(0);
            let within = self.segments.range(*address..address + bytes);
            let within: Vec<u64> = within.map(|(start, _)| *start).collect();
            for start in within {
                self.remove(start);
            }
        }
        self.reserved = left;
        released
    }

    fn is_unused(&self, address: u64, bytes: u64) -> bool {
        self.segments
            .range(address..address + bytes)
            .all(|(_, segment)| matches!(segment.state, State::Fresh | State::Freed(None)))
    }

    /// Uses the bytes from `address` on, which starts a segment and is not in use; returns whose they were.
    fn cut(&mut self, address: u64, bytes: u64) -> Vec<FreePoint> {
        let end = address + bytes;
        let covered = self.segments.range(address..end);
        let covered: Vec<u64> = covered.map(|(start, _)| *start).collect();
        let mut freed_by = Vec::new();
        for start in covered {
            let Some(segment) = self.remove(start) else {
                continue;
            };
            let rest = (start + segment.bytes).saturating_sub(end);
            if rest > 0 {
                self.insert(end, rest, segment.state);
            }
            if let State::Freed(Some(by)) = segment.state {
                freed_by.push(by);
            }
        }
        self.insert(address, bytes, State::Used);
        self.used += bytes;
        freed_by
    }

    /// Merges a segment that every stream may use with neighbours of that kind.
    fn merge(&mut self, address: u64) {
        let anybodys = |segment: &Segment| segment.state == State::Freed(None);
        let Some(own) = self.segments.get(&address).filter(|own| anybodys(own)) else {
            return;
        };
        let (mut start, mut end) = (address, address + own.bytes);
        let before = self.segments.range(..address).next_back();
        if let Some((left, before)) = before
            && left + before.bytes == address
            && anybodys(before)
        {
            start = *left;
        }
        if let Some(behind) = self.segments.get(&end).filter(|behind| anybodys(behind)) {
            end += behind.bytes;
        }
        for joined in [start, address, address + own.bytes] {
            if joined < end {
                self.remove(joined);
            }
        }
        self.insert(start, end - start, State::Freed(None));
    }

    /// A segment, in the place of another one that begins there.
    fn insert(&mut self, address: u64, bytes: u64, state: State) {
        self.remove(address);
        if state != State::Used {
            self.unused.insert((bytes, address));
        }
        if let State::Freed(Some(by)) = state {
            self.unseen.add(by, address, bytes);
        }
        self.segments.insert(address, Segment { bytes, state });
    }

    fn remove(&mut self, address: u64) -> Option<Segment> {
        let segment = self.segments.remove(&address)?;
        self.unused.remove(&(segment.bytes, address));
        if let State::Freed(Some(by)) = segment.state {
            self.unseen.remove(by, address, segment.bytes);
        }
        Some(segment)
    }
}

impl State {
    /// How good the memory is; `None` when it cannot be used.
    fn rank(&self, rank: impl Fn(&FreePoint) -> Option<Rank>) -> Option<Rank> {
        match self {
            Self::Fresh => Some(Rank::Fresh),
            Self::Used => None,
            Self::Freed(None) => Some(Rank::Available),
            Self::Freed(Some(by)) => rank(by),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::{OperationStage, Profile, Time, Timeline};

    const BASE: u64 = 1 << 20;

    fn free_points<const N: usize>() -> [FreePoint; N] {
        let mut timeline = Timeline::new(&[Profile::h200()], 8);
        let stream = timeline.add_stream(0, 0);
        let mut number = 0;
        [(); N].map(|()| {
            number += 1;
            let op = timeline.submit(stream, Time::ZERO, OperationStage::Marker, &[]);
            FreePoint {
                stream: CUstream(number),
                op,
            }
        })
    }

    fn chunk_of(bytes: u64) -> Segments {
        let mut segments = Segments::default();
        segments.add_chunk(BASE, bytes);
        segments
    }

    fn take(segments: &mut Segments, bytes: u64, rank: Option<Rank>) -> Option<u64> {
        let placement = segments.take(bytes, Rank::Pending, |_| rank);
        placement.map(|placement| placement.address - BASE)
    }

    #[test]
    fn the_smallest_sufficient_segment_is_used_and_freed_ones_before_fresh_ones() {
        let mut segments = chunk_of(16 * GRANULE);
        let [a, b] = free_points();
        let large = BASE + take(&mut segments, 4 * GRANULE, None).expect("fits");
        let between = take(&mut segments, GRANULE, None);
        assert_eq!(between, Some(4 * GRANULE));
        let small = BASE + take(&mut segments, 2 * GRANULE, None).expect("fits");
        assert_eq!(segments.free(large, Some(a)), Some(4 * GRANULE));
        assert_eq!(segments.free(small, Some(b)), Some(2 * GRANULE));
        assert_eq!(segments.free(small, Some(b)), None);
        assert_eq!(
            take(&mut segments, GRANULE, Some(Rank::Complete)),
            Some(small - BASE)
        );
        assert_eq!(
            take(&mut segments, 2 * GRANULE, Some(Rank::Complete)),
            Some(0)
        );
        assert_eq!(take(&mut segments, 2 * GRANULE, None), Some(7 * GRANULE));
    }

    #[test]
    fn neighbours_serve_together_and_name_their_frees() {
        let mut segments = chunk_of(4 * GRANULE);
        let [a, b] = free_points();
        let all = [(); 4].map(|()| BASE + take(&mut segments, GRANULE, None).expect("fits"));
        segments.free(all[1], Some(a));
        segments.free(all[2], Some(b));
        assert_eq!(take(&mut segments, 2 * GRANULE, None), None);
        let rank = |free: &FreePoint| (*free == a).then_some(Rank::Available);
        assert_eq!(segments.take(2 * GRANULE, Rank::Fresh, rank), None);
        let placement = segments.take(2 * GRANULE, Rank::Pending, |_| Some(Rank::Pending));
        let expected = Placement {
            address: all[1],
            freed_by: vec![a, b],
        };
        assert_eq!(placement, Some(expected));
        assert_eq!(
            (segments.used(), !segments.unseen().is_empty()),
            (4 * GRANULE, false)
        );
    }

    #[test]
    fn the_rest_of_a_freed_segment_keeps_its_free() {
        let mut segments = chunk_of(4 * GRANULE);
        let [a] = free_points();
        let whole = BASE + take(&mut segments, 4 * GRANULE, None).expect("fits");
        segments.free(whole, Some(a));
        assert_eq!(take(&mut segments, GRANULE, Some(Rank::Available)), Some(0));
        assert!(!segments.unseen().is_empty());
        assert_eq!(take(&mut segments, GRANULE, None), None);
        segments.see(|free| *free == a);
        assert!(segments.unseen().is_empty());
        assert_eq!(take(&mut segments, 3 * GRANULE, None), Some(GRANULE));
    }

    #[test]
    fn chunks_go_when_all_frees_in_them_were_seen() {
        let mut segments = chunk_of(2 * GRANULE);
        let other = BASE + 64 * GRANULE;
        segments.add_chunk(other, GRANULE);
        let [a] = free_points();
        let memory = BASE + take(&mut segments, 2 * GRANULE, None).expect("fits");
        assert_eq!(segments.trim(1), [other]);
        segments.free(memory, Some(a));
        assert_eq!(segments.trim(0), []);
        segments.see(|_| true);
        assert_eq!(segments.trim(1), []);
        assert!(
            segments.contains(BASE + 2 * GRANULE - 1) && !segments.contains(BASE + 2 * GRANULE)
        );
        assert_eq!(segments.trim(0), [BASE]);
        assert_eq!((segments.reserved(), segments.used()), (0, 0));
        assert_eq!(take(&mut segments, GRANULE, None), None);
    }

    #[test]
    fn chunks_above_a_limit_go_newest_first_unless_they_are_in_use() {
        let mut segments = Segments::default();
        let chunks = [0, 1, 2, 3].map(|number| BASE + number * 64 * GRANULE);
        for chunk in chunks {
            segments.add_chunk(chunk, GRANULE);
        }
        assert_eq!(segments.release_above(4 * GRANULE), []);
        assert_eq!(segments.release_above(4 * GRANULE - 1), [chunks[3]]);
        let used = BASE + take(&mut segments, GRANULE, None).expect("fits");
        assert_eq!(used, chunks[0]);
        assert_eq!(segments.release_above(1), [chunks[2], chunks[1]]);
        assert_eq!(segments.reserved(), GRANULE);
    }

    #[test]
    fn chunks_are_not_joined() {
        let mut segments = chunk_of(GRANULE);
        segments.add_chunk(BASE + 2 * GRANULE, GRANULE);
        assert_eq!(take(&mut segments, 2 * GRANULE, None), None);
    }
}
