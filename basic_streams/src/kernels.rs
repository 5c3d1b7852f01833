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
use cuda_host::prelude::*;
use cust::event::Event;
use cust::stream::Stream;
use examples_host::prelude::{Engine, Part, Rows, share, truth, units};
use examples_host::scaling;

const KERNELS: usize = 128;
const STREAMS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
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
    let streams = stream::non_blocking_numbered(KERNELS)?;
    let (gate, mut jobs) = (Gate::new()?, Jobs::new(KERNELS, ROUNDS)?);
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
    let scaling = part.scaling(plan, one, &STREAMS, &mut jobs, |jobs, count| {
        let streams = &streams[..count];
        gate.time(streams, plan, |open| round_robin(jobs, streams, open))
    })?;
    for count in [2, 4, 8] {
        let (id, reached) = (format!("reach-bound/streams-{count}"), scaling.reached(count));
        let sentence = format!("{count} streams reach the bound");
        part.expect(id, &sentence, share(reached).at_least(0.85));
    }
    let most = share(scaling.most_reached()).at_most(1.05);
    part.expect("not-below-bound", "no number of streams is faster than its bound", most);
    let never = scaling.never_slower();
    part.expect("never-slower", "the time never grows with more streams", never);

    let recording =
        gate.recording(part, &streams, plan, |open| round_robin(&jobs, &streams, open))?;
    part.chart(scaling::variant(KERNELS), &recording, Rows::Streams);
    let resident = recording.max_concurrency(Engine::Kernel);
    let (found, least) = (format!("{resident} of {KERNELS}"), KERNELS / 2);
    let resident = truth(resident >= least, found, format!("at least {least}"));
    part.expect("resident", "kernels seen running at the same time", resident);
    part.take_away("Kernels of different streams run together, as fast as they can be started.");
    Ok(())
}
