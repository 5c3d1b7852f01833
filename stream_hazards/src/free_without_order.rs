//! free-without-order: memory of a pool is freed in one stream while another still uses it.
//!
//! ```text
//! racy    first  |alloc HHHH delay KKKK DDDD      fixed   first  |alloc HHHH delay KKKK DDDDe
//!         second |free, alloc   HHHH                      second |                          w free, alloc HHHH
//! ```
//!
//! A free in stream order takes effect when *its* stream comes to it. The next allocation in that stream gets the same
//! memory at once, and what is stored there lands where the first stream's kernel still expects its own.
//!
//! A right result although the free waits for nothing would prove this wrong.

use crate::data::{A, B, Data, Program, ROUNDS, THREADS};
use anyhow::Result;
use cuda_host::prelude::*;

/// Every element of the next batch.
const NEXT: f32 = -1000.0;

pub fn program(which: Program, data: &mut Data) -> Result<()> {
    let (first, second, done) = (&data.first, &data.second, &data.event);
    let elements = data.input.len();
    let next_batch = LockedBuffer::new(&NEXT, elements)?;
    // SAFETY: the host's memory outlives the operations, and all come behind the allocation, in its stream.
    let batch = unsafe {
        let mut batch = DeviceBuffer::uninitialized_async(elements, first)?;
        batch.async_copy_from(&data.input, first)?;
        launch!(data.kernels.affine_rounds_x4<<<1, 32, 0, first>>>(&mut data.scratch, A, B, data.delay))?;
        launch!(data.kernels.affine_rounds_x4<<<data.blocks, THREADS, 0, first>>>(&mut batch, A, B, ROUNDS))?;
        batch.async_copy_to(&mut data.output, first)?;
        batch
    };
    match which {
        Program::Racy => {}
        Program::Fixed => {
            done.record(first)?;
            second.wait(done)?;
        }
    }
    batch.drop_async(second)?;
    // SAFETY: as above.
    unsafe {
        let mut next = DeviceBuffer::uninitialized_async(elements, second)?;
        next.async_copy_from(&next_batch, second)?;
        next.drop_async(second)?;
    }
    Ok(first.synchronize()?)
}
