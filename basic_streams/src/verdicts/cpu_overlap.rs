//! Measurements and claims of the part `cpu-overlap`.

mod letters;

use super::jobs::{CheckedJobs, numbers, plan};
use crate::cpu_overlap::{Job, ROUNDS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use letters::Letters;

const TEXT_BYTES: usize = 1 << 20;

/// A kernel for the GPU, and letters for the CPU to count.
struct Both {
    gpu: CheckedJobs<Job>,
    cpu: Letters,
}

impl Workload for Both {
    fn poison(&mut self) -> Result<()> {
        self.cpu.poison();
        self.gpu.poison()
    }

    fn check(&mut self) -> Result<Checked> {
        self.cpu.check()?;
        self.gpu.check()
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let stream = stream::non_blocking()?.named("stream");
    let numbers = numbers(1, ROUNDS);
    let job = Job::new(&numbers)?;
    let output = job.output.index(..);
    let gpu = CheckedJobs::new(job, output, &numbers, ROUNDS);
    let mut both = Both { gpu, cpu: Letters::random(TEXT_BYTES) };
    let gpu = part.alone([&stream], || Ok(both.gpu.jobs.launch(&stream)?))?;
    let cpu = part.alone([], || {
        both.cpu.count();
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

    let variants = variants! { both: Both, differ in Order;
        "after-wait", [&stream] => Ok(both.gpu.jobs.after_wait(&stream, || both.cpu.count())?), waits 1;
        "while-running", [&stream] => Ok(both.gpu.jobs.while_running(&stream, || both.cpu.count())?), waits 1;
    };
    let outcomes = part.compare("variants", plan(1), &mut both, variants)?;
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
