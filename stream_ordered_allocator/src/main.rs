//! What does allocating device memory cost, and what does stream order change about it?
//!
//! `cuMemAlloc` and `cuMemFree` are calls between host and driver: a free has to wait until nobody uses the memory any
//! more. `cuMemAllocAsync` and `cuMemFreeAsync` are operations of a stream: the memory belongs to the work between
//! them, and goes back to a pool that the next allocation is served from. Four parts ask what that is worth, how a pool
//! behaves, what it does for work whose sizes change, and what happens to those who free memory that is in use.

mod cost;
mod kernels;
mod lifetime;
mod llm_scratch;
mod pool;

use examples_host::options::UsageError;
use examples_host::part_option::PartOption::{Iterations, Size};
use examples_host::prelude::*;
use examples_host::statistics::Durations;
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
        cost::run,
    )
    .needs(&[Need::MemoryPools])
    .part(
        "pool",
        "What does a memory pool hold, and who gets freed memory again?",
        &[Size],
        pool::run,
    )
    .needs(&[Need::MemoryPools])
    .part(
        "llm-scratch",
        "What do allocators do to the latency of batches whose sizes change?",
        &[Iterations, Size],
        llm_scratch::run,
    )
    .needs(&[Need::MemoryPools])
    .part(
        "lifetime",
        "Who gets memory that is freed while another stream uses it?",
        &[Size],
        lifetime::run,
    )
    .needs(&[Need::MemoryPools])
    .main()
}

/// Bytes of each of `count` allocations of `T` that are to live together: `--size`, or the part's default. Refuses more
/// than half of the device's memory.
fn bytes_of_each<T>(part: &Part, count: usize, default: ByteSize) -> anyhow::Result<usize> {
    let bytes = part.elements::<T>(default)? * size_of::<T>();
    let room = part.device().memory_bytes()? / 2;
    if bytes > room / count {
        let size = part.size(default);
        return Err(UsageError(format!(
            "--size {size}: {count} such allocations are more than half of the device's memory"
        ))
        .into());
    }
    Ok(bytes)
}

/// How latencies are shown: p50, p99, max, and not a mean, which a few slow calls hide in.
fn distribution(times: &Durations) -> [String; 3] {
    [times.percentile(50), times.percentile(99), times.max()].map(units::time)
}
