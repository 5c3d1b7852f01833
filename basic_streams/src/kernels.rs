//! kernels: how many small kernels run at once?
//!
//! A fixed number of kernels, each of one block, far too small for the device, is dealt round-robin to S streams:
//!
//! ```text
//! S = 1   K0 K1 K2 K3 K4 K5 ..         S = 3   K0 K3 ..
//!                                              K1 K4 ..
//!                                              K2 K5 ..
//! ```
//!
//! On S streams the device can run S kernels at a time, until something else becomes scarce: here the rate at which
//! it starts kernels, one after the other. The bound is the time on one stream divided by S; the knee is where the
//! measured time leaves it. If streams made no difference, every row of the table would show the same time; if the
//! device started any number of kernels at once, the last row would show the time of a single kernel.

use crate::gate::Gate;
use crate::jobs::Jobs;
use anyhow::bail;
use cuda_host::prelude::*;
use cust::event::Event;
use cust::stream::Stream;
use examples_host::options::UsageError;
use examples_host::part_option::PartOption::{Rounds, Streams};
use examples_host::prelude::{Engine, Part, Rows, expect, ratio, share, units};
use examples_host::scaling;

const KERNELS: usize = 128;
/// Multiply-adds of each kernel: some 70 µs on an H200.
const ROUNDS: u32 = 30_000;

/// Kernel `i` goes to stream `i % S`. All streams wait until the host has issued every kernel.
fn round_robin(jobs: &Jobs, streams: &[Stream], open: &Event) -> anyhow::Result<()> {
    for stream in streams {
        stream.wait(open)?;
    }
    for kernel in 0..KERNELS {
        jobs.compute(kernel, &streams[kernel % streams.len()])?;
    }
    Ok(())
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let most = part.streams(KERNELS);
    if most > KERNELS {
        bail!(UsageError(format!(
            "--streams {most} is more than the {KERNELS} kernels that there are"
        )));
    }
    let counts: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|&count| count < most).chain([most]).collect();
    let streams = stream::non_blocking_numbered(most)?;
    let (gate, mut jobs) = (Gate::new()?, Jobs::new(KERNELS, part.rounds(ROUNDS))?);
    let one = gate.least(part, &streams[..1], Jobs::plan(1), |open| {
        streams[0].wait(open)?;
        jobs.compute(0, &streams[0])
    })?;
    part.predict(format!(
        "One kernel takes {} on one of {} multiprocessors. On S streams,\n\
         {KERNELS} of them take 1/S of the time on one stream, until the device\n\
         cannot start them any faster.",
        units::time(one),
        part.device().multiprocessors()?
    ));

    let plan = Jobs::plan(KERNELS);
    let scaling = part.scaling(plan, one, &counts, &mut jobs, |jobs, count| {
        let streams = &streams[..count];
        gate.time(streams, plan, |open| round_robin(jobs, streams, open))
    })?;
    for count in [2, 4, 8].into_iter().filter(|count| counts.contains(count)) {
        let reached = share(scaling.reached(count)).at_least(0.85).for_any(&[Streams]);
        expect! { part; "reach-bound/streams-{count}", "{count} streams reach the bound" => reached; }
    }
    expect! { part;
        "not-below-bound", "no number of streams is faster than its bound" =>
            share(scaling.most_reached()).at_most(1.05).for_any(&[Streams, Rounds]);
        "never-slower", "the time never grows with more streams" =>
            ratio(scaling.most_slower()).at_most(1.05).for_any(&[Streams]);
    }

    let recording =
        gate.recording(part, &streams, plan, |open| round_robin(&jobs, &streams, open))?;
    part.chart(scaling::variant(most), &recording, Rows::Streams);
    let resident = share(recording.max_concurrency(Engine::Kernel) as f64 / most as f64);
    expect! { part;
        "resident", "streams whose kernels were seen running at the same time" =>
            resident.at_least(0.5).for_any(&[Streams]).in_records_of(&recording);
    }
    part.take_away("Kernels of different streams run together, as fast as they can be started.");
    Ok(())
}
