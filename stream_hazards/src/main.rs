//! What happens to a program that forgets a dependency between streams, and how do you find it?
//!
//! Seven pairs of programs that differ in a line or two: the *racy* one lacks a dependency, the *fixed* one has it. On the
//! software GPU the racy one computes the same wrong result in every run, and the ordering checker names both
//! operations, the bytes and what is missing. On a GPU the racy one may be right by luck, today: nothing is claimed of it
//! there.
//!
//! Each program is a `match` in one function. Break the fixed ones yourself, and repair them with the checker's report.

mod buffer_reused;
mod callback_waits;
mod data;
mod early_host_read;
mod free_without_order;
mod missing_event;
mod re_recorded_event;
mod verdicts;
mod wait_before_record;

use examples_host::part_option::PartOption::Size;
use examples_host::prelude::*;
use std::process::ExitCode;

fn main() -> ExitCode {
    Example::new("stream_hazards", "Seven ways to get the order of streams wrong")
        .part(
            "missing-event",
            "What does a kernel read that does not wait for its copy?",
            &[Size],
            verdicts::missing_event::run,
        )
        .part(
            "early-host-read",
            "What does the host read that does not wait for the copy out?",
            &[Size],
            verdicts::early_host_read::run,
        )
        .part(
            "buffer-reused",
            "What is copied when the host has gone on to the next batch?",
            &[Size],
            verdicts::buffer_reused::run,
        )
        .part(
            "free-without-order",
            "Who gets memory that is freed while a kernel uses it?",
            &[Size],
            verdicts::free_without_order::run,
        )
        .part(
            "re-recorded-event",
            "What does a wait stand for when its event has been recorded twice?",
            &[Size],
            verdicts::re_recorded_event::run,
        )
        .part(
            "wait-before-record",
            "What does a wait stand for when its event has not been recorded?",
            &[Size],
            verdicts::wait_before_record::run,
        )
        .part(
            "callback-waits",
            "What if a function that a stream calls waits for the stream?",
            &[Size],
            verdicts::callback_waits::run,
        )
        .main()
}
