//! early-host-read: the copy out has been enqueued, and the host reads before it has happened.
//!
//! ```text
//! racy    first  |KKKKKKDDDDDD        fixed   first  |KKKKKKDDDDDD
//!         host   |read                        host   |wait........read
//! ```
//!
//! A copy to page-locked memory returns at once. A copy to pageable memory would wait, which hides the mistake until
//! someone makes the memory page-locked.
//!
//! The result of the copy in what is read without the wait would prove this wrong.

use crate::data::{A, B, Data, Program, ROUNDS, THREADS};
use anyhow::Result;
use cuda_host::prelude::*;

/// The host reads `data.output` when this returns.
pub fn program(which: Program, data: &mut Data) -> Result<()> {
    // SAFETY: the caller waits for the stream before it frees any memory. The racy host may read stale bytes: any bits are a valid f32.
    unsafe {
        data.batch.async_copy_from(&data.input, &data.first)?;
        launch!(data.kernels.affine_rounds_x4<<<data.blocks, THREADS, 0, data.first>>>(&mut data.batch, A, B, ROUNDS))?;
        data.batch.async_copy_to(&mut data.output, &data.first)?;
    }
    match which {
        Program::Racy => {}
        Program::Fixed => data.first.synchronize()?,
    }
    Ok(())
}
