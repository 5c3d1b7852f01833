//! early-host-read: the copy out has been asked for, and the host reads before it has happened.
//!
//! ```text
//! racy    first  |KKKKKKDDDDDD        fixed   first  |KKKKKKDDDDDD
//!         host   |read                        host   |wait........read
//! ```
//!
//! A copy to page-locked memory returns at once. A copy to pageable memory would wait, which hides the mistake until
//! somebody makes the memory page-locked.

use crate::data::{Data, transformed};
use crate::pair::{Outcome, Pair, Program};
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let pair = Pair {
        prediction: "Without the wait the host reads what was in its memory before the copy.",
        report_names: &["copy of", "read by the host"],
    };
    pair.run(part, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let mut batch = data.buffer(&data.first)?;
    batch.copy_from(&data.input)?;
    data.kernels.transform(&mut batch)?;
    batch.copy_to(&mut data.output)?;
    Ok(match which {
        Program::Racy => {
            // SAFETY: old bytes are numbers too, and that the result is wrong is the lesson.
            let result = unsafe { data.output.read_unordered() };
            check::equal("the result", 0, &result, transformed)
        }
        // Waits for the stream first.
        Program::Fixed => check::equal("the result", 0, data.output.read()?, transformed),
    })
}
