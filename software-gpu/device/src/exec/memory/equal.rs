//! Lanes that access the same element of global memory, for the checkers.

use crate::ptx::ir::Space;

use super::super::context::{Context, Lanes};
use super::super::fault::Access;
use super::super::warp_handlers::LANES;
use super::super::watch::EqualLanes;
use super::Site;
use super::store::is_stored;
use super::target::space_of;

/// The lanes whose address is that of the next lane, one bit each.
#[inline(always)]
fn equal_to_next(addresses: &[u64; LANES]) -> u32 {
    let mut equal = 0;
    for lane in 0..LANES - 1 {
        equal |= u32::from(addresses[lane] == addresses[lane + 1]) << lane;
    }
    equal
}

impl Context<'_> {
    /// Reports to the checkers, when they are on, which neighbouring lanes are about to load or store the same element. Strong accesses
    /// may do so.
    #[inline(always)]
    pub(super) fn watch_equal(&mut self, site: &Site, access: Access, addresses: &[u64; LANES]) {
        if self.watch.is_none() || site.strength.strong {
            return;
        }
        let equal = equal_to_next(addresses) & self.mask & self.mask >> 1;
        if equal != 0 && matches!(site.space, Space::Global | Space::Generic) {
            self.equal_lanes(site, access, addresses, equal);
        }
    }

    fn equal_lanes(&mut self, site: &Site, access: Access, addresses: &[u64; LANES], equal: u32) {
        let mut last = None;
        for lane in Lanes(equal) {
            let address = addresses[lane];
            let (space, _) = space_of(site.space, address);
            if space != Space::Global || last == Some(address) {
                continue;
            }
            last = Some(address);
            let lanes = EqualLanes {
                warp: self.warp,
                lane: lane as u32,
                address,
                bytes: site.lane_bytes() as u32,
                line: site.line,
            };
            if access == Access::Load {
                if let Some(watch) = &mut self.watch {
                    watch.equal_loads(lanes);
                }
            } else if self.changes(site, address, lane)
                && let Some(watch) = &mut self.watch
            {
                watch.equal_stores(lanes);
            }
        }
    }

    /// Whether a lane is about to change the element, or its neighbour is.
    fn changes(&mut self, site: &Site, address: u64, lane: usize) -> bool {
        let Some(target) = self.target(site, lane, address, site.lane_bytes()) else {
            return false;
        };
        // SAFETY: the target has all elements of a lane, and the rows are the frame's.
        unsafe {
            !is_stored(self, site, target.pointer, lane)
                || !is_stored(self, site, target.pointer, lane + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_with_the_same_address_are_found() {
        let mut addresses: [u64; LANES] = std::array::from_fn(|lane| 4 * lane as u64);
        assert_eq!(equal_to_next(&addresses), 0);
        addresses[7] = addresses[6];
        addresses[31] = addresses[30];
        assert_eq!(equal_to_next(&addresses), 1 << 6 | 1 << 30);
        assert_eq!(equal_to_next(&[8; LANES]), !0 >> 1);
    }
}
