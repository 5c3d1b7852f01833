//! missing-event: the copy in and the kernel are in two streams, and nothing makes one wait for the other.
//!
//! ```text
//! racy    first  |HHHHHHHH            fixed   first  |HHHHHHHHe
//!         second |KKKKKKKKKK                  second |        wKKKKKKKKKK
//! ```

use crate::data::{A, B, Data, ROUNDS, THREADS, transformed};
use cuda_host::{launch, prelude::*};
use cust::memory::AsyncCopyDestination;
use examples_host::prelude::*;
use examples_host::twins::{Outcome, Program};

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict("Without the event the kernel works on what was in the buffer before the copy.");
    part.twins(&["copy of", "kernel `affine_rounds_x4`"], Data::new, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let (first, second, copied) = (&data.first, &data.second, &data.event);
    let (batch, blocks) = (&mut data.batch, data.blocks);
    // SAFETY: the input outlives the copy.
    unsafe { batch.async_copy_from(&data.input, first)? };
    match which {
        Program::Racy => {}
        Program::Fixed => {
            copied.record(first)?;
            second.wait(copied)?;
        }
    }
    // SAFETY: all memory outlives the host's wait. The racy kernel may read stale bytes, which are numbers too.
    unsafe {
        launch!(data.kernels.affine_rounds_x4<<<blocks, THREADS, 0, second>>>(&mut *batch, A, B, ROUNDS))?;
        batch.async_copy_to(&mut data.output, second)?;
    }
    second.synchronize()?;
    Ok(check::equal("the result", 0, &data.output, transformed))
}
