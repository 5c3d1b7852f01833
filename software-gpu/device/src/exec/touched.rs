//! Which lines of global memory a grid touches, and when, for the model of the L2 cache.
//!
//! Blocks that follow one another, one for each multiprocessor, are taken to run at the same time: a *group*. The clocks of its
//! blocks go from 0 on, and what they touch is known by intervals of these: within an interval it is a set, and one interval comes
//! after the other. The groups behind it are known to come later.
//!
//! Every warp's access passes here. A small table gathers what a block touches of its latest granules and keeps all but the first
//! of many accesses away from the list. It grows for kernels that touch many granules in no order.

/// Granules that are gathered at first and at most, by their low bits: powers of two.
const LATEST: usize = 64;
const MOST_LATEST: usize = 1 << 13;
/// The length at which a list is first cleared of duplicates.
const CLEARED_AT: usize = 1 << 16;
/// The table grows when the list has this many times as many entries.
const GROWS_AT: usize = 16;
/// Bits of a time below the number of the group.
const INTERVAL_BITS: u32 = 16;

/// What blocks of one group touch of a granule in an interval. In the order of times, then of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The number of the group of blocks, then that of the interval.
    pub time: u32,
    /// The lines of the granule, a bit each.
    pub lines: u32,
    /// An address divided by [`GRANULE`](Touched::GRANULE).
    pub granule: u64,
}

/// What the blocks of a grid touch: ascending, each granule once in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Touched {
    /// What loads touch.
    pub reads: Vec<Touch>,
    /// What stores and atomic operations touch.
    pub writes: Vec<Touch>,
}

impl Touch {
    const NONE: Self = Self {
        time: 0,
        lines: 0,
        granule: u64::MAX,
    };

    /// A time: the group of blocks, and the cycles since its blocks began.
    pub fn time(group: u64, cycles: u64) -> u32 {
        let last = (1 << (u32::BITS - INTERVAL_BITS)) - 1;
        (group.min(last) as u32) << INTERVAL_BITS | interval(cycles)
    }

    fn place(&self) -> (u32, u64) {
        (self.time, self.granule)
    }
}

/// The interval of a group's clocks in which this cycle lies.
#[inline(always)]
fn interval(cycles: u64) -> u32 {
    (cycles / Touched::INTERVAL).min((1 << INTERVAL_BITS) - 1) as u32
}

impl Touched {
    /// Bytes of a line of the caches.
    pub const LINE: u64 = 128;
    /// Bytes of a granule: as many lines as a [`Touch`] has bits for.
    pub const GRANULE: u64 = Self::LINE * u32::BITS as u64;
    /// Cycles of an interval. Within one, multiprocessors in step load a few tiles, which is little beside an L2 cache.
    pub const INTERVAL: u64 = 4096;

    /// What the bytes `start..end` touch: each granule, and its lines.
    #[inline(always)]
    pub fn lines(start: u64, end: u64) -> impl Iterator<Item = (u64, u32)> {
        let granules = start / Self::GRANULE..end.div_ceil(Self::GRANULE);
        granules.map(move |granule| {
            let base = granule * Self::GRANULE;
            let first = (start.max(base) - base) / Self::LINE;
            let last = (end.min(base + Self::GRANULE) - base - 1) / Self::LINE;
            (granule, u32::MAX >> (31 - last) & u32::MAX << first)
        })
    }
}

/// The granules that one host thread has seen touched.
pub(super) struct Granules {
    /// The time at which blocks from here on begin.
    start: u32,
    latest: Vec<Touch>,
    list: Vec<Touch>,
    /// The length of the list at which the table grows, and at which duplicates leave the list.
    grow_at: usize,
    clear_at: usize,
}

impl Default for Granules {
    fn default() -> Self {
        Self {
            start: 0,
            latest: vec![Touch::NONE; LATEST],
            list: Vec::new(),
            grow_at: GROWS_AT * LATEST,
            clear_at: CLEARED_AT,
        }
    }
}

impl Granules {
    /// These lines of a granule are touched by a block whose clock is at `cycles`.
    #[inline(always)]
    pub fn touch(&mut self, granule: u64, lines: u32, cycles: u64) {
        let time = self.start | interval(cycles);
        // The table has a power of two of places, and never none.
        let at = granule as usize & (self.latest.len() - 1);
        let latest = &mut self.latest[at];
        if latest.granule == granule && latest.time == time {
            latest.lines |= lines;
        } else {
            self.displace(
                at,
                Touch {
                    time,
                    lines,
                    granule,
                },
            );
        }
    }

