//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{affine, saxpy}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const STEPS: usize = 12;
    const ELEMENTS: usize = 1 << 18;
    const THREADS: usize = 256;
    const BLOCKS: usize = ELEMENTS / THREADS;
    let work = stream::non_blocking()?.named("work");
    let mut result = vec![0f32; ELEMENTS];
    let mut data = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    let mut sum = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    labs::fill(&mut result, 0);
    data.copy_from(&result)?;
    sum.set_zero()?;
    CurrentContext::synchronize()?;
    for step in 0..STEPS {
        let mut scratch = unsafe { DeviceBuffer::<f32>::uninitialized_async(ELEMENTS, &work) }?;
        unsafe { scratch.async_copy_from(&data, &work)? };
        unsafe { launch!(kernels.affine<<<BLOCKS as u32, THREADS as u32, 0, work>>>(&mut scratch, 2.0, 1.0))? };
        unsafe { launch!(kernels.saxpy<<<BLOCKS as u32, THREADS as u32, 0, work>>>(1.0, &scratch, &mut sum))? };
        scratch.drop_async(&work)?;
    }
    work.synchronize()?;
    sum.copy_to(&mut result)?;
    labs::hand_in(&result)?;
    Ok(())
}
