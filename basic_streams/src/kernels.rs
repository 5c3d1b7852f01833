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
//! With S streams the device can work on S kernels at a time, until something else is short: here the
//! rate at which it starts kernels, one after the other. The bound is the time on one stream, divided by
//! S; the knee is where the measured time leaves it. Were streams ignored, every row of the table would
//! show the same time; could the device start any number at once, the last row would show the time of a
//! single kernel.

use crate::gate::{self, Gate};
use crate::jobs::Jobs;
use examples_host::prelude::*;
use examples_host::recording;
use std::time::Duration;

const KERNELS: usize = 128;
const STREAMS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Multiply-adds of each kernel: some 70 µs on an H200.
const ROUNDS: u32 = 30_000;
/// Up to here the bound must be reached.
const WITHIN_REACH: usize = 8;
/// Times below the bound by more than this share are errors of the measurement.
const NOISE: f64 = 0.05;
/// The knee is the last number of streams that reaches this share of the bound.
const KNEE: f64 = 0.8;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let device = part.device();
    let multiprocessors = device.multiprocessors()?;
    let streams: Vec<Stream> = (0..KERNELS)
        .map(|index| Stream::non_blocking(device, format!("stream {index}")))
        .collect::<Result<_>>()?;
    let streams: Vec<&Stream> = streams.iter().collect();
    let (mut gate, mut jobs) = (Gate::new(device)?, Jobs::new(streams[0], KERNELS, ROUNDS)?);

    let one = gate.median(part, &streams[..1], Jobs::plan(1), || jobs.launch([0]))?;
    part.predict(format!(
        "One kernel takes {} on one of {multiprocessors} multiprocessors. {KERNELS} of them on S streams take an\n\
         S-th of their time on one stream, until the device cannot start them any faster.",
        units::time(one)
    ));

    let mut checked = Ok(Checked::default());
    let times = sweep(part, 5, &STREAMS, |&count, check| {
        jobs.deal(&streams[..count])?;
        jobs.poison()?;
        let plan = Jobs::plan(KERNELS);
        let time = gate.time(&streams[..count], plan, || jobs.launch(0..KERNELS))?;
        if check {
            check::add(&mut checked, jobs.check(KERNELS))?;
        }
        anyhow::Ok([time])
    })?;
    part.claim_right("numbers", "every number is right", "numbers", &checked);

    let plan = Jobs::plan(KERNELS);
    let group = Label::new(VARIANTS, plan.to_string());
    part.planned(&group, &plan);
    for (count, [times]) in STREAMS.iter().zip(&times) {
        part.timed(&group, variant(*count), Kind::Makespan, times);
    }
    let medians: Vec<Duration> = times.iter().map(|[times]| times.median()).collect();
    let rows: Vec<Row> = STREAMS
        .iter()
        .zip(&medians)
        .map(|(&streams, &median)| Row {
            streams,
            bound: one.max(medians[0].div_f64(streams as f64)),
            median,
        })
        .collect();
    part.say(table(part, &rows));
    judge(part, &rows);

    jobs.deal(&streams)?;
    let recording = gate::behind(recording::record(device, || {
        let all = || jobs.launch(0..KERNELS);
        gate.time(&streams, Jobs::plan(KERNELS), all).map(drop)
    })?);
    part.chart(variant(KERNELS), &recording, Rows::Streams);
    let resident = recording.max_concurrency(Engine::Kernel);
    part.claim(
        "resident",
        "kernels that were seen running at the same time",
        resident >= KERNELS / 2,
        format!("{resident} of {KERNELS} on {KERNELS} streams"),
        format!("at least {}", KERNELS / 2),
    );
    Ok(())
}

/// A number of streams, as a variant.
fn variant(streams: usize) -> Label {
    Label::new(format!("streams-{streams}"), format!("{streams} streams"))
}

/// What was found for a number of streams.
struct Row {
    streams: usize,
    bound: Duration,
    median: Duration,
}

impl Row {
    /// How much of the bound was reached: 1 at the bound, less above it.
    fn reached(&self) -> f64 {
        self.bound.as_secs_f64() / self.median.as_secs_f64()
    }
}

fn table(part: &Part, rows: &[Row]) -> Table {
    let mut table = Table::new([
        "streams",
        "bound",
        &format!("median, {}", part.device().times()),
        "speed-up",
        "of the bound",
    ]);
    for row in rows {
        table.row([
            row.streams.to_string(),
            units::time(row.bound),
            units::time(row.median),
            units::ratio(rows[0].median.as_secs_f64() / row.median.as_secs_f64()),
            units::percent(row.reached()),
        ]);
    }
    table
}

fn judge(part: &mut Part, rows: &[Row]) {
    let knee = rows.iter().rfind(|row| row.reached() >= KNEE);
    part.say(format!(
        "The knee is at {} streams, the last to reach {} of the bound.",
        knee.map_or(1, |row| row.streams),
        units::percent(KNEE)
    ));
    for row in rows
        .iter()
        .filter(|row| (2..=WITHIN_REACH).contains(&row.streams))
    {
        let sentence = format!("{} streams reach the bound", row.streams);
        part.claim_share_at_least(
            format!("reach-bound/streams-{}", row.streams),
            &sentence,
            row.reached(),
            0.85,
        );
    }
    let most = rows.iter().map(Row::reached).fold(0.0, f64::max);
    part.claim_share_at_most(
        "not-below-bound",
        "none is faster than the bound",
        most,
        1.0 + NOISE,
    );
    let slower = rows
        .windows(2)
        .find(|pair| pair[1].median > pair[0].median.mul_f64(1.0 + NOISE));
    part.claim(
        "never-slower",
        "more streams are never slower",
        slower.is_none(),
        slower.map_or("they are not".to_owned(), |pair| {
            format!("{} streams are", pair[1].streams)
        }),
        format!("within {}", units::percent(NOISE)),
    );
}
