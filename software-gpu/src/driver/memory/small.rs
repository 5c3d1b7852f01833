//! Where `cuMemAlloc` takes small allocations from, as far as its price depends on it.
//!
//! The driver cuts small allocations out of chunks that it asks the system for. An allocation that finds a gap in a chunk is
//! cheap; one that needs a chunk of its own costs as much as a large one, and so does the free that leaves a chunk empty:
//! the driver gives it back at once. On an H200, 64 KiB cost 2 µs beside another small allocation and 60 µs alone.
//!
//! Only the price is decided here: addresses are the address space's.

use std::collections::BTreeMap;

use crate::timeline::profile::Host;

/// Allocations begin at multiples of this.
const GRANULE: u64 = 512;

/// How an allocation or a free was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Served {
    /// Out of a chunk that is there and stays.
    FromChunk,
    /// So many bytes were asked of the system, or given back.
    BySystem(u64),
}

/// The chunks of all devices.
#[derive(Debug, Default)]
pub(in crate::driver) struct SmallMemory {
    /// By device and number.
    chunks: BTreeMap<(usize, u64), Chunk>,
    /// By the address that the program knows.
    pieces: BTreeMap<u64, Piece>,
    given: u64,
}

/// What is in use of a chunk: where it begins, and where it ends.
#[derive(Debug, Default)]
struct Chunk(BTreeMap<u64, u64>);

#[derive(Clone, Copy, Debug)]
struct Piece {
    chunk: (usize, u64),
    start: u64,
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
        let size = (host.allocation_chunk_bytes.value as u64).max(bytes);
        let of_device = self.chunks.range((device, 0)..=(device, u64::MAX));
        let gap = of_device
            .filter_map(|(number, chunk)| Some((*number, chunk.gap(bytes, size)?)))
            .next();
        let (chunk, start, served) = match gap {
            Some((chunk, start)) => (chunk, start, Served::FromChunk),
            None => {
                self.given += 1;
                ((device, self.given), 0, Served::BySystem(size))
            }
        };
        let used = &mut self.chunks.entry(chunk).or_default().0;
        used.insert(start, start + bytes);
        self.pieces.insert(address, Piece { chunk, start });
        served
    }

    /// The allocation of `bytes` bytes at `address` was freed.
    pub(in crate::driver) fn freed(&mut self, host: &Host, address: u64, bytes: usize) -> Served {
        let Some(Piece { chunk, start }) = self.pieces.remove(&address) else {
            return Served::BySystem(bytes as u64);
        };
        if let Some(Chunk(used)) = self.chunks.get_mut(&chunk) {
            used.remove(&start);
            if !used.is_empty() {
                return Served::FromChunk;
            }
        }
        self.chunks.remove(&chunk);
        Served::BySystem(host.allocation_chunk_bytes.value as u64)
    }
}

impl Chunk {
    /// Where the first gap of `bytes` bytes begins in a chunk of `size` bytes.
    fn gap(&self, bytes: u64, size: u64) -> Option<u64> {
        let mut start = 0;
        for (used, end) in &self.0 {
            if *used - start >= bytes {
                return Some(start);
            }
            start = *end;
        }
        (size - start >= bytes).then_some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Profile;

    const MIB: usize = 1 << 20;

    /// Allocates and frees by number of the allocation.
    struct Scene {
        host: Host,
        small: SmallMemory,
    }

    impl Scene {
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
        let mut scene = Scene::new();
        let chunk = Served::BySystem(2 * MIB as u64);
        for _ in 0..2 {
            assert_eq!(scene.allocate(1, 64 << 10), chunk);
            assert_eq!(scene.free(1, 64 << 10), chunk);
        }
    }

    #[test]
    fn an_allocation_beside_another_is_cheap() {
        let mut scene = Scene::new();
        scene.allocate(1, 4096);
        assert_eq!(scene.allocate(2, 64 << 10), Served::FromChunk);
        assert_eq!(scene.free(2, 64 << 10), Served::FromChunk);
    }

    #[test]
    fn what_does_not_fit_beside_the_others_needs_a_chunk() {
        let mut scene = Scene::new();
        scene.allocate(1, 4096);
        assert_eq!(scene.allocate(2, MIB), Served::FromChunk);
        assert_eq!(scene.allocate(3, MIB), Served::BySystem(2 * MIB as u64));
        assert_eq!(scene.free(2, MIB), Served::FromChunk);
        assert_eq!(scene.allocate(4, MIB), Served::FromChunk);
    }

    #[test]
    fn large_allocations_go_to_the_system() {
        let mut scene = Scene::new();
        scene.allocate(1, 4096);
        let large = 16 * MIB;
        assert_eq!(scene.allocate(2, large), Served::BySystem(large as u64));
        assert_eq!(scene.free(2, large), Served::BySystem(large as u64));
    }

    #[test]
    fn devices_do_not_share_chunks() {
        let mut scene = Scene::new();
        scene.allocate(1, 4096);
        let other = scene.small.allocated(&scene.host, 1, 2, 4096);
        assert_eq!(other, Served::BySystem(2 * MIB as u64));
    }
}
