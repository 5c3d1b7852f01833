//! Which bytes of device memory have been written since they were allocated.
//!
//! Fresh device memory has no defined contents. The bytes that kernels, copies and memsets write are marked here, so that
//! the first read of any other byte can be reported. Page-locked memory counts as written: the host writes to it unseen.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AddressSpace, Allocation, ByteRanges, ByteSet};

/// The written part of an allocation.
#[derive(Debug)]
pub(super) struct Written {
    /// Nothing is missing, independent of `bytes`: the common case, decided without a lock.
    all: AtomicBool,
    /// Kernels look at the set as it was when they started.
    bytes: Mutex<Arc<ByteSet>>,
}

impl Written {
    pub fn new(all: bool) -> Self {
        Self {
            all: AtomicBool::new(all),
            bytes: Mutex::default(),
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Arc<ByteSet>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allocation {
    /// Whether every byte has been written.
    #[inline]
    pub fn is_written(&self) -> bool {
        self.written.all.load(Ordering::Relaxed)
    }

    /// The offsets that have been written, unless [all](Self::is_written) have.
    pub(crate) fn written(&self) -> Arc<ByteSet> {
        Arc::clone(&self.written.bytes())
    }

    /// The addresses of the range, inside of the allocation, that have not been written, in rising order.
    fn unwritten(&self, range: Range<u64>) -> Vec<Range<u64>> {
        if self.is_written() {
            return Vec::new();
        }
        let address = |offset: usize| self.base() + offset as u64;
        let written = self.written();
        let gaps = written.gaps(self.offsets(range));
        gaps.map(|gap| address(gap.start)..address(gap.end))
            .collect()
    }

    fn mark(&self, more: impl Iterator<Item = Range<u64>>) {
        let mut bytes = self.written.bytes();
        let all = Arc::make_mut(&mut bytes);
        more.for_each(|range| all.insert(self.offsets(range)));
        if all.bytes() >= self.len() {
            *bytes = Arc::default();
            self.written.all.store(true, Ordering::Relaxed);
        }
    }

    fn forget(&self, range: Range<u64>) {
        let mut bytes = self.written.bytes();
        let all = Arc::make_mut(&mut bytes);
        if self.is_written() {
            all.insert(0..self.len());
        }
        all.remove(self.offsets(range));
        self.written.all.store(false, Ordering::Relaxed);
    }

    fn offsets(&self, range: Range<u64>) -> Range<usize> {
        let offset = |address: u64| (address.min(self.end()) - self.base()) as usize;
        offset(range.start)..offset(range.end)
    }
}

impl AddressSpace {
    /// Marks addresses as written. Writes outside of every allocation do not matter.
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
            if !allocation.is_written() {
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
            allocation.forget(range);
        }
    }

    /// The lowest bytes of a range that was never written.
    pub fn first_unwritten(&self, range: Range<u64>) -> Option<Range<u64>> {
        let allocation = self.find(range.start)?;
        if allocation.is_written() {
            return None;
        }
        let written = allocation.written();
        let gap = written.gaps(allocation.offsets(range)).next()?;
        Some(allocation.base() + gap.start as u64..allocation.base() + gap.end as u64)
    }

    /// The parts of a range that have been written.
    pub fn written(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        let mut rest = range.start;
        if let Some(allocation) = self.find(range.start) {
            for gap in allocation.unwritten(range.clone()) {
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
