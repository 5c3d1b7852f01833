//! missing-event: the copy in and the kernel are in two streams, and nothing makes one wait for the other.
//!
//! ```text
//! racy    first  |HHHHHHHH            fixed   first  |HHHHHHHHe
//!         second |KKKKKKKKKK                  second |        wKKKKKKKKKK
//! ```
//!
//! A result that is right without the event, or a report about the program that has it, would prove this wrong.

use crate::data::{A, B, Data, Program, ROUNDS, THREADS};
use anyhow::Result;
use cuda_host::prelude::*;

pub fn program(which: Program, data: &mut Data) -> Result<()> {
    let (first, second, copied) = (&data.first, &data.second, &data.event);
    // SAFETY: the input outlives the copy.
    unsafe { data.batch.async_copy_from(&data.input, first)? };
    match which {
        Program::Racy => {}
        Program::Fixed => {
            copied.record(first)?;
            second.wait(copied)?;
        }
    }
    // SAFETY: all memory outlives the host's wait. The racy kernel may read stale bytes: any bits are a valid f32.
    unsafe {
        launch!(data.kernels.affine_rounds_x4<<<data.blocks, THREADS, 0, second>>>(&mut data.batch, A, B, ROUNDS))?;
        data.batch.async_copy_to(&mut data.output, second)?;
    }
    Ok(second.synchronize()?)
}
