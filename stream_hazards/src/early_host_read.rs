//! early-host-read: the copy out has been enqueued, and the host reads before it has happened.
//!
//! ```text
//! racy    first  |KKKKKKDDDDDD        fixed   first  |KKKKKKDDDDDD
//!         host   |read                        host   |wait........read
//! ```
//!
//! A copy to page-locked memory returns at once. A copy to pageable memory would wait, which hides the mistake until
//! someone makes the memory page-locked.

use crate::data::{A, B, Data, ROUNDS, THREADS, transformed};
use cuda_host::launch;
use cust::memory::AsyncCopyDestination;
use examples_host::prelude::*;
use examples_host::twins::{Outcome, Program};

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict("Without the wait the host reads what was in its memory before the copy.");
    part.twins(&["copy of", "by the host"], Data::new, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let (first, batch, blocks) = (&data.first, &mut data.batch, data.blocks);
    // SAFETY: all memory outlives the operations. The racy host may read stale bytes, which are numbers too.
    unsafe {
        batch.async_copy_from(&data.input, first)?;
        launch!(data.kernels.affine_rounds_x4<<<blocks, THREADS, 0, first>>>(&mut *batch, A, B, ROUNDS))?;
        batch.async_copy_to(&mut data.output, first)?;
    }
    match which {
        Program::Racy => {}
        Program::Fixed => first.synchronize()?,
    }
    Ok(check::equal("the result", 0, &data.output, transformed))
}
