//! What does an event measure, and what does waiting cost?
//!
//! An event marks a place in a stream. Two of them measure the time between these places, and a stream or the host can
//! wait for one. This example asks what goes wrong, five times: each part predicts, measures, and says whether its lesson
//! holds on this device.

mod circular_wait;
mod granularity;
mod over_synchronisation;
mod synchronisation;
mod verdicts;
mod ways;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("event_timing", "What events measure and what waiting costs")
        .part(
            "ways",
            "How long does the work take, and who says so?",
            &[Iterations],
            verdicts::ways::run,
        )
        .part(
            "synchronisation",
            "What does it cost to wait before each of many small steps?",
            &[Iterations],
            verdicts::synchronisation::run,
        )
        .part(
            "granularity",
            "How much work should one event hand over?",
            &[Iterations],
            verdicts::granularity::run,
        )
        .part(
            "over-synchronisation",
            "What do waits cost that no order needs?",
            &[Iterations],
            verdicts::over_synchronisation::run,
        )
        .part(
            "circular-wait",
            "What if two streams wait for each other?",
            &[],
            verdicts::circular_wait::run,
        )
        .main()
}
