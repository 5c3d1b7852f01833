//! The placement of blocks on multiprocessors.
//!
//! Blocks go to the multiprocessor that has the fewest warps, lowest number first: breadth-first, as the hardware does.
//! A block needs warps (threads), registers, shared memory and one of 32 slots; registers and shared memory are
//! allocated in units that the profile gives, and the system keeps 1 KiB of shared memory for each block.
//!
//! The registers belong to the multiprocessor's sub-partitions, and each warp's come from one of them. A multiprocessor holds the warps
//! that fit on one sub-partition, times the number of sub-partitions; a block takes its own warps and no more. Source: NVIDIA's
//! `cuda_occupancy.h`, `cudaOccMaxBlocksPerSMRegsLimit`.

use super::profile::{DeviceProfile, Profile};

/// Names a cohort; see `grids`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CohortId(pub u64);

/// The resources of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footprint {
    pub warps: u32,
    registers: u32,
    shared: u32,
}

impl Footprint {
    /// Never more than one multiprocessor has: a block too large for the device is the driver's to refuse.
    pub fn new(
        device: &DeviceProfile,
        threads: u32,
        registers_per_thread: u32,
        shared_bytes: u32,
    ) -> Self {
        let limit = Self::whole(device);
        let warps = threads.div_ceil(device.warp_size).clamp(1, limit.warps);
        let per_warp = registers_per_thread
            .saturating_mul(device.warp_size)
            .next_multiple_of(device.register_allocation_unit);
        let shared = shared_bytes
            .saturating_add(device.reserved_shared_memory_per_block)
            .min(limit.shared)
            .next_multiple_of(device.shared_allocation_unit);
        Self {
            warps,
            registers: registers(device, per_warp, warps).min(limit.registers),
            shared: shared.min(limit.shared),
        }
    }

    fn whole(device: &DeviceProfile) -> Self {
        Self {
            warps: device.max_threads_per_multiprocessor / device.warp_size,
            registers: device.max_registers_per_multiprocessor,
            shared: device.max_shared_memory_per_multiprocessor,
        }
    }
}

/// The registers that no other block can have. A block with the same number of warps on each sub-partition takes exactly theirs.
/// In any other block, each warp also takes its part of the registers left on a sub-partition where no further warp of the kernel fits.
fn registers(device: &DeviceProfile, per_warp: u32, warps: u32) -> u32 {
    let partitions = device.warp_allocation_unit;
    let all = device.max_registers_per_multiprocessor;
    // Warps that fit on one sub-partition, times the number of sub-partitions.
    let fit = (all / partitions).checked_div(per_warp).unwrap_or(0) * partitions;
    let of_warp = match warps % partitions {
        0 => per_warp,
        _ => all.checked_div(fit).unwrap_or(per_warp),
    };
    of_warp.saturating_mul(warps)
}

#[derive(Clone, Debug)]
pub(super) struct Multiprocessor {
    free: Footprint,
    free_slots: u32,
    /// The resident grids, with their numbers of blocks.
    pub residents: Vec<(CohortId, u32)>,
}

impl Multiprocessor {
    fn room(&self, block: &Footprint) -> u32 {
        let by = |free: u32, need: u32| free.checked_div(need).unwrap_or(u32::MAX);
        self.free_slots
            .min(by(self.free.warps, block.warps))
            .min(by(self.free.registers, block.registers))
            .min(by(self.free.shared, block.shared))
    }
}

/// Where a cohort's blocks are: multiprocessor and number of blocks.
pub(super) type Seats = Vec<(u32, u32)>;

#[derive(Debug)]
pub(super) struct Multiprocessors {
    pub list: Vec<Multiprocessor>,
    warps: u32,
}

impl Multiprocessors {
    pub fn new(profile: &Profile) -> Self {
        let device = &profile.device;
        let idle = Multiprocessor {
            free: Footprint::whole(device),
            free_slots: device.max_blocks_per_multiprocessor,
            residents: Vec::new(),
        };
        Self {
            warps: idle.free.warps,
            list: vec![idle; device.multiprocessor_count as usize],
        }
    }

    /// Warps that fit on the whole device.
    pub fn warps(&self) -> u64 {
        u64::from(self.warps) * self.list.len() as u64
    }

    /// How many such blocks fit now.
    pub fn room(&self, block: &Footprint) -> u64 {
        self.list.iter().map(|sm| u64::from(sm.room(block))).sum()
    }

    /// Places up to `count` blocks, and says where.
    pub fn place(&mut self, cohort: CohortId, block: &Footprint, count: u64) -> Seats {
        let mut seats = self.spread(block, count);
        seats.retain(|(_, n)| *n > 0);
        for &(sm, n) in &seats {
            self.occupy(sm, cohort, block, n);
        }
        seats
    }

