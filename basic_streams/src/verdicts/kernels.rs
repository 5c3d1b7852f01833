//! Measurements and claims of the part `kernels`.

mod scaling;

use super::gate::Gate;
use super::jobs::{CheckedJobs, numbers, plan};
use crate::kernels::Jobs;
use anyhow::{Result, bail};
use examples_host::options::UsageError;
use examples_host::part_option::PartOption::{Rounds, Streams};
use examples_host::prelude::*;

const KERNELS: usize = 128;
/// Multiply-adds of each kernel: some 70 µs on an H200.
const ROUNDS: u32 = 30_000;

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let most = part.streams(KERNELS);
    if most > KERNELS {
        bail!(UsageError(format!(
            "--streams {most} is more than the {KERNELS} kernels that there are"
        )));
    }
    let counts: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|&count| count < most).chain([most]).collect();
    let (rounds, gate) = (part.rounds(ROUNDS), Gate::new()?);
    let numbers = numbers(KERNELS, rounds);
    let jobs = Jobs::new(most, &numbers, rounds)?;
    let output = jobs.output.index(..);
    let mut known = CheckedJobs::new(jobs, output, &numbers, rounds);
    let (jobs, first) = (&known.jobs, &known.jobs.streams[..1]);
    let one = gate.least(part, first, plan(1), |start| Ok(jobs.round_robin(1, first, start)?))?;
    part.predict(format!(
        "One kernel takes {} on one of {} multiprocessors. On S streams,\n\
         {KERNELS} of them take 1/S of the time on one stream, until the device\n\
         cannot start them any faster.",
        units::time(one),
        part.device().multiprocessors()?
    ));

    let plan = plan(KERNELS);
    let scaling = scaling::scaling(
        part,
        plan,
        one,
        &counts,
        &mut known,
        |CheckedJobs { jobs, .. }, count| {
            let streams = &jobs.streams[..count];
            gate.time(streams, plan, |start| Ok(jobs.round_robin(KERNELS, streams, start)?))
        },
    )?;
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

    let (jobs, streams) = (&known.jobs, &known.jobs.streams[..]);
    let all = |start: &_| Ok(jobs.round_robin(KERNELS, streams, start)?);
    let recording = gate.recording(part, streams, plan, all)?;
    let used = recording.streams().len();
    if used != most {
        bail!("the kernels ran in {used} streams of {most}");
    }
    part.chart(scaling::variant(most), &recording, Rows::Streams);
    let resident = share(recording.max_concurrency(Engine::Kernel) as f64 / most as f64);
    expect! { part;
        "resident", "streams whose kernels were seen running at the same time" =>
            resident.at_least(0.5).for_any(&[Streams]).in_records_of(&recording);
    }
    part.take_away("Kernels of different streams run together, as fast as they can be started.");
    Ok(())
}
