//! The lab of three-way: no kernel waits for its data any more.

use super::Roles;
use super::work::{Work, expected};
use examples_host::prelude::*;

/// Three streams without the event between copy in and kernel. Each chunk's first wrong element is
/// shown.
pub fn run(part: &mut Part, work: &mut Work, roles: Roles) -> anyhow::Result<()> {
    part.predict("Kernels do not wait for their copies in: they work on what was there before.");
    let chunks = part.chunks(16, work.elements())?;
    work.cut(roles[0], chunks)?;
    work.poison()?;
    work.pass(|_| roles)?;
    let mut wrong = Vec::new();
    for (chunk, piece) in work.output.iter().enumerate() {
        let checked = check::equal("the output", piece.offset(), piece.read()?, expected);
        wrong.extend(
            checked
                .err()
                .map(|mismatch| format!("chunk {chunk}: {mismatch}")),
        );
    }
    part.say(wrong.join("\n"));
    let found = format!("{} of {chunks} chunks are wrong", wrong.len());
    part.claim(
        "elements",
        "every element is right",
        wrong.is_empty(),
        found,
        "none",
    );
    Ok(())
}
