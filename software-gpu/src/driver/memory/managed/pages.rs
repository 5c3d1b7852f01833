//! Where the pages of managed memory are, and what the program advised.

use std::collections::BTreeMap;
use std::ops::Range;

use super::location::Location;
use crate::exec::Touched;

/// Bytes that move together: the driver's basic unit of migration.
pub(super) const PAGE_BYTES: u64 = 64 << 10;

/// All managed allocations, by their first address.
#[derive(Debug, Default)]
pub(in crate::driver) struct ManagedMemory {
    allocations: BTreeMap<u64, Vec<Page>>,
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) location: Location,
    pub(super) read_mostly: bool,
    pub(super) preferred: Option<Location>,
    /// Without repetition.
    pub(super) accessed_by: Vec<Location>,
    pub(super) last_prefetch: Option<Location>,
}

impl Page {
    const NEW: Self = Self {
        location: Location::Host,
        read_mostly: false,
        preferred: None,
        accessed_by: Vec::new(),
        last_prefetch: None,
    };

    /// Whether a kernel of the device uses the page where it is, over the link, instead of moving it.
    fn is_mapped_for(&self, device: Location) -> bool {
        self.preferred == Some(Location::Host) || self.accessed_by.contains(&device)
    }
}

impl ManagedMemory {
    /// The host has allocated the memory, whose pages are on the host until something moves them.
    pub(super) fn add(&mut self, base: u64, bytes: usize) {
        let count = (bytes as u64).div_ceil(PAGE_BYTES) as usize;
        self.allocations.insert(base, vec![Page::NEW; count]);
    }

    pub(in crate::driver) fn remove(&mut self, base: u64) {
        self.allocations.remove(&base);
    }

    /// Whether an allocation starts at this address.
    pub(in crate::driver) fn starts_at(&self, base: u64) -> bool {
        self.allocations.contains_key(&base)
    }

    /// The pages with these bytes. `None` if the range is not within one allocation's pages.
    pub(super) fn pages(&mut self, range: &Range<u64>) -> Option<&mut [Page]> {
        let (base, pages) = self.allocations.range_mut(..=range.start).next_back()?;
        let first = (range.start - base) / PAGE_BYTES;
        let end = (range.end - base).div_ceil(PAGE_BYTES);
        pages.get_mut(first as usize..end as usize)
    }

    /// How many bytes of the range are not at `location`, in whole pages.
    pub(super) fn bytes_elsewhere(&mut self, range: &Range<u64>, location: Location) -> u64 {
        let pages = self.pages(range).map_or(&[][..], |pages| pages);
        let elsewhere = pages.iter().filter(|page| page.location != location);
        elsewhere.count() as u64 * PAGE_BYTES
    }

    /// A kernel on `device` has touched this memory: brings its pages there, and returns how many bytes that are.
    pub(in crate::driver) fn touched(&mut self, device: usize, touched: &Touched) -> u64 {
        if self.allocations.is_empty() {
            return 0;
        }
        let device = Location::Device(device);
        let mut moved = 0;
        for touch in touched.reads.iter().chain(&touched.writes) {
            let address = touch.granule * Touched::GRANULE;
            // A granule may begin before the allocation.
            let last = address + Touched::GRANULE - 1;
            for page in self.pages(&(last..last + 1)).into_iter().flatten() {
                if page.location != device && !page.is_mapped_for(device) {
                    page.location = device;
                    moved += PAGE_BYTES;
                }
            }
        }
        moved
    }

    /// Whether the granule at this address lies in a page that is on `device`.
    pub(in crate::driver) fn is_on(&mut self, device: usize, granule: u64) -> bool {
        let last = granule * Touched::GRANULE + Touched::GRANULE - 1;
        let mut pages = self.pages(&(last..last + 1)).into_iter().flatten();
        pages.any(|page| page.location == Location::Device(device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Touch;

    /// Aligned, and far from the end of all addresses.
    const BASE: u64 = 1 << 30;

    fn memory(pages: u64) -> ManagedMemory {
        let mut memory = ManagedMemory::default();
        memory.add(BASE, (pages * PAGE_BYTES) as usize);
        memory
    }

    fn read(addresses: &[u64]) -> Touched {
        let touch = |address: &u64| Touch {
            time: 0,
            lines: 1,
            granule: address / Touched::GRANULE,
        };
        Touched {
            reads: addresses.iter().map(touch).collect(),
            writes: Vec::new(),
        }
    }

    #[test]
    fn the_first_touch_moves_each_page_once() {
        let mut memory = memory(4);
        let touched = read(&[BASE, BASE + 4096, BASE + PAGE_BYTES, BASE + 4 * PAGE_BYTES]);
        assert_eq!(memory.touched(0, &touched), 2 * PAGE_BYTES);
        assert_eq!(memory.touched(0, &touched), 0);
        assert_eq!(memory.touched(1, &touched), 2 * PAGE_BYTES);
        assert!(memory.is_on(1, BASE / Touched::GRANULE));
        assert!(!memory.is_on(0, BASE / Touched::GRANULE));
        let rest = BASE + 2 * PAGE_BYTES;
        assert!(!memory.is_on(1, rest / Touched::GRANULE));
    }

    #[test]
    fn pages_that_prefer_the_host_or_are_mapped_stay() {
        let mut memory = memory(3);
        let all = BASE..BASE + 3 * PAGE_BYTES;
        let pages = memory.pages(&all).expect("within the allocation");
        pages[0].preferred = Some(Location::Host);
        pages[1].accessed_by = vec![Location::Device(0)];
        let touched = read(&[BASE, BASE + PAGE_BYTES, BASE + 2 * PAGE_BYTES]);
        assert_eq!(memory.touched(0, &touched), PAGE_BYTES);
        assert_eq!(memory.bytes_elsewhere(&all, Location::Host), PAGE_BYTES);
        assert_eq!(memory.touched(1, &touched), 2 * PAGE_BYTES);
    }

    #[test]
    fn a_range_beyond_the_allocation_has_no_pages() {
        let mut memory = memory(2);
        assert!(memory.pages(&(BASE..BASE + 2 * PAGE_BYTES)).is_some());
        assert!(memory.pages(&(BASE..BASE + 2 * PAGE_BYTES + 1)).is_none());
        assert!(memory.pages(&(BASE - 1..BASE)).is_none());
        memory.remove(BASE);
        assert!(memory.pages(&(BASE..BASE + 1)).is_none());
    }
}
