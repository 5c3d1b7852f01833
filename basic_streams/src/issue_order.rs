//! issue-order: does it matter in which order independent chains of work are issued?
//!
//! Eight streams each copy a chunk in, run a small, long kernel on it and, in the second half of
//! the part, copy the chunk out again. Depth-first issues one stream's whole chain, then the next
//! stream's; breadth-first issues all copies in, then all kernels, then all copies out:
//!
//! ```text
//! depth-first    H0 K0 D0  H1 K1 D1  H2 K2 D2 ..
//! breadth-first  H0 H1 H2 ..  K0 K1 K2 ..  D0 D1 D2 ..
//! ```
//!
//! Only the order within a stream is a dependency. A device that looks at the heads of all streams
//! makes the same of both: the copies in one after the other, then the last one's kernel, then its
//! copy out. A device that feeds several streams through one queue, or both directions through one
//! engine, cannot: then the orders differ, and the charts show who waits for whom.

mod work;

use examples_host::prelude::*;
use std::time::Duration;
use work::{Chain, Stage, Work};

const IN_AND_OUT: [Stage; 3] = [Chain::copy_in, Chain::compute, Chain::copy_out];

impl Work {
    fn depth_first(&mut self, stages: &[Stage]) -> Result<()> {
        for chain in &mut self.chains {
            for stage in stages {
                stage(chain, &self.kernels)?;
            }
        }
        Ok(())
    }

    fn breadth_first(&mut self, stages: &[Stage]) -> Result<()> {
        for stage in stages {
            for chain in &mut self.chains {
                stage(chain, &self.kernels)?;
            }
        }
        Ok(())
    }

    /// The time of all copies in, of one kernel, and of one copy out, each without the others.
    fn alone(&mut self, part: &Part) -> Result<[Duration; 3]> {
        let streams = self.streams();
        let (all, first) = (Vec::from_iter(&streams), [&streams[0]]);
        let (watch, runs) = (Stopwatch::new(part.device())?, part.iterations(5));
        Ok([
            watch.median(runs, all, || self.breadth_first(&[Chain::copy_in]))?,
            watch.median(runs, first, || self.chains[0].compute(&self.kernels))?,
            watch.median(runs, first, || self.chains[0].copy_out(&self.kernels))?,
        ])
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let elements = part.elements::<f32>(ByteSize::mib(16))?;
    let streams = part.chunks(8, elements)?;
    let mut work = Work::new(part.device(), elements, streams)?;

    let [h, k, d] = work.alone(part)?;
    let (one_way, two_ways) = (h + k, h + k + d);
    let [h, k, d, in_only, in_and_out] = [h, k, d, one_way, two_ways].map(units::time);
    part.predict(format!(
        "Alone: the copies in of all {streams} streams {h}, one kernel {k}, one copy out {d}. Either order takes\n\
         the copies in and a kernel, {in_only}; if the streams also copy out, one of these more, {in_and_out}."
    ));

    let bytes = elements * size_of::<f32>();
    let plan = Plan::new().bytes_in(bytes).launches(streams, elements);
    orders(
        part,
        &mut work,
        ("in-kernel", plan),
        &IN_AND_OUT[..2],
        one_way,
    )?;
    orders(
        part,
        &mut work,
        ("in-kernel-out", plan.bytes_out(bytes)),
        &IN_AND_OUT,
        two_ways,
    )
}

/// Compares the two orders of issuing `stages`.
fn orders(
    part: &mut Part,
    work: &mut Work,
    (group, plan): (&'static str, Plan),
    stages: &[Stage],
    predicted: Duration,
) -> anyhow::Result<()> {
    let streams = work.streams();
    let streams: Vec<&Stream> = streams.iter().collect();
    let outcomes = Comparison::new(group, plan)
        .variant(
            ("depth-first", "depth-first"),
            &streams,
            |work: &mut Work| Ok(work.depth_first(stages)?),
        )
        .variant(("breadth-first", "breadth-first"), &streams, |work| {
            Ok(work.breadth_first(stages)?)
        })
        .prepare(|work| Ok(work.poison()?))
        .check(|work| {
            let not_copied_out_yet = &IN_AND_OUT[stages.len()..];
            work.breadth_first(not_copied_out_yet)?;
            work.check()
        })
        .run(part, work)?;
    let [depth, breadth] = &outcomes[..] else {
        anyhow::bail!("{} outcomes of two variants", outcomes.len());
    };

    part.say(format!("{plan}:"));
    part.say(measure::table(&outcomes, part.device().times()));
    for Outcome {
        name, recording, ..
    } in &outcomes
    {
        part.chart(name, recording, Rows::Streams);
        let hidden = recording.overlap(Engine::Kernel, Engine::HostToDevice);
        let share = hidden.as_secs_f64() / recording.busy(Engine::Kernel).as_secs_f64();
        let id = format!("{group}/kernels-beside-copies/{}", name.id);
        let sentence = format!("{name}: kernels run during copies in");
        part.claim_share_at_least(id, &sentence, share, 0.5);
    }
    part.say(difference(depth.median(), breadth.median()));
    for Outcome { name, times, .. } in &outcomes {
        let sentence = format!("{name} takes as long as predicted");
        let id = format!("{group}/as-predicted/{}", name.id);
        part.claim_time_near(id, &sentence, times.median(), predicted, 0.25);
    }
    Ok(())
}

/// What there is to say about the order.
fn difference(depth: Duration, breadth: Duration) -> String {
    let ratio = depth.as_secs_f64() / breadth.as_secs_f64();
    let (fast, slow) = match ratio {
        0.97..=1.03 => return "On this device the order makes no difference.".to_owned(),
        1.0.. => ("breadth-first", "depth-first"),
        _ => ("depth-first", "breadth-first"),
    };
    let ratio = units::ratio(ratio.max(1.0 / ratio));
    format!(
        "On this device {fast} is {ratio} as fast: issued {slow}, streams wait for one another."
    )
}
