//! A lesson, as an author writes it: the lectures, their verdicts, and the list of its parts.

mod two_ways;
mod verdicts;

use examples_host::part_option::PartOption::{Chunks, Iterations, Size};
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("lesson", "Two directions of the link")
        .part(
            "two-ways",
            "Do both directions work at once?",
            &[Iterations, Size, Chunks],
            verdicts::two_ways::run,
        )
        .main()
}
