//! re-recorded-event: one event for two producers, and one wait at the end.
//!
//! ```text
//! racy    first  |HHHHKKKKKKKKe                   fixed   first  |HHHHKKKKKKKKe
//!         second |    HHHHe                               second |    HHHHe
//!         third  |        w KKDDDD                        third  |        w    w KKDDDD
//! ```
//!
//! A wait joins what the event stands for at the time of the call: its *last* record. The first stream's is forgotten.
//!
//! A right result with one wait would prove this wrong.

use crate::data::{A, B, Data, Program, ROUNDS, THREADS};
use anyhow::Result;
use cuda_host::prelude::*;

pub fn program(which: Program, data: &mut Data) -> Result<()> {
    let (first, second, third) = (&data.first, &data.second, &data.third);
    let (x, y) = (&mut data.batch, &mut data.other);
    let event = &data.event;
    // SAFETY: all memory outlives the host's wait.
    unsafe {
        x.async_copy_from(&data.input, first)?;
        launch!(data.kernels.affine_rounds_x4<<<1, 32, 0, first>>>(&mut data.scratch, A, B, data.delay))?;
        launch!(data.kernels.affine_rounds_x4<<<data.blocks, THREADS, 0, first>>>(&mut *x, A, B, ROUNDS))?;
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
    // SAFETY: as above. The racy kernel may read stale bytes of x: any bits are a valid f32.
    unsafe {
        launch!(data.kernels.saxpy<<<4 * data.blocks, THREADS, 0, third>>>(1.0, &*x, &mut *y))?;
        y.async_copy_to(&mut data.output, third)?;
    }
    Ok(third.synchronize()?)
}
