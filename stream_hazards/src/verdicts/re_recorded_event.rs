//! Claims of the part `re-recorded-event`.

use super::pair::{given, pair, transformed};
use crate::re_recorded_event::program;
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "The one wait stands for the last record alone: the first stream's kernel is not waited for.",
    );
    pair(part, &["kernel `affine_rounds_x4`", "kernel `saxpy`", "recorded again"], |which, data| {
        program(which, data)?;
        let expected = |index| transformed(index) + given(index);
        Ok(check::equal("the result", 0, &data.output, expected))
    })
}
