//! re-recorded-event: one event for two producers, and one wait at the end.
//!
//! ```text
//! racy    first  |HHHHKKKKKKKKe                   fixed   first  |HHHHKKKKKKKKe
//!         second |    HHHHe                               second |    HHHHe
//!         third  |        w KKDDDD                        third  |        w    w KKDDDD
//! ```
//!
//! A wait joins what the event stands for at the time of the call: its *last* record. The first stream's is forgotten.

use crate::data::{A, B, Data, ROUNDS, THREADS, given, transformed};
use cuda_host::{launch, prelude::*};
use cust::memory::AsyncCopyDestination;
use examples_host::prelude::*;
use examples_host::twins::{Outcome, Program};

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "The one wait stands for the last record alone: the first stream's kernel is not waited for.",
    );
    let named = ["kernel `affine_rounds_x4`", "kernel `saxpy`", "recorded again"];
    part.twins(&named, Data::new, program)
}

fn program(which: Program, data: &mut Data) -> anyhow::Result<Outcome> {
    let (first, second, third) = (&data.first, &data.second, &data.third);
    let (x, y) = (&mut data.batch, &mut data.other);
    let (event, blocks, delay) = (&data.event, data.blocks, data.delay);

    // SAFETY: all memory outlives the host's wait.
    unsafe {
        x.async_copy_from(&data.input, first)?;
        launch!(data.kernels.affine_rounds_x4<<<1, 32, 0, first>>>(&mut data.scratch, A, B, delay))?;
        launch!(data.kernels.affine_rounds_x4<<<blocks, THREADS, 0, first>>>(&mut *x, A, B, ROUNDS))?;
    }
    event.record(first)?;
    match which {
        Program::Racy => {}
        Program::Fixed => third.wait(event)?,
    }
    // SAFETY: as above.
    unsafe { y.async_copy_from(&data.input, second)? };
    event.record(second)?;
    third.wait(event)?;
    // SAFETY: as above. The racy kernel may read stale bytes of x, which are numbers too.
    unsafe {
        launch!(data.kernels.saxpy<<<4 * blocks, THREADS, 0, third>>>(1.0, &*x, &mut *y))?;
        y.async_copy_to(&mut data.output, third)?;
    }
    third.synchronize()?;
    let expected = |index| transformed(index) + given(index);
    Ok(check::equal("the result", 0, &data.output, expected))
}
