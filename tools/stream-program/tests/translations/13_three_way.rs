//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::{affine_rounds_x4}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const CHUNKS: usize = 16;
    const CHUNK: usize = 1 << 18;
    const BUFFERS: usize = 3;
    const THREADS: usize = 256;
    const BLOCKS: usize = CHUNK / 4 / THREADS;
    const ROUNDS: usize = 16;
    let copy_in = stream::non_blocking()?.named("copy in");
    let compute = stream::non_blocking()?.named("compute");
    let copy_out = stream::non_blocking()?.named("copy out");
    let filled = (0..BUFFERS).map(|_| Event::new(EventFlags::DISABLE_TIMING)).collect::<CudaResult<Vec<_>>>()?;
    let computed = (0..BUFFERS).map(|_| Event::new(EventFlags::DISABLE_TIMING)).collect::<CudaResult<Vec<_>>>()?;
    let emptied = (0..BUFFERS).map(|_| Event::new(EventFlags::DISABLE_TIMING)).collect::<CudaResult<Vec<_>>>()?;
    let mut input = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut output = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut data = (0..BUFFERS).map(|_| unsafe { DeviceBuffer::<f32>::uninitialized(CHUNK) }).collect::<CudaResult<Vec<_>>>()?;
    labs::fill(&mut input, 0);
    for chunk in 0..CHUNKS {
        let slot = chunk % BUFFERS;
        copy_in.wait(&emptied[slot])?;
        unsafe { data[slot].async_copy_from(&input[(chunk * CHUNK)..((chunk + 1) * CHUNK)], &copy_in)? };
        filled[slot].record(&copy_in)?;
        compute.wait(&filled[slot])?;
        unsafe { launch!(kernels.affine_rounds_x4<<<BLOCKS as u32, THREADS as u32, 0, compute>>>(&mut data[slot], 1.0, 0.125, ROUNDS as u32))? };
        computed[slot].record(&compute)?;
        copy_out.wait(&computed[slot])?;
        unsafe { data[slot].async_copy_to(&mut output[(chunk * CHUNK)..((chunk + 1) * CHUNK)], &copy_out)? };
        emptied[slot].record(&copy_out)?;
    }
    copy_out.synchronize()?;
    labs::hand_in(&output)?;
    Ok(())
}
