//! Claims of the part `buffer-reused`.

use super::pair::{pair, transformed};
use crate::buffer_reused::program;
use examples_host::prelude::*;

/// The next batch.
const NEXT: Seed = Seed::new(12);

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "Without the wait the device gets the next batch, or part of it, instead of this one.",
    );
    pair(part, &["copy of", "by the host"], |which, data| {
        program(which, data, |input| NEXT.fill_f32(0, input))?;
        Ok(check::equal("the result", 0, &data.output, transformed))
    })
}
