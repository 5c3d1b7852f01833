//! Claims of the part `free-without-order`.

use super::pair::{pair, transformed};
use crate::free_without_order::program;
use examples_host::prelude::*;

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict("Freed too early, the memory gets a new owner while the kernel still uses it.");
    pair(part, &["freed without order"], |which, data| {
        program(which, data)?;
        Ok(check::equal("the result", 0, &data.output, transformed))
    })
}
