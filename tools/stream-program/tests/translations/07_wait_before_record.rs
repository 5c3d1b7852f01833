//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::{affine_rounds_x4}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const ELEMENTS: usize = 1 << 18;
    const THREADS: usize = 256;
    const BLOCKS: usize = ELEMENTS / 4 / THREADS;
    const ROUNDS: usize = 16;
    let producer = stream::non_blocking()?.named("producer");
    let consumer = stream::non_blocking()?.named("consumer");
    let there = Event::new(EventFlags::DISABLE_TIMING)?;
    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut data = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    labs::fill(&mut input, 0);
    unsafe { data.async_copy_from(&input, &producer)? };
    there.record(&producer)?;
    consumer.wait(&there)?;
    unsafe { launch!(kernels.affine_rounds_x4<<<BLOCKS as u32, THREADS as u32, 0, consumer>>>(&mut data, 1.0, 0.125, ROUNDS as u32))? };
    unsafe { data.async_copy_to(&mut output, &consumer)? };
    consumer.synchronize()?;
    producer.synchronize()?;
    labs::hand_in(&output)?;
    Ok(())
}
