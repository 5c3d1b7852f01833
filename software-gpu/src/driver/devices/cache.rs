//! The L2 cache of one device: which granules of memory it holds, and how much of a kernel's traffic it serves.
//!
//! A kernel's loads hit what operations before it have left in the cache, and what its other blocks have loaded already.
//! Stores stay in the cache until their granule is displaced: only the first store to a granule is charged to device memory.
//! The granules least recently used are displaced. A kernel that touches more than the cache holds finds nothing of what was there,
//! and leaves nothing behind that the next one would find. Its blocks that run together touch a set, without an order: where it is
//! larger than the cache, what they load again is found for the share that has room.

use std::num::NonZeroUsize;

use lru::LruCache;

use crate::exec::{BlockCost, GridCost, Touch, Touched};
use crate::timeline::profile::Profile;

/// The cache.
#[derive(Debug)]
pub(in crate::driver) struct Cache {
    /// By granule: whether it was stored to, and device memory does not have that yet.
    held: LruCache<u64, bool>,
}

/// What share of a kernel's traffic goes to device memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::driver) struct Misses {
    pub(in crate::driver) reads: f64,
    pub(in crate::driver) writes: f64,
}

/// What the touches of one kind come to.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// By group, the granules that it touches: in all.
    touched: usize,
    /// Those that are not in the cache.
    missed: usize,
    /// Those for which there is no room beside the others of the group.
    crowded: usize,
}

impl Cache {
    pub(in crate::driver) fn new(profile: &Profile) -> Self {
        let bytes = f64::from(profile.device.l2_cache_size) * profile.memory.l2_share.value;
        Self::of((bytes / Touched::GRANULE as f64) as usize)
    }

    /// Of so many granules, one at least.
    fn of(granules: usize) -> Self {
        let capacity = NonZeroUsize::new(granules).unwrap_or(NonZeroUsize::MIN);
        Self {
            held: LruCache::new(capacity),
        }
    }

    /// A kernel that costs `cost` runs.
    pub(in crate::driver) fn run(&mut self, cost: &GridCost) -> Misses {
        let same_group = |one: &Touch, other: &Touch| one.group() == other.group();
        let Touched { reads, writes } = &cost.touched;
        let [all_read, all_written] = [reads, writes].map(|touches| distinct(touches));
        let too_large = all_read + all_written > self.held.cap().get();
        if too_large {
            // What it needs first displaces what it would have found.
            self.held.clear();
        }
        let mut groups = reads.chunk_by(same_group).peekable();
        let (mut read, mut written) = (Traffic::default(), Traffic::default());
        for stores in writes.chunk_by(same_group) {
            while let Some(loads) = groups.next_if(|loads| loads[0].group() <= stores[0].group()) {
                self.touch(loads, false, &mut read);
            }
            self.touch(stores, true, &mut written);
        }
        groups.for_each(|loads| self.touch(loads, false, &mut read));
        if too_large {
            self.held.clear();
        }
        let total = |bytes: fn(&BlockCost) -> u64| -> u64 {
            let runs = cost.runs.iter();
            runs.map(|(count, block)| count * bytes(block)).sum()
        };
        Misses {
            reads: read.share(all_read, total(|block| block.global_read_bytes)),
            writes: written.share(all_written, total(|block| block.global_write_bytes)),
        }
    }

    /// A copy or a memset writes to device memory, through the cache.
    pub(in crate::driver) fn fill(&mut self, start: u64, bytes: u64) {
        let granules = start / Touched::GRANULE..(start + bytes).div_ceil(Touched::GRANULE);
        if granules.end - granules.start > self.held.cap().get() as u64 {
            return self.held.clear();
        }
        for granule in granules {
            self.held.put(granule, true);
        }
    }

    /// Blocks that run together touch these granules.
    fn touch(&mut self, group: &[Touch], stores: bool, traffic: &mut Traffic) {
        traffic.touched += group.len();
        traffic.crowded += group.len().saturating_sub(self.held.cap().get());
        for touch in group {
            let held = self.held.get_mut(&touch.granule());
            let hits = held.as_deref().is_some_and(|dirty| *dirty || !stores);
            traffic.missed += usize::from(!hits);
            match held {
                Some(dirty) => *dirty |= stores,
                None => _ = self.held.put(touch.granule(), stores),
            }
        }
    }
}

impl Traffic {
    /// The share of `bytes` bytes of traffic that goes to device memory, when so many granules are touched.
    fn share(&self, granules: usize, bytes: u64) -> f64 {
        if self.touched == 0 || bytes == 0 {
            return 1.0;
        }
        let bytes = bytes as f64;
        let granule = Touched::GRANULE as f64;
        // Of granules that are touched in part, no more comes than was asked for.
        let first = self.missed as f64 * granule.min(bytes / granules as f64);
        let again = (bytes - self.touched as f64 * granule).max(0.0);
        let crowded = self.crowded as f64 / self.touched as f64;
        ((first + again * crowded) / bytes).min(1.0)
    }
}

