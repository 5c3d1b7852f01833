//! Claims of the part `early-host-read`.

use super::pair::{pair, transformed};
use crate::early_host_read::program;
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict("Without the wait the host reads what was in its memory before the copy.");
    pair(part, &["copy of", "by the host"], |which, data| {
        program(which, data)?;
        Ok(check::equal("the result", 0, &data.output, transformed))
    })
}