    fn displace(&mut self, at: usize, touch: Touch) {
        let displaced = std::mem::replace(&mut self.latest[at], touch);
        self.add(displaced);
        if self.list.len() >= self.grow_at {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let places = self.latest.len() * 4;
        if places > MOST_LATEST {
            self.grow_at = usize::MAX;
            return;
        }
        self.grow_at = self.list.len() + GROWS_AT * places;
        // Granules that have had places of their own have them in a larger table, too.
        let before = std::mem::replace(&mut self.latest, vec![Touch::NONE; places]);
        for touch in before {
            if touch != Touch::NONE {
                self.latest[touch.granule as usize & (places - 1)] = touch;
            }
        }
    }

    fn add(&mut self, touch: Touch) {
        if touch == Touch::NONE {
            return;
        }
        self.list.push(touch);
        if self.list.len() >= self.clear_at {
            clear(&mut self.list);
            self.clear_at = CLEARED_AT.max(2 * self.list.len());
        }
    }

    /// Everything touched since the last call, in no particular order.
    fn take(&mut self) -> Vec<Touch> {
        for place in 0..self.latest.len() {
            let touch = std::mem::replace(&mut self.latest[place], Touch::NONE);
            self.add(touch);
        }
        std::mem::take(&mut self.list)
    }
}

/// Sorts, and leaves each granule once in an interval.
fn clear(list: &mut Vec<Touch>) {
    list.sort_unstable_by_key(Touch::place);
    list.dedup_by(|later, first| {
        let same = later.place() == first.place();
        if same {
            first.lines |= later.lines;
        }
        same
    });
}

/// What loads touched, and what stores and atomic operations did.
#[derive(Default)]
pub(super) struct Touches {
    pub reads: Granules,
    pub writes: Granules,
}

impl Touches {
    /// A block of this group begins.
    pub fn begin(&mut self, group: u64) {
        let start = Touch::time(group, 0);
        (self.reads.start, self.writes.start) = (start, start);
    }

    /// Adds what the blocks of a cluster have touched. Returns the share of the lines they load that others of them load in the same
    /// interval, too: a GPU merges such requests before they reach the L2 cache.
    pub fn add_cluster<'a>(&mut self, blocks: impl Iterator<Item = &'a mut Self>) -> f64 {
        let lines = |touches: &[Touch]| -> u64 {
            let counts = touches.iter().map(|touch| touch.lines.count_ones());
            counts.map(u64::from).sum()
        };
        let (mut asked, mut reads) = (0, Vec::new());
        for block in blocks {
            let mut own = block.reads.take();
            clear(&mut own);
            asked += lines(&own);
            reads.append(&mut own);
            block
                .writes
                .take()
                .into_iter()
                .for_each(|touch| self.writes.add(touch));
        }
        clear(&mut reads);
        let merged = asked - lines(&reads);
        reads.into_iter().for_each(|touch| self.reads.add(touch));
        merged as f64 / asked.max(1) as f64
    }

    /// The findings of several host threads.
    pub fn together(all: Vec<Self>) -> Touched {
        let mut touched = Touched::default();
        for mut touches in all {
            touched.reads.append(&mut touches.reads.take());
            touched.writes.append(&mut touches.writes.take());
        }
        clear(&mut touched.reads);
        clear(&mut touched.writes);
        touched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = u32::MAX;

    /// These granules, whole, at this time.
    fn granules(time: u32, numbers: std::ops::Range<u64>) -> Vec<Touch> {
        let touch = |granule| Touch {
            time,
            lines: ALL,
            granule,
        };
        numbers.map(touch).collect()
    }

    #[test]
    fn bytes_lie_in_lines() {
        let lines = |start, end| Touched::lines(start, end).collect::<Vec<_>>();
        assert_eq!(lines(4096, 8192), [(1, ALL)]);
        assert_eq!(lines(4096 + 127, 4096 + 129), [(1, 0b11)]);
        assert_eq!(lines(8191, 8193), [(1, 1 << 31), (2, 1)]);
        assert_eq!(lines(8192 - 128, 12289), [(1, 1 << 31), (2, ALL), (3, 1)]);
    }

    #[test]
    fn each_granule_is_merged_once() {
        let mut all = vec![Touches::default(), Touches::default()];
        for sector in 0..(1 << 15) {
            let (granule, lines) = (sector / 128, 1 << (sector % 128 / 4));
            all[sector as usize % 2].reads.touch(granule, lines, 0);
        }
        for granule in (0..200_000).rev() {
            all[0].writes.touch(granule, ALL, 0);
            all[1].writes.touch(granule % 100, 1, 0);
        }
        let touched = Touches::together(all);
        assert_eq!(touched.reads, granules(0, 0..256));
        assert_eq!(touched.writes, granules(0, 0..200_000));
    }

    #[test]
    fn a_granule_is_there_for_each_group_and_interval_that_touches_it() {
        let mut touches = Touches::default();
        for (group, cycles) in [(3, 0), (0, 4096), (3, 4095), (0, 8191), (3, 4096)] {
            touches.begin(group);
            touches.reads.touch(5, 1 << group, cycles);
        }
        let touched = Touches::together(vec![touches]).reads;
        let seen = touched.iter().map(|touch| (touch.time, touch.lines));
        let (first, second) = (Touch::time(3, 0), Touch::time(3, 4096));
        assert!(Touch::time(0, u64::MAX) < first && first < second);
        assert_eq!(
            seen.collect::<Vec<_>>(),
            [(Touch::time(0, 4096), 1), (first, 8), (second, 8)]
        );
    }

    #[test]
    fn what_blocks_of_a_cluster_load_at_the_same_time_is_merged() {
        let mut blocks: Vec<Touches> = (0..4).map(|_| Touches::default()).collect();
        let mut all = Touches::default();
        for group in 0..2 {
            for (block, touches) in blocks.iter_mut().enumerate() {
                touches.begin(group);
                // A line of its own, one that all load at the same time, and one that each loads at another.
                touches.reads.touch(7, 1 << block, 0);
                touches.reads.touch(8, 1, 0);
                touches.reads.touch(9, 1, block as u64 * Touched::INTERVAL);
                touches.writes.touch(10, 1, 0);
            }
            assert_eq!(all.add_cluster(blocks.iter_mut()), 3.0 / 12.0);
        }
        let touched = Touches::together(vec![all]);
        assert_eq!((touched.reads.len(), touched.writes.len()), (2 * 6, 2));
    }
}
