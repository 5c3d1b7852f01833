//! Written from a stream program.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{affine_rounds_x4, fill}; }

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let legacy = stream::legacy();

    const JOBS: usize = 4;
    const ELEMENTS: usize = 8192;
    const THREADS: usize = 256;
    const BLOCKS: usize = ELEMENTS / 4 / THREADS;
    const ROUNDS: usize = 16384;
    let mut result = vec![0f32; JOBS * ELEMENTS];
    let no_marks = vec![0f32; JOBS];
    let mut data = unsafe { DeviceBuffer::<f32>::uninitialized(JOBS * ELEMENTS) }?;
    let mut marks = unsafe { DeviceBuffer::<f32>::uninitialized(JOBS) }?;
    labs::fill(&mut result, 0);
    data.copy_from(&result)?;
    marks.copy_from(&no_marks)?;
    CurrentContext::synchronize()?;
    let job = (0..JOBS).map(|n| stream::non_blocking().map(|each| each.named(&format!("job {n}")))).collect::<CudaResult<Vec<_>>>()?;
    for n in 0..JOBS {
        unsafe { let stream = &job[n]; launch!(kernels.affine_rounds_x4<<<BLOCKS as u32, THREADS as u32, 0, stream>>>(&mut data.index((n * ELEMENTS)..((n + 1) * ELEMENTS)), 1.0, 0.125, ROUNDS as u32))? };
        unsafe { launch!(kernels.fill<<<1, 32, 0, legacy>>>(&mut marks.index(n..(n + 1)), 1.0))? };
    }
    CurrentContext::synchronize()?;
    data.copy_to(&mut result)?;
    labs::hand_in(&result)?;
    Ok(())
}
