//! The memory behind an address: which it is, whether it is there, and what reaching it costs.

use crate::memory::Allocation;
use crate::ptx::ir::Space;

use super::super::cluster::Lookup;
use super::super::context::Context;
use super::super::cost::BlockCost;
use super::super::fault::{Access, Fault, Nearest};
use super::super::op::Slot;
use super::super::touched::Touched;
use super::super::warp_handlers::LANES;
use super::super::watch::{Accessor, Scattered};
use super::{Site, generic, is_parameter};

/// Unit of global memory traffic.
pub(super) const SECTOR: u64 = 32;

/// The allocation that a site used last.
#[derive(Clone, Copy, Default)]
pub(in crate::exec) struct Cached<'g> {
    base: u64,
    len: u64,
    allocation: Option<&'g Allocation>,
}

/// Host memory behind an address.
pub(super) struct Target<'g> {
    pub pointer: *mut u8,
    /// For global memory: the allocation and the offset in it.
    pub global: Option<(&'g Allocation, usize)>,
    /// It is the shared memory of another block of the cluster.
    pub remote: bool,
}

/// The addresses of all lanes.
#[inline(always)]
pub(super) unsafe fn addresses(cx: &Context<'_>, site: &Site, slot: Slot) -> [u64; LANES] {
    let offset = cx.offset(site);
    let mut addresses = [0; LANES];
    // SAFETY: lowering made the slot a row of the width that the site names.
    unsafe {
        if site.wide_address {
            let row = &*cx.row::<u64>(slot);
            for lane in 0..LANES {
                addresses[lane] = row[lane].wrapping_add(offset);
            }
        } else {
            let row = &*cx.row::<u32>(slot);
            for lane in 0..LANES {
                addresses[lane] = u64::from(row[lane]).wrapping_add(offset);
            }
        }
    }
    addresses
}

