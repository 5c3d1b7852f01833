//! What happens when a GPU runs out of something?
//!
//! Streams allow work to run at the same time; whether it does depends on places for blocks, on how many grids may be
//! resident, and on memory. This example uses up each. Each part predicts, measures, and says whether its lesson holds on
//! this device.

mod grids;
mod occupancy;
mod requests;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("exhaustion", "What happens when a GPU runs out of something")
        .part(
            "occupancy",
            "How many kernels run at once when each fills a multiprocessor?",
            &[Iterations],
            verdicts::occupancy::run,
        )
        .part("grids", "How many grids may be resident?", &[Iterations], verdicts::grids::run)
        .part(
            "requests",
            "What is lost when a request cannot be met?",
            &[],
            verdicts::requests::run,
        )
        .needs(&[Need::MemoryPools])
        .main()
}
