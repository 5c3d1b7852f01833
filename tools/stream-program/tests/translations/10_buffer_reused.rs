//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{saxpy}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const BATCHES: usize = 6;
    const ELEMENTS: usize = 1 << 18;
    const THREADS: usize = 256;
    const BLOCKS: usize = ELEMENTS / THREADS;
    let work = stream::non_blocking()?.named("work");
    let mut buffer = (0..2).map(|_| LockedBuffer::new(&0f32, ELEMENTS)).collect::<CudaResult<Vec<_>>>()?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    let copied = (0..2).map(|_| Event::new(EventFlags::DISABLE_TIMING)).collect::<CudaResult<Vec<_>>>()?;
    let mut sum = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    let mut batch = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    sum.set_zero()?;
    CurrentContext::synchronize()?;
    for number in 0..BATCHES {
        copied[number % 2].synchronize()?;
        labs::fill(&mut buffer[number % 2], number);
        unsafe { batch.async_copy_from(&buffer[number % 2], &work)? };
        copied[number % 2].record(&work)?;
        unsafe { launch!(kernels.saxpy<<<BLOCKS as u32, THREADS as u32, 0, work>>>(1.0, &batch, &mut sum))? };
    }
    unsafe { sum.async_copy_to(&mut output, &work)? };
    work.synchronize()?;
    labs::hand_in(&output)?;
    Ok(())
}
