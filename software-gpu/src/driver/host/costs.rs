//! What the calls cost the thread that makes them.

use crate::driver::memory::small::Served;
use crate::timeline::Time;
use crate::timeline::profile::{Figure, Host};

/// The kinds of calls that the profile distinguishes.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) enum Cost {
    /// No time: host code that only queries.
    Free,
    Launch,
    Copy,
    Set,
    /// Recording an event that keeps the time.
    Record,
    /// Recording an event with `CU_EVENT_DISABLE_TIMING`.
    RecordUntimed,
    Wait,
    HostFunction,
    Query,
    Synchronize,
    StreamCreate,
    EventCreate,
    /// Work that a stream captures.
    Capture,
    /// `cuGraphLaunch` of a graph with this many nodes, branches and ends. Its copies come on top.
    GraphLaunch {
        steps: usize,
        branches: usize,
        ends: usize,
    },
    /// A copy of the graph in `cuGraphLaunch`.
    GraphLaunchCopy,
    /// `cuGraphExecKernelNodeSetParams` and its kin.
    GraphSetNode,
    /// `cuGraphExecUpdate` of this many nodes.
    GraphUpdate {
        steps: usize,
    },
    /// `cuGraphExecDestroy`.
    GraphDestroy,
    /// `cuGraphInstantiate`, likewise.
    GraphInstantiate {
        steps: usize,
        branches: usize,
    },
    /// `cuMemAlloc` or `cuMemFree`, by where the memory came from or went.
    Allocation(Served),
    /// `cuMemAllocAsync` or `cuMemFreeAsync`, when the pool has the memory.
    PoolAllocation,
    /// A pool looks for memory that other streams have freed.
    PoolSearch,
    /// A pool reserves that many bytes, or gives them back.
    PoolGrowth(u64),
    /// Page-locking this many bytes.
    Pin(usize),
    /// Releasing this many page-locked bytes.
    Unpin(usize),
    ModuleLoad,
    Other,
}

impl Cost {
    pub(in crate::driver) fn time(self, host: &Host) -> Time {
        match self {
            Self::Free => Time::ZERO,
            Self::Launch => host.launch_us.micros(),
            Self::Copy => host.copy_us.micros(),
            Self::Set => host.set_us.micros(),
            Self::Record => host.record_us.micros(),
            Self::RecordUntimed => host.record_untimed_us.micros(),
            Self::Wait => host.wait_us.micros(),
            Self::HostFunction => host.host_function_us.micros(),
            Self::Query => host.query_us.micros(),
            Self::Synchronize => host.synchronize_us.micros(),
            Self::StreamCreate => host.stream_create_us.micros(),
            Self::EventCreate => host.event_create_us.micros(),
            Self::Capture => host.capture_us.micros(),
            Self::GraphLaunch {
                steps,
                branches,
                ends,
            } => {
                let each = [
                    host.graph_launch_us_per_node,
                    host.graph_launch_us_per_branch,
                ];
                let more = ends.saturating_sub(1) as f64 * host.graph_launch_us_per_end.value;
                graph(host.graph_launch_us, each, steps, branches) + Time::from_micros(more)
            }
            Self::GraphLaunchCopy => host.graph_launch_us_per_copy.micros(),
            Self::GraphSetNode => host.graph_set_node_us.micros(),
            Self::GraphUpdate { steps } => {
                Time::from_micros(host.graph_update_us_per_node.value * steps as f64)
            }
            Self::GraphDestroy => host.graph_destroy_us.micros(),
            Self::GraphInstantiate { steps, branches } => {
                let each = [
                    host.graph_instantiate_us_per_node,
                    host.graph_instantiate_us_per_branch,
                ];
                graph(host.graph_instantiate_us, each, steps, branches)
            }
            Self::Allocation(served) => Time::from_micros(allocation(host, served) / 2.0),
            Self::PoolAllocation => Time::from_micros(host.pool_allocation_us.value / 2.0),
            Self::PoolSearch => host.pool_search_us.micros(),
            Self::PoolGrowth(bytes) => {
                let by_size = host.pool_growth_us_per_mib.value * mebibytes(bytes);
                Time::from_micros((host.pool_growth_us.value + by_size) / 2.0)
            }
            Self::Pin(bytes) => Time::from_micros(pin(host, bytes)),
            Self::Unpin(bytes) => Time::from_micros(pin(host, bytes) * host.unpin_share.value),
            Self::ModuleLoad => host.module_load_us.micros(),
            Self::Other => host.other_us.micros(),
        }
    }
}

/// A call that does something for each node of a graph, and for each branch after the first.
fn graph(once: Figure, each: [Figure; 2], nodes: usize, branches: usize) -> Time {
    let [node, branch] = each.map(|figure| figure.value);
    let more = branches.saturating_sub(1);
    Time::from_micros(once.value + node * nodes as f64 + branch * more as f64)
}

/// Allocating and freeing, together.
fn allocation(host: &Host, served: Served) -> f64 {
    match served {
        Served::FromChunk => host.allocation_cached_us.value,
        Served::BySystem(bytes) => {
            host.allocation_us.value + host.allocation_us_per_mib.value * mebibytes(bytes)
        }
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn pin(host: &Host, bytes: usize) -> f64 {
    host.pin_us.value + host.pin_us_per_mib.value * bytes as f64 / (1 << 20) as f64
}

/// How long one host thread streams through `bytes` of memory.
pub(in crate::driver) fn memory_work(host: &Host, bytes: u64) -> Time {
    Time::from_micros(bytes as f64 / (host.memory_gb_per_s.value * 1e3))
}

/// How long one host thread counts `bytes` bytes in a table.
pub(in crate::driver) fn counting_work(host: &Host, bytes: u64) -> Time {
    Time::from_micros(bytes as f64 * host.count_byte_ns.value * 1e-3)
}
