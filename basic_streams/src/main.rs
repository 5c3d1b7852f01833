//! What may run at the same time on a GPU, and how does a program express it?
//!
//! Operations in one stream run in order; operations in different streams may run at the same time. This example
//! asks what that is worth, seven times: each part predicts, measures, and says whether its lesson holds on this
//! device.

mod connections;
mod cpu_overlap;
mod default_stream;
mod gate;
mod issue_order;
mod jobs;
mod kernels;
mod pinned;
mod three_way;

use examples_host::part_option::PartOption::{Chunks, Iterations, Rounds, Size, Streams};
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("basic_streams", "Kernels, copies and the host at the same time")
        .part(
            "kernels",
            "How many small kernels run at once?",
            &[Iterations, Streams, Rounds],
            kernels::run,
        )
        .needs(&[Need::Multiprocessors(8)])
        .part(
            "cpu-overlap",
            "Can the CPU work while the GPU does?",
            &[Iterations],
            cpu_overlap::run,
        )
        .part(
            "three-way",
            "How close can three streams get to the fastest possible time?",
            &[Iterations, Size, Chunks],
            three_way::run,
        )
        .part(
            "default-stream",
            "What do the default streams wait for?",
            &[Iterations],
            default_stream::run,
        )
        .part(
            "issue-order",
            "Does the order matter in which streams are given their work?",
            &[Iterations, Size, Chunks],
            issue_order::run,
        )
        .part(
            "pinned",
            "What does page-locked memory change about a copy?",
            &[Iterations, Size],
            pinned::run,
        )
        .part(
            "connections",
            "When do independent streams wait for each other?",
            &[Iterations],
            connections::run,
        )
        .main()
}
