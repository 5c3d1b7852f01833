//! The lanes of a warp at once: one check covers the memory of all of them, for every pattern of addresses.
//!
//! The lowest and the highest address of a warp tell whether all lanes access the same memory, and all addresses together
//! whether they are aligned. The remaining cases (two allocations, an invalid address) go lane by lane.

#[cfg(test)]
pub(super) mod tests;

use crate::memory::PAGE;

use super::super::context::{Context, Lanes};
use super::super::fault::Access;
use super::super::touched::Touched;
use super::super::warp_handlers::LANES;
use super::super::watch::Scattered;
use super::pattern::{AddressCell, Extent, HALF, HalfWarpPattern};
use super::target::{SECTOR, Target};
use super::{Site, is_local};

/// The memory that all lanes of a warp access, found and checked.
pub(super) struct Together<'g> {
    /// The memory behind the lowest address; of local memory, that of lane 0.
    pub target: Target<'g>,
    /// The lowest address.
    pub address: u64,
    /// The cell of the address row that gives it, and by how much the highest one is larger.
    low: u64,
    spread: u64,
    /// Bytes from one lane's local memory to the next one's; 0 for memory that all lanes share.
    pub lane_stride: usize,
}

impl Together<'_> {
    /// Whether all lanes access the same bytes.
    #[inline(always)]
    pub fn is_uniform(&self) -> bool {
        self.spread == 0 && self.lane_stride == 0
    }

    /// The offset from a cell to its pointer, where all lanes share the memory.
    #[inline(always)]
    pub fn base(&self) -> *mut u8 {
        self.target.pointer.wrapping_sub(self.low as usize)
    }

    /// The memory of one lane.
    #[inline(always)]
    pub fn at<A: AddressCell>(&self, row: &[A; LANES], lane: usize) -> *mut u8 {
        let cell: u64 = row[lane].into();
        let offset = (cell - self.low) as usize + lane * self.lane_stride;
        self.target.pointer.wrapping_add(offset)
    }

    /// How far each lane's address lies behind the lowest one. Lanes that are not under the mask have any value.
    #[inline(always)]
    fn distances<A: AddressCell>(&self, row: &[A; LANES]) -> [u64; LANES] {
        row.map(|cell| Into::<u64>::into(cell).wrapping_sub(self.low))
    }
}

impl<'g> Context<'g> {
    /// The offset added to each cell of the site's address row.
    #[inline(always)]
    pub(super) fn offset(&self, site: &Site) -> u64 {
        let base = match site.relative {
            true => i64::from(self.local_base),
            false => 0,
        };
        site.offset.wrapping_add(base) as u64
    }

