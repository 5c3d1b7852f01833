//! Which granules of global memory a grid touches, for the model of the L2 cache.
//!
//! Every warp's access passes here: a small table of the latest granules keeps all but the first of many away from the list.

use super::cost::Touched;

/// Granules that are remembered, by their low bits.
const LATEST: usize = 64;
/// A list is first cleared of duplicates when it has so many entries.
const CLEARED_AT: usize = 1 << 16;

/// The granules that one host thread has seen touched.
pub(super) struct Granules {
    /// Numbers plus one.
    latest: [u64; LATEST],
    list: Vec<u64>,
    clear_at: usize,
}

impl Default for Granules {
    fn default() -> Self {
        Self {
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
        let latest = &mut self.latest[granule as usize % LATEST];
        if *latest != granule + 1 {
            *latest = granule + 1;
            self.add(granule);
        }
    }

    fn add(&mut self, granule: u64) {
        self.list.push(granule);
        if self.list.len() >= self.clear_at {
            clear(&mut self.list);
            self.clear_at = CLEARED_AT.max(2 * self.list.len());
        }
    }
}

/// Sorts, and leaves each once.
fn clear(list: &mut Vec<u64>) {
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
        assert_eq!(touched.reads, (0..256).collect::<Vec<u64>>());
        assert_eq!(touched.writes, (0..200_000).collect::<Vec<u64>>());
    }
}
