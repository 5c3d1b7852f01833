//! re-recorded-event: one event for two producers, and one wait at the end.
//!
//! ```text
//! racy    first  |HHHHKKKKKKKKe                   fixed   first  |HHHHKKKKKKKKe  wait for e
//!         second |    HHHH e  wait for e                  second |    HHHH e        wait for e
//!                          ^ recorded again
//! ```
//!
//! A wait joins what the event stands for at the time of the call: its *last* record. The first stream's is forgotten.

use crate::data::{Data, given, transformed};
use crate::pair::{Outcome, Pair, Program};
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let pair = Pair {
        prediction: "The one wait stands for the last record alone: the first stream's kernel is not waited for.",
        report_names: &[
            "kernel `affine_rounds_x4`",
            "kernel `saxpy`",
            "recorded again",
        ],
    };
    pair.run(part, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let (first, second) = (&data.first, &data.second);
    let consumer = Stream::non_blocking(first.device(), "consumer")?;
    let event = Event::new(first.device(), Timing::Off)?;
    let (mut x, mut y) = (data.buffer(first)?, data.buffer(second)?);

    x.copy_from(&data.input)?;
    let mut other_work = DeviceBuffer::new(first, 4)?;
    other_work.poison()?;
    data.kernels.keep_busy(&mut other_work, data.len())?;
    data.kernels.transform(&mut x)?;
    event.record(first)?;
    if which == Program::Fixed {
        consumer.wait(&event)?;
    }
    y.copy_from(&data.input)?;
    event.record(second)?;
    consumer.wait(&event)?;

    // SAFETY: in the fixed program the waits above order both; in the racy one stale bytes are numbers too.
    unsafe {
        x.assume_ordered_on(&consumer);
        y.assume_ordered_on(&consumer);
    }
    data.kernels.add_scaled(1.0, &x, &mut y)?;
    y.copy_to(&mut data.output)?;
    let expected = |index| transformed(index) + given(index);
    Ok(check::equal("the result", 0, data.output.read()?, expected))
}
