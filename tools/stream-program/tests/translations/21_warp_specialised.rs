//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{fma_tiles_cp_async}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_80)?;

    const ELEMENTS: usize = 1 << 20;
    const BLOCKS: usize = 128;
    const CONSUMERS: usize = 256;
    const ROUNDS: usize = 32;
    let work = stream::non_blocking()?.named("work");
    let mut memory = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut input = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    let mut output = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    labs::fill(&mut memory, 0);
    input.copy_from(&memory)?;
    CurrentContext::synchronize()?;
    unsafe { launch!(kernels.fma_tiles_cp_async<<<BLOCKS as u32, (CONSUMERS + 32) as u32, 0, work>>>(&input, &mut output, ROUNDS as u32))? };
    unsafe { output.async_copy_to(&mut memory, &work)? };
    work.synchronize()?;
    labs::hand_in(&memory)?;
    Ok(())
}
