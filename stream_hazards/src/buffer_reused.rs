//! buffer-reused: the host fills its page-locked buffer with the next batch while the copy of this one still reads it.
//!
//! ```text
//! racy    first  |HHHHHHHHHH          fixed   first  |HHHHHHHHHH
//!         host   |  next batch                host   |wait......next batch
//! ```

use crate::data::{Data, given, transformed};
use crate::pair::{Outcome, Pair, Program};
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let pair = Pair {
        prediction: "Without the wait the device gets the next batch, or part of it, in the place of this one.",
        report_names: &["copy of", "write by the host"],
    };
    pair.run(part, program)
}

/// The next batch: as unlike the first as can be.
fn next(index: usize) -> f32 {
    -1000.0 - given(index)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let mut batch = data.buffer(&data.first)?;
    batch.copy_from(&data.input)?;
    match which {
        // SAFETY: either batch is made of numbers, and that the wrong one is transformed is the lesson.
        Program::Racy => unsafe { data.input.write_unordered(next) },
        // Waits for the copy first.
        Program::Fixed => {
            let input = data.input.write()?;
            input
                .iter_mut()
                .enumerate()
                .for_each(|(index, value)| *value = next(index));
        }
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
