//! How far ahead must the CPU load so that the GPU never waits?
//!
//! Before a kernel can work on a batch, a CPU thread loads it (reads, decodes, augments) into page-locked memory, and a copy brings
//! it to the device. A ring of such buffers lets the thread load batches in advance: the *prefetch depth*. This example measures
//! how long the GPU is idle, and predicts it, with loads of equal length, with loads that vary, and with several threads.

mod depth;
mod verdicts;

use examples_host::part_option::PartOption::Iterations;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("data_loader", "CPU threads that feed a GPU through a ring of page-locked buffers")
        .part("depth", "How far ahead must a thread load?", &[Iterations], verdicts::depth::run)
        .part("jitter", "What is a deeper ring good for?", &[Iterations], verdicts::jitter::run)
        .part(
            "threads",
            "What helps when loading is too slow?",
            &[Iterations],
            verdicts::threads::run,
        )
        .main()
}
