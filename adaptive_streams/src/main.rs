//! Can a program choose its number of streams while it runs?
//!
//! How many streams, and chunks of which size, serve a pipeline best depends on how long its kernels are beside its copies. That
//! ratio may change while the program runs. A controller measures it with events, and chooses anew. This example compares it
//! with every fixed choice, and with what could have been chosen had all been known before.

mod choose;
mod controller;
mod decide;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("adaptive_streams", "Streams and chunk size chosen while the work changes")
        .part(
            "controller",
            "Does a controller keep up with work that changes?",
            &[Iterations],
            verdicts::controller::run,
        )
        .needs(&[Need::CopyEngines(2)])
        .main()
}
