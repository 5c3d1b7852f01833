//! What does allocating device memory cost, and what does stream order change about it?
//!
//! `cuMemAlloc` and `cuMemFree` are calls between host and driver: a free has to wait until no operation uses the memory any
//! more. `cuMemAllocAsync` and `cuMemFreeAsync` are operations of a stream: the memory belongs to the work between
//! them, and goes back to a pool that the next allocation is served from. Four parts ask what that is worth, how a pool
//! behaves, what it does for work whose sizes change, and where to free memory that another stream still uses.

mod arena;
mod cost;
mod layer;
mod lifetime;
mod llm_scratch;
mod pool;
mod verdicts;

use examples_host::part_option::PartOption::{Iterations, Size};
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new(
        "stream_ordered_allocator",
        "Device memory that is allocated and freed in stream order",
    )
    .part(
        "cost",
        "What does an allocation in a loop cost, and where does a pool help?",
        &[Iterations, Size],
        verdicts::cost::run,
    )
    .needs(&[Need::MemoryPools])
    .part(
        "pool",
        "What does a memory pool hold, and which stream gets freed memory again?",
        &[Size],
        verdicts::pool::run,
    )
    .needs(&[Need::MemoryPools])
    .part(
        "llm-scratch",
        "What do allocators do to the latency of batches whose sizes change?",
        &[Iterations, Size],
        verdicts::llm_scratch::run,
    )
    .needs(&[Need::MemoryPools])
    .part(
        "lifetime",
        "Where to free memory that another stream still uses?",
        &[Size],
        verdicts::lifetime::run,
    )
    .needs(&[Need::MemoryPools])
    .main()
}
