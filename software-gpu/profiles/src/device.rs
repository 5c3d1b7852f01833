//! What a device reports about itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What the device reports about itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(
    missing_docs,
    reason = "each name is the lower-case name of its CU_DEVICE_ATTRIBUTE"
)]
pub struct DeviceProfile {
    /// `cuDeviceGetName`.
    pub name: String,
    /// `cuDeviceTotalMem`.
    pub total_memory_bytes: u64,
    pub compute_capability_major: u32,
    pub compute_capability_minor: u32,
    pub multiprocessor_count: u32,
    /// The clock of the multiprocessors while kernels run.
    pub clock_mhz: u32,
    pub memory_clock_mhz: u32,
    pub global_memory_bus_width: u32,
    pub l2_cache_size: u32,
    pub async_engine_count: u32,
    pub warp_size: u32,
    pub max_threads_per_block: u32,
    pub max_block_dim: [u32; 3],
    pub max_grid_dim: [u32; 3],
    pub max_threads_per_multiprocessor: u32,
    pub max_blocks_per_multiprocessor: u32,
    pub max_registers_per_block: u32,
    pub max_registers_per_multiprocessor: u32,
    pub max_shared_memory_per_block: u32,
    pub max_shared_memory_per_block_optin: u32,
    pub max_shared_memory_per_multiprocessor: u32,
    pub reserved_shared_memory_per_block: u32,
    pub total_constant_memory: u32,
    /// `cuCtxGetStreamPriorityRange`: the numerically lowest is the most urgent.
    pub least_stream_priority: i32,
    /// See `least_stream_priority`.
    pub greatest_stream_priority: i32,
    /// Grids that can be resident at once.
    pub max_resident_grids: u32,
    /// Registers of a warp are allocated in multiples of this.
    pub register_allocation_unit: u32,
    /// The multiprocessor's sub-partitions, each of which has its part of the registers.
    pub warp_allocation_unit: u32,
    /// Shared memory of a block is allocated in multiples of this.
    pub shared_allocation_unit: u32,
    /// All other attributes: name without `CU_DEVICE_ATTRIBUTE_`, number, value.
    pub attributes: BTreeMap<String, (i32, i32)>,
}

impl DeviceProfile {
    /// The value of the `CUdevice_attribute` of that number: `cuDeviceGetAttribute`.
    pub fn attribute(&self, number: i32) -> Option<i32> {
        self.named_attribute(number)
            .map(|value| i32::try_from(value).unwrap_or(i32::MAX))
            .or_else(|| self.other_attribute(number))
    }

    /// Whether a device can be like that; if not, why.
    pub(super) fn check(&self) -> Result<(), String> {
        let needed = [
            ("multiprocessor_count", self.multiprocessor_count),
            ("clock_mhz", self.clock_mhz),
            ("warp_size", self.warp_size),
            ("max_threads_per_block", self.max_threads_per_block),
            (
                "max_threads_per_multiprocessor",
                self.max_threads_per_multiprocessor,
            ),
            (
                "max_blocks_per_multiprocessor",
                self.max_blocks_per_multiprocessor,
            ),
            (
                "max_registers_per_multiprocessor",
                self.max_registers_per_multiprocessor,
            ),
            ("max_resident_grids", self.max_resident_grids),
            ("register_allocation_unit", self.register_allocation_unit),
            ("warp_allocation_unit", self.warp_allocation_unit),
            ("shared_allocation_unit", self.shared_allocation_unit),
        ];
        match needed.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(format!("{name} is 0")),
            None if self.warp_size != 32 => Err("warp_size is not 32".to_owned()),
            None if self.async_engine_count == 0 => Err(
                "async_engine_count is 0: copies that keep kernels waiting are not modelled"
                    .to_owned(),
            ),
            None => Ok(()),
        }
    }

    fn named_attribute(&self, number: i32) -> Option<u32> {
        Some(match number {
            1 => self.max_threads_per_block,
            2 => self.max_block_dim[0],
            3 => self.max_block_dim[1],
            4 => self.max_block_dim[2],
            5 => self.max_grid_dim[0],
            6 => self.max_grid_dim[1],
            7 => self.max_grid_dim[2],
            8 => self.max_shared_memory_per_block,
            9 => self.total_constant_memory,
            10 => self.warp_size,
            12 => self.max_registers_per_block,
            13 => self.clock_mhz.saturating_mul(1_000),
            16 => self.multiprocessor_count,
            36 => self.memory_clock_mhz.saturating_mul(1_000),
            37 => self.global_memory_bus_width,
            38 => self.l2_cache_size,
            39 => self.max_threads_per_multiprocessor,
            40 => self.async_engine_count,
            75 => self.compute_capability_major,
            76 => self.compute_capability_minor,
            81 => self.max_shared_memory_per_multiprocessor,
            82 => self.max_registers_per_multiprocessor,
            97 => self.max_shared_memory_per_block_optin,
            106 => self.max_blocks_per_multiprocessor,
            111 => self.reserved_shared_memory_per_block,
            _ => return None,
        })
    }

    fn other_attribute(&self, number: i32) -> Option<i32> {
        self.attributes
            .values()
            .find(|(candidate, _)| *candidate == number)
            .map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use crate::Profile;

    #[test]
    fn every_built_in_profile_answers_every_attribute_of_cuda_13() {
        for name in Profile::NAMES {
            let device = Profile::load(name).expect("built in").device;
            let missing: Vec<i32> = (1..=147)
                .filter(|n| device.attribute(*n).is_none())
                .collect();
            assert_eq!(missing, [], "{name}");
            assert_eq!(device.attribute(148), None, "{name}");
        }
    }

    #[test]
    fn the_l2_cache_is_attribute_38() {
        assert_eq!(Profile::h200().device.attribute(38), Some(62_914_560));
    }

    #[test]
    fn no_attribute_is_given_twice() {
        for profile in Profile::NAMES {
            let device = Profile::load(profile).expect("built in").device;
            let mut seen = std::collections::BTreeSet::new();
            for (name, (number, _)) in &device.attributes {
                assert!(seen.insert(*number), "{profile}: {name} repeats {number}");
                assert_eq!(device.named_attribute(*number), None, "{name} has a field");
            }
        }
    }
}