    /// Deals blocks out, one to each multiprocessor that has the fewest warps, until none are left or none fit.
    fn spread(&self, block: &Footprint, count: u64) -> Seats {
        let room: Vec<u32> = self.list.iter().map(|sm| sm.room(block)).collect();
        let total: u64 = room.iter().map(|&room| u64::from(room)).sum();
        // All room is used, so the order does not matter.
        if count >= total {
            return (0..).zip(room).collect();
        }
        let mut warps: Vec<u32> = self
            .list
            .iter()
            .map(|sm| self.warps - sm.free.warps)
            .collect();
        let mut seats: Seats = (0..).zip(room.iter().map(|_| 0)).collect();
        let mut left = count;
        while left > 0 {
            // Each pass gives one block to every multiprocessor with the fewest warps, and thereby raises that minimum.
            let has_room = |i: &usize| seats[*i].1 < room[*i];
            let Some(fewest) = (0..room.len()).filter(has_room).map(|i| warps[i]).min() else {
                break;
            };
            for i in 0..room.len() {
                if left > 0 && warps[i] == fewest && seats[i].1 < room[i] {
                    seats[i].1 += 1;
                    warps[i] += block.warps;
                    left -= 1;
                }
            }
        }
        seats
    }

    /// Takes a cohort's blocks away again.
    pub fn release(&mut self, cohort: CohortId, block: &Footprint, seats: &Seats) {
        for &(sm, n) in seats {
            let sm = &mut self.list[sm as usize];
            sm.residents.retain(|(resident, _)| *resident != cohort);
            sm.free.warps += block.warps * n;
            sm.free.registers += block.registers * n;
            sm.free.shared += block.shared * n;
            sm.free_slots += n;
        }
    }

    fn occupy(&mut self, sm: u32, cohort: CohortId, block: &Footprint, n: u32) {
        let sm = &mut self.list[sm as usize];
        sm.residents.push((cohort, n));
        sm.free.warps -= block.warps * n;
        sm.free.registers -= block.registers * n;
        sm.free.shared -= block.shared * n;
        sm.free_slots -= n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn h200() -> (Multiprocessors, DeviceProfile) {
        let profile = Profile::h200();
        (Multiprocessors::new(&profile), profile.device)
    }

    fn fits(threads: u32, registers: u32, shared: u32) -> u64 {
        let (sms, device) = h200();
        sms.room(&Footprint::new(&device, threads, registers, shared)) / 132
    }

    #[test]
    fn each_resource_limits() {
        assert_eq!(fits(256, 16, 0), 8, "threads");
        assert_eq!(fits(32, 16, 0), 32, "slots");
        assert_eq!(fits(256, 64, 0), 4, "registers");
        assert_eq!(
            fits(256, 33, 0),
            6,
            "registers are allocated in units of 8 per thread"
        );
        assert_eq!(
            fits(32, 16, 48 * 1024),
            4,
            "shared memory, with 1 KiB reserved per block"
        );
        assert_eq!(
            fits(32, 16, 57 * 1024),
            3,
            "a quarter of the shared memory, and 1 KiB reserved per block"
        );
        assert_eq!(
            fits(96, 64, 0),
            10,
            "a multiprocessor has registers for 32 warps, and a block has 3"
        );
        assert_eq!(
            fits(1024, 16, 227 * 1024),
            1,
            "all the shared memory there is"
        );
        assert_eq!(
            fits(4096, 255, u32::MAX),
            1,
            "an impossible block counts as the largest possible"
        );
    }

    /// 255 registers: a sub-partition with 16384 holds two warps of 8192. 40 registers: 12 warps of 1280 on each, not 12.8.
    #[test]
    fn a_block_takes_the_registers_of_its_own_warps() {
        assert_eq!(fits(32, 255, 0), 8);
        assert_eq!(fits(5 * 32, 255, 0), 1);
        assert_eq!(fits(9 * 32, 40, 0), 5);
        assert_eq!(
            fits(17 * 32, 40, 0),
            2,
            "48 warps fit; of 51.2 it would be 3"
        );
        assert_eq!(fits(128, 40, 0), 12);
    }

    #[test]
    fn blocks_go_to_the_emptiest_multiprocessors_first() {
        let (mut sms, device) = h200();
        let block = Footprint::new(&device, 128, 32, 0);
        let first = sms.place(CohortId(0), &block, 100);
        assert_eq!(first, (0..100).map(|sm| (sm, 1)).collect::<Seats>());
        let second = sms.place(CohortId(1), &block, 40);
        let expected: Seats = (0..8).chain(100..132).map(|sm| (sm, 1)).collect();
        assert_eq!(second, expected);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_placing_and_releasing(
            grids in prop::collection::vec((1u32..1024, 0u32..255, 0u32..200_000, 1u64..2000), 1..12),
        ) {
            let (mut sms, device) = h200();
            let mut placed = Vec::new();
            for (id, (threads, registers, shared, count)) in (0..).zip(grids) {
                let block = Footprint::new(&device, threads, registers, shared);
                let count = count.min(sms.room(&block));
                let seats = sms.place(CohortId(id), &block, count);
                prop_assert_eq!(seats.iter().map(|(_, n)| u64::from(*n)).sum::<u64>(), count);
                placed.push((CohortId(id), block, seats));
            }
            for (id, block, seats) in placed {
                sms.release(id, &block, &seats);
            }
            let idle = h200().0;
            for (sm, idle) in sms.list.iter().zip(&idle.list) {
                prop_assert_eq!(sm.free, idle.free);
                prop_assert_eq!(sm.free_slots, idle.free_slots);
                prop_assert!(sm.residents.is_empty());
            }
        }
    }
}
