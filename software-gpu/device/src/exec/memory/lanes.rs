//! The lanes of a warp at once: whatever the pattern of their addresses is, one check serves for the memory of all of them.
//!
//! The lowest and the highest address of a warp tell whether all lanes access the same memory, and all addresses together
//! whether they are aligned. What this does not settle (two allocations, an invalid address) goes lane by lane.

use std::ops::{BitAnd, BitOr, BitXor};

use crate::memory::PAGE;

use super::super::context::{Context, Lanes};
use super::super::fault::Access;
use super::super::touched::Touched;
use super::super::warp_handlers::LANES;
use super::super::watch::Scattered;
use super::target::{SECTOR, Target};
use super::{Site, is_local};

/// A cell of an address row: of 32 or 64 bits.
pub(super) trait AddressCell:
    Copy + Ord + Into<u64> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    /// No bit set, and every bit.
    const ZERO: Self;
    const ONES: Self;

    /// The low bits of `value`.
    fn low_bits(value: u64) -> Self;

    /// The sum without its carry.
    fn plus(self, other: Self) -> Self;

    /// Every bit if `mask` has the lane, otherwise none.
    fn selected(mask: u32, lane: usize) -> Self;
}

macro_rules! address_cells {
    ($($cell:ty)*) => {$(
        impl AddressCell for $cell {
            const ZERO: Self = 0;
            const ONES: Self = !0;

            #[inline(always)]
            fn low_bits(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn selected(mask: u32, lane: usize) -> Self {
                Self::from(mask >> lane & 1).wrapping_neg()
            }
        }
    )*};
}

address_cells!(u32 u64);

/// Whether the cells are `first`, `first + bytes`, `first + 2 bytes`, ….
#[inline(always)]
fn contiguous<A: AddressCell>(row: &[A; LANES], bytes: u64) -> bool {
    let mut differs = A::ZERO;
    for lane in 0..LANES {
        differs = differs | row[lane] ^ row[0].plus(A::low_bits(lane as u64 * bytes));
    }
    differs == A::ZERO && row[0] <= row[LANES - 1]
}

/// Lanes of half a warp: tiles of matrices are 16 wide.
pub(super) const HALF: usize = LANES / 2;

/// What the addresses of half a warp are, where they are simple.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    /// `first`, `first + 4`, `first + 8`, …: words in a row.
    Row,
    /// All the same.
    Same,
}

/// What the addresses of a whole warp are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One behind the other, as far apart as a lane has bytes.
    Row,
    /// Of words, each half by itself.
    Halves([Half; 2]),
    /// Anything else.
    Any,
}

impl Pattern {
    /// Of the lanes under a mask. It takes note of whole warps only.
    #[inline(always)]
    pub fn of<A: AddressCell>(site: &Site, row: &[A; LANES], mask: u32) -> Self {
        if mask != !0 {
            return Self::Any;
        }
        if (site.bytes, site.count, site.wide) != (4, 1, false) {
            return match contiguous(row, site.lane_bytes()) {
                true => Self::Row,
                false => Self::Any,
            };
        }
        let [Some(low), Some(high)] = [half(row, 0), half(row, HALF)] else {
            return Self::Any;
        };
        let follows = row[HALF] == row[0].plus(A::low_bits(4 * HALF as u64)) && row[0] < row[HALF];
        match [low, high] {
            [Half::Row, Half::Row] if follows => Self::Row,
            [Half::Same, Half::Same] if row[0] == row[HALF] => Self::Any,
            halves => Self::Halves(halves),
        }
    }
}

/// What the half warp from lane `first` on does, if it is simple.
#[inline(always)]
fn half<A: AddressCell>(row: &[A; LANES], first: usize) -> Option<Half> {
    let (mut steps, mut differs) = (A::ZERO, A::ZERO);
    for lane in 0..HALF {
        let cell = row[first + lane];
        steps = steps | cell ^ row[first].plus(A::low_bits(4 * lane as u64));
        differs = differs | cell ^ row[first];
    }
    // The sums have no carry where the last cell is the largest.
    match (steps == A::ZERO, differs == A::ZERO) {
        (true, _) if row[first] <= row[first + HALF - 1] => Some(Half::Row),
        (_, true) => Some(Half::Same),
        _ => None,
    }
}

/// The lowest and the highest cell of the lanes under a mask, and the bits that any of them has.
struct Extent {
    low: u64,
    high: u64,
    bits: u64,
}

impl Extent {
    #[inline(always)]
    fn of<A: AddressCell>(row: &[A; LANES], mask: u32) -> Self {
        let (mut low, mut high, mut bits) = (A::ONES, A::ZERO, A::ZERO);
        if mask == !0 {
            for cell in row {
                (low, high, bits) = (low.min(*cell), high.max(*cell), bits | *cell);
            }
        } else {
            for lane in 0..LANES {
                let selected = A::selected(mask, lane);
                let cell = row[lane] & selected;
                low = low.min(row[lane] | selected ^ A::ONES);
                (high, bits) = (high.max(cell), bits | cell);
            }
        }
        Self {
            low: low.into(),
            high: high.into(),
            bits: bits.into(),
        }
    }

    /// Of a whole warp whose halves are simple.
    #[inline(always)]
    fn of_halves<A: AddressCell>(row: &[A; LANES]) -> Self {
        let (first, second) = (row[0], row[HALF]);
        Self {
            low: first.min(second).into(),
            high: row[HALF - 1].max(row[LANES - 1]).into(),
            bits: (first | second).into(),
        }
    }
}

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

    /// What is to be added to a cell for the pointer, where all lanes share the memory.
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
        let mut distances = [0; LANES];
        for lane in 0..LANES {
            let cell: u64 = row[lane].into();
            distances[lane] = cell.wrapping_sub(self.low);
        }
        distances
    }
}

impl<'g> Context<'g> {
    /// What is added to each cell of the site's address row.
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
        for lane in 0..LANES {
            let cell: u64 = row[lane].into();
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

    /// Tells the checkers of a whole warp that loads words, in halves that are simple.
    #[inline(never)]
    pub(super) fn watch_halves<A: AddressCell>(
        &mut self,
        site: &Site,
        together: &Together<'g>,
        row: &[A; LANES],
        halves: [Half; 2],
    ) {
        if together.target.global.is_some() || halves != [Half::Row; 2] {
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

    /// Tells the checkers of the lanes under the mask. `same` has the lanes whose store to shared memory changes nothing.
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
