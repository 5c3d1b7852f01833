//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::{affine_rounds_x4}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const ELEMENTS: usize = 1 << 15;
    const THREADS: usize = 256;
    const BLOCKS: usize = ELEMENTS / 4 / THREADS;
    const ROUNDS: usize = 65536;
    let work = stream::non_blocking()?.named("work");
    let start = Event::new(EventFlags::DEFAULT)?;
    let end = Event::new(EventFlags::DEFAULT)?;
    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut data = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    labs::fill(&mut input, 0);
    unsafe { data.async_copy_from(&input, &work)? };
    start.record(&work)?;
    unsafe { launch!(kernels.affine_rounds_x4<<<BLOCKS as u32, THREADS as u32, 0, work>>>(&mut data, 1.0, 0.125, ROUNDS as u32))? };
    end.record(&work)?;
    unsafe { data.async_copy_to(&mut output, &work)? };
    work.synchronize()?;
    end.synchronize()?;
    labs::hand_in_time("kernel", end.elapsed(&start)?);
    labs::hand_in(&output)?;
    Ok(())
}
