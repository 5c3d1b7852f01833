//! A device as data: what it reports about itself, and the figures of its performance, each with its source.
//!
//! Profiles are the files of `software-gpu/profiles`, compiled in, or files of the same form (`file`). A file that
//! lacks a figure, or has an unknown one, is refused.

mod device;
mod file;
mod host;
mod time;

use serde::{Deserialize, Serialize};

pub use device::DeviceProfile;
pub use file::ProfileError;
pub use host::Host;
pub use time::Time;
pub use toml::Table;

/// The number of classes of instructions that the model distinguishes: the length of `exec::BlockCost::issue`.
pub const CLASSES: usize = 10;

/// A device and the model of its performance.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// In a few words where the figures are from, for the program's first line; none when they were measured.
    pub figures: Option<String>,
    /// What the device reports about itself.
    pub device: DeviceProfile,
    /// The link to the host and the copy engines.
    pub copies: CopyFigures,
    /// The link to other devices.
    pub peer: Peer,
    /// Device memory.
    pub memory: Memory,
    /// How blocks of threads progress.
    pub kernels: KernelFigures,
    /// The time from the end of one operation to the start of one that depends on it.
    pub handover: Handover,
    /// What calls of the driver cost the thread that makes them.
    pub host: Host,
}

/// Where a figure is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureSource {
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The value.
    pub value: f64,
    /// Where the value is from.
    pub from: FigureSource,
}

impl Figure {
    /// A figure in microseconds as time.
    #[inline]
    pub fn micros(self) -> Time {
        Time::from_micros(self.value)
    }

    /// A figure in GB/s as bytes per picosecond.
    #[inline]
    pub fn bytes_per_pico(self) -> f64 {
        self.value * 1e-3
    }
}

/// The link to the host and the copy engines.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CopyFigures {
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
    /// What staging takes before the first byte of a pageable copy of more than 64 KiB moves.
    pub pageable_setup_us: Figure,
    /// Up to 64 KiB of pageable host memory to the device, which the driver passes along with the command.
    pub inline_gb_per_s: Figure,
    /// How long such a copy holds its engine before its first byte moves.
    pub inline_setup_us: Figure,
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
    /// A row of a copy of several takes as long as one of at least that many bytes.
    pub least_row_bytes: Figure,
}

/// Over what a device reaches another one's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// NVLink: atomic operations included.
    Nvlink,
    /// The bus: plain loads, stores and copies.
    Pcie,
    /// It cannot: `cuDeviceCanAccessPeer` says no, and copies go through host memory.
    None,
}

/// The link to other devices of the same kind.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Over what devices reach each other's memory, if they can.
    pub link: Link,
    /// One way, nothing else moving.
    pub copy_gb_per_s: Figure,
    /// What is left of that in each direction while bytes move in both.
    pub both_directions_share: Figure,
    /// How long a copy to or from another device holds its engine before its first byte moves.
    pub setup_us: Figure,
}

/// Device memory.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    /// What blocks in step ask for at the same time takes this many times as long as at the full bandwidth.
    pub burst: Figure,
    /// What the L2 cache delivers to loads and stores at most.
    pub l2_gb_per_s: Figure,
    /// What it delivers to bulk copies, which ask for whole lines.
    pub l2_bulk_gb_per_s: Figure,
    /// The share of the L2 cache that one kernel's data can fill.
    pub l2_share: Figure,
}

/// How blocks of threads progress.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KernelFigures {
    /// Warp instructions that one multiprocessor issues in a cycle, by class.
    pub issue_per_cycle: IssueRates,
    /// How long memory takes to answer.
    pub latency_cycles: LatencyCycles,
    /// Warp instructions that one multiprocessor's schedulers issue in a cycle, all classes together.
    pub dispatch_per_cycle: Figure,
    /// Bytes between one multiprocessor's shared memory and its registers in a cycle.
    pub shared_bytes_per_cycle: Figure,
    /// Bytes between one multiprocessor and the memory system in a cycle.
    pub global_bytes_per_cycle: Figure,
    /// Bytes that one multiprocessor moves to or from the shared memory of others in a cycle.
    pub cluster_bytes_per_cycle: Figure,
    /// Global atomic operations of one multiprocessor in a cycle.
    pub atomics_per_cycle: Figure,
    /// Floating-point operations of the tensor cores of one multiprocessor in a cycle, bf16 with dense operands; a multiply-add
    /// counts as two. `wgmma` reaches it; `mma` has a rate of its own, [`IssueRates::mma`].
    pub tensor_operations_per_cycle: Figure,
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
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    /// `mma.sync`, in multiplications `m16n8k16`. It does not follow `tensor_operations_per_cycle`: warps feed the tensor cores from
    /// registers, and that has its own limit, on an H200 two thirds of what `wgmma` reaches. Where there is no `wgmma`, a profile
    /// gives the same rate twice.
    pub mma: Figure,
}

