//! Which granules of global memory a grid touches, for the model of the L2 cache.
//!
//! Blocks that follow one another, one for each multiprocessor, are taken to run at the same time: what they touch is a set. Of
//! the blocks behind them it is known that they come later.
//!
//! Every warp's access passes here: a small table of the latest granules keeps all but the first of many away from the list.

/// Granules that are remembered, by their low bits.
const LATEST: usize = 64;
/// A list is first cleared of duplicates when it has so many entries.
const CLEARED_AT: usize = 1 << 16;

/// A granule that blocks of one group touch. In the order of groups, then of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Touch(u64);

/// What the blocks of a grid touch: ascending, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Touched {
    /// What loads touch.
    pub reads: Vec<Touch>,
    /// What stores and atomic operations touch.
    pub writes: Vec<Touch>,
}

impl Touch {
    /// Where the group is: an address has at most 52 bits, and a granule of it 40.
    const GROUP: u32 = 40;

    /// A granule, which is an address divided by [`GRANULE`](Touched::GRANULE), and the number of the group of blocks.
    pub fn new(group: u64, granule: u64) -> Self {
        let last = (1 << (u64::BITS - Self::GROUP)) - 1;
        Self(group.min(last) << Self::GROUP | granule)
    }

    /// The number of the group of blocks.
    pub fn group(self) -> u64 {
        self.0 >> Self::GROUP
    }

    /// The granule.
    pub fn granule(self) -> u64 {
        self.0 & ((1 << Self::GROUP) - 1)
    }
}

impl Touched {
    /// Bytes of a granule.
    pub const GRANULE: u64 = 4096;
}

/// The granules that one host thread has seen touched.
pub(super) struct Granules {
    /// Granule 0 for the blocks from here on.
    group: Touch,
    /// Granules with their groups, as numbers plus one.
    latest: [u64; LATEST],
    list: Vec<Touch>,
    clear_at: usize,
}

impl Default for Granules {
    fn default() -> Self {
        Self {
            group: Touch::new(0, 0),
            latest: [0; LATEST],
            list: Vec::new(),
            clear_at: CLEARED_AT,
        }
    }
}

impl Granules {
    /// The granule that `address` lies in is touched.
    #[inline(always)]
    pub fn touch(&mut self, address: u64) {
        let granule = address / Touched::GRANULE;
        let touch = self.group.0 | granule;
        let latest = &mut self.latest[granule as usize % LATEST];
        if *latest != touch + 1 {
            *latest = touch + 1;
            self.add(Touch(touch));
        }
    }

    fn add(&mut self, touch: Touch) {
        self.list.push(touch);
        if self.list.len() >= self.clear_at {
            clear(&mut self.list);
            self.clear_at = CLEARED_AT.max(2 * self.list.len());
        }
    }
}

/// Sorts, and leaves each once.
fn clear(list: &mut Vec<Touch>) {
    list.sort_unstable();
    list.dedup();
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
        let group = Touch::new(group, 0);
        (self.reads.group, self.writes.group) = (group, group);
    }

    /// What several host threads have seen.
    pub fn together(all: Vec<Self>) -> Touched {
        let mut touched = Touched::default();
        for touches in all {
            touched.reads.extend(touches.reads.list);
            touched.writes.extend(touches.writes.list);
        }
        clear(&mut touched.reads);
        clear(&mut touched.writes);
        touched
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These granules of group 0.
    fn granules(numbers: std::ops::Range<u64>) -> Vec<Touch> {
        numbers.map(|granule| Touch::new(0, granule)).collect()
    }

    #[test]
    fn every_granule_is_there_once_whoever_saw_it() {
        let mut all = vec![Touches::default(), Touches::default()];
        for address in (0..(1 << 20)).step_by(32) {
            all[address % 64 / 32].reads.touch(address as u64);
        }
        for granule in (0..200_000_u64).rev() {
            all[0].writes.touch(granule * Touched::GRANULE + 4095);
            all[1].writes.touch(granule % 100 * Touched::GRANULE);
        }
        let touched = Touches::together(all);
        assert_eq!(touched.reads, granules(0..256));
        assert_eq!(touched.writes, granules(0..200_000));
    }

    #[test]
    fn a_granule_is_there_for_each_group_that_touches_it() {
        let mut touches = Touches::default();
        for group in [3, 0, 3] {
            touches.begin(group);
            touches.reads.touch(0x1_0000_0000_5000);
        }
        let touched = Touches::together(vec![touches]).reads;
        let seen = touched.iter().map(|touch| (touch.group(), touch.granule()));
        let granule = 0x1_0000_0000_5000 / 4096;
        assert_eq!(seen.collect::<Vec<_>>(), [(0, granule), (3, granule)]);
    }
}
