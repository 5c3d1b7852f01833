//! wait-before-record: the consumer's wait is called before the producer's record.
//!
//! ```text
//! racy    second |wait for e, which stands for nothing yet: KKKKKKKK
//!         first  |HHHHHHHHe
//! ```
//!
//! The order of the *calls* counts. A wait for an event that was never recorded returns success and waits for nothing;
//! a record that comes later does not change that. With two host threads this is a race of the threads, too.
//!
//! A right result although the wait comes first would prove this wrong.

use crate::data::{A, B, Data, Program, ROUNDS, THREADS};
use anyhow::Result;
use cuda_host::prelude::*;

pub fn program(which: Program, data: &mut Data) -> Result<()> {
    let (first, second, copied) = (&data.first, &data.second, &data.event);
    match which {
        Program::Racy => {
            second.wait(copied)?;
            // SAFETY: the input outlives the copy.
            unsafe { data.batch.async_copy_from(&data.input, first)? };
            copied.record(first)?;
        }
        Program::Fixed => {
            // SAFETY: as above.
            unsafe { data.batch.async_copy_from(&data.input, first)? };
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
