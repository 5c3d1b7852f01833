//! The CPU works on each chunk between two stages of the GPU: a host function in the stream does that without a thread that
//! waits. The function must not call CUDA, and need not: when it is called, everything before it in its stream is over.
//! This one asks the driver first, is refused, and gives up.
//!
//! ```text
//! stream |HHHKKDDDFFFHHHKKDDD              F is the host function
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use std::sync::Arc;

kernels! { use gpu_kernels::affine; }

const ELEMENTS: usize = 1 << 18;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let work = Arc::new(stream::non_blocking()?.named("work"));
    let mut shared = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut shared, 0);

    // SAFETY: the host waits for the stream before any of this memory is freed, and the stream orders its uses.
    unsafe {
        let mut data = DeviceBuffer::<f32>::uninitialized(ELEMENTS)?;
        data.async_copy_from(&shared, &work)?;
        launch!(kernels.affine<<<BLOCKS, THREADS, 0, work>>>(&mut data, 2.0, 1.0))?;
        data.async_copy_to(&mut shared, &work)?;

        let landed = labs::Lent::new(&mut shared);
        let stream = Arc::clone(&work);
        work.launch_host_function(move || {
            // TODO: no call of CUDA in here.
            if stream.synchronize().is_err() {
                return;
            }
            labs::in_place(landed.get(), |chunk| chunk.iter_mut().for_each(|x| *x = -*x));
        })?;

        data.async_copy_from(&shared, &work)?;
        launch!(kernels.affine<<<BLOCKS, THREADS, 0, work>>>(&mut data, 0.5, 0.0))?;
        data.async_copy_to(&mut shared, &work)?;
        work.synchronize()?;
    }
    labs::hand_in(&shared)
}
