//! buffer-reused: the host fills its page-locked buffer with the next batch while the copy of this one still reads it.
//!
//! ```text
//! racy    first  |HHHHHHHHHH          fixed   first  |HHHHHHHHHH
//!         host   |next batch                  host   |wait......next batch
//! ```

use crate::data::{A, B, Data, ROUNDS, THREADS, transformed};
use cuda_host::launch;
use cust::memory::AsyncCopyDestination;
use examples_host::prelude::*;
use examples_host::twins::{Outcome, Program};

/// The next batch.
const NEXT: Seed = Seed::new(12);

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "Without the wait the device gets the next batch, or part of it, instead of this one.",
    );
    part.twins(&["copy of", "by the host"], Data::new, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let (first, batch, blocks) = (&data.first, &mut data.batch, data.blocks);
    // SAFETY: the input outlives the copy. In the racy program it changes meanwhile: either batch is made of numbers.
    unsafe { batch.async_copy_from(&data.input, first)? };
    match which {
        Program::Racy => {}
        Program::Fixed => first.synchronize()?,
    }
    NEXT.fill_f32(0, &mut data.input);
    // SAFETY: all memory outlives the host's wait, and one stream orders its uses.
    unsafe {
        launch!(data.kernels.affine_rounds_x4<<<blocks, THREADS, 0, first>>>(&mut *batch, A, B, ROUNDS))?;
        batch.async_copy_to(&mut data.output, first)?;
    }
    first.synchronize()?;
    Ok(check::equal("the result", 0, &data.output, transformed))
}
