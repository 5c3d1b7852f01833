//! Claims of the part `wait-before-record`.

use super::pair::{pair, transformed};
use crate::wait_before_record::program;
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "The wait waits for nothing: the kernel works on what was in the buffer before the copy.",
    );
    pair(
        part,
        &["copy of", "kernel `affine_rounds_x4`", "before its first record"],
        |which, data| {
            program(which, data)?;
            Ok(check::equal("the result", 0, &data.output, transformed))
        },
    )
}
