//! Measurements and claims of the part `cost`.

mod in_loop;

use crate::cost::{malloc, new_pool, pool};
use cuda_host::prelude::*;
use examples_host::latency::timed_by_host;
use examples_host::part_option::PartOption::Size;
use examples_host::prelude::*;

/// Where the pool's worth is claimed: one of the sizes from 64 KiB on in steps of sixteen.
const JUDGED: usize = 16 << 20;
const NAMES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
/// Pairs of calls that are timed one after another.
const PAIRS: usize = 100;

/// The host waits after each free. That is when a pool gives memory back, above its release threshold.
fn pool_and_wait(elements: usize, from: &MemoryPool, stream: &Stream) -> anyhow::Result<()> {
    pool(elements, from, stream)?;
    Ok(stream.synchronize()?)
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
