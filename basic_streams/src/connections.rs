//! connections: when do independent streams wait for each other?
//!
//! A device takes work from a limited number of hardware queues (`CUDA_DEVICE_MAX_CONNECTIONS`: 1 to 32, usually 8). When
//! there are more streams, several share a queue, and a queue is served in order: what is at its head and must wait
//! holds up everything behind it, also work of other streams that could run. Two kernels a and b in each of two streams,
//! issued depth-first through one queue:
//!
//! ```text
//! queue   a1 b1 a2 b2      b1 waits for a1, and a2 waits behind b1: a false dependency
//! stream 1   aaaa bbbb
//! stream 2        aaaa bbbb
//! ```
//!
//! With n streams on q queues depth-first takes ceil(n / q) + 1 kernels' time. Breadth-first (all a, then all b) takes 2.
//! The variable is read when a process first uses the device, so each value is tried in a process of its own. If depth-first
//! took two kernels' time on one queue as well, there would be no such queue.

use crate::gate::Gate;
use crate::jobs::Jobs;
use cuda_host::prelude::*;
use cust::event::Event;
use cust::stream::Stream;
use examples_host::points::AtPoints;
use examples_host::prelude::{Checked, Label, Part};
use examples_host::prelude::{check, expect, ratio, right, share, time, truth, units};
use examples_host::settings::Setting;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const QUEUES: [usize; 3] = [1, 8, 32];
const STREAMS: [usize; 3] = [8, 16, 40];
/// Multiply-adds of each kernel: some 105 µs on an H200, long beside what starting 80 kernels takes.
const ROUNDS: u32 = 45_000;

/// Both kernels of a stream, then those of the next.
fn depth_first(jobs: &Jobs, streams: &[Stream], open: &Event) -> anyhow::Result<()> {
    for stream in streams {
        stream.wait(open)?;
    }
    for (index, stream) in streams.iter().enumerate() {
        jobs.compute(index, stream)?;
        jobs.compute(streams.len() + index, stream)?;
    }
    Ok(())
}

/// The first kernels of all streams, then the second.
fn breadth_first(jobs: &Jobs, streams: &[Stream], open: &Event) -> anyhow::Result<()> {
    for stream in streams {
        stream.wait(open)?;
    }
    for (index, stream) in streams.iter().enumerate() {
        jobs.compute(index, stream)?;
    }
    for (index, stream) in streams.iter().enumerate() {
        jobs.compute(streams.len() + index, stream)?;
    }
    Ok(())
}

/// What one process measured: the time of one kernel, and of both orders for each of [`STREAMS`].
#[derive(Serialize, Deserialize)]
struct Answer {
    one: Duration,
    orders: AtPoints,
}

fn measure(part: &mut Part) -> anyhow::Result<Answer> {
    let streams = stream::non_blocking_numbered(40)?;
    let (gate, mut jobs) = (Gate::new()?, Jobs::new(2 * streams.len(), ROUNDS)?);
    let one = gate.least(part, &streams[..1], Jobs::plan(1), |open| {
        streams[0].wait(open)?;
        jobs.compute(0, &streams[0])
    })?;
    type Order = fn(&Jobs, &[Stream], &Event) -> anyhow::Result<()>;
    let points = STREAMS.map(|count| [(count, depth_first as Order), (count, breadth_first)]);
    let orders = part.at_points(5, points.as_flattened(), &mut jobs, |jobs, &(count, order)| {
        jobs.use_first(2 * count);
        let streams = &streams[..count];
        gate.time(streams, Jobs::plan(2 * count), |open| order(jobs, streams, open))
    })?;
    Ok(Answer { one, orders })
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "n streams of two kernels on q queues: depth-first takes the time of\n\
         ceil(n / q) + 1 kernels, breadth-first that of 2.",
    );
    let answers = part.ask_with_environment("CUDA_DEVICE_MAX_CONNECTIONS", &QUEUES, measure)?;

    let (mut settings, mut checked, mut slowest) = (Vec::new(), Ok(Checked::default()), 0.0_f64);
    for (queues, Answer { one, orders }) in QUEUES.into_iter().zip(answers) {
        check::add(&mut checked, orders.checked.map_err(Into::into))?;
        for (streams, times) in STREAMS.into_iter().zip(orders.times.as_chunks().0) {
            let id = format!("connections-{queues}/streams-{streams}");
            let text = format!("connections: {queues}, streams: {streams}");
            let predicted = one * (streams.div_ceil(queues) + 1) as u32;
            let [depth, breadth] = times.each_ref().map(|times| times.median());
            let as_predicted = time(depth).near(predicted, 0.2);
            expect! { part; "depth-first/{id}", "depth-first, {text}" => as_predicted; }
            slowest = slowest.max(breadth.div_duration_f64(one * 2));
            settings.push(Setting { label: Label::new(id, text), predicted, times: times.clone() });
        }
    }
    part.show_settings(["depth-first", "breadth-first"], &settings);

    let [one_queue, many_queues] = [&settings[0], &settings[6]].map(Setting::ratio);
    let gone = truth(many_queues < 1.2, units::ratio(many_queues), "less than 1.20x");
    expect! { part;
        "breadth-first", "breadth-first takes two kernels' time, however few the queues" => share(slowest).at_most(1.3);
        "numbers", "every number is right" => right(&checked, "numbers");
        "false-dependency/connections-1", "1 connection: a false dependency appears" => ratio(one_queue).at_least(3.0);
        "no-false-dependency/connections-32", "32 connections: it has vanished" => gone;
    }
    part.take_away("Streams that share a hardware queue wait for each other: issue breadth-first.");
    Ok(())
}
