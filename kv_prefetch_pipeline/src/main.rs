//! How does attention keep the memory busy while it computes?
//!
//! A decode step reads every key and value once and computes little with each: it is as fast as memory, if memory never waits. A block
//! that loads a page, waits, computes and loads the next one leaves memory idle in between. Bulk copies into a ring of stages fetch the
//! next pages meanwhile. Each part predicts, measures, and says whether its lesson holds on this device.

mod in_flight;
mod stages;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

/// Bulk copies that complete on mbarriers.
const NEEDS: &[Need] = &[Need::ComputeCapability(9, 0)];

fn main() -> ExitCode {
    Example::new("kv_prefetch_pipeline", "Attention over prefetched pages")
        .part("stages", "What does prefetching pages gain?", &[Iterations], verdicts::stages::run)
        .needs(NEEDS)
        .part("in-flight", "How many pages are really on their way?", &[], verdicts::in_flight::run)
        .needs(NEEDS)
        .main()
}
