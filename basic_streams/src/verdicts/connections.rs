//! Measurements and claims of the part `connections`.

mod settings;

use super::gate::Gate;
use super::jobs::{CheckedJobs, numbers, plan};
use crate::connections::{Jobs, ROUNDS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::points::AtPoints;
use examples_host::prelude::*;
use serde::{Deserialize, Serialize};
use settings::Setting;
use std::time::Duration;

const QUEUES: [usize; 3] = [1, 8, 32];
const STREAMS: [usize; 3] = [8, 16, 40];

/// What one process measured: the time of one kernel, and of both orders for each of [`STREAMS`].
#[derive(Serialize, Deserialize)]
struct Answer {
    one: Duration,
    orders: AtPoints,
}

fn measure(part: &mut Part) -> Result<Answer> {
    let streams = stream::non_blocking_numbered(40)?;
    let (gate, numbers) = (Gate::new()?, numbers(2 * streams.len(), ROUNDS));
    let jobs = Jobs::new(&numbers)?;
    let output = jobs.output.index(..);
    let mut known = CheckedJobs::new(jobs, output, &numbers, ROUNDS);
    let one = gate
        .least(part, &streams[..1], plan(1), |start| Ok(known.jobs.one(&streams[0], start)?))?;
    type SubmissionOrder = fn(&Jobs, &[Stream], &Event) -> CudaResult<()>;
    let points = STREAMS
        .map(|count| [(count, Jobs::depth_first as SubmissionOrder), (count, Jobs::breadth_first)]);
    let orders =
        part.at_points(5, points.as_flattened(), &mut known, |known, &(count, order)| {
            known.use_first(2 * count);
            let streams = &streams[..count];
            gate.time(streams, plan(2 * count), |start| Ok(order(&known.jobs, streams, start)?))
        })?;
    Ok(Answer { one, orders })
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
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
    settings::show(part, ["depth-first", "breadth-first"], &settings);

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
