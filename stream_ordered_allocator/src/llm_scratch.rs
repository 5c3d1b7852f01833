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
//! operating system. A pool puts both into the stream; it is asked for the largest batch's memory once before each round and
//! keeps it, so that what is timed is a pool that has grown, as a server's has after its first batches. An arena of the largest batch's size needs no allocator at all, but
//! has to know that size. All three run the same code. An output that differs from a computation in double precision, or a
//! pool whose batches take more than a quarter longer than the arena's, would prove this wrong.

mod batches;
mod layer;
mod reference;
mod scratch;

use crate::distribution;
use anyhow::Context;
use batches::{Batches, Served, TOLERANCE};
use examples_host::device::TimeSource;
use examples_host::options::UsageError;
use examples_host::prelude::*;
use examples_host::results;
use examples_host::statistics::Durations;
use scratch::{Kind, Scratch};
use std::time::Duration;

/// Tokens of each batch, where the longest has [`LONGEST`].
const LENGTHS: [usize; 8] = [128, 256, 512, 1024, 256, 128, 768, 384];
const LONGEST: usize = 1024;
/// The longest batch's matrix of scores: 512 tokens, so that half of each length is served by default.
const SCORES: ByteSize = ByteSize::mib(1);
/// Tokens of a batch that the kernels' 32-bit indices have room for.
const MOST_TOKENS: usize = 1 << 15;
/// Batches with cuMemAlloc take at least so much longer than with a pool.
const FASTER: f64 = 1.05;
/// A pool's batches take at most so much longer than an arena's.
const AS_ARENA: f64 = 1.25;

/// What the batches of one variant took.
#[derive(Default)]
struct Times {
    /// By batch: from before its first allocation to after the wait for its output.
    latencies: [Vec<Duration>; LENGTHS.len()],
    /// Calls of the allocator, batch by batch.
    calls: Vec<Duration>,
}

impl Times {
    /// Adds what each batch took, and the allocator's calls of that.
    fn add(&mut self, found: &[(Duration, Duration)]) {
        for (latencies, (latency, calls)) in self.latencies.iter_mut().zip(found) {
            latencies.push(*latency);
            self.calls.push(*calls);
        }
    }

