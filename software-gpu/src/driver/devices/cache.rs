//! The L2 cache of one device: which lines of memory it holds, and how much of a kernel's traffic it serves.
//!
//! A kernel's loads hit what operations before it have left in the cache, and what its other blocks have loaded already.
//! Stores stay in the cache until their granule is displaced: only the first store to a line is charged to device memory.
//! The granules least recently used are displaced. A kernel that touches more than the cache holds finds nothing of what was there,
//! and leaves nothing behind that the next one would find. The lines that its blocks touch within an interval are an unordered set: where
//! it is larger than the cache, repeated loads hit for the share that has room.

use lru::LruCache;

use crate::exec::{BlockCost, GridCost, Touch, Touched};
use crate::timeline::profile::Profile;

/// The cache.
#[derive(Debug)]
pub(in crate::driver) struct Cache {
    granules: LruCache<u64, Held>,
    /// Lines of all granules.
    lines: u64,
    /// How many lines it holds at most.
    capacity: u64,
}

/// The cached lines of a granule, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    lines: u32,
    /// Dirty lines: stored to, and not yet written back to device memory.
    dirty: u32,
}

/// What share of a kernel's traffic goes to device memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::driver) struct Misses {
    pub(in crate::driver) reads: f64,
    pub(in crate::driver) writes: f64,
}

/// What the touches of one kind come to, in lines.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// The lines touched, counted anew in each interval.
    touched: u64,
    /// The lines that miss in the cache.
    missed: u64,
    /// Lines that do not fit beside the others of their interval.
    crowded: u64,
}

impl Cache {
    pub(in crate::driver) fn new(profile: &Profile) -> Self {
        let bytes = f64::from(profile.device.l2_cache_size) * profile.memory.l2_share.value;
        Self::of((bytes / Touched::LINE as f64) as u64)
    }

    /// A cache of `lines` lines, at least those of one granule.
    fn of(lines: u64) -> Self {
        Self {
            granules: LruCache::unbounded(),
            lines: 0,
            capacity: lines.max(Touched::GRANULE / Touched::LINE),
        }
    }

