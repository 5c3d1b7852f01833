//! How should a program order a thousand tiny steps, each of which needs the one before?
//!
//! A step takes about a microsecond, and a launch costs the host more than that. This example asks who should keep the order
//! of such steps: the stream, a graph, the kernels themselves, or a barrier inside of one kernel that never goes away; what the
//! last one demands; and how the host hands more work to a kernel that runs. Each part predicts, measures, and says whether its lesson holds on this device.

mod queue;
mod residency;
mod steps;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("persistent_kernel", "A thousand dependent steps")
        .part(
            "steps",
            "What does a step cost when each needs the one before?",
            &[Iterations],
            verdicts::steps::run,
        )
        .needs(&[Need::CooperativeLaunch, Need::ComputeCapability(9, 0)])
        .part(
            "residency",
            "How many blocks may wait for each other?",
            &[],
            verdicts::residency::run,
        )
        .needs(&[Need::CooperativeLaunch])
        .part("queue", "Can a kernel that is running take more work?", &[], verdicts::queue::run)
        .main()
}
