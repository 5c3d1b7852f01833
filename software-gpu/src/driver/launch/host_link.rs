//! What a kernel's accesses to host memory cost: they cross the link to the host, each direction at its own rate.
//!
//! The blocks that run at the same time share the link evenly, one block for each multiprocessor. So a block's part of the link is an
//! upper limit, like the port of its multiprocessor to the memory system.

use crate::exec::{BlockCost, Touch, Touched};
use crate::memory;
use crate::timeline::profile::Profile;

/// Which shares of a kernel's traffic go to host memory, by the lines that it touches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HostShares {
    reads: f64,
    writes: f64,
}

impl HostShares {
    /// `is_near` says of a granule of host addresses that it is managed memory which is on the kernel's device.
    pub(super) fn of(touched: &Touched, mut is_near: impl FnMut(u64) -> bool) -> Self {
        Self {
            reads: share(&touched.reads, &mut is_near),
            writes: share(&touched.writes, &mut is_near),
        }
    }

    /// For how many cycles a block occupies its part of the link, in a grid of `blocks` blocks.
    pub(super) fn cycles(self, block: &BlockCost, blocks: u64, profile: &Profile) -> f64 {
        let copies = &profile.copies;
        let bytes_in = block.global_read_bytes as f64 * self.reads;
        let bytes_out = block.global_write_bytes as f64 * self.writes;
        let picos_in = bytes_in / copies.host_to_device_gb_per_s.bytes_per_pico();
        let picos_out = bytes_out / copies.device_to_host_gb_per_s.bytes_per_pico();
        shared_cycles(picos_in.max(picos_out), blocks, profile)
    }
}

/// For how many cycles each of `blocks` blocks waits until `bytes` bytes of managed memory have come to the device by page faults.
pub(super) fn migration_cycles(bytes: u64, blocks: u64, profile: &Profile) -> f64 {
    /// As a share of a copy's rate. Assumed: no profile has a measurement.
    const FAULT_RATE: f64 = 0.5;
    if blocks == 0 {
        return 0.0;
    }
    let rate = FAULT_RATE * profile.copies.host_to_device_gb_per_s.bytes_per_pico();
    let picos_of_block = bytes as f64 / blocks as f64 / rate;
    shared_cycles(picos_of_block, blocks, profile)
}

/// The cycles of a block that would have the link for itself for `picos` picoseconds.
fn shared_cycles(picos: f64, blocks: u64, profile: &Profile) -> f64 {
    let sharers = blocks.min(u64::from(profile.device.multiprocessor_count));
    let picos_per_cycle = 1e6 / f64::from(profile.device.clock_mhz);
    picos * sharers as f64 / picos_per_cycle
}

fn share(touches: &[Touch], is_near: &mut impl FnMut(u64) -> bool) -> f64 {
    let (mut host, mut all) = (0, 0);
    for touch in touches {
        let lines = u64::from(touch.lines.count_ones());
        all += lines;
        let on_host = !memory::is_device_address(touch.granule * Touched::GRANULE);
        if on_host && !is_near(touch.granule) {
            host += lines;
        }
    }
    if all == 0 {
        0.0
    } else {
        host as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(granule: u64, lines: u32) -> Touch {
        Touch {
            time: 0,
            lines,
            granule,
        }
    }

    /// A granule of device memory.
    const ON_DEVICE: u64 = u64::MAX / Touched::GRANULE;

    #[test]
    fn the_share_of_host_memory_counts_lines() {
        let touched = Touched {
            reads: vec![touch(1, 0b111), touch(ON_DEVICE, 0b1)],
            writes: vec![touch(ON_DEVICE, 0b1)],
        };
        let shares = HostShares::of(&touched, |_| false);
        assert_eq!((shares.reads, shares.writes), (0.75, 0.0));
        let near = HostShares::of(&touched, |granule| granule == 1);
        assert_eq!((near.reads, near.writes), (0.0, 0.0));
    }

    #[test]
    fn a_migration_takes_twice_the_time_of_a_copy() {
        let profile = Profile::h200();
        let blocks = 10 * u64::from(profile.device.multiprocessor_count);
        // Ten blocks of each multiprocessor, one after the other.
        let cycles = 10.0 * migration_cycles(1 << 30, blocks, &profile);
        let picos = cycles * 1e6 / f64::from(profile.device.clock_mhz);
        let rate = profile.copies.host_to_device_gb_per_s.bytes_per_pico();
        let copy = (1_u64 << 30) as f64 / rate;
        assert!((picos / copy - 2.0).abs() < 1e-9);
        assert_eq!(migration_cycles(0, blocks, &profile), 0.0);
    }

    #[test]
    fn all_blocks_together_take_the_time_of_a_copy() {
        let profile = Profile::h200();
        let shares = HostShares {
            reads: 1.0,
            writes: 0.0,
        };
        let block = BlockCost {
            global_read_bytes: 1 << 20,
            ..BlockCost::default()
        };
        let sharers = u64::from(profile.device.multiprocessor_count);
        let cycles = shares.cycles(&block, 10 * sharers, &profile);
        let picos = cycles * 1e6 / f64::from(profile.device.clock_mhz);
        let rate = profile.copies.host_to_device_gb_per_s.bytes_per_pico();
        let all_in_one_wave = (sharers << 20) as f64 / rate;
        assert!((picos / all_in_one_wave - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_block_alone_has_the_whole_link() {
        let profile = Profile::h200();
        let shares = HostShares {
            reads: 0.0,
            writes: 1.0,
        };
        let block = BlockCost {
            global_write_bytes: 1 << 20,
            ..BlockCost::default()
        };
        let picos = shares.cycles(&block, 1, &profile) * 1e6 / f64::from(profile.device.clock_mhz);
        let rate = profile.copies.device_to_host_gb_per_s.bytes_per_pico();
        assert!((picos / ((1 << 20) as f64 / rate) - 1.0).abs() < 1e-9);
    }
}