    /// A kernel that costs `cost` runs.
    pub(in crate::driver) fn run(&mut self, cost: &GridCost) -> Misses {
        let same_time = |one: &Touch, other: &Touch| one.time == other.time;
        let Touched { reads, writes } = &cost.touched;
        let [all_read, all_written] = [reads, writes].map(|touches| distinct(touches));
        let too_large = all_read + all_written > self.capacity;
        if too_large {
            // Its first lines displace the lines that it would have found later.
            self.clear();
        }
        let mut intervals = reads.chunk_by(same_time).peekable();
        let (mut read, mut written) = (Traffic::default(), Traffic::default());
        for stores in writes.chunk_by(same_time) {
            while let Some(loads) = intervals.next_if(|loads| loads[0].time <= stores[0].time) {
                self.touch(loads, false, &mut read);
            }
            self.touch(stores, true, &mut written);
        }
        intervals.for_each(|loads| self.touch(loads, false, &mut read));
        if too_large {
            self.clear();
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
        if bytes / Touched::LINE > self.capacity {
            return self.clear();
        }
        for (granule, lines) in Touched::lines(start, start + bytes) {
            self.hold(granule, lines, true);
        }
    }

    /// Blocks touch these lines in one interval.
    fn touch(&mut self, interval: &[Touch], stores: bool, traffic: &mut Traffic) {
        let mut touched = 0;
        for touch in interval {
            touched += u64::from(touch.lines.count_ones());
            let missed = self.hold(touch.granule, touch.lines, stores);
            traffic.missed += u64::from(missed.count_ones());
        }
        traffic.touched += touched;
        traffic.crowded += touched.saturating_sub(self.capacity);
    }

    /// Holds these lines of a granule from now on. Returns those that device memory has to give, or to take for the first time.
    fn hold(&mut self, granule: u64, lines: u32, stored: bool) -> u32 {
        let held = self.granules.get_or_insert_mut(granule, Held::default);
        let missed = lines & !if stored { held.dirty } else { held.lines };
        self.lines += u64::from((lines & !held.lines).count_ones());
        held.lines |= lines;
        if stored {
            held.dirty |= lines;
        }
        while self.lines > self.capacity {
            let displaced = self.granules.pop_lru();
            self.lines -= displaced.map_or(self.lines, |(_, held)| held.lines.count_ones().into());
        }
        missed
    }

    fn clear(&mut self) {
        self.granules.clear();
        self.lines = 0;
    }
}

impl Traffic {
    /// The share of `bytes` bytes of traffic that goes to device memory, when `lines` lines are touched.
    fn share(&self, lines: u64, bytes: u64) -> f64 {
        if self.touched == 0 || bytes == 0 {
            return 1.0;
        }
        let bytes = bytes as f64;
        let line = Touched::LINE as f64;
        // Only the touched part of a line is loaded.
        let first = self.missed as f64 * line.min(bytes / lines as f64);
        let again = (bytes - self.touched as f64 * line).max(0.0);
        let crowded = self.crowded as f64 / self.touched as f64;
        ((first + again * crowded) / bytes).min(1.0)
    }
}

/// How many lines these are, each once.
fn distinct(touches: &[Touch]) -> u64 {
    let count = |lines: u32| u64::from(lines.count_ones());
    let ends = touches.first().zip(touches.last());
    if ends.is_none_or(|(first, last)| first.time == last.time) {
        return touches.iter().map(|touch| count(touch.lines)).sum();
    }
    let mut granules: Vec<(u64, u32)> = touches.iter().map(|at| (at.granule, at.lines)).collect();
    granules.sort_unstable();
    let of_one = granules.chunk_by(|one, other| one.0 == other.0);
    of_one
        .map(|parts| count(parts.iter().fold(0, |all, (_, lines)| all | lines)))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of `granules` granules.
    fn cache(granules: u64) -> Cache {
        Cache::of(granules * 32)
    }

    /// All lines of these granules, touched by one group.
    fn of_group(group: u64, granules: std::ops::Range<u64>) -> impl Iterator<Item = Touch> {
        granules.map(move |granule| Touch {
            time: Touch::time(group, 0),
            lines: u32::MAX,
            granule,
        })
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
        // With twice the data that fits, half of it has been evicted before it is loaded again.
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
                ..Touched::default()
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
        assert_eq!(cache.run(&kernel(10..15, 1, 0..0)).reads, 0.0);
        // One line of it.
        assert_eq!(cache.run(&kernel(15..16, 1, 0..0)).reads, 31.0 / 32.0);
        cache.fill(0, 4096 * 101);
        assert_eq!(cache.run(&kernel(10..16, 1, 0..0)).reads, 1.0);
    }

    /// Two blocks go through the same tiles side by side: each loads in an interval what the other does, and both have more than the cache
    /// holds in the end.
    #[test]
    fn blocks_in_step_find_what_they_load_in_the_same_interval() {
        let tiles = 10;
        let reads = (0..tiles).flat_map(|tile| {
            let time = Touch::time(0, tile * Touched::INTERVAL);
            of_group(0, 10 * tile..10 * tile + 10).map(move |touch| Touch { time, ..touch })
        });
        let block = BlockCost {
            global_read_bytes: tiles * 10 * Touched::GRANULE,
            ..BlockCost::default()
        };
        let kernel = GridCost {
            runs: vec![(2, block)],
            touched: Touched {
                reads: reads.collect(),
                ..Touched::default()
            },
        };
        assert_eq!(cache(20).run(&kernel).reads, 0.5);
        // As an unordered set, most would have to be loaded again.
        let mut at_once = kernel;
        let reads = &mut at_once.touched.reads;
        reads.iter_mut().for_each(|touch| touch.time = 0);
        assert_eq!(cache(20).run(&at_once).reads, 0.9);
    }

    #[test]
    fn a_granule_has_room_for_the_lines_that_it_holds() {
        let line = |number: u64| Touch {
            time: Touch::time(number / 40, 0),
            lines: 1,
            granule: number % 40,
        };
        // 40 lines of as many granules, twice, in a cache of 64 lines.
        let kernel = GridCost {
            runs: vec![(
                80,
                BlockCost {
                    global_read_bytes: Touched::LINE,
                    ..BlockCost::default()
                },
            )],
            touched: Touched {
                reads: (0..80).map(line).collect(),
                ..Touched::default()
            },
        };
        assert_eq!(cache(2).run(&kernel).reads, 0.5);
        assert_eq!(cache(1).run(&kernel).reads, 1.0);
    }
}