    /// The median of each batch, in order. One slow call of the host's does not move it.
    fn medians(&self) -> Vec<Duration> {
        let durations = self
            .latencies
            .iter()
            .map(|times| Durations::new(times.clone()));
        let median =
            |times: Option<Durations>| times.map_or(Duration::ZERO, |times| times.median());
        durations.map(median).collect()
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(format!(
        "cuMemAlloc: every batch waits for the device where it frees, and batches with large matrices for the operating\n\
         system too: they take at least {} as long as with a pool, and the slowest no less. Pool and arena: no batch\n\
         waits but for its output, and a pool that has grown before takes at most {} as long as an arena.",
        units::ratio(FASTER),
        units::ratio(AS_ARENA),
    ));
    let (device, lengths) = (part.device(), lengths(part)?);
    let mut batches = Batches::new(device, &lengths)?;
    let mut scratch = Vec::new();
    for kind in Kind::ALL {
        scratch.push(kind.scratch(&batches.stream, batches.most_scratch())?);
    }
    let mut work = EqualWork::new(batches.plan());
    let (times, checked) = serve(part, &mut batches, &mut scratch, &mut work)?;
    part.claim_equal_work("equal-work", "all variants do the same work", &work);
    let sentence = "every element is right with each of them";
    part.claim_right("elements", sentence, "elements", &checked);
    let error = batches.largest_error()?;
    let limit = format!("at most {TOLERANCE:.0e}, against double precision");
    part.claim(
        "largest-error",
        "the largest error",
        error <= TOLERANCE,
        format!("{error:.1e}"),
        limit,
    );
    say_memory(part, &batches, &scratch)?;
    judge(part, &lengths, &times)
}

/// Serves all batches with each of the variants in turn, as often as they are to be timed.
fn serve(
    part: &mut Part,
    batches: &mut Batches,
    scratch: &mut [Scratch],
    work: &mut EqualWork,
) -> anyhow::Result<(Vec<Times>, Result<Checked, check::Mismatch>)> {
    let device = part.device();
    let mut times: Vec<Times> = scratch.iter().map(|_| Times::default()).collect();
    let mut checked = Ok(Checked::default());
    // One round warms up, and one more is recorded; a model needs neither.
    let extra = usize::from(device.times() == TimeSource::Measured);
    let timed = extra..extra + part.iterations(25);
    let last = timed.end + extra - 1;
    for round in 0..=last {
        for (kind, (scratch, times)) in Kind::ALL.iter().zip(scratch.iter_mut().zip(&mut times)) {
            batches.poison(scratch)?;
            let mut served = Served::default();
            if round == last {
                let recording = record(device, || {
                    served = batches.serve(scratch)?;
                    anyhow::Ok(())
                })?;
                part.keep((kind.id(), kind.name()), &recording);
            } else {
                served = batches.serve(scratch)?;
            }
            work.add(kind.name(), served.work);
            if timed.contains(&round) {
                times.add(&served.times);
            }
            if round == last || part.options().validate {
                check::add(&mut checked, batches.check())?;
            }
        }
    }
    Ok((times, checked))
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

fn say_memory(part: &mut Part, batches: &Batches, scratch: &[Scratch]) -> anyhow::Result<()> {
    for one in scratch {
        if let Scratch::Pool(pool) = one {
            let statistics = pool.statistics()?;
            part.say(format!(
                "Scratch memory: the arena has {} for itself; the pool used at most {} of the {} that it has reserved.\n\
                 Before each round it was asked for the largest batch's memory once, and kept it: what it takes a pool to\n\
                 grow is in none of these times.",
                units::bytes((batches.most_scratch() * size_of::<f32>()) as u64),
                units::bytes(statistics.used_high),
                units::bytes(statistics.reserved),
            ));
        }
    }
    Ok(())
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn judge(part: &mut Part, lengths: &[usize], times: &[Times]) -> anyhow::Result<()> {
    let source = part.device().times();
    let medians: Vec<_> = times.iter().map(Times::medians).collect();
    let mut table = Table::new(["tokens", "cuMemAlloc", "pool", "arena", "cuMemAlloc / pool"]);
    for (batch, length) in lengths.iter().enumerate() {
        let each = [0, 1, 2].map(|variant| medians[variant][batch]);
        let share = units::ratio(ratio(each[0], each[1]));
        let cells = each.map(units::time).into_iter().chain([share]);
        table.row([length.to_string()].into_iter().chain(cells));
    }
    part.say(format!("Median of each batch, {source}:\n{table}"));
    let mut table = Table::new(["latency of a batch", "p50", "p99", "max", "in its calls"]);
    for (kind, times) in Kind::ALL.into_iter().zip(times) {
        let latencies = Durations::new(times.latencies.concat()).context("no batch was timed")?;
        let whole = times.latencies.iter().flatten().sum();
        let share = units::percent(ratio(times.calls.iter().sum(), whole));
        let cells = distribution(&latencies).into_iter().chain([share]);
        table.row([kind.name().to_owned()].into_iter().chain(cells));
        part.timed(
            "batches",
            (kind.id(), kind.name()),
            results::Kind::Other,
            &latencies,
        );
    }
    part.say(table);
    let sums = [0, 1, 2].map(|variant| medians[variant].iter().sum());
    let slowest = [0, 1].map(|variant| medians[variant].iter().max().copied().unwrap_or_default());
    let sentence = "with a pool the batches take less time than with cuMemAlloc";
    part.claim_ratio_at_least("faster/pool", sentence, ratio(sums[0], sums[1]), FASTER);
    let sentence = "the slowest of them too";
    part.claim_ratio_at_least(
        "slowest-faster/pool",
        sentence,
        ratio(slowest[0], slowest[1]),
        1.0,
    );
    let near = ratio(sums[1], sums[2]);
    let found = format!("{} {source}", units::ratio(near));
    let (sentence, holds) = (
        "with a pool that has grown they take little longer than with an arena",
        near <= AS_ARENA,
    );
    part.claim(
        "near-arena/pool",
        sentence,
        holds,
        found,
        format!("at most {}", units::ratio(AS_ARENA)),
    );
    Ok(())
}
