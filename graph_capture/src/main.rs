//! What does a program gain when it launches many small kernels as one graph?
//!
//! A stream that captures runs nothing: what is enqueued becomes nodes of a graph, and events become its edges. The graph
//! is then launched as often as one likes, with one call. This example asks what that gains, what it costs to change a
//! graph, and what cannot be captured. Each part predicts, measures, and says whether its lesson holds on this device.

mod refused;
mod replay;
mod update;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("graph_capture", "Many small kernels as one graph")
        .part(
            "replay",
            "What does the host save when streams and events become a graph?",
            &[Iterations],
            verdicts::replay::run,
        )
        .part(
            "update",
            "What does it cost to launch a graph with other arguments?",
            &[Iterations],
            verdicts::update::run,
        )
        .part(
            "refused",
            "What may a program not do while it captures?",
            &[],
            verdicts::refused::run,
        )
        .main()
}
