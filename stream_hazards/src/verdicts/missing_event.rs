//! Claims of the part `missing-event`.

use super::pair::{pair, transformed};
use crate::missing_event::program;
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict("Without the event the kernel works on what was in the buffer before the copy.");
    pair(part, &["copy of", "kernel `affine_rounds_x4`"], |which, data| {
        program(which, data)?;
        Ok(check::equal("the result", 0, &data.output, transformed))
    })
}
