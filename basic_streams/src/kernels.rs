//! kernels: how many small kernels run at once?
//!
//! A fixed number of kernels, each of one block, far too small for the device, is dealt to S streams:
//!
//! ```text
//! S = 1   K0 K1 K2 K3 K4 K5 ..         S = 3   K0 K3 ..
//!                                              K1 K4 ..
//!                                              K2 K5 ..
//! ```
//!
//! With S streams the device can work on S kernels at a time, until something else is short: here the rate at which
//! it starts kernels, one after the other. The bound is the time of the longest stream; the knee is where the
//! measured time leaves it. Were streams ignored, every row of the table would show the same time; were the device able to
//! run anything at once, the last row would show the time of a single kernel.

use crate::gate::{self, Gate};
use crate::jobs::Jobs;
use examples_host::intervals::max_concurrency;
use examples_host::prelude::*;
use examples_host::recorder;
use std::time::Duration;

const KERNELS: usize = 128;
const STREAMS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Multiply-adds of each kernel: some 70 µs on an H200.
const ROUNDS: u32 = 30_000;
/// Up to here the bound must be reached.
const WITHIN_REACH: usize = 8;
/// The knee is the last number of streams that reaches this share of the bound.
const KNEE: f64 = 0.8;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let device = part.device();
    let multiprocessors = device.multiprocessors()?;
    part.require(
        multiprocessors >= 8,
        "multiprocessors",
        "8, so that a block fills at most an eighth of them",
    )?;
    let streams: Vec<Stream> = (0..KERNELS)
        .map(|index| Stream::non_blocking(device, format!("stream {index}")))
        .collect::<Result<_>>()?;
    let streams: Vec<&Stream> = streams.iter().collect();
    let (mut gate, mut jobs) = (Gate::new(device)?, Jobs::new(streams[0], KERNELS, ROUNDS)?);

    let one = gate.time(&streams[..1], 1, || jobs.launch([0]))?;
    part.predict(format!(
        "One kernel takes {} on one of {multiprocessors} multiprocessors. {KERNELS} of them on S streams take at least\n\
         {KERNELS}/S times that, and not less than one kernel.",
        units::time(one)
    ));

    let mut checked = Checked::default();
    let times = sweep(part, 5, &STREAMS, |&count, last| {
        jobs.deal(&streams[..count])?;
        jobs.poison()?;
        let time = gate.time(&streams[..count], KERNELS, || jobs.launch(0..KERNELS))?;
        if last {
            checked = checked.and(jobs.check(KERNELS)?);
        }
        anyhow::Ok([time])
    })?;
    part.claim(
        "every number is right",
        true,
        format!("{} numbers", checked.elements),
        "checked against the CPU",
    );

    let medians: Vec<Duration> = times.iter().map(|[times]| times.median()).collect();
    let share =
        |index: usize| bound(one, STREAMS[index]).as_secs_f64() / medians[index].as_secs_f64();
    part.say(table(part, one, &medians, share));
    judge(part, &medians, share);

    let resident = |time: &mut Gate, jobs: &mut Jobs| {
        jobs.deal(&streams)?;
        recorder::record(device, || {
            time.time(&streams, KERNELS, || jobs.launch(0..KERNELS))
                .map(drop)
        })
    };
    let recording = resident(&mut gate, &mut jobs)?;
    let grids = max_concurrency(recording.spans(|interval| interval.name != gate::KERNEL));
    part.claim(
        "kernels that were seen running at the same time",
        grids >= KERNELS / 2,
        format!("{grids} of {KERNELS} on {KERNELS} streams"),
        format!("at least {}", KERNELS / 2),
    );
    Ok(())
}

/// The time of the stream with the most kernels.
fn bound(one: Duration, streams: usize) -> Duration {
    one * u32::try_from(KERNELS.div_ceil(streams)).unwrap_or(u32::MAX)
}

fn table(part: &Part, one: Duration, medians: &[Duration], share: impl Fn(usize) -> f64) -> Table {
    let mut table = Table::new([
        "streams",
        "bound",
        &format!("median, {}", part.device().times()),
        "speed-up",
        "of the bound",
    ]);
    for (index, (&count, &median)) in STREAMS.iter().zip(medians).enumerate() {
        table.row([
            count.to_string(),
            units::time(bound(one, count)),
            units::time(median),
            units::ratio(medians[0].as_secs_f64() / median.as_secs_f64()),
            units::percent(share(index)),
        ]);
    }
    table
}

fn judge(part: &mut Part, medians: &[Duration], share: impl Fn(usize) -> f64) {
    let knee = (0..STREAMS.len())
        .rev()
        .find(|&index| share(index) >= KNEE)
        .map_or(1, |index| STREAMS[index]);
    part.say(format!(
        "The knee is at {knee} streams, the last to reach {} of the bound.",
        units::percent(KNEE)
    ));
    for (index, &count) in STREAMS
        .iter()
        .enumerate()
        .filter(|(_, count)| **count <= WITHIN_REACH)
    {
        part.claim_share_at_least(
            &format!("{count} streams reach the bound"),
            share(index),
            0.85,
        );
    }
    let slower = STREAMS
        .iter()
        .zip(medians.windows(2))
        .find(|(_, pair)| pair[1] > pair[0].mul_f64(1.05));
    part.claim(
        "more streams are never slower",
        slower.is_none(),
        slower.map_or("they are not".to_owned(), |(count, _)| {
            format!("twice {count} streams are")
        }),
        "within 5 %",
    );
}
