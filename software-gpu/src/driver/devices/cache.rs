//! The L2 cache of one device: which granules of memory it holds, and how much of a kernel's traffic it serves.
//!
//! A kernel's loads hit what operations before it have left in the cache, and what its other blocks have loaded already.
//! Stores stay in the cache until their granule is displaced: only the first store to a granule is charged to device memory.
//! The granules least recently used are displaced. What a kernel touches is known as a set, without an order: a kernel
//! that touches more than the cache holds finds nothing of what was there, and leaves nothing behind that the next one would find.

use std::collections::HashMap;

use crate::exec::{GridCost, Touched};
use crate::timeline::profile::Profile;

/// The cache.
#[derive(Debug)]
pub(in crate::driver) struct Cache {
    /// In granules.
    capacity: usize,
    /// By number.
    held: HashMap<u64, Held>,
    used: u64,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    /// When it was last used.
    at: u64,
    /// It was stored to, and device memory does not have that yet.
    dirty: bool,
}

/// What share of a kernel's traffic goes to device memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::driver) struct Misses {
    pub(in crate::driver) reads: f64,
    pub(in crate::driver) writes: f64,
}

impl Cache {
    pub(in crate::driver) fn new(profile: &Profile) -> Self {
        let bytes = f64::from(profile.device.l2_cache_size) * profile.memory.l2_share.value;
        Self {
            capacity: (bytes / Touched::GRANULE as f64) as usize,
            held: HashMap::new(),
            used: 0,
        }
    }

    /// A kernel that costs `cost` runs.
    pub(in crate::driver) fn run(&mut self, cost: &GridCost) -> Misses {
        let Touched { reads, writes } = &cost.touched;
        let total = |bytes: fn(&crate::exec::BlockCost) -> u64| -> f64 {
            let runs = cost.runs.iter();
            runs.map(|(count, block)| (count * bytes(block)) as f64)
                .sum()
        };
        if reads.len() + writes.len() > self.capacity {
            // What it needs first displaces what it would have found.
            self.held.clear();
        }
        let is_held = |granule: &&u64| self.held.contains_key(*granule);
        let is_dirty = |granule: &&u64| self.held.get(*granule).is_some_and(|held| held.dirty);
        let hits = reads.iter().filter(is_held).count();
        let kept = writes.iter().filter(is_dirty).count();
        let misses = Misses {
            reads: self.share(reads.len(), hits, total(|block| block.global_read_bytes)),
            writes: self.share(writes.len(), kept, total(|block| block.global_write_bytes)),
        };
        if reads.len() + writes.len() > self.capacity {
            return misses;
        }
        for granule in reads {
            self.touch(*granule, false);
        }
        for granule in writes {
            self.touch(*granule, true);
        }
        self.displace();
        misses
    }

    /// A copy or a memset writes to device memory, through the cache.
    pub(in crate::driver) fn fill(&mut self, start: u64, bytes: u64) {
        let granules = start / Touched::GRANULE..(start + bytes).div_ceil(Touched::GRANULE);
        if granules.end - granules.start > self.capacity as u64 {
            return self.held.clear();
        }
        for granule in granules {
            self.touch(granule, true);
        }
        self.displace();
    }

    /// What share of `bytes` bytes of traffic goes to device memory when `touched` granules are touched and `held` of them
    /// are here.
    fn share(&self, touched: usize, held: usize, bytes: f64) -> f64 {
        if touched == 0 || bytes <= 0.0 {
            return 1.0;
        }
        let whole = touched as f64 * Touched::GRANULE as f64;
        let new = (touched - held) as f64 / touched as f64;
        // Of granules that are touched in part, no more comes than was asked for.
        let first = new * whole.min(bytes);
        let again = (bytes - whole).max(0.0);
        let too_many = 1.0 - (self.capacity as f64 / touched as f64).min(1.0);
        (first + again * too_many) / bytes
    }

    fn touch(&mut self, granule: u64, dirty: bool) {
        let at = self.used;
        self.used += 1;
        let held = self.held.entry(granule).or_insert(Held { at, dirty });
        held.at = at;
        held.dirty |= dirty;
    }

    /// Makes room: the granules that have not been used for longest go.
    fn displace(&mut self) {
        if self.held.len() <= self.capacity {
            return;
        }
        let mut uses: Vec<u64> = self.held.values().map(|held| held.at).collect();
        let surplus = uses.len() - self.capacity;
        let (_, oldest, _) = uses.select_nth_unstable(surplus);
        let oldest = *oldest;
        self.held.retain(|_, held| held.at >= oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::BlockCost;

    fn cache(granules: usize) -> Cache {
        Cache {
            capacity: granules,
            held: HashMap::new(),
            used: 0,
        }
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
                reads: reads.collect(),
                writes: writes.collect(),
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
