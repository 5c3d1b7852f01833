//! cpu-overlap: can the CPU work while the GPU does?
//!
//! A launch returns when the kernel has been handed to the device, not when it has run. So the CPU may do something
//! else before it waits:
//!
//! ```text
//! work after the wait      GPU kkkkkkkk              work while it runs   GPU kkkkkkkk
//!                          CPU         cccccccc                           CPU cccccccc
//! ```
//!
//! The first takes the sum, the second the longer of the two. If the launch blocked the host, both would take the sum.

use crate::jobs::Jobs;
use cuda_host::prelude::*;
use cust::stream::Stream;
use examples_host::letters::Letters;
use examples_host::prelude::{Part, expect, share, time, units, variants};

/// Multiply-adds of the kernel: about 1 ms on an H200.
const ROUNDS: u32 = 430_000;
const TEXT_BYTES: usize = 1 << 20;

/// A kernel for the GPU, and letters for the CPU to count.
type Work = (Jobs, Letters);

fn after_wait((jobs, text): &mut Work, stream: &Stream) -> anyhow::Result<()> {
    jobs.compute(0, stream)?;
    stream.synchronize()?;
    text.count();
    Ok(())
}

fn while_running((jobs, text): &mut Work, stream: &Stream) -> anyhow::Result<()> {
    jobs.compute(0, stream)?;
    text.count();
    stream.synchronize()?;
    Ok(())
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let stream = stream::non_blocking()?.named("stream");
    let (jobs, mut text) = (Jobs::new(1, ROUNDS)?, Letters::random(TEXT_BYTES));
    let gpu = part.alone([&stream], || jobs.compute(0, &stream))?;
    let cpu = part.alone([], || {
        text.count();
        Ok(())
    })?;
    let (sum, shorter) = (gpu + cpu, gpu.min(cpu));
    part.predict(format!(
        "Alone: the kernel {}, the CPU's work {}. One after the other takes\n\
         the sum, {}; at the same time takes the longer of the two, {}.",
        units::time(gpu),
        units::time(cpu),
        units::time(sum),
        units::time(gpu.max(cpu)),
    ));

    let variants = variants! { work: Work;
        "after-wait", [&stream] => after_wait(work, &stream);
        "while-running", [&stream] => while_running(work, &stream);
    };
    let outcomes = part.compare("variants", Jobs::plan(1), &mut (jobs, text), variants)?;
    part.show(&outcomes);
    let [after, during] = outcomes.map(|outcome| outcome.median());

    let hidden = after.saturating_sub(during).div_duration_f64(shorter);
    // A CPU's speed changes from one millisecond to the next: its time alone is only a rough guide.
    expect! { part;
        "sum/after-wait", "work after the wait takes the sum" => time(after).near(sum, 0.5);
        "hidden/while-running", "work while the kernel runs hides the shorter of the two" => share(hidden).at_least(0.8);
    }
    part.take_away("A launch returns at once: the CPU's work belongs between launch and wait.");
    Ok(())
}
