//! llm-scratch: what do allocators do to the latency of batches whose sizes change?
//!
//! One layer of a small transformer serves one batch after the other: attention (queries, keys, values, an s by s matrix
//! of scores, its softmax), and the feed-forward network that attention feeds. Each batch has its own length s, so the
//! scratch memory has another size each time:
//!
//! ```text
//! attention   |q k v  scores  attended  -> after|                 s·d each, and s²
//! network     |                                  hidden -> out|   4·s·d
//! freed       |                    q k v scores ^             ^ hidden, after
//! ```
//!
//! With cuMemAlloc and cuMemFree each free waits for the device in the middle of the batch, and large sizes go to the
//! operating system. A pool puts both into the stream. An arena of the largest batch's size needs no allocator at all, but
//! has to know that size. All three run the same code. An output that differs from a computation in double precision, or a
//! pool whose batches take longer than the arena's by more than its calls, would prove this wrong.

mod batches;
mod layer;
mod reference;
mod scratch;

use crate::require_pools;
use batches::{Batches, TOLERANCE};
use examples_host::device::TimeSource;
use examples_host::options::UsageError;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use scratch::Kind;
use std::time::Duration;

/// Tokens of each batch, where the longest has [`LONGEST`].
const LENGTHS: [usize; 8] = [128, 256, 512, 1024, 256, 128, 768, 384];
const LONGEST: usize = 1024;
/// The longest batch's matrix of scores: 512 tokens, so that half of each length is served by default.
const SCORES: ByteSize = ByteSize::mib(1);
/// Tokens of a batch that the kernels' 32-bit indices have room for.
const MOST_TOKENS: usize = 1 << 15;
/// A pool's batches take at most so much longer than an arena's, at the median and at the tail.
const AS_ARENA: f64 = 1.25;

/// What the batches of one variant took.
#[derive(Default)]
struct Times {
    /// By batch: from before its first allocation to after the wait for its output.
    latencies: [Vec<Duration>; LENGTHS.len()],
    /// Calls of the allocator, batch by batch.
    calls: Vec<Duration>,
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    require_pools(part)?;
    part.predict(
        "cuMemAlloc: every batch waits for the device where it frees, and batches with large matrices for the operating\n\
         system too. Pool and arena: no batch waits but for its output, and their latencies differ by the calls alone.",
    );
    let (device, lengths) = (part.device(), lengths(part)?);
    let mut batches = Batches::new(device, &lengths)?;
    let mut scratch = Vec::new();
    for kind in Kind::ALL {
        scratch.push(kind.scratch(&batches.stream, batches.most_scratch())?);
    }
    let mut times: Vec<Times> = Kind::ALL.iter().map(|_| Times::default()).collect();
    let mut checked = Ok(Checked::default());
    // One round warms up, and one more is recorded; a model needs neither.
    let extra = usize::from(device.times() == TimeSource::Measured);
    let timed = part.iterations(25);
    for round in 0..extra + timed + extra {
        let last = round + 1 == extra + timed + extra;
        for (kind, (scratch, times)) in Kind::ALL
            .into_iter()
            .zip(scratch.iter_mut().zip(&mut times))
        {
            batches.poison(scratch)?;
            let found = match last {
                true => {
                    let mut found = Vec::new();
                    let recording = record(device, || anyhow::Ok(found = batches.serve(scratch)?))?;
                    part.keep(kind.name(), &recording);
                    found
                }
                false => batches.serve(scratch)?,
            };
            if (extra..extra + timed).contains(&round) {
                for (batch, (latency, calls)) in found.into_iter().enumerate() {
                    times.latencies[batch].push(latency);
                    times.calls.push(calls);
                }
            }
            if last || part.options().validate {
                check::add(&mut checked, batches.check())?;
            }
        }
    }
    part.claim(
        "all variants do the same work",
        true,
        batches.plan(),
        "as planned",
    );
    let sentence = "every element is right with each of them";
    part.claim_right(sentence, "elements", &checked);
    let error = batches.largest_error()?;
    let limit = format!("at most {TOLERANCE:.0e}, against double precision");
    part.claim(
        "the largest error",
        error <= TOLERANCE,
        format!("{error:.1e}"),
        limit,
    );
    say_memory(part, &batches, &scratch)?;
    judge(part, &lengths, &times);
    Ok(())
}

