//! An iteration of eight kernels becomes a graph, which is launched eight times. While the main thread captures, a loader thread
//! allocates page-locked memory and fills it. Its allocation is refused, and the capture is broken: in its mode, calls of
//! other threads can break it. Let the loader allocate while the main thread captures.
//!
//! ```text
//! main    |begin                K K K K K K K K end     copy, 8 launches of the graph
//! loader  |     allocate, fill
//! ```

use anyhow::{Result, anyhow};
use cuda_host::capture::{self, CaptureMode};
use cuda_host::{kernels, launch, prelude::*};
use cust::context::{Context, CurrentContext};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use std::thread;

kernels! { use gpu_kernels::affine_rounds_x4; }

const ELEMENTS: usize = 1 << 17;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / 4 / THREADS;
const KERNELS: usize = 8;
const LAUNCHES: usize = 8;

/// The loader's thread: it brings the input into memory of its own.
fn load(context: &Context) -> Result<LockedBuffer<f32>> {
    CurrentContext::set_current(context)?;
    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut input, 0);
    Ok(input)
}

fn main() -> Result<()> {
    let context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let work = stream::non_blocking()?.named("work");
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut data = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    CurrentContext::synchronize()?;

    capture::begin_in(&work, CaptureMode::Global)?; // TODO: who may break this capture?
    let loader = thread::scope(|scope| scope.spawn(|| load(&context)).join());
    let input = loader.map_err(|_| anyhow!("the loader panicked"))??;
    for _ in 0..KERNELS {
        // SAFETY: the graph is launched while the data lives.
        unsafe {
            launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, work>>>(&mut data, 1.0, 0.125, 16))?
        };
    }
    let iteration = capture::end(&work)?.instantiate()?;

    // SAFETY: the host waits for the stream before the memory is read or freed.
    unsafe {
        data.async_copy_from(&input, &work)?;
        for _ in 0..LAUNCHES {
            iteration.launch(&work)?;
        }
        data.async_copy_to(&mut output, &work)?;
    }
    work.synchronize()?;
    labs::hand_in(&output)
}
