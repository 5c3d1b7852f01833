//! Measurements and claims of the part `pool`.

mod cases;
mod log;
mod reuse;

use crate::pool::{BUFFERS, allocate, batch};
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use examples_host::call_times::slowest_allocation;
use examples_host::latency::times_as_long;
use examples_host::prelude::*;
use log::{PoolLog, held};

/// Pools reserve and count in pieces of at most this many bytes.
const PIECE: u64 = 32 << 20;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "With threshold 0 the pool returns all free memory when the host waits, and the next allocation costs as much\n\
         as the first; with the greatest threshold it keeps all, until it is trimmed. Freed memory crosses to another\n\
         stream only as the policies allow.",
    );
    let bytes = part.bytes_of_each::<u8>(BUFFERS, ByteSize::mib(48))?;
    let (one, all) = (bytes as u64, (BUFFERS * bytes) as u64);
    let device = CurrentContext::get_device()?;
    let default_pool = MemoryPool::default_of(device)?;
    let used_before = default_pool.statistics()?.used_high;

    let [stream] = &stream::non_blocking_named(["allocating"])?;
    let pool = MemoryPool::new(device)?; //                 cuMemPoolCreate
    let mut log = PoolLog::new(&pool);
    let new = log.note("creating the pool, threshold 0")?;
    let mut buffers = Vec::new();
    let first = slowest_allocation(1, || allocate(&pool, bytes, stream).map(|new| buffers = new))?;
    let allocated = log.note(&format!("allocating {BUFFERS} times {}", units::bytes(one)))?;
    buffers.into_iter().try_for_each(|buffer| buffer.drop_async(stream))?;
    log.note("freeing them in stream order")?;
    stream.synchronize()?;
    let returned = log.note("waiting for the stream")?;
    let again = slowest_allocation(1, || batch(&pool, bytes, stream))?;

    pool.set_release_threshold(u64::MAX)?; //               cuMemPoolSetAttribute
    batch(&pool, bytes, stream)?;
    let kept = log.note("the same with the greatest threshold")?;
    let from_kept = slowest_allocation(9, || batch(&pool, bytes, stream))?;
    pool.trim_to(bytes)?; //                                cuMemPoolTrimTo
    let trimmed = log.note(&format!("trimming to {}", units::bytes(one)))?;
    pool.trim_to(0)?; //                                    cuMemPoolTrimTo
    let empty = log.note("trimming to 0")?;
    let used_by_default = default_pool.statistics()?.used_high.abs_diff(used_before);
    pool.reset_high_water_marks()?; //                      cuMemPoolSetAttribute
    let reset = log.note("resetting the high-water marks")?;

    part.say(&log);
    part.say(format!(
        "The slowest allocation of {BUFFERS}, {}: {} from the new pool, {} again with threshold 0, \
         {} from what the pool has kept.",
        part.device().times(),
        units::time(first),
        units::time(again),
        units::time(from_kept),
    ));
    let piece = |found, least| held(found).less_than_beyond(least, PIECE);
    let gain = times_as_long(again, from_kept);
    expect! { part;
        "new-pool-empty", "a new pool holds nothing" => held(new.reserved + new.used).exactly(0);
        "used", "what is allocated counts as used" => piece(allocated.used, all);
        "reserved", "and is reserved" => held(allocated.reserved).at_least(allocated.used);
        "threshold-0", "threshold 0: a wait returns all" => held(returned.reserved).exactly(0);
        "threshold-max", "greatest threshold: all is kept" => held(kept.reserved).at_least(all);
        "trim", "trimming leaves what it is told to" => piece(trimmed.reserved, one);
        "trim-to-0", "trimming to 0 leaves nothing" => held(empty.reserved).exactly(0);
        "high-marks", "high-water marks hold the peak" => held(empty.used_high).exactly(allocated.used);
        "high-marks-reset", "reset, they start again" => held(reset.used_high + reset.reserved_high).exactly(0);
        "default-pool-untouched", "the default pool is not used" => held(used_by_default).exactly(0);
        "faster/kept", "allocating what was kept is faster than reserving it" => gain.at_least(3.0);
    }
    part.take_away("Raise the release threshold, and a pool's allocations cost next to nothing.");
    reuse::run(part)
}