/// The batches' lengths, scaled so that the longest has the matrix of scores asked for.
fn lengths(part: &Part) -> anyhow::Result<[usize; LENGTHS.len()]> {
    let longest = part.elements::<f32>(SCORES)?.isqrt();
    if longest > MOST_TOKENS {
        return Err(UsageError(format!(
            "--size {}: the scores of more than {MOST_TOKENS} tokens",
            part.size(SCORES)
        ))
        .into());
    }
    Ok(LENGTHS.map(|length| (length * longest).div_ceil(LONGEST)))
}

fn say_memory(
    part: &mut Part,
    batches: &Batches,
    scratch: &[scratch::Scratch],
) -> anyhow::Result<()> {
    for one in scratch {
        if let scratch::Scratch::Pool(pool) = one {
            let statistics = pool.statistics()?;
            part.say(format!(
                "Scratch memory: the arena has {} for itself; the pool used at most {} of the {} that it has reserved.",
                units::bytes((batches.most_scratch() * size_of::<f32>()) as u64),
                units::bytes(statistics.used_high),
                units::bytes(statistics.reserved),
            ));
        }
    }
    Ok(())
}

fn judge(part: &mut Part, lengths: &[usize], times: &[Times]) {
    let modelled = part.device().times();
    let mut by_length = Table::new([
        "batch",
        "cuMemAlloc",
        "pool",
        "arena",
        "pool against cuMemAlloc",
    ]);
    for (batch, length) in lengths.iter().enumerate() {
        let median = |variant: usize| {
            let times = Durations::new(times[variant].latencies[batch].clone());
            times.map_or(Duration::ZERO, |times| times.median())
        };
        let [malloc, pool, arena] = [0, 1, 2].map(median);
        let ratio = units::ratio(malloc.as_secs_f64() / pool.as_secs_f64());
        let cells = [malloc, pool, arena]
            .map(units::time)
            .into_iter()
            .chain([ratio]);
        by_length.row(
            [match length {
                1 => "1 token".to_owned(),
                more => format!("{more} tokens"),
            }]
            .into_iter()
            .chain(cells),
        );
    }
    let mut table = Table::new(["latency of a batch", "p50", "p99", "max", "in its calls"]);
    let mut all = Vec::new();
    for (kind, times) in Kind::ALL.into_iter().zip(times) {
        let Some(latencies) = Durations::new(times.latencies.concat()) else {
            return;
        };
        let whole: Duration = times.latencies.iter().flatten().sum();
        let share = times.calls.iter().sum::<Duration>().as_secs_f64() / whole.as_secs_f64();
        let cells = [
            latencies.percentile(50),
            latencies.percentile(99),
            latencies.max(),
        ];
        let cells = cells
            .map(units::time)
            .into_iter()
            .chain([units::percent(share)]);
        table.row([kind.name().to_owned()].into_iter().chain(cells));
        let group = format!("{} batches", LENGTHS.len());
        part.timed(
            &group,
            kind.name(),
            examples_host::results::Kind::Other,
            &latencies,
        );
        all.push((latencies, whole));
    }
    part.say(format!("Median of each batch, {modelled}:\n{by_length}"));
    part.say(table);
    let (malloc, pool, arena) = (&all[0], &all[1], &all[2]);
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    let sentence = "with a pool the batches take less time than with cuMemAlloc";
    part.claim_ratio_at_least(sentence, ratio(malloc.1, pool.1), 1.05);
    let sentence = "the slowest in a hundred too";
    let tail = ratio(malloc.0.percentile(99), pool.0.percentile(99));
    part.claim_ratio_at_least(sentence, tail, 1.0);
    let near = ratio(pool.1, arena.1);
    let limit = format!("at most {}", units::ratio(AS_ARENA));
    let found = format!("{} {modelled}", units::ratio(near));
    part.claim(
        "with an arena they take hardly less",
        near <= AS_ARENA,
        found,
        limit,
    );
}