impl<'g> Context<'g> {
    /// The host memory of `len` bytes at `address`, accessed by `lane` (or by all lanes, if not local).
    #[inline(always)]
    pub(super) fn target(
        &mut self,
        site: &Site,
        lane: usize,
        address: u64,
        len: u64,
    ) -> Option<Target<'g>> {
        let (space, address) = space_of(site.space, address);
        match space {
            Space::Shared => {
                let shared_bytes = u64::from(self.shared_bytes);
                let (pointer, remote) = match address.checked_add(len)? <= shared_bytes {
                    true => (self.shared.wrapping_add(address as usize), false),
                    false => match self.cluster.look_up(address) {
                        Lookup::Found(pointer, at) if at + len <= shared_bytes => {
                            (pointer, self.own_shared(pointer).is_none())
                        }
                        _ => return None,
                    },
                };
                Some(Target {
                    pointer,
                    global: None,
                    remote,
                })
            }
            Space::Local => {
                let stack = self.local.wrapping_add(lane * self.local_stride as usize);
                (address.checked_add(len)? <= u64::from(self.local_stride)).then(|| Target {
                    pointer: stack.wrapping_add(address as usize),
                    global: None,
                    remote: false,
                })
            }
            Space::Param => {
                (address.checked_add(len)? <= self.grid.parameters.len() as u64).then(|| Target {
                    pointer: self
                        .grid
                        .parameters
                        .as_ptr()
                        .wrapping_add(address as usize)
                        .cast_mut(),
                    global: None,
                    remote: false,
                })
            }
            Space::Global | Space::Const | Space::Generic => self.global(site, address, len),
        }
    }

    #[inline(always)]
    fn global(&mut self, site: &Site, address: u64, len: u64) -> Option<Target<'g>> {
        let cached = &mut self.caches[site.cache as usize];
        let mut offset = address.wrapping_sub(cached.base);
        if offset >= cached.len {
            let allocation = self.hold.find(address)?;
            *cached = Cached {
                base: allocation.base(),
                len: allocation.len() as u64,
                allocation: Some(allocation),
            };
            offset = address - cached.base;
        }
        let allocation = cached.allocation?;
        (len <= cached.len - offset).then(|| Target {
            pointer: allocation.storage().wrapping_add(offset as usize),
            global: Some((allocation, offset as usize)),
            remote: false,
        })
    }

    /// The checked memory of one lane's access; reports the fault when the access is invalid.
    pub(super) fn lane_target(
        &mut self,
        site: &Site,
        lane: usize,
        address: u64,
        access: Access,
    ) -> Option<Target<'g>> {
        let bytes = site.lane_bytes();
        if address & (bytes - 1) != 0 {
            let bytes = bytes as u32;
            self.fail(lane as u32, site.line, |place| Fault::Misaligned {
                place,
                access,
                address,
                bytes,
            });
            return None;
        }
        let target = self.target(site, lane, address, bytes);
        let read_only = access != Access::Load && is_parameter(site.space, address);
        if target.is_none() || read_only {
            self.fail_access(site, lane, address, access);
            return None;
        }
        target
    }

    #[cold]
    pub(super) fn fail_access(&mut self, site: &Site, lane: usize, address: u64, access: Access) {
        let (space, bytes) = (site.space, site.lane_bytes() as u32);
        if let (Space::Shared, within) = space_of(space, address)
            && let Lookup::Exited(rank) = self.cluster.look_up(within)
        {
            return self.fail(lane as u32, site.line, |place| Fault::ExitedBlock {
                place,
                access,
                address,
                bytes,
                rank,
            });
        }
        if self.hold.is_out_of_reach(address) {
            self.fail(lane as u32, site.line, |place| Fault::OutOfReach {
                place,
                access,
                address,
                bytes,
            });
            return;
        }
        let memory = self.hold.space();
        let global = matches!(space, Space::Global | Space::Const | Space::Generic);
        let nearest = memory
            .nearest_range(address)
            .filter(|_| global)
            .map(|range| {
                let (base, len) = (range.start, range.end - range.start);
                let distance = match address < base {
                    true => i128::from(address) - i128::from(base),
                    false => i128::from(address) - i128::from(base + len),
                };
                Nearest {
                    base,
                    len,
                    distance,
                }
            });
        let freed = memory.freed_range(address).filter(|_| global);
        self.fail(lane as u32, site.line, |place| Fault::IllegalAddress {
            place,
            access,
            space,
            address,
            bytes,
            nearest: nearest.map(Box::new),
            freed: freed.map(|range| (range.start, range.end - range.start)),
        });
    }

    /// Reports to the checkers, when they are on, that `bytes` bytes of `target` are about to be accessed by `lane`, or by
    /// lanes from there on side by side.
    #[inline(always)]
    pub(super) fn watch_access(
        &mut self,
        site: &Site,
        access: Access,
        target: &Target<'g>,
        bytes: u64,
        lane: usize,
    ) {
        if self.watch.is_some() {
            self.watched(site, access, target, bytes, lane);
        }
    }

    /// The same for one of several lanes, in rising order. Accesses of shared memory are collected in `shared`, for
    /// [`watch_lanes`](Self::watch_lanes); `same` says whether a store there is going to change nothing.
    #[inline(always)]
    pub(super) fn watch_lane(
        &mut self,
        site: &Site,
        access: Access,
        target: &Target<'g>,
        lane: usize,
        shared: &mut Scattered,
        same: impl FnOnce(&Self) -> bool,
    ) {
        if self.watch.is_none() {
            return;
        }
        if target.global.is_some() {
            self.watched(site, access, target, site.lane_bytes(), lane);
        } else if let Some(address) = self.own_shared(target.pointer) {
            shared.push(lane, address, same(self));
        } else if target.remote {
            self.watch_other_block(site, access, target.pointer, site.lane_bytes() as u32);
        }
    }

    /// Reports to the checkers the lanes that access the block's shared memory.
    #[inline(always)]
    pub(super) fn watch_lanes(&mut self, site: &Site, access: Access, lanes: &Scattered) {
        if let Some(watch) = &mut self.watch
            && lanes.mask != 0
        {
            let lanes = (lanes, site.lane_bytes() as u32);
            watch.shared_lanes(site, access, self.warp, lanes);
        }
    }

    #[inline(always)]
    fn watched(
        &mut self,
        site: &Site,
        access: Access,
        target: &Target<'g>,
        bytes: u64,
        lane: usize,
    ) {
        let address = self.own_shared(target.pointer);
        let Some(watch) = &mut self.watch else { return };
        if let Some((allocation, offset)) = target.global {
            let accessor = Accessor {
                thread: self.warp * LANES as u32 + lane as u32,
                stride: site.lane_bytes() as usize,
            };
            watch.global(site, access, (allocation, offset, bytes as usize), accessor);
        } else if let Some(address) = address {
            let place = (address, bytes as u32);
            watch.shared(site, access, (self.warp, lane), place, false);
        } else if target.remote {
            self.watch_other_block(site, access, target.pointer, bytes as u32);
        }
    }

    /// Reports to the checkers the side of a bulk copy that the asynchronous proxy accesses.
    pub(super) fn watch_bulk(
        &mut self,
        site: &Site,
        access: Access,
        target: &Target<'g>,
        bytes: u32,
        lane: usize,
    ) {
        let address = self.own_shared(target.pointer);
        match (address, &mut self.watch) {
            (Some(address), Some(watch)) => {
                watch.bulk(site, access, (self.warp, lane), (address, bytes));
            }
            _ => self.watch_access(site, access, target, bytes.into(), lane),
        }
    }

    /// The address of a place in this block's shared memory. Other addresses are local memory, a parameter, or memory of another block.
    #[inline(always)]
    pub(in crate::exec) fn own_shared(&self, place: *mut u8) -> Option<u32> {
        let offset = (place as usize).wrapping_sub(self.shared as usize);
        (offset < self.shared_bytes as usize).then_some(offset as u32)
    }

    /// Reports to the checkers that a memory instruction is about to be executed lane by lane or at once.
    #[inline(always)]
    pub(in crate::exec) fn watch_instruction(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.next_instruction();
        }
    }

    /// Counts the traffic of a whole warp.
    #[inline(always)]
    pub(super) fn count_row(
        &mut self,
        target: &Target<'_>,
        address: u64,
        bytes: u64,
        access: Access,
    ) {
        if target.global.is_some() {
            let sectors = (address + bytes - 1) / SECTOR - address / SECTOR + 1;
            self.count(sectors, access);
            let last = address + bytes - 1;
            if address / Touched::GRANULE == last / Touched::GRANULE {
                let line = |address: u64| address % Touched::GRANULE / Touched::LINE;
                let lines = u32::MAX >> (31 - line(last)) & u32::MAX << line(address);
                self.touch(address / Touched::GRANULE, lines, access);
                return;
            }
            for (granule, lines) in Touched::lines(address, address + bytes) {
                self.touch(granule, lines, access);
            }
        } else {
            self.count_shared(target, bytes);
        }
    }

    /// Counts what a bulk copy moves from or to global memory.
    pub(super) fn count_bulk(
        &mut self,
        target: &Target<'_>,
        address: u64,
        bytes: u64,
        access: Access,
    ) {
        let moved = |cost: &BlockCost| cost.global_read_bytes + cost.global_write_bytes;
        let before = moved(&self.cost);
        self.count_row(target, address, bytes, access);
        self.cost.bulk_bytes += moved(&self.cost) - before;
    }

    /// Counts the traffic of an access to what is not global memory.
    #[inline(always)]
    pub(super) fn count_shared(&mut self, target: &Target<'_>, bytes: u64) {
        self.cost.shared_bytes += bytes;
        if target.remote {
            self.cost.cluster_bytes += bytes;
        }
    }

    /// Counts the traffic of an access to one sector.
    #[inline(always)]
    pub(super) fn count_sector(&mut self, address: u64, access: Access) {
        self.count(1, access);
        self.touch_line(address, access);
    }

    /// Counts the traffic of an access to several of the 64 sectors from `line` on, the address of a line: a bit each.
    #[inline(always)]
    pub(super) fn count_sector_set(&mut self, line: u64, sectors: u64, access: Access) {
        self.count(sectors.count_ones().into(), access);
        // A bit for each line, at every fourth place: then side by side.
        let mut lines =
            (sectors | sectors >> 1 | sectors >> 2 | sectors >> 3) & 0x1111_1111_1111_1111;
        lines = (lines | lines >> 3) & 0x0303_0303_0303_0303;
        lines = (lines | lines >> 6) & 0x000f_000f_000f_000f;
        lines = (lines | lines >> 12) & 0x0000_00ff_0000_00ff;
        lines = (lines | lines >> 24) & 0xffff;
        let granule = line / Touched::GRANULE;
        let lines = lines << (line % Touched::GRANULE / Touched::LINE);
        let [here, behind] = [lines as u32, (lines >> u32::BITS) as u32];
        if here != 0 {
            self.touch(granule, here, access);
        }
        if behind != 0 {
            self.touch(granule + 1, behind, access);
        }
    }

    /// Counts the traffic of accesses lane by lane.
    pub(super) fn count_sectors(&mut self, sectors: &Sectors, access: Access) {
        self.count(sectors.count as u64, access);
        for sector in &sectors.seen[..sectors.count] {
            self.touch_line(sector * SECTOR, access);
        }
    }

    #[inline(always)]
    pub(super) fn count(&mut self, sectors: u64, access: Access) {
        match access {
            Access::Load => self.cost.global_read_bytes += sectors * SECTOR,
            Access::Store | Access::Atomic => self.cost.global_write_bytes += sectors * SECTOR,
        }
    }

    /// The line that `address` lies in is touched.
    #[inline(always)]
    pub(super) fn touch_line(&mut self, address: u64, access: Access) {
        let line = address % Touched::GRANULE / Touched::LINE;
        self.touch(address / Touched::GRANULE, 1 << line, access);
    }

    #[inline(always)]
    fn touch(&mut self, granule: u64, lines: u32, access: Access) {
        let granules = match access {
            Access::Load => &mut self.touches.reads,
            Access::Store | Access::Atomic => &mut self.touches.writes,
        };
        granules.touch(granule, lines, self.cycles);
    }
}

/// The space that an address names, and the address there.
#[inline(always)]
pub(super) fn space_of(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Generic => generic(address),
        space => (space, address),
    }
}

/// Distinct sectors that the lanes of a warp touch.
#[derive(Default)]
pub(super) struct Sectors {
    seen: [u64; LANES],
    pub count: usize,
}

impl Sectors {
    pub fn touch(&mut self, address: u64) {
        let sector = address / SECTOR;
        if !self.seen[..self.count]
            .iter()
            .rev()
            .any(|known| *known == sector)
        {
            self.seen[self.count] = sector;
            self.count += 1;
        }
    }
}

/// The address that one lane accesses, and the space it lies in.
///
/// # Safety
///
/// `slot` is the site's address row in the running frame.
pub(in crate::exec) unsafe fn lane_address(
    cx: &Context<'_>,
    site: &Site,
    slot: Slot,
    lane: usize,
) -> (Space, u64) {
    // SAFETY: the caller's promise.
    let all = unsafe { addresses(cx, site, slot) };
    space_of(site.space, all[lane % LANES])
}
