//! Where `cuMemAlloc` takes small allocations from, as far as its price depends on it.
//!
//! The driver cuts small allocations out of chunks that it asks the system for. An allocation that finds a gap in a chunk is
//! cheap; one that needs a chunk of its own costs as much as a large one, and so does the free that leaves a chunk empty:
//! the driver gives it back at once. On an H200, 64 KiB cost 2 µs beside another small allocation and 60 µs alone.
//!
//! Only the price is decided here: addresses are the address space's.

use std::collections::{BTreeMap, BTreeSet};

use crate::timeline::profile::Host;

/// Allocations begin at multiples of this.
const GRANULE: u64 = 512;

/// How an allocation or a free was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Served {
    /// Out of a chunk that is there and stays.
    FromChunk,
    /// The driver mapped or unmapped this many bytes.
    BySystem(u64),
}

/// The chunks of all devices.
#[derive(Debug, Default)]
pub(in crate::driver) struct SmallMemory {
    /// By device and number.
    chunks: BTreeMap<ChunkId, Chunk>,
    /// Chunks indexed by (device, size of the largest gap in bytes).
    by_gap: BTreeMap<(usize, u64), BTreeSet<ChunkId>>,
    /// By the program's address.
    pieces: BTreeMap<u64, SmallBlock>,
    given: u64,
}

/// Device and number.
type ChunkId = (usize, u64);

/// The free bytes of a chunk.
#[derive(Debug, Default)]
struct Chunk {
    /// Where the gaps begin, and their bytes.
    gaps: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
    /// How many allocations there are in it.
    pieces: usize,
}

#[derive(Clone, Copy, Debug)]
struct SmallBlock {
    chunk: ChunkId,
    start: u64,
    bytes: u64,
}

impl SmallMemory {
    /// `bytes` bytes at `address` were allocated on a device.
    pub(in crate::driver) fn allocated(
        &mut self,
        host: &Host,
        device: usize,
        address: u64,
        bytes: usize,
    ) -> Served {
        let bytes = (bytes as u64).next_multiple_of(GRANULE);
        if bytes as f64 > host.allocation_cached_bytes.value {
            return Served::BySystem(bytes);
        }
        // The first chunk that has room.
        let with_room = self.by_gap.range((device, bytes)..=(device, u64::MAX));
        let first = with_room.filter_map(|(_, chunks)| chunks.first()).min();
        let (chunk, served) = match first {
            Some(chunk) => (*chunk, Served::FromChunk),
            None => {
                let size = (host.allocation_chunk_bytes.value as u64).max(bytes);
                self.given += 1;
                let id = (device, self.given);
                self.chunks.insert(id, Chunk::of(size));
                self.sort_in(id);
                (id, Served::BySystem(size))
            }
        };
        let start = self.change(chunk, |chunk| chunk.take(bytes));
        let start = start.unwrap_or_default();
        let piece = SmallBlock {
            chunk,
            start,
            bytes,
        };
        self.pieces.insert(address, piece);
        served
    }

    /// The allocation of `bytes` bytes at `address` was freed.
    pub(in crate::driver) fn freed(&mut self, host: &Host, address: u64, bytes: usize) -> Served {
        let Some(piece) = self.pieces.remove(&address) else {
            return Served::BySystem(bytes as u64);
        };
        let left = self.change(piece.chunk, |chunk| chunk.give(piece.start, piece.bytes));
        if left > 0 {
            return Served::FromChunk;
        }
        self.sort_out(piece.chunk);
        self.chunks.remove(&piece.chunk);
        Served::BySystem(host.allocation_chunk_bytes.value as u64)
    }

    /// Changes a chunk, and notes what its largest gap is now.
    fn change<R: Default>(&mut self, id: ChunkId, change: impl FnOnce(&mut Chunk) -> R) -> R {
        self.sort_out(id);
        let result = self.chunks.get_mut(&id).map(change);
        self.sort_in(id);
        result.unwrap_or_default()
    }

    fn sort_in(&mut self, id: ChunkId) {
        if let Some(gap) = self.largest_gap(id) {
            self.by_gap.entry(gap).or_default().insert(id);
        }
    }

    fn sort_out(&mut self, id: ChunkId) {
        let Some(gap) = self.largest_gap(id) else {
            return;
        };
        if let Some(chunks) = self.by_gap.get_mut(&gap) {
            chunks.remove(&id);
            if chunks.is_empty() {
                self.by_gap.remove(&gap);
            }
        }
    }

    /// The chunk's device and the bytes of its largest gap.
    fn largest_gap(&self, id: ChunkId) -> Option<(usize, u64)> {
        let (bytes, _) = self.chunks.get(&id)?.by_size.last()?;
        Some((id.0, *bytes))
    }
}

impl Chunk {
    /// An empty one.
    fn of(size: u64) -> Self {
        let mut chunk = Self::default();
        chunk.add_gap(0, size);
        chunk
    }

