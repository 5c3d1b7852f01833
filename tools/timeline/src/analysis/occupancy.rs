//! How many of a kernel's blocks a device holds at once.

/// The shape of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u64,
    /// 32-bit registers of a thread.
    pub registers: u64,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared: u64,
}

/// The limits of a device's multiprocessors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiprocessors {
    /// How many there are.
    pub count: u64,
    /// Warps that one holds.
    pub warps: u64,
    /// Blocks that one holds.
    pub blocks: u64,
    /// 32-bit registers of one; `None` when unknown: then they limit nothing.
    pub registers: Option<u64>,
    /// Bytes of shared memory of one; `None` when unknown: then it limits nothing.
    pub shared: Option<u64>,
}

/// Threads of a warp.
const WARP: u64 = 32;
/// Shared memory that a block takes besides its own, on devices of compute capability 8 and later.
const RESERVED: u64 = 1024;
/// Registers are given out to a warp in such portions.
const REGISTER_PORTION: u64 = 256;

impl Multiprocessors {
    /// What is usual for a compute capability, where only the count is known.
    pub fn usual(count: u64, capability: Option<(u64, u64)>) -> Self {
        let (warps, blocks) = match capability {
            Some((7, 5)) => (32, 16),
            Some((8, 6 | 7)) => (48, 16),
            Some((8, 9)) => (48, 24),
            Some((12, _)) => (48, 24),
            _ => (64, 32),
        };
        Self {
            count,
            warps,
            blocks,
            registers: None,
            shared: None,
        }
    }

    /// How many blocks of the launch one multiprocessor holds; 0 when not even one fits.
    pub fn blocks_each(&self, launch: &LaunchShape) -> u64 {
        let warps = launch.threads.max(1).div_ceil(WARP);
        let portions = launch
            .registers
            .saturating_mul(WARP)
            .div_ceil(REGISTER_PORTION);
        let of_warp = portions.saturating_mul(REGISTER_PORTION);
        let by = |whole: Option<u64>, part: u64| match whole {
            Some(whole) if part > 0 => whole / part,
            _ => u64::MAX,
        };
        self.blocks
            .min(self.warps / warps)
            .min(by(self.registers, of_warp.saturating_mul(warps)))
            .min(by(self.shared, launch.shared.saturating_add(RESERVED)))
    }

    /// How many blocks of the launch the whole device holds at once.
    pub fn capacity(&self, launch: &LaunchShape) -> u64 {
        self.count.saturating_mul(self.blocks_each(launch))
    }

    /// Whether the launch leaves no room for a block like its own.
    pub fn filled_by(&self, launch: &LaunchShape) -> bool {
        launch.blocks >= self.capacity(launch).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H100: Multiprocessors = Multiprocessors {
        count: 132,
        warps: 64,
        blocks: 32,
        registers: Some(65536),
        shared: Some(233_472),
    };

    fn launch(blocks: u64, threads: u64, registers: u64, shared: u64) -> LaunchShape {
        LaunchShape {
            blocks,
            threads,
            registers,
            shared,
        }
    }

    #[test]
    fn the_scarcest_of_four_decides() {
        assert_eq!(H100.blocks_each(&launch(1, 32, 16, 0)), 32, "blocks");
        assert_eq!(H100.blocks_each(&launch(1, 1024, 16, 0)), 2, "warps");
        assert_eq!(H100.blocks_each(&launch(1, 256, 128, 0)), 2, "registers");
        assert_eq!(H100.blocks_each(&launch(1, 32, 16, 100_000)), 2, "shared");
        let half = 233_472 / 2;
        assert_eq!(H100.blocks_each(&launch(1, 32, 16, half)), 1, "reserved");
        assert_eq!(H100.blocks_each(&launch(1, 1024, 255, 0)), 0, "too many");
        let absurd = launch(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        assert_eq!(H100.capacity(&absurd), 0, "a file may say so");
    }

    #[test]
    fn a_grid_fills_the_device_when_its_first_wave_does() {
        let each = 8 * 132;
        assert_eq!(H100.capacity(&launch(1, 256, 32, 0)), each);
        assert!(!H100.filled_by(&launch(each - 1, 256, 32, 0)));
        assert!(H100.filled_by(&launch(each, 256, 32, 0)));
    }

    #[test]
    fn without_limits_the_usual_ones_count() {
        let small = Multiprocessors::usual(10, Some((8, 6)));
        assert_eq!(small.capacity(&launch(1, 256, 255, 1 << 20)), 60);
        assert_eq!(
            Multiprocessors::usual(10, None).capacity(&launch(1, 256, 0, 0)),
            80
        );
    }
}
