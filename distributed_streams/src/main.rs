//! What changes when there is more than one GPU?
//!
//! Streams and events are the same: an event of one GPU may be waited for in a stream of another. New are the links: each GPU
//! has one to the host, and all have one to each other. Data that is needed elsewhere must cross them, and the question is
//! always the same: how much of that can be hidden behind work?

mod all_reduce;
mod gpus;
mod halo;
mod launch;
mod nccl;
mod one_host;
mod pipeline;
mod processes;
mod rank;
mod rendezvous;
mod ring;
mod sums;
mod verdicts;

use examples_host::exit;
use examples_host::options::UsageError;
use examples_host::part_option::PartOption::{Iterations, Size};
use examples_host::prelude::*;
use launch::ProcessLaunch;
use std::process::ExitCode;

/// Software GPUs where there is no other.
const SOFTWARE_GPUS: usize = 2;

fn main() -> ExitCode {
    match ProcessLaunch::from_environment() {
        Ok(None) => lessons(),
        Ok(Some(launch)) => exit::code_of(rank::run(&launch)),
        Err(error) => exit::code_of(Err(UsageError(error.to_string()).into())),
    }
}

fn lessons() -> ExitCode {
    Example::new("distributed_streams", "Several GPUs, and the links between them")
        .software_gpus(SOFTWARE_GPUS)
        .part(
            "one-host",
            "Do the GPUs of one host share their links?",
            &[Iterations, Size],
            verdicts::one_host::run,
        )
        .needs(&[Need::Devices(2)])
        .part(
            "all-reduce",
            "How much of an all-reduce can the backward pass hide?",
            &[Iterations, Size],
            all_reduce::run,
        )
        .needs(&[Need::Devices(2)])
        .part(
            "pipeline",
            "How busy are the stages of a pipeline over several GPUs?",
            &[Iterations, Size],
            verdicts::pipeline::run,
        )
        .needs(&[Need::Devices(2)])
        .part(
            "halo",
            "Can halos travel while the interior is computed?",
            &[Iterations, Size],
            verdicts::halo::run,
        )
        .needs(&[Need::Devices(2)])
        .part("processes", "What changes with one process per GPU?", &[], processes::run)
        .needs(&[Need::Devices(2)])
        .main()
}