    /// Uses `bytes` bytes of the first gap that has them. Where they begin.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let (start, gap) = self.gaps.iter().find(|(_, gap)| **gap >= bytes)?;
        let (start, gap) = (*start, *gap);
        self.remove_gap(start);
        if gap > bytes {
            self.add_gap(start + bytes, gap - bytes);
        }
        self.pieces += 1;
        Some(start)
    }

    /// The bytes are not in use any more. How many allocations are left.
    fn give(&mut self, start: u64, bytes: u64) -> usize {
        let (mut from, mut to) = (start, start + bytes);
        if let Some(behind) = self.remove_gap(to) {
            to += behind;
        }
        let before = self.gaps.range(..start).next_back();
        if let Some((left, gap)) = before.map(|(left, gap)| (*left, *gap))
            && left + gap == start
        {
            self.remove_gap(left);
            from = left;
        }
        self.add_gap(from, to - from);
        self.pieces -= 1;
        self.pieces
    }

    fn add_gap(&mut self, start: u64, bytes: u64) {
        self.gaps.insert(start, bytes);
        self.by_size.insert((bytes, start));
    }

    fn remove_gap(&mut self, start: u64) -> Option<u64> {
        let bytes = self.gaps.remove(&start)?;
        self.by_size.remove(&(bytes, start));
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Profile;

    const MIB: usize = 1 << 20;

    /// Allocates and frees by number of the allocation.
    struct TestHeap {
        host: Host,
        small: SmallMemory,
    }

    impl TestHeap {
        fn new() -> Self {
            let host = Profile::h200().host;
            let small = SmallMemory::default();
            Self { host, small }
        }

        fn allocate(&mut self, address: u64, bytes: usize) -> Served {
            self.small.allocated(&self.host, 0, address, bytes)
        }

        fn free(&mut self, address: u64, bytes: usize) -> Served {
            self.small.freed(&self.host, address, bytes)
        }
    }

    #[test]
    fn an_allocation_alone_costs_a_chunk_each_time() {
        let mut scene = TestHeap::new();
        let chunk = Served::BySystem(2 * MIB as u64);
        for _ in 0..2 {
            assert_eq!(scene.allocate(1, 64 << 10), chunk);
            assert_eq!(scene.free(1, 64 << 10), chunk);
        }
    }

    #[test]
    fn an_allocation_beside_another_is_cheap() {
        let mut scene = TestHeap::new();
        scene.allocate(1, 4096);
        assert_eq!(scene.allocate(2, 64 << 10), Served::FromChunk);
        assert_eq!(scene.free(2, 64 << 10), Served::FromChunk);
    }

    #[test]
    fn what_does_not_fit_beside_the_others_needs_a_chunk() {
        let mut scene = TestHeap::new();
        scene.allocate(1, 4096);
        assert_eq!(scene.allocate(2, MIB), Served::FromChunk);
        assert_eq!(scene.allocate(3, MIB), Served::BySystem(2 * MIB as u64));
        assert_eq!(scene.free(2, MIB), Served::FromChunk);
        assert_eq!(scene.allocate(4, MIB), Served::FromChunk);
    }

    #[test]
    fn large_allocations_go_to_the_system() {
        let mut scene = TestHeap::new();
        scene.allocate(1, 4096);
        let large = 16 * MIB;
        assert_eq!(scene.allocate(2, large), Served::BySystem(large as u64));
        assert_eq!(scene.free(2, large), Served::BySystem(large as u64));
    }

    /// The first gap of the first chunk that has one, by looking at all of them.
    #[derive(Default)]
    struct Naive(Vec<Vec<(u64, u64)>>);

    impl Naive {
        fn place(&self, bytes: u64, size: u64) -> Option<(usize, u64)> {
            self.0.iter().enumerate().find_map(|(number, chunk)| {
                let ends = chunk.iter().map(|(start, bytes)| start + bytes);
                let mut starts: Vec<u64> = ends.chain([0]).collect();
                starts.sort_unstable();
                let is_free = |start: &u64| {
                    let end = start + bytes;
                    let mut used = chunk.iter();
                    end <= size && used.all(|(from, has)| end <= *from || from + has <= *start)
                };
                let start = starts.into_iter().find(is_free);
                (!chunk.is_empty()).then_some((number, start?))
            })
        }
    }

    #[test]
    fn an_allocation_takes_the_first_gap_of_the_first_chunk() {
        let mut scene = TestHeap::new();
        let size = scene.host.allocation_chunk_bytes.value as u64;
        let mut naive = Naive::default();
        let mut live: Vec<(u64, usize, usize, u64)> = Vec::new();
        let mut numbers = fastrand::Rng::with_seed(1);
        let mut random = |bound: u64| numbers.u64(..bound);
        for address in 1..3000 {
            if live.len() > 40 || (!live.is_empty() && random(3) == 0) {
                let (address, bytes, chunk, start) =
                    live.swap_remove(random(live.len() as u64) as usize);
                naive.0[chunk].retain(|(own, _)| *own != start);
                let expected = match naive.0[chunk].is_empty() {
                    true => Served::BySystem(size),
                    false => Served::FromChunk,
                };
                assert_eq!(scene.free(address, bytes), expected);
                continue;
            }
            let most = [4096, 900_000][random(2) as usize];
            let bytes = 1 + random(most);
            let rounded = bytes.next_multiple_of(GRANULE);
            let place = naive.place(rounded, size);
            let served = match place {
                Some(_) => Served::FromChunk,
                None => Served::BySystem(size),
            };
            assert_eq!(scene.allocate(address, bytes as usize), served);
            let (chunk, start) = place.unwrap_or((naive.0.len(), 0));
            naive.0.resize_with(naive.0.len().max(chunk + 1), Vec::new);
            naive.0[chunk].push((start, rounded));
            live.push((address, bytes as usize, chunk, start));
        }
    }

    #[test]
    fn devices_do_not_share_chunks() {
        let mut scene = TestHeap::new();
        scene.allocate(1, 4096);
        let other = scene.small.allocated(&scene.host, 1, 2, 4096);
        assert_eq!(other, Served::BySystem(2 * MIB as u64));
    }
}
