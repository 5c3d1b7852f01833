//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{fma_tiles_unspecialised}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const CHUNKS: usize = 8;
    const SLOTS: usize = 2;
    const CHUNK: usize = 1 << 18;
    const BLOCKS: usize = 64;
    const THREADS: usize = 256;
    const ROUNDS: usize = 32;
    let producer = stream::non_blocking()?.named("producer");
    let consumer = stream::non_blocking()?.named("consumer");
    let output = stream::non_blocking()?.named("output");
    let produced = (0..SLOTS).map(|_| Event::new(EventFlags::DISABLE_TIMING)).collect::<CudaResult<Vec<_>>>()?;
    let consumed = (0..SLOTS).map(|_| Event::new(EventFlags::DISABLE_TIMING)).collect::<CudaResult<Vec<_>>>()?;
    let put_out = (0..SLOTS).map(|_| Event::new(EventFlags::DISABLE_TIMING)).collect::<CudaResult<Vec<_>>>()?;
    let mut result = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut input = unsafe { DeviceBuffer::<f32>::uninitialized(CHUNKS * CHUNK) }?;
    let mut product = (0..SLOTS).map(|_| unsafe { DeviceBuffer::<f32>::uninitialized(CHUNK) }).collect::<CudaResult<Vec<_>>>()?;
    let mut finished = (0..SLOTS).map(|_| unsafe { DeviceBuffer::<f32>::uninitialized(CHUNK) }).collect::<CudaResult<Vec<_>>>()?;
    labs::fill(&mut result, 0);
    input.copy_from(&result)?;
    CurrentContext::synchronize()?;
    for chunk in 0..CHUNKS {
        let slot = chunk % SLOTS;
        producer.wait(&consumed[slot])?;
        unsafe { launch!(kernels.fma_tiles_unspecialised<<<BLOCKS as u32, THREADS as u32, 0, producer>>>(&input.index((chunk * CHUNK)..((chunk + 1) * CHUNK)), &mut product[slot], ROUNDS as u32))? };
        produced[slot].record(&producer)?;
        consumer.wait(&produced[slot])?;
        consumer.wait(&put_out[slot])?;
        unsafe { launch!(kernels.fma_tiles_unspecialised<<<BLOCKS as u32, THREADS as u32, 0, consumer>>>(&product[slot], &mut finished[slot], ROUNDS as u32))? };
        consumed[slot].record(&consumer)?;
        output.wait(&consumed[slot])?;
        unsafe { finished[slot].async_copy_to(&mut result[(chunk * CHUNK)..((chunk + 1) * CHUNK)], &output)? };
        put_out[slot].record(&output)?;
    }
    output.synchronize()?;
    labs::hand_in(&result)?;
    Ok(())
}
