//! How do dependent stages work at the same time?
//!
//! A stage may start with a chunk when the stage before has finished it, and continue with the next one while its result is
//! used. Who sees to the order decides what it costs: barriers between warps, an event between streams, a function on the
//! host. And whether it was seen to at all, the compiler can check.

mod event_chain;
mod forms;
mod hand_over;
mod host_callback;
mod verdicts;
mod warp_specialised;

use examples_host::part_option::PartOption::{Chunks, Iterations, Size};
use examples_host::prelude::*;
use multi_stream_pipeline::owned;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new(
        "multi_stream_pipeline",
        "Stages that hand their data on: streams, the host, the warps of a kernel",
    )
    .part(
        "warp-specialised",
        "What does warp specialisation gain in a kernel, and what do streams gain around it?",
        &[Iterations, Size, Chunks],
        verdicts::warp_specialised::run,
    )
    .needs(&[Need::MemoryPools])
    .part(
        "event-chain",
        "What closes the gaps between producer, consumer and output?",
        &[Iterations, Size, Chunks],
        verdicts::event_chain::run,
    )
    .part(
        "host-callback",
        "What does it cost to have the host between two stages?",
        &[Iterations, Size, Chunks],
        verdicts::host_callback::run,
    )
    .part(
        "hand-over",
        "Can the compiler check the order?",
        &[Iterations, Size, Chunks],
        verdicts::hand_over::run,
    )
    .main()
}
