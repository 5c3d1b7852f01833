//! Which bytes of device memory have been written since they were allocated.
//!
//! Fresh device memory has no defined contents. What kernels, copies and memsets write is marked here, so that the
//! first read of anything else can be told. Page-locked memory counts as written: the host writes to it unseen.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AddressSpace, Allocation, ByteRanges};

/// The written part of an allocation.
#[derive(Debug)]
pub(super) struct Written {
    /// Nothing is missing, whatever `ranges` says: the common case, told without a lock.
    all: AtomicBool,
    /// Addresses. Kernels look at the set as it was when they started.
    ranges: Mutex<Arc<ByteRanges>>,
}

impl Written {
    pub fn new(all: bool) -> Self {
        Self {
            all: AtomicBool::new(all),
            ranges: Mutex::default(),
        }
    }

    fn ranges(&self) -> MutexGuard<'_, Arc<ByteRanges>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allocation {
    /// Whether every byte has been written.
    #[inline]
    pub fn is_written(&self) -> bool {
        self.written.all.load(Ordering::Relaxed)
    }

    /// The addresses that have been written.
    pub fn written(&self) -> Arc<ByteRanges> {
        match self.is_written() {
            true => Arc::new(ByteRanges::from(self.base()..self.end())),
            false => Arc::clone(&self.written.ranges()),
        }
    }

    fn mark(&self, more: impl Iterator<Item = Range<u64>>) {
        let mut ranges = self.written.ranges();
        let all: ByteRanges = ranges.iter().chain(more).collect();
        if all.bytes() >= self.len() as u64 {
            *ranges = Arc::default();
            self.written.all.store(true, Ordering::Relaxed);
        } else {
            *ranges = Arc::new(all);
        }
    }
}

impl AddressSpace {
    /// Marks addresses as written. Those outside of every allocation do not matter.
    pub fn mark_written(&self, ranges: &ByteRanges) {
        let mut ranges = ranges.iter().peekable();
        while let Some(range) = ranges.next() {
            let Some(allocation) = self.find(range.start) else {
                continue;
            };
            let inside = |range: Range<u64>| range.start..range.end.min(allocation.end());
            let mut here = vec![inside(range.clone())];
            while let Some(next) = ranges.next_if(|next| next.start < allocation.end()) {
                here.push(inside(next));
            }
            if !allocation.is_written() && !allocation.written().covers_all(&here) {
                allocation.mark(here.into_iter());
            }
            if range.end > allocation.end() {
                self.mark_written(&ByteRanges::from(allocation.end()..range.end));
            }
        }
    }

    /// Makes the contents of a range undefined again: the memory was given to a new owner.
    pub fn forget_written(&self, range: Range<u64>) {
        if let Some(allocation) = self.find(range.start) {
            let written = allocation.written();
            *allocation.written.ranges() = Arc::new(written.without(range));
            allocation.written.all.store(false, Ordering::Relaxed);
        }
    }

    /// The lowest bytes of a range that was never written.
    pub fn first_unwritten(&self, range: Range<u64>) -> Option<Range<u64>> {
        let allocation = self.find(range.start)?;
        if allocation.is_written() {
            return None;
        }
        allocation.written().gaps(range).into_iter().next()
    }

    /// The parts of a range that have been written.
    pub fn written(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        let mut rest = range.start;
        if let Some(allocation) = self.find(range.start) {
            for gap in allocation.written().gaps(range.clone()) {
                parts.push(rest..gap.start);
                rest = gap.end;
            }
        }
        parts.push(rest..range.end);
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Considers all memory written: something was executed without the checkers and may have written anything.
    pub fn assume_written(&self) {
        for allocation in self.allocations() {
            allocation.written.all.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AllocationKind;
    use super::*;

    fn space() -> (AddressSpace, u64) {
        let mut space = AddressSpace::new(&[1 << 20], 1 << 20);
        let base = space.allocate(0, 100, AllocationKind::Device);
        (space, base.expect("fits"))
    }

    fn mark(space: &AddressSpace, range: Range<u64>) {
        space.mark_written(&ByteRanges::from(range));
    }

    #[test]
    fn what_is_marked_is_written() {
        let (space, base) = space();
        let all = base..base + 100;
        assert_eq!(space.first_unwritten(all.clone()), Some(all.clone()));
        mark(&space, base..base + 10);
        mark(&space, base + 20..base + 100);
        assert_eq!(
            space.first_unwritten(all.clone()),
            Some(base + 10..base + 20)
        );
        assert_eq!(space.first_unwritten(base + 20..base + 30), None);
        mark(&space, base + 5..base + 25);
        assert_eq!(space.first_unwritten(all.clone()), None);
        assert!(space.find(base).expect("mapped").is_written());
        space.forget_written(base + 3..base + 4);
        assert_eq!(space.first_unwritten(all), Some(base + 3..base + 4));
    }

    #[test]
    fn ranges_may_lie_in_several_allocations_and_outside() {
        let (mut space, base) = space();
        let other = space
            .allocate(0, 100, AllocationKind::Device)
            .expect("fits");
        mark(&space, base + 50..other + 50);
        assert_eq!(
            space.first_unwritten(base..base + 100),
            Some(base..base + 50)
        );
        assert_eq!(
            space.first_unwritten(other..other + 100),
            Some(other..other + 100)
        );
        space.assume_written();
        assert_eq!(space.first_unwritten(base..base + 100), None);
    }

    #[test]
    fn host_memory_counts_as_written() {
        let (mut space, _) = space();
        let host = space
            .allocate(0, 100, AllocationKind::PageLocked)
            .expect("fits");
        assert_eq!(space.first_unwritten(host..host + 100), None);
    }
}
