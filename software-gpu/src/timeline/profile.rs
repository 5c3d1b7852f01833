//! A device as data: what it reports about itself, and the figures of its performance, each with its source.
//!
//! Profiles are the files of `software-gpu/profiles`, compiled in. A file that lacks a figure, or has one that nobody
//! reads, is refused.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Time;
use super::work::CLASSES;

/// A device and the model of its performance.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What the device reports about itself.
    pub device: Device,
    /// The link to the host and the copy engines.
    pub copies: Copies,
    /// Device memory.
    pub memory: Memory,
    /// How blocks of threads progress.
    pub kernels: Kernels,
    /// The time from the end of one operation to the start of one that depends on it.
    pub handover: Handover,
    /// What calls of the driver cost the thread that makes them.
    pub host: Host,
}

/// A profile's text is not a profile.
#[derive(Debug, thiserror::Error)]
#[error("device profile {name:?} is not valid: {source}")]
pub struct ProfileError {
    name: String,
    source: toml::de::Error,
}

impl Profile {
    /// Names of the built-in profiles.
    pub const NAMES: &[&str] = &["h200"];

    /// The built-in profile of that name.
    pub fn named(name: &str) -> Option<Result<Self, ProfileError>> {
        let text = match name {
            "h200" => include_str!("../../profiles/h200.toml"),
            _ => return None,
        };
        Some(Self::parse(name, text))
    }

    /// Reads a profile from the text of its file; `name` is for the error.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        toml::from_str(text).map_err(|source| ProfileError {
            name: name.to_owned(),
            source,
        })
    }

    /// NVIDIA's H200 SXM, measured.
    ///
    /// # Panics
    /// Never: the crate's tests read the built-in file.
    pub fn h200() -> Self {
        Self::named("h200")
            .expect("h200 is built in")
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Where a figure is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Measured on the device.
    Measured,
    /// Chosen so that the model gives what was measured on the device.
    Fitted,
    /// NVIDIA's data sheet or architecture white paper.
    DataSheet,
    /// NVIDIA's programming guide or driver documentation.
    Documentation,
    /// A plausible value, not yet measured.
    Estimated,
}

/// One figure of the model. Its unit is part of its field's name.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The value.
    pub value: f64,
    /// Where the value is from.
    pub from: Source,
}

impl Figure {
    /// A figure in microseconds as time.
    pub fn micros(self) -> Time {
        Time::from_micros(self.value)
    }

    /// A figure in GB/s as bytes per picosecond.
    pub(super) fn bytes_per_pico(self) -> f64 {
        self.value * 1e-3
    }
}

/// What the device reports about itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(
    missing_docs,
    reason = "each name is the lower-case name of its CU_DEVICE_ATTRIBUTE"
)]
pub struct Device {
    /// `cuDeviceGetName`.
    pub name: String,
    /// `cuDeviceTotalMem`.
    pub total_memory_bytes: u64,
    pub compute_capability_major: u32,
    pub compute_capability_minor: u32,
    pub multiprocessor_count: u32,
    /// Of the multiprocessors, while kernels run.
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
    /// Warps of a block are allocated in multiples of this.
    pub warp_allocation_unit: u32,
    /// Shared memory of a block is allocated in multiples of this.
    pub shared_allocation_unit: u32,
    /// All other attributes: name without `CU_DEVICE_ATTRIBUTE_`, number, value.
    pub attributes: BTreeMap<String, (i32, i32)>,
}

