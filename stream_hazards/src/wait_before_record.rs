//! wait-before-record: the consumer's wait is called before the producer's record.
//!
//! ```text
//! racy    second |wait for e, which stands for nothing yet: KKKKKKKK
//!         first  |HHHHHHHHe
//! ```
//!
//! The order of the *calls* counts. A wait for an event that was never recorded returns success and waits for nothing;
//! a record that comes later does not change that. With two host threads this is a race of the threads, too.

use crate::data::{A, B, Data, ROUNDS, THREADS, transformed};
use cuda_host::{launch, prelude::*};
use cust::memory::AsyncCopyDestination;
use examples_host::prelude::*;
use examples_host::twins::{Outcome, Program};

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "The wait waits for nothing: the kernel works on what was in the buffer before the copy.",
    );
    let named = ["copy of", "kernel `affine_rounds_x4`", "before its first record"];
    part.twins(&named, Data::new, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let (first, second, copied) = (&data.first, &data.second, &data.event);
    let (batch, blocks) = (&mut data.batch, data.blocks);
    match which {
        Program::Racy => {
            second.wait(copied)?;
            // SAFETY: the input outlives the copy.
            unsafe { batch.async_copy_from(&data.input, first)? };
            copied.record(first)?;
        }
        Program::Fixed => {
            // SAFETY: as above.
            unsafe { batch.async_copy_from(&data.input, first)? };
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
