//! cost: what does an allocation in a loop cost, and where does a pool help?
//!
//! `cuMemAlloc` asks the operating system for memory, unless the driver still has some; `cuMemFree` waits for all work
//! that might use it, in every stream. The pool's calls do neither:
//!
//! ```text
//! cuMemAlloc  host   |alloc launch free........ alloc launch free........ |
//!             device |           KKKK                      KKKK           |
//! pool        host   |a launch f a launch f a launch f                    |
//!             device |    KKKK     KKKK       KKKK                        |
//! ```
//!
//! The calls are timed twice: first alone, then in a loop whose kernels work in the first 4 KiB of the memory, whatever its
//! size, in one stream and in eight. Beside it runs a loop whose memory was allocated once: what another loop takes
//! longer is the allocator's share of it.
//!
//! A pool that several streams share looks for memory that another stream has freed, unless its reuse policies forbid it.
//! That search can cost the host more than the rest of the call, so one variant forbids it. A pool that does not remove
//! nearly all of the cost of large allocations would prove this wrong. Small ones the driver caches itself: what a pool
//! saves there is printed and not claimed.

mod in_loop;

use cuda_host::pool::{MemoryPool, Reuse};
use cuda_host::stream;
use cust::context::CurrentContext;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::latency::timed_by_host;
use examples_host::part_option::PartOption::Size;
use examples_host::prelude::*;

/// Where the pool's worth is claimed: one of the sizes from 64 KiB on in steps of sixteen.
const JUDGED: usize = 16 << 20;
const NAMES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
/// Pairs of calls that are timed one after another.
const PAIRS: usize = 100;

fn malloc(elements: usize, stream: &Stream) -> anyhow::Result<()> {
    // SAFETY: nothing uses the memory.
    let memory = unsafe { DeviceBuffer::<f32>::uninitialized(elements)? }; // cuMemAlloc
    stream.synchronize()?; // otherwise cuMemFree would wait, for every stream
    drop(memory); //                                                          cuMemFree
    Ok(())
}

fn pool(elements: usize, pool: &MemoryPool, stream: &Stream) -> anyhow::Result<()> {
    // SAFETY: nothing uses the memory.
    let memory = unsafe { pool.alloc_async::<f32>(elements, stream)? }; //    cuMemAllocFromPoolAsync
    Ok(memory.drop_async(stream)?) //                                         cuMemFreeAsync
}

/// The host waits after each free. That is when a pool gives memory back, above its release threshold.
fn pool_and_wait(elements: usize, from: &MemoryPool, stream: &Stream) -> anyhow::Result<()> {
    pool(elements, from, stream)?;
    Ok(stream.synchronize()?)
}

/// A pool with this release threshold whose freed memory may cross to other streams as these policies allow.
fn new_pool(threshold: u64, policies: &[Reuse]) -> anyhow::Result<MemoryPool> {
    let pool = MemoryPool::new(CurrentContext::get_device()?)?; //            cuMemPoolCreate
    pool.set_release_threshold(threshold)?; //                                cuMemPoolSetAttribute
    pool.allow_only(policies)?; //                                            cuMemPoolSetAttribute
    Ok(pool)
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "From some size on cuMemAlloc and cuMemFree cost many microseconds; the pool's calls cost one or two at every\n\
         size, once it may keep its memory. At 16 MiB they remove 95 % of the cost or more.",
    );
    let largest = part.bytes_of_each::<f32>(NAMES.len(), ByteSize::mib(64))?;
    let sizes = part.sizes(ByteSize::kib(64), 16, largest);
    calls(part, &sizes)?;
    part.say(format!(
        "In the loops each step works in the first {} of its memory, whatever its size.",
        units::bytes((in_loop::touched(&sizes) * size_of::<f32>()) as u64)
    ));
    in_loop::run(part, &sizes, &stream::non_blocking_named(["s0"])?)?;
    in_loop::run(part, &sizes, &stream::non_blocking_named(NAMES)?)?;
    if !sizes.contains(&JUDGED) {
        part.say("Not judged: what a pool gains is claimed at 16 MiB. Add --size 16MiB or more.");
    }
    part.take_away("A pool that keeps its memory allocates without asking the system or waiting for the device.");
    Ok(())
}

fn calls(part: &mut Part, sizes: &[usize]) -> anyhow::Result<()> {
    let [alone] = &stream::non_blocking_named(["calls"])?;
    let title = "an allocation and its free";
    let found = part.single_calls("calls", title, PAIRS, sizes, |bytes| {
        let elements = bytes / size_of::<f32>();
        let returning = new_pool(0, &Reuse::ALL)?;
        let [waiting, keeping] =
            [new_pool(u64::MAX, &Reuse::ALL)?, new_pool(u64::MAX, &Reuse::ALL)?];
        Ok([
            timed_by_host(("malloc", "cuMemAlloc, cuMemFree"), move |()| malloc(elements, alone)),
            timed_by_host("pool-threshold-0-wait", move |()| {
                pool_and_wait(elements, &returning, alone)
            }),
            timed_by_host("pool-threshold-max-wait", move |()| {
                pool_and_wait(elements, &waiting, alone)
            }),
            timed_by_host("pool-threshold-max", move |()| pool(elements, &keeping, alone)),
        ])
    })?;
    part.say(format!(
        "With a wait after each free, a pool saves less than half of the calls' cost at {}.\n\
         The driver caches small allocations for cuMemAlloc, too.",
        found.sizes_where(|[malloc, _, waiting, _]| 2 * waiting.median() > malloc.median())
    ));
    if let Some([malloc, .., keeping]) = found.at(JUDGED) {
        let left = keeping.median().as_secs_f64() / malloc.median().as_secs_f64();
        let removed = share(1.0 - left).at_least(0.95).for_any(&[Size]);
        expect! { part; "calls/cost-removed", "16 MiB: the pool removes the cost of cuMemAlloc" => removed; }
    }
    Ok(())
}