impl Device {
    /// The value of the `CUdevice_attribute` of that number: `cuDeviceGetAttribute`.
    pub fn attribute(&self, number: i32) -> Option<i32> {
        self.named_attribute(number)
            .map(|value| i32::try_from(value).unwrap_or(i32::MAX))
            .or_else(|| self.other_attribute(number))
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

/// The link to the host and the copy engines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// Page-locked host memory to the device, nothing else moving.
    pub host_to_device_gb_per_s: Figure,
    /// The device to page-locked host memory, nothing else moving.
    pub device_to_host_gb_per_s: Figure,
    /// What share of its own rate each direction keeps while both move.
    pub both_directions_share: Figure,
    /// Pageable host memory to the device, staging included.
    pub pageable_host_to_device_gb_per_s: Figure,
    /// The device to pageable host memory, staging included.
    pub pageable_device_to_host_gb_per_s: Figure,
    /// Host memory to host memory.
    pub host_to_host_gb_per_s: Figure,
    /// How long a copy to the device (or within the host) holds its engine before its first byte moves.
    pub host_to_device_setup_us: Figure,
    /// The same for a copy from the device.
    pub device_to_host_setup_us: Figure,
    /// In addition, when the engine's copy before was another stream's.
    pub stream_switch_us: Figure,
    /// The same, for each MiB of the copy that starts.
    pub stream_switch_us_per_mib: Figure,
}

/// Device memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// What device memory delivers at most, reads and writes together.
    pub bandwidth_gb_per_s: Figure,
    /// How fast latency grows with load; see `Bandwidth` in the module `sharing`.
    pub queueing: Figure,
    /// The demand of a copy within the device or of a memset, in multiples of the bandwidth.
    pub copy_demand: Figure,
    /// Bytes of traffic that a memset takes for each byte that it sets: pure writes are the cheaper ones.
    pub set_traffic: Figure,
    /// How long such a copy or memset takes before its first byte moves.
    pub copy_setup_us: Figure,
}

/// How blocks of threads progress.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernels {
    /// Warp instructions that one multiprocessor issues in a cycle, by class.
    pub issue_per_cycle: IssueRates,
    /// Warp instructions that one multiprocessor's schedulers issue in a cycle, all classes together.
    pub dispatch_per_cycle: Figure,
    /// Bytes between one multiprocessor's shared memory and its registers in a cycle.
    pub shared_bytes_per_cycle: Figure,
    /// Bytes between one multiprocessor and the memory system in a cycle.
    pub global_bytes_per_cycle: Figure,
    /// Global atomic operations of one multiprocessor in a cycle.
    pub atomics_per_cycle: Figure,
    /// Cycles from a block's placement to its first instruction, and from its last to the release of its resources.
    pub block_turnover_cycles: Figure,
    /// In addition, for each warp of the block.
    pub block_turnover_cycles_per_warp: Figure,
    /// The least time between the starts of two blocks on one multiprocessor.
    pub block_start_cycles: Figure,
    /// From a grid's start to its first block.
    pub ramp_us: Figure,
    /// From the end of a grid's last block to the end of the grid.
    pub drain_us: Figure,
    /// The least time between the starts of two grids.
    pub start_interval_us: Figure,
}

/// Warp instructions per cycle and multiprocessor, by `exec::Class`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "each name is that of the class")]
pub struct IssueRates {
    pub alu32: Figure,
    pub fma32: Figure,
    pub fma64: Figure,
    pub multiply32: Figure,
    pub special: Figure,
    pub convert: Figure,
    pub memory: Figure,
    pub control: Figure,
}

impl IssueRates {
    /// In the order of `exec::Class`.
    pub(super) fn by_class(&self) -> [f64; CLASSES] {
        [
            self.alu32,
            self.fma32,
            self.fma64,
            self.multiply32,
            self.special,
            self.convert,
            self.memory,
            self.control,
        ]
        .map(|figure| figure.value)
    }
}

/// The time from the end of one operation to the start of one that depends on it, in the same stream unless said.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// From the host's call to the device's seeing it.
    pub arrival_us: Figure,
    /// Kernel (or memset) to kernel.
    pub kernel_to_kernel_us: Figure,
    /// Kernel to copy, and copy to kernel.
    pub kernel_to_copy_us: Figure,
    /// A copy to a copy on the same engine, whose set-up covers the hand-over.
    pub copy_to_copy_us: Figure,
    /// A copy to a copy on another engine.
    pub copy_to_other_engine_us: Figure,
    /// Kernel or copy to an event record or wait.
    pub to_marker_us: Figure,
    /// An event record or wait to another.
    pub marker_to_marker_us: Figure,
    /// An event record or wait to a kernel.
    pub marker_to_kernel_us: Figure,
    /// An event record or wait to a copy.
    pub marker_to_copy_us: Figure,
    /// Anything to a host function.
    pub to_host_function_us: Figure,
    /// A host function to anything.
    pub from_host_function_us: Figure,
    /// In addition, when the two are in different streams.
    pub across_streams_us: Figure,
}

