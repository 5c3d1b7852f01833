//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{fill}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const STEPS: usize = 8;
    const SCRATCH: usize = 1 << 23;
    const ELEMENTS: usize = 1 << 19;
    const THREADS: usize = 256;
    let work = stream::non_blocking()?.named("work");
    let mut output = LockedBuffer::new(&0f32, STEPS * ELEMENTS)?;
    MemoryPool::default_of(CurrentContext::get_device()?)?.set_release_threshold(u64::MAX)?;
    for step in 0..STEPS {
        let scratch = unsafe { DeviceBuffer::<f32>::uninitialized_async(SCRATCH, &work) }?;
        unsafe { launch!(kernels.fill<<<(ELEMENTS / THREADS) as u32, THREADS as u32, 0, work>>>(&mut scratch.index(0..ELEMENTS), step as f32))? };
        unsafe { scratch.index(0..ELEMENTS).async_copy_to(&mut output[(step * ELEMENTS)..((step + 1) * ELEMENTS)], &work)? };
        scratch.drop_async(&work)?;
        work.synchronize()?;
    }
    labs::hand_in(&output)?;
    Ok(())
}
