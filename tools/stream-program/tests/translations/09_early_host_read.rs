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
    const ROUNDS: usize = 64;
    let compute = stream::non_blocking()?.named("compute");
    let copy_out = stream::non_blocking()?.named("copy out");
    let computed = Event::new(EventFlags::DISABLE_TIMING)?;
    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut data = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS) }?;
    labs::fill(&mut input, 0);
    unsafe { data.async_copy_from(&input, &compute)? };
    unsafe { launch!(kernels.affine_rounds_x4<<<BLOCKS as u32, THREADS as u32, 0, compute>>>(&mut data, 1.0, 0.125, ROUNDS as u32))? };
    computed.record(&compute)?;
    copy_out.wait(&computed)?;
    unsafe { data.async_copy_to(&mut output, &copy_out)? };
    copy_out.synchronize()?;
    labs::hand_in(&output)?;
    Ok(())
}
