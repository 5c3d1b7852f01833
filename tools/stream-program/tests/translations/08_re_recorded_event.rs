//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{affine_rounds_x4}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const HALF: usize = 1 << 16;
    const THREADS: usize = 256;
    const BLOCKS: usize = HALF / 4 / THREADS;
    let left = stream::non_blocking()?.named("left");
    let right = stream::non_blocking()?.named("right");
    let out = stream::non_blocking()?.named("out");
    let made_left = Event::new(EventFlags::DISABLE_TIMING)?;
    let made_right = Event::new(EventFlags::DISABLE_TIMING)?;
    let mut output = LockedBuffer::new(&0f32, 2 * HALF)?;
    let mut data = unsafe { DeviceBuffer::<f32>::uninitialized(2 * HALF) }?;
    labs::fill(&mut output, 0);
    data.copy_from(&output)?;
    CurrentContext::synchronize()?;
    unsafe { launch!(kernels.affine_rounds_x4<<<BLOCKS as u32, THREADS as u32, 0, left>>>(&mut data.index(0..HALF), 1.0, 0.125, 4096))? };
    made_left.record(&left)?;
    unsafe { launch!(kernels.affine_rounds_x4<<<BLOCKS as u32, THREADS as u32, 0, right>>>(&mut data.index(HALF..(2 * HALF)), 1.0, 0.125, 256))? };
    made_right.record(&right)?;
    out.wait(&made_left)?;
    out.wait(&made_right)?;
    unsafe { data.async_copy_to(&mut output, &out)? };
    out.synchronize()?;
    labs::hand_in(&output)?;
    Ok(())
}