/// Cycles from a memory instruction to its result, with nothing else in flight.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyCycles {
    /// A load from global memory that misses the caches.
    pub global: Figure,
    /// One that hits the L2 cache.
    pub l2: Figure,
    /// One that hits the L1 cache.
    pub l1: Figure,
    /// A load from the block's shared memory.
    pub shared: Figure,
    /// An atomic operation on global memory, until its result is there.
    pub atomic: Figure,
    /// A load that acquires at the scope of the device: past the L1 cache, which is emptied then.
    pub acquire: Figure,
    /// What a warp waits before it releases at the scope of the device: until the L2 cache has answered for all that the block
    /// has stored.
    pub release: Figure,
    /// A load from the shared memory of another block of the cluster.
    pub cluster_shared: Figure,
    /// From the last arrival at a barrier of the cluster until its threads continue.
    pub cluster_barrier: Figure,
}

/// Floating-point operations of a matrix multiplication `m16n8k16`.
const OPERATIONS: f64 = 4096.0;

impl KernelFigures {
    /// Instructions per cycle and multiprocessor in the order of `exec::Class`.
    pub fn per_cycle(&self) -> [f64; CLASSES] {
        self.issue_per_cycle
            .by_class(self.tensor_operations_per_cycle)
    }
}

impl IssueRates {
    /// In the order of `exec::Class`; the last one is the tensor cores', in units of `m16n8k16`.
    fn by_class(&self, tensor_operations: Figure) -> [f64; CLASSES] {
        let wgmma = Figure {
            value: tensor_operations.value / OPERATIONS,
            ..tensor_operations
        };
        [
            self.alu32,
            self.fma32,
            self.fma64,
            self.multiply32,
            self.special,
            self.convert,
            self.memory,
            self.control,
            self.mma,
            wgmma,
        ]
        .map(|figure| figure.value)
    }
}

/// The time from the end of one operation to the start of one that depends on it, in the same stream unless said.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// From the host's call to the device's seeing it.
    pub arrival_us: Figure,
    /// Kernel (or memset) to kernel.
    pub kernel_to_kernel_us: Figure,
    /// Kernel (or memset) to kernel where both are nodes of one launch of a graph.
    pub kernel_to_kernel_in_graph_us: Figure,
    /// Kernel to copy over the link, and such a copy to a kernel; also with event records and waits between them, in one
    /// stream or across streams.
    pub kernel_to_copy_us: Figure,
    /// A copy to a copy on the same engine, whose set-up covers the hand-over.
    pub copy_to_copy_us: Figure,
    /// A copy to a copy on another engine; also with event records and waits between them.
    pub copy_to_other_engine_us: Figure,
    /// Kernel or copy to an event record or wait.
    pub to_marker_us: Figure,
    /// How long the record of an event that keeps the time holds its stream up.
    pub timestamp_us: Figure,
    /// An event record or wait to another.
    pub marker_to_marker_us: Figure,
    /// An event record or wait to a kernel.
    pub marker_to_kernel_us: Figure,
    /// An event record or wait to a copy.
    pub marker_to_copy_us: Figure,
    /// How much later a graph begins whose nodes were changed since its last launch.
    pub graph_upload_us: Figure,
    /// Anything to a host function.
    pub to_host_function_us: Figure,
    /// A host function to anything.
    pub from_host_function_us: Figure,
    /// In addition, when the two are in different streams.
    pub across_streams_us: Figure,
}
