//! wait-before-record: the consumer's wait is issued before the producer's record.
//!
//! ```text
//! racy    second |wait for e, which stands for nothing yet: KKKKKKKK
//!         first  |HHHHHHHHe
//! ```
//!
//! The order of the *calls* counts. A wait for an event that was never recorded returns success and waits for nothing;
//! a record that comes later does not change that. With two host threads this is a race of the threads, too.

use crate::data::{Data, transformed};
use crate::pair::{Outcome, Pair, Program};
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let pair = Pair {
        prediction: "The wait waits for nothing: the kernel works on what was in the buffer before the copy.",
        report_names: &[
            "copy of",
            "kernel `affine_rounds_x4`",
            "before its first record",
        ],
    };
    pair.run(part, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let event = Event::new(data.first.device(), Timing::Off)?;
    let mut batch = data.buffer(&data.first)?;
    if which == Program::Racy {
        data.second.wait(&event)?;
    }
    batch.copy_from(&data.input)?;
    event.record(&data.first)?;
    if which == Program::Fixed {
        data.second.wait(&event)?;
    }
    // SAFETY: in the fixed program the wait orders the two; in the racy one stale bytes are numbers too.
    unsafe { batch.assume_ordered_on(&data.second) };
    data.kernels.transform(&mut batch)?;
    batch.copy_to(&mut data.output)?;
    Ok(check::equal(
        "the result",
        0,
        data.output.read()?,
        transformed,
    ))
}
