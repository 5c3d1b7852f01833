//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::{affine_rounds_x4}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;

    const CHUNKS: usize = 16;
    const CHUNK: usize = 1 << 18;
    const THREADS: usize = 256;
    const BLOCKS: usize = CHUNK / 4 / THREADS;
    const ROUNDS: usize = 16;
    const STREAMS: usize = 2;
    let lane = (0..STREAMS).map(|n| stream::non_blocking().map(|each| each.named(&format!("lane {n}")))).collect::<CudaResult<Vec<_>>>()?;
    let mut input = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut output = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    let mut data = (0..STREAMS).map(|_| unsafe { DeviceBuffer::<f32>::uninitialized(CHUNK) }).collect::<CudaResult<Vec<_>>>()?;
    labs::fill(&mut input, 0);
    for chunk in 0..CHUNKS {
        let n = chunk % STREAMS;
        unsafe { data[n].async_copy_from(&input[(chunk * CHUNK)..((chunk + 1) * CHUNK)], &lane[n])? };
        unsafe { let stream = &lane[n]; launch!(kernels.affine_rounds_x4<<<BLOCKS as u32, THREADS as u32, 0, stream>>>(&mut data[n], 1.0, 0.125, ROUNDS as u32))? };
        unsafe { data[n].async_copy_to(&mut output[(chunk * CHUNK)..((chunk + 1) * CHUNK)], &lane[n])? };
    }
    for n in 0..STREAMS {
        lane[n].synchronize()?;
    }
    labs::hand_in(&output)?;
    Ok(())
}