/// How many granules these are. A group has each once.
fn distinct(touches: &[Touch]) -> usize {
    let ends = touches.first().zip(touches.last());
    if ends.is_none_or(|(first, last)| first.group() == last.group()) {
        return touches.len();
    }
    let mut granules: Vec<u64> = touches.iter().map(|touch| touch.granule()).collect();
    granules.sort_unstable();
    granules.dedup();
    granules.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(granules: usize) -> Cache {
        Cache::of(granules)
    }

    fn of_group(group: u64, granules: std::ops::Range<u64>) -> impl Iterator<Item = Touch> {
        granules.map(move |granule| Touch::new(group, granule))
    }

    /// A kernel that loads each byte of these granules `times` times and stores each byte of those once.
    fn kernel(reads: std::ops::Range<u64>, times: u64, writes: std::ops::Range<u64>) -> GridCost {
        let bytes = |granules: &std::ops::Range<u64>| (granules.end - granules.start) * 4096;
        let block = BlockCost {
            global_read_bytes: bytes(&reads) * times,
            global_write_bytes: bytes(&writes),
            ..BlockCost::default()
        };
        GridCost {
            runs: vec![(1, block)],
            touched: Touched {
                reads: of_group(0, reads).collect(),
                writes: of_group(0, writes).collect(),
            },
        }
    }

    fn misses(reads: f64, writes: f64) -> Misses {
        Misses { reads, writes }
    }

    #[test]
    fn what_was_loaded_before_hits() {
        let mut cache = cache(100);
        assert_eq!(cache.run(&kernel(0..40, 1, 40..80)), misses(1.0, 1.0));
        assert_eq!(cache.run(&kernel(40..80, 1, 40..80)), misses(0.0, 0.0));
        assert_eq!(cache.run(&kernel(20..60, 1, 0..0)), misses(0.0, 1.0));
    }

    #[test]
    fn what_is_loaded_twice_hits_once() {
        assert_eq!(cache(100).run(&kernel(0..40, 4, 0..0)).reads, 0.25);
        // Of twice as much as there is room for, half has gone before it is loaded again.
        assert_eq!(cache(20).run(&kernel(0..40, 2, 0..0)).reads, 0.75);
    }

    /// A kernel whose groups of blocks load each byte of these granules once.
    fn groups(reads: &[std::ops::Range<u64>]) -> GridCost {
        let each = |range: &std::ops::Range<u64>| (range.end - range.start) * 4096;
        let block = BlockCost {
            global_read_bytes: reads.iter().map(each).sum(),
            ..BlockCost::default()
        };
        let reads = (0..).zip(reads.iter().cloned());
        GridCost {
            runs: vec![(1, block)],
            touched: Touched {
                reads: reads
                    .flat_map(|(group, range)| of_group(group, range))
                    .collect(),
                writes: Vec::new(),
            },
        }
    }

    /// In all they load more than the cache holds, but what the last ones load again is still there.
    #[test]
    fn blocks_find_what_the_blocks_before_them_have_loaded() {
        let neighbours = groups(&[0..30, 20..50, 40..70]);
        assert_eq!(cache(40).run(&neighbours).reads, 70.0 / 90.0);
        // Too many others were loaded meanwhile.
        let apart = groups(&[0..30, 30..60, 0..30]);
        assert_eq!(cache(40).run(&apart).reads, 1.0);
        assert_eq!(cache(60).run(&apart).reads, 60.0 / 90.0);
    }

    #[test]
    fn blocks_load_what_blocks_before_them_have_stored() {
        let stored = |group| GridCost {
            touched: Touched {
                reads: of_group(2, 0..10).collect(),
                writes: of_group(group, 0..10).collect(),
            },
            ..kernel(0..10, 1, 0..10)
        };
        assert_eq!(cache(40).run(&stored(1)), misses(0.0, 1.0));
        assert_eq!(cache(40).run(&stored(3)), misses(1.0, 1.0));
    }

    #[test]
    fn the_least_recently_used_goes() {
        let mut cache = cache(100);
        cache.run(&kernel(0..60, 1, 0..0));
        cache.run(&kernel(100..160, 1, 0..0));
        assert_eq!(cache.run(&kernel(100..160, 1, 0..0)).reads, 0.0);
        assert_eq!(cache.run(&kernel(0..20, 1, 0..0)).reads, 1.0);
    }

    #[test]
    fn a_stream_through_memory_leaves_nothing() {
        let mut cache = cache(100);
        cache.run(&kernel(0..60, 1, 0..0));
        cache.run(&kernel(1000..2000, 1, 0..0));
        assert_eq!(cache.run(&kernel(0..60, 1, 0..0)).reads, 1.0);
    }

    #[test]
    fn a_stream_through_memory_finds_nothing() {
        let mut cache = cache(100);
        cache.fill(0, 4096 * 60);
        assert_eq!(cache.run(&kernel(60..120, 1, 0..60)), misses(1.0, 1.0));
        // Its first blocks might find some, but those before them displace it.
        cache.fill(0, 4096 * 60);
        assert_eq!(cache.run(&groups(&[0..60, 60..120])).reads, 1.0);
        assert_eq!(cache.run(&kernel(100..120, 1, 0..0)).reads, 1.0);
    }

    #[test]
    fn a_copy_fills() {
        let mut cache = cache(100);
        cache.fill(4096 * 10 + 1, 4096 * 5);
        assert_eq!(cache.run(&kernel(10..16, 1, 0..0)).reads, 0.0);
        cache.fill(0, 4096 * 101);
        assert_eq!(cache.run(&kernel(10..16, 1, 0..0)).reads, 1.0);
    }
}
