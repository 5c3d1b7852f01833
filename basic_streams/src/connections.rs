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
//! The variable is read when a process first uses the device, so each value is tried in a process of its own.

use crate::gate::Gate;
use crate::jobs::Jobs;
use examples_host::check::Mismatch;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const QUEUES: [usize; 3] = [1, 8, 32];
const STREAMS: [usize; 3] = [8, 16, 40];
/// Multiply-adds of each kernel: some 105 µs on an H200, long beside what starting 80 kernels takes.
const ROUNDS: u32 = 45_000;

/// What one process measured.
#[derive(Serialize, Deserialize)]
struct Answer {
    one: Duration,
    /// Depth-first and breadth-first, for each of [`STREAMS`].
    orders: Vec<[Durations; 2]>,
    /// The numbers, compared with the CPU's.
    checked: Result<Checked, Mismatch>,
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "n streams of two kernels on q queues: depth-first takes ceil(n / q) + 1 kernels' time,\n\
         breadth-first 2.",
    );
    let answers =
        part.ask_with_environment("CUDA_DEVICE_MAX_CONNECTIONS", &QUEUES, |part| measure(part))?;

    let times = part.device().times();
    let mut table = Table::new([
        "connections",
        "streams",
        "predicted",
        &format!("depth-first, {times}"),
        &format!("breadth-first, {times}"),
    ]);
    let (mut checked, mut slowest_breadth) = (Ok(Checked::default()), 0.0_f64);
    for (queues, answer) in QUEUES.iter().zip(&answers) {
        check::add(&mut checked, answer.checked.clone().map_err(Into::into))?;
        for (streams, times) in STREAMS.iter().zip(&answer.orders) {
            let id = format!("connections-{queues}/streams-{streams}");
            let group = Label::new(
                id.clone(),
                format!("connections: {queues}, streams: {streams}"),
            );
            for (order, times) in ["depth-first", "breadth-first"].iter().zip(times) {
                part.timed(&group, (*order, *order), Kind::Makespan, times);
            }
            let [depth, breadth] = times.each_ref().map(Durations::median);
            let predicted = answer.one * predicted(*streams, *queues);
            table.row([
                queues.to_string(),
                streams.to_string(),
                units::time(predicted),
                units::time(depth),
                units::time(breadth),
            ]);
            let sentence = format!("depth-first, {streams} streams, connections: {queues}");
            part.claim_time_near(
                format!("depth-first/{id}"),
                &sentence,
                depth,
                predicted,
                0.2,
            );
            let share = breadth.as_secs_f64() / (2.0 * answer.one.as_secs_f64());
            slowest_breadth = slowest_breadth.max(share);
        }
    }
    part.say(table);
    part.claim_share_at_most(
        "breadth-first",
        "breadth-first takes two kernels' time, however few the queues",
        slowest_breadth,
        1.3,
    );
    part.claim_right("numbers", "every number is right", "numbers", &checked);
    let false_dependency = |answer: &Answer| {
        let [depth, breadth] = answer.orders[0].each_ref().map(Durations::median);
        depth.as_secs_f64() / breadth.as_secs_f64()
    };
    part.claim_ratio_at_least(
        "false-dependency/connections-1",
        "1 connection: a false dependency appears",
        false_dependency(&answers[0]),
        3.0,
    );
    let gone = false_dependency(&answers[2]);
    part.claim(
        "no-false-dependency/connections-32",
        "32 connections: it has vanished",
        gone < 1.2,
        units::ratio(gone),
        "less than 1.20x",
    );
    Ok(())
}

/// Kernels' times that n streams of two kernels take on q queues, issued depth-first.
fn predicted(streams: usize, queues: usize) -> u32 {
    u32::try_from(streams.div_ceil(queues) + 1).unwrap_or(u32::MAX)
}

/// Both orders for each number of streams, in this process.
fn measure(part: &mut Part) -> anyhow::Result<Answer> {
    let device = part.device();
    let most = STREAMS.into_iter().max().unwrap_or(1);
    let mut gate = Gate::new(device)?;
    let streams: Vec<Stream> = (0..most)
        .map(|index| Stream::non_blocking(device, format!("stream {index}")))
        .collect::<Result<_>>()?;
    let streams: Vec<&Stream> = streams.iter().collect();
    let mut jobs = Jobs::new(streams[0], 2 * most, ROUNDS)?;
    let one = gate.median(part, &streams[..1], Jobs::plan(1), || jobs.launch([0]))?;

    let mut checked = Ok(Checked::default());
    let orders = sweep(part, 5, &STREAMS, |&count, check| {
        // Stream s has the jobs s and count + s.
        let streams = &streams[..count];
        jobs.deal(streams)?;
        let mut time = |jobs: &mut Jobs, order: Vec<usize>| -> anyhow::Result<Duration> {
            jobs.poison()?;
            let plan = Jobs::plan(2 * count);
            let time = gate.time(streams, plan, || jobs.launch(order.iter().copied()))?;
            if check {
                check::add(&mut checked, jobs.check(2 * count))?;
            }
            Ok(time)
        };
        let depth = time(
            &mut jobs,
            (0..count)
                .flat_map(|stream| [stream, count + stream])
                .collect(),
        )?;
        let breadth = time(&mut jobs, (0..2 * count).collect())?;
        anyhow::Ok([depth, breadth])
    })?;
    Ok(Answer {
        one,
        orders,
        checked,
    })
}
