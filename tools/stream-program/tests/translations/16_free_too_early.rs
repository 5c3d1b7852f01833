//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::{fill}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const STEPS: usize = 6;
    const ELEMENTS: usize = 1 << 18;
    const THREADS: usize = 256;
    const BLOCKS: usize = ELEMENTS / THREADS;
    let work = stream::non_blocking()?.named("work");
    let copy_out = stream::non_blocking()?.named("copy out");
    let computed = Event::new(EventFlags::DISABLE_TIMING)?;
    let mut output = LockedBuffer::new(&0f32, STEPS * ELEMENTS)?;
    for step in 0..STEPS {
        let mut data = unsafe { DeviceBuffer::<f32>::uninitialized_async(ELEMENTS, &work) }?;
        unsafe { launch!(kernels.fill<<<BLOCKS as u32, THREADS as u32, 0, work>>>(&mut data, step as f32))? };
        computed.record(&work)?;
        copy_out.wait(&computed)?;
        unsafe { data.async_copy_to(&mut output[(step * ELEMENTS)..((step + 1) * ELEMENTS)], &copy_out)? };
        data.drop_async(&copy_out)?;
    }
    work.synchronize()?;
    copy_out.synchronize()?;
    labs::hand_in(&output)?;
    Ok(())
}
