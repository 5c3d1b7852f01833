//! What may run at the same time on a GPU, and how does a program express it?
//!
//! Operations in one stream run in order; operations in different streams may run at the same time. This example
//! asks what that is worth, seven times: each part predicts, measures, and says whether its lesson holds on this
//! device.

mod connections;
mod cpu_overlap;
mod default_stream;
mod issue_order;
mod kernels;
mod pinned;
mod three_way;
mod verdicts;

use examples_host::part_option::PartOption::{Chunks, Iterations, Rounds, Size, Streams};
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("basic_streams", "Kernels, copies and the host at the same time")
        .part(
            "kernels",
            "How many small kernels run at once?",
            &[Iterations, Streams, Rounds],
            verdicts::kernels::run,
        )
        .needs(&[Need::Multiprocessors(8)])
        .part(
            "cpu-overlap",
            "Can the CPU work while the GPU does?",
            &[Iterations],
            verdicts::cpu_overlap::run,
        )
        .part(
            "three-way",
            "How close can three streams get to the fastest possible time?",
            &[Iterations, Size, Chunks],
            verdicts::three_way::run,
        )
        .part(
            "default-stream",
            "What do the default streams wait for?",
            &[Iterations],
            verdicts::default_stream::run,
        )
        .needs(&[Need::HostThreads])
        .part(
            "issue-order",
            "Does the order matter in which streams are given their work?",
            &[Iterations, Size, Chunks],
            verdicts::issue_order::run,
        )
        .part(
            "pinned",
            "What does page-locked memory change about a copy?",
            &[Iterations, Size],
            verdicts::pinned::run,
        )
        .part(
            "connections",
            "When do independent streams wait for each other?",
            &[Iterations],
            verdicts::connections::run,
        )
        .needs(&[Need::Processes])
        .main()
}
