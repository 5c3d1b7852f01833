//! The cost of the host's side of the driver.

use serde::{Deserialize, Serialize};

use super::Figure;

/// What calls of the driver cost the thread that makes them.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// `cuLaunchKernel`.
    pub launch_us: Figure,
    /// `cuMemcpyAsync` and its variants, page-locked.
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
    /// From the end of an operation until a query says so.
    pub notice_us: Figure,
    /// `cuStreamCreate`.
    pub stream_create_us: Figure,
    /// `cuEventCreate`.
    pub event_create_us: Figure,
    /// `cuMemAlloc` and `cuMemFree` together, from a chunk that the driver has for other small allocations already.
    pub allocation_cached_us: Figure,
    /// The largest size that `cuMemAlloc` takes from a chunk.
    pub allocation_cached_bytes: Figure,
    /// The size of a chunk.
    pub allocation_chunk_bytes: Figure,
    /// `cuMemAlloc` and `cuMemFree` together, of a chunk or of a larger size.
    pub allocation_us: Figure,
    /// The same, per mebibyte.
    pub allocation_us_per_mib: Figure,
    /// `cuMemAllocAsync` and `cuMemFreeAsync` together.
    pub pool_allocation_us: Figure,
    /// In addition, when other streams have freed memory that the pool may use again: the query of their progress.
    pub pool_search_us: Figure,
    /// A pool reserves memory and gives it back, together.
    pub pool_growth_us: Figure,
    /// The same, per mebibyte.
    pub pool_growth_us_per_mib: Figure,
    /// A launch, a copy or other work that a stream captures.
    pub capture_us: Figure,
    /// `cuGraphLaunch` of any graph.
    pub graph_launch_us: Figure,
    /// `cuGraphLaunch`, per node.
    pub graph_launch_us_per_node: Figure,
    /// `cuGraphLaunch`, per branch after the first.
    pub graph_launch_us_per_branch: Figure,
    /// `cuGraphLaunch`, per node after the first that nothing follows.
    pub graph_launch_us_per_end: Figure,
    /// `cuGraphLaunch`, per copy: the device begins while the host still hands it the later ones.
    pub graph_launch_us_per_copy: Figure,
    /// `cuGraphExecKernelNodeSetParams` and its kin.
    pub graph_set_node_us: Figure,
    /// `cuGraphExecUpdate`, per node.
    pub graph_update_us_per_node: Figure,
    /// `cuGraphExecDestroy`.
    pub graph_destroy_us: Figure,
    /// `cuGraphInstantiate` of any graph.
    pub graph_instantiate_us: Figure,
    /// `cuGraphInstantiate`, per node.
    pub graph_instantiate_us_per_node: Figure,
    /// `cuGraphInstantiate`, per branch after the first.
    pub graph_instantiate_us_per_branch: Figure,
    /// `cuMemHostAlloc` of any size.
    pub pin_us: Figure,
    /// Page-locking, per mebibyte.
    pub pin_us_per_mib: Figure,
    /// Releasing page-locked memory takes this share of the time that locking it takes.
    pub unpin_share: Figure,
    /// Host memory that a process can page-lock, in bytes.
    pub page_locked_limit_bytes: Figure,
    /// From starting host threads until they run.
    pub thread_start_us: Figure,
    /// Loading a module.
    pub module_load_us: Figure,
    /// Every other call.
    pub other_us: Figure,
    /// One host thread streaming through host memory.
    pub memory_gb_per_s: Figure,
    /// One host thread counts a byte in a table, as a histogram does.
    pub count_byte_ns: Figure,
}
