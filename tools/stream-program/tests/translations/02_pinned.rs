//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;
use std::time::Duration;

kernels! { use gpu_kernels::{affine}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const ELEMENTS: usize = 1 << 20;
    const THREADS: usize = 256;
    const BLOCKS: usize = ELEMENTS / THREADS;
    let work = stream::non_blocking()?.named("work");
    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut data = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    labs::fill(&mut input, 0);
    unsafe { data.async_copy_from(&input, &work)? };
    unsafe { launch!(kernels.affine<<<BLOCKS as u32, THREADS as u32, 0, work>>>(&mut data, 2.0, 1.0))? };
    labs::cpu_work(Duration::from_micros(20));
    unsafe { data.async_copy_to(&mut output, &work)? };
    work.synchronize()?;
    labs::hand_in(&output)?;
    Ok(())
}
