//! Who schedules a pipeline: the programmer, a captured graph, or a scheduler that knows what each task reads and writes?
//!
//! A schedule says in which stream an operation runs, and which events it waits for. Written by hand it is as good as the
//! care that went into it. Both can be derived: an operation must wait for the earlier ones with which it conflicts, and for
//! no others. This example asks whether a derived schedule is as fast as one by hand, and what becomes of it when a
//! declaration is wrong. No compiler takes part in these: a library derives the schedule while the program runs, from what the
//! program declares. A compiler schedules the instructions within each kernel, and knows nothing of streams and events: a third
//! part compares loops that nvcc has scheduled with one that is scheduled by hand.

mod declarations;
mod loops;
mod pipeline;
mod scheduler;
mod verdicts;

use examples_host::part_option::PartOption::{Chunks, Iterations, Size};
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("schedules", "Streams and events: by hand, captured, or derived")
        .part(
            "pipeline",
            "Is a derived schedule as fast as one by hand?",
            &[Iterations, Size, Chunks],
            verdicts::pipeline::run,
        )
        .part(
            "declarations",
            "What becomes of a schedule when a declaration is wrong?",
            &[],
            verdicts::declarations::run,
        )
        .part(
            "loops",
            "Does a compiler schedule a loop's loads as well as a programmer?",
            &[Iterations],
            verdicts::loops::run,
        )
        .main()
}
