//! buffer-reused: the host fills its page-locked buffer with the next batch while the copy of this one still reads it.
//!
//! ```text
//! racy    first  |HHHHHHHHHH          fixed   first  |HHHHHHHHHH
//!         host   |next batch                  host   |wait......next batch
//! ```
//!
//! The first batch at the device, although the host did not wait, would prove this wrong.

use crate::data::{A, B, Data, Program, ROUNDS, THREADS};
use anyhow::Result;
use cuda_host::prelude::*;

/// `next_batch` fills the host's buffer with the next batch.
pub fn program(which: Program, data: &mut Data, next_batch: impl FnOnce(&mut [f32])) -> Result<()> {
    let first = &data.first;
    // SAFETY: the input outlives the copy. In the racy program it changes meanwhile: either batch is made of numbers.
    unsafe { data.batch.async_copy_from(&data.input, first)? };
    match which {
        Program::Racy => {}
        Program::Fixed => first.synchronize()?,
    }
    next_batch(&mut data.input);
    // SAFETY: all memory outlives the host's wait, and one stream orders its uses.
    unsafe {
        launch!(data.kernels.affine_rounds_x4<<<data.blocks, THREADS, 0, first>>>(&mut data.batch, A, B, ROUNDS))?;
        data.batch.async_copy_to(&mut data.output, first)?;
    }
    Ok(first.synchronize()?)
}
