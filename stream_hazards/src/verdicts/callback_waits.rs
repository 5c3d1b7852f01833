//! Claims of the part `callback-waits`.

use super::pair::{pair, transformed};
use crate::callback_waits::program;
use examples_host::prelude::*;
use std::sync::mpsc;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "The driver refuses the wait, or it never ends: the function gives up without a result.",
    );
    pair(part, &["host function", "CUDA_ERROR_NOT_PERMITTED"], |which, data| {
        let (send, result) = mpsc::channel();
        program(which, data, send)?;
        // Without a result, what was there before.
        let found = result.try_recv().unwrap_or_else(|_| data.output.to_vec());
        Ok(check::equal("the result", 0, &found, transformed))
    })
}
