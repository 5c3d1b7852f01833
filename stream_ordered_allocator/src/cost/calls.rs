//! The calls alone: an allocation and its free, while the device has nothing to do.

use super::JUDGED;
use super::source::{Kind, Source};
use crate::distribution;
use anyhow::Context;
use examples_host::device::TimeSource;
use examples_host::prelude::*;
use examples_host::results;
use examples_host::statistics::Durations;
use std::time::Duration;

/// Pairs of calls that are timed one after another, without a wait unless it is part of the pair.
const PAIRS: usize = 100;
/// The share of the cost that a pool has to remove at [`JUDGED`].
const REMOVED: f64 = 0.95;

/// What is timed: a source of memory, and whether the host waits for the stream after each free, and its
/// label.
const PAIRINGS: [(Kind, bool, (&str, &str)); 4] = [
    (Kind::Malloc, false, ("malloc", "cuMemAlloc, cuMemFree")),
    (
        Kind::Threshold0,
        true,
        ("pool-threshold-0-wait", "pool, threshold 0, a wait each"),
    ),
    (
        Kind::ThresholdMax,
        true,
        (
            "pool-threshold-max-wait",
            "pool, threshold max, a wait each",
        ),
    ),
    (
        Kind::ThresholdMax,
        false,
        ("pool-threshold-max", "pool, threshold max, no wait"),
    ),
];

/// Times the variants at each size.
pub fn run(part: &mut Part, sizes: &[usize]) -> anyhow::Result<()> {
    let stream = Stream::non_blocking(part.device(), "calls")?;
    let mut table = Table::new([
        "an allocation and its free",
        "p50",
        "p99",
        "max",
        "of cuMemAlloc",
    ]);
    let mut hardly = Vec::new();
    let mut judged = None;
    for &bytes in sizes {
        let found = at(part, &stream, bytes)?;
        let p50 = |index: usize| found[index].percentile(50).as_secs_f64();
        let removed = |index: usize| 1.0 - p50(index) / p50(0);
        for (index, times) in found.iter().enumerate() {
            let (size, variant) = (units::bytes(bytes as u64), PAIRINGS[index].2);
            let name = format!("{size}, {}", variant.1);
            let share = units::percent(1.0 - removed(index));
            table.row([name].into_iter().chain(distribution(times)).chain([share]));
            let id = format!("calls/{}", units::bytes_id(bytes as u64));
            let group = (id, format!("calls, {size}"));
            part.timed(group, variant, results::Kind::Other, times);
        }
        if removed(2) < 0.5 {
            hardly.push(units::bytes(bytes as u64));
        }
        if bytes == JUDGED {
            judged = Some(removed(3));
        }
    }
    part.say(table);
    say_where_it_does_not_pay(part, &hardly);
    if let Some(removed) = judged {
        let sentence = format!(
            "{}: the pool removes the cost of cuMemAlloc",
            units::bytes(JUDGED as u64)
        );
        part.claim_share_at_least("calls/cost-removed", &sentence, removed, REMOVED);
    }
    Ok(())
}

/// The latencies of each variant's pairs at one size, in turn.
fn at(part: &Part, stream: &Stream, bytes: usize) -> anyhow::Result<Vec<Durations>> {
    let (device, elements) = (part.device(), bytes / size_of::<f32>());
    let mut sources = Vec::new();
    for (kind, ..) in PAIRINGS {
        sources.push(Source::new(
            kind,
            device,
            std::slice::from_ref(stream),
            elements,
        )?);
    }
    let mut times = vec![Vec::new(); PAIRINGS.len()];
    let warm_up = usize::from(device.times() == TimeSource::Measured);
    for round in 0..warm_up + part.iterations(5) {
        for (index, (_, wait, _)) in PAIRINGS.into_iter().enumerate() {
            let pairs = pairs(&mut sources[index], stream, elements, wait)?;
            if round >= warm_up {
                times[index].extend(pairs);
            }
        }
    }
    let times = times.into_iter().map(Durations::new);
    times.collect::<Option<_>>().context("no pair was timed")
}

fn pairs(
    source: &mut Source,
    stream: &Stream,
    elements: usize,
    wait: bool,
) -> Result<Vec<Duration>> {
    let mut times = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        let begin = host_clock::now();
        let memory = source.allocate(0, stream, elements)?;
        source.free(0, memory);
        if wait {
            stream.synchronize()?;
        }
        times.push(host_clock::now() - begin);
    }
    stream.synchronize()?;
    Ok(times)
}

/// The driver keeps small memory that is freed, and serves cuMemAlloc from it.
fn say_where_it_does_not_pay(part: &mut Part, hardly: &[String]) {
    if hardly.is_empty() {
        return part.say("A pool more than halves the calls' cost at each of these sizes, even with a wait each.");
    }
    part.say(format!(
        "Where the host waits after each free, a pool does not pay at {}: it removes less than half of\n\
         the calls' cost there, if anything, because the driver keeps small memory for cuMemAlloc too.",
        hardly.join(", ")
    ));
}
