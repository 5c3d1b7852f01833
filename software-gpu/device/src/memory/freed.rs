//! Where allocations were that have been freed, for messages.

use std::collections::VecDeque;
use std::ops::Range;

/// Only this many ranges are remembered, the latest ones.
const REMEMBERED: usize = 4096;

/// Ranges of device addresses, which are never used again, and of page-locked memory, whose addresses the system may give
/// to others. Ask only for an address that has no allocation.
#[derive(Debug, Default)]
pub(super) struct Freed(VecDeque<Range<u64>>);

impl Freed {
    /// An allocation with these addresses is freed.
    pub fn add(&mut self, range: Range<u64>) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(range);
    }

    /// The freed allocation that `address` was in.
    pub fn find(&self, address: u64) -> Option<Range<u64>> {
        self.0
            .iter()
            .rev()
            .find(|range| range.contains(&address))
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered() {
        let mut freed = Freed::default();
        for index in 0..=REMEMBERED as u64 {
            freed.add(index * 10..index * 10 + 5);
        }
        assert_eq!(freed.find(3), None);
        assert_eq!(freed.find(13), Some(10..15));
        assert_eq!(freed.find(15), None);
        assert_eq!(
            freed.find(REMEMBERED as u64 * 10 + 4),
            Some(REMEMBERED as u64 * 10..REMEMBERED as u64 * 10 + 5)
        );
    }
}