    /// The memory of all lanes under the mask, if it is valid, aligned and all in one piece.
    #[inline(always)]
    pub(super) fn together<A: AddressCell>(
        &mut self,
        site: &Site,
        row: &[A; LANES],
    ) -> Option<Together<'g>> {
        self.within(site, Extent::of(row, self.mask))
    }

    /// The same for words of a whole warp whose halves are simple.
    #[inline(always)]
    pub(super) fn halves_together<A: AddressCell>(
        &mut self,
        site: &Site,
        row: &[A; LANES],
    ) -> Option<Together<'g>> {
        let together = self.within(site, Extent::of_halves(row))?;
        (together.lane_stride == 0).then_some(together)
    }

    /// The memory of a whole warp whose lanes lie one behind the other, if it is valid, aligned and not local; and its address.
    #[inline(always)]
    pub(super) fn row_target<A: AddressCell>(
        &mut self,
        site: &Site,
        row: &[A; LANES],
    ) -> Option<(Target<'g>, u64)> {
        let bytes = site.lane_bytes();
        let address = row[0].into().wrapping_add(self.offset(site));
        if is_local(site, address) || address & (bytes - 1) != 0 {
            return None;
        }
        let target = self.target(site, 0, address, bytes * LANES as u64)?;
        Some((target, address))
    }

    #[inline(always)]
    fn within(&mut self, site: &Site, Extent { low, high, bits }: Extent) -> Option<Together<'g>> {
        let bytes = site.lane_bytes();
        let offset = self.offset(site);
        if (bits | offset) & (bytes - 1) != 0 || low > high {
            return None;
        }
        let (address, spread) = (low.wrapping_add(offset), high - low);
        let target = self.target(site, 0, address, spread.checked_add(bytes)?)?;
        let lane_stride = match is_local(site, address) {
            true => self.local_stride as usize,
            false => 0,
        };
        Some(Together {
            target,
            address,
            low,
            spread,
            lane_stride,
        })
    }

    /// Counts the traffic of all lanes under the mask.
    #[inline(always)]
    pub(super) fn count_together<A: AddressCell>(
        &mut self,
        site: &Site,
        row: &[A; LANES],
        together: &Together<'_>,
        access: Access,
    ) {
        if together.target.global.is_none() {
            let lanes = u64::from(self.mask.count_ones());
            return self.count_shared(&together.target, lanes * site.lane_bytes());
        }
        let line = together.address / Touched::LINE * Touched::LINE;
        let skip = together.address - line;
        if skip + together.spread >= u64::from(u64::BITS) * SECTOR {
            return self.count_distant(&together.distances(row), together.address, access);
        }
        let mut sectors = 0_u64;
        for (lane, cell) in row.iter().enumerate() {
            let cell: u64 = (*cell).into();
            let sector = cell.wrapping_sub(together.low).wrapping_add(skip) / SECTOR;
            let is_on = u64::from(self.mask >> lane & 1);
            sectors |= is_on << (sector % u64::from(u64::BITS));
        }
        self.count_sector_set(line, sectors, access);
    }

    /// Counts the traffic of lanes whose addresses are the lowest one and what lies that far behind it.
    fn count_distant(&mut self, distances: &[u64; LANES], address: u64, access: Access) {
        const PLACES: usize = 2 * LANES;
        /// 2^64 divided by the golden ratio: its multiples spread over all places.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        // Sectors seen, each at its place or behind it.
        let mut seen = [u64::MAX; PLACES];
        let (mut count, mut last) = (0, u64::MAX);
        for lane in Lanes(self.mask) {
            let sector = (address + distances[lane]) / SECTOR;
            if sector == last {
                continue;
            }
            last = sector;
            let mut place = (sector.wrapping_mul(SPREAD) >> 58) as usize % PLACES;
            while seen[place] != u64::MAX && seen[place] != sector {
                place = (place + 1) % PLACES;
            }
            if seen[place] == u64::MAX {
                seen[place] = sector;
                count += 1;
                self.touch_line(sector * SECTOR, access);
            }
        }
        self.count(count, access);
    }

    /// Keeps what the lanes under the mask are about to overwrite in global memory.
    #[inline(always)]
    pub(super) fn before_stores<A: AddressCell>(
        &self,
        site: &Site,
        row: &[A; LANES],
        together: &Together<'g>,
    ) {
        let Some((allocation, first)) = together.target.global else {
            return;
        };
        let bytes = site.lane_bytes() as usize;
        let end = first + together.spread as usize + bytes - 1;
        if first / PAGE == end / PAGE {
            return self.hold.before_store(allocation, first, bytes);
        }
        let mut last = usize::MAX;
        for lane in Lanes(self.mask) {
            let cell: u64 = row[lane].into();
            let offset = first + (cell - together.low) as usize;
            let end = offset + bytes - 1;
            // Host memory may begin anywhere, so that an access may go over the end of a page.
            if (offset / PAGE, end / PAGE) != (last, last) {
                last = end / PAGE;
                self.hold.before_store(allocation, offset, bytes);
            }
        }
    }

    /// Reports to the checkers a whole warp that loads words, in halves that are simple.
    #[inline(never)]
    pub(super) fn watch_halves<A: AddressCell>(
        &mut self,
        site: &Site,
        together: &Together<'g>,
        row: &[A; LANES],
        halves: [HalfWarpPattern; 2],
    ) {
        if together.target.global.is_some() || halves != [HalfWarpPattern::Row; 2] {
            return self.watch_together(site, Access::Load, together, row, 0);
        }
        for first in [0, HALF] {
            let target = Target {
                pointer: together.at(row, first),
                global: None,
                remote: together.target.remote,
            };
            let bytes = HALF as u64 * site.lane_bytes();
            self.watch_access(site, Access::Load, &target, bytes, first);
        }
    }

    /// Reports to the checkers the lanes under the mask. `same` has the lanes whose store to shared memory changes nothing.
    #[inline(never)]
    pub(super) fn watch_together<A: AddressCell>(
        &mut self,
        site: &Site,
        access: Access,
        together: &Together<'g>,
        row: &[A; LANES],
        same: u32,
    ) {
        let own = self.own_shared(together.target.pointer);
        let Some(watch) = &mut self.watch else { return };
        if let Some((allocation, offset)) = together.target.global {
            let distances = together.distances(row);
            let offsets = distances.map(|far| offset.wrapping_add(far as usize));
            let lanes = (self.mask, &offsets);
            watch.global_lanes(site, access, allocation, self.warp, lanes);
        } else if let Some(first) = own
            && together.lane_stride == 0
        {
            let mut lanes = Scattered {
                mask: self.mask,
                same,
                addresses: [0; LANES],
            };
            for lane in Lanes(self.mask) {
                let cell: u64 = row[lane].into();
                lanes.addresses[lane] = first + (cell - together.low) as u32;
            }
            self.watch_lanes(site, access, &lanes);
        }
    }
}
