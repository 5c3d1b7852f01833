//! missing-event: the copy in and the kernel are in two streams, and nothing makes one wait for the other.
//!
//! ```text
//! racy    first  |HHHHHHHH            fixed   first  |HHHHHHHHe
//!         second |KKKKKKKKKK                  second |        wKKKKKKKKKK
//! ```

use crate::data::{Data, transformed};
use crate::pair::{Outcome, Pair, Program};
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let pair = Pair {
        prediction: "Without the event the kernel works on what was in the buffer before the copy.",
        report_names: &["copy of", "kernel `affine_rounds_x4`"],
    };
    pair.run(part, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let mut batch = data.buffer(&data.first)?;
    batch.copy_from(&data.input)?;
    match which {
        // SAFETY: stale bytes are numbers too, and that the result is wrong is the lesson.
        Program::Racy => unsafe { batch.assume_ordered_on(&data.second) },
        // Records an event in the first stream; the second waits for it.
        Program::Fixed => batch.hand_to(&data.second)?,
    }
    data.kernels.transform(&mut batch)?;
    batch.copy_to(&mut data.output)?;
    Ok(check::equal(
        "the result",
        0,
        data.output.read()?,
        transformed,
    ))
}