/// What calls of the driver cost the thread that makes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// `cuLaunchKernel`.
    pub launch_us: Figure,
    /// `cuMemcpyAsync` and its kin, page-locked.
    pub copy_us: Figure,
    /// `cuMemsetD*Async`.
    pub set_us: Figure,
    /// `cuEventRecord` of an event that keeps the time.
    pub record_us: Figure,
    /// `cuEventRecord` of an event with `CU_EVENT_DISABLE_TIMING`.
    pub record_untimed_us: Figure,
    /// `cuStreamWaitEvent`.
    pub wait_us: Figure,
    /// `cuLaunchHostFunc`.
    pub host_function_us: Figure,
    /// `cuEventQuery`, `cuStreamQuery`.
    pub query_us: Figure,
    /// A synchronising call, besides the wait.
    pub synchronize_us: Figure,
    /// From the end of what a spinning thread waits for to the return of its call.
    pub wake_up_us: Figure,
    /// The same for a thread that sleeps (`CU_EVENT_BLOCKING_SYNC`, `CU_CTX_SCHED_BLOCKING_SYNC`).
    pub blocking_wake_up_us: Figure,
    /// `cuStreamCreate`.
    pub stream_create_us: Figure,
    /// `cuEventCreate`.
    pub event_create_us: Figure,
    /// `cuMemAlloc` and `cuMemFree` together, up to `allocation_cached_bytes`.
    pub allocation_cached_us: Figure,
    /// The largest size that `cuMemAlloc` serves from the driver's own cache.
    pub allocation_cached_bytes: Figure,
    /// `cuMemAlloc` and `cuMemFree` together, above `allocation_cached_bytes`.
    pub allocation_us: Figure,
    /// `cuMemAllocAsync` and `cuMemFreeAsync` together.
    pub pool_allocation_us: Figure,
    /// `cuMemHostAlloc`, whatever the size.
    pub pin_us: Figure,
    /// Page-locking, per mebibyte.
    pub pin_us_per_mib: Figure,
    /// Loading a module.
    pub module_load_us: Figure,
    /// Every other call.
    pub other_us: Figure,
    /// One host thread streaming through host memory.
    pub memory_gb_per_s: Figure,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_is_valid() {
        for name in Profile::NAMES {
            let profile = Profile::named(name).expect("listed").expect("valid");
            assert!(profile.device.multiprocessor_count > 0, "{name}");
        }
    }

    #[test]
    fn h200_answers_every_attribute_of_cuda_13() {
        let device = Profile::h200().device;
        let missing: Vec<i32> = (1..=147)
            .filter(|n| device.attribute(*n).is_none())
            .collect();
        assert_eq!(missing, []);
        assert_eq!(device.attribute(148), None);
        assert_eq!(device.attribute(38), Some(62_914_560));
    }

    #[test]
    fn no_attribute_is_given_twice() {
        let device = Profile::h200().device;
        let mut seen = std::collections::BTreeSet::new();
        for (name, (number, _)) in &device.attributes {
            assert!(seen.insert(*number), "{name} repeats {number}");
            assert_eq!(device.named_attribute(*number), None, "{name} has a field");
        }
    }

    #[test]
    fn an_unknown_figure_is_refused_by_name() {
        let text = include_str!("../../profiles/h200.toml")
            .replace("[copies]", "[copies]\nwarp_drive = 1\n");
        let error = Profile::parse("h200", &text).expect_err("unknown field");
        assert!(error.to_string().contains("warp_drive"), "{error}");
    }
}
