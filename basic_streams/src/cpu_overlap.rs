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
//! The one takes the sum, the other the longer of the two. If the launch blocked the host, both would take the sum.

mod histogram;

use crate::jobs::Jobs;
use examples_host::prelude::*;
use histogram::Histogram;

/// Multiply-adds of the kernel: about 1 ms on an H200.
const ROUNDS: u32 = 430_000;
const TEXT_BYTES: usize = 1 << 20;

/// The GPU's work and the CPU's.
struct Work {
    kernel: Jobs,
    text: Histogram,
}

impl Work {
    fn launch(&mut self) -> Result<()> {
        self.kernel.launch([0])
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let device = part.device();
    let stream = Stream::non_blocking(device, "stream")?;
    let mut work = Work {
        kernel: Jobs::new(&stream, 1, ROUNDS)?,
        text: Histogram::of_random_text(TEXT_BYTES),
    };

    let watch = Stopwatch::new(device)?;
    let gpu = watch.median(part.iterations(10), [&stream], || work.launch())?;
    let cpu = watch.median(part.iterations(10), [&stream], || {
        work.text.count();
        Ok::<_, Error>(())
    })?;
    part.predict(format!(
        "Alone: the kernel {}, the CPU's work {}. One after the other takes the sum, {};\n\
         at the same time takes the longer, {}.",
        units::time(gpu),
        units::time(cpu),
        units::time(gpu + cpu),
        units::time(gpu.max(cpu)),
    ));

    let outcomes = Comparison::new(VARIANTS, Jobs::plan(1))
        .variant(
            ("after-wait", "work after the wait"),
            &[&stream],
            |work: &mut Work| {
                work.launch()?;
                stream.synchronize()?;
                work.text.count();
                Ok(())
            },
        )
        .variant(
            ("while-running", "work while it runs"),
            &[&stream],
            |work| {
                work.launch()?;
                work.text.count();
                Ok(())
            },
        )
        .prepare(|work| {
            work.text.forget();
            Ok(work.kernel.poison()?)
        })
        .check(|work| {
            work.text.check()?;
            work.kernel.check(1)
        })
        .run(part, &mut work)?;
    part.say(measure::table(&outcomes, device.times()));

    let [after, during] = &outcomes[..] else {
        anyhow::bail!("{} outcomes of two variants", outcomes.len());
    };
    let (after, during) = (after.median(), during.median());
    // A CPU's speed changes from one millisecond to the next: its time alone is no more than a hint.
    part.claim_time_near(
        "sum/after-wait",
        "work after the wait takes the sum",
        after,
        gpu + cpu,
        0.5,
    );
    let shorter = gpu.min(cpu);
    anyhow::ensure!(
        !shorter.is_zero(),
        "the kernel or the CPU's work took no time"
    );
    let hidden = after.saturating_sub(during).as_secs_f64() / shorter.as_secs_f64();
    part.claim_share_at_least(
        "hidden/while-running",
        "work while it runs hides the shorter of the two",
        hidden,
        0.8,
    );
    Ok(())
}
