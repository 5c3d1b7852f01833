//! What does the priority of a stream decide?
//!
//! When a multiprocessor has room for a block, blocks of the stream with the highest priority come first. This example
//! asks what that does for a small, urgent kernel while a large one runs, and what it does not do. Each part predicts,
//! measures, and says whether its lesson holds on this device.

mod copies;
mod urgent;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("stream_priority", "What the priority of a stream decides")
        .part(
            "urgent",
            "How long does a small kernel wait while a large one runs?",
            &[Iterations],
            verdicts::urgent::run,
        )
        .needs(&[Need::StreamPriorities])
        .part(
            "block-length",
            "Does a kernel of high priority stop one that runs?",
            &[Iterations],
            verdicts::block_length::run,
        )
        .needs(&[Need::StreamPriorities])
        .part(
            "copies",
            "Does a copy of high priority overtake others?",
            &[Iterations],
            verdicts::copies::run,
        )
        .needs(&[Need::StreamPriorities])
        .main()
}
