//! A graph copies a bias and a batch to the device and adds both to a sum. It is captured once, and launched for each of six
//! batches. A captured copy keeps an address and no data: each launch reads what is in that memory when the copy runs. So the memory
//! has to live as long as the graph, and the host may change it only while no launch reads it. Find what breaks each of the two.
//!
//! ```text
//! host |capture, fill|launch|w fill|launch|w fill|launch
//! work |                HHKK         HHKK         HHKK
//! ```

use anyhow::Result;
use cuda_host::capture::{self, GraphExec};
use cuda_host::{kernels, launch, prelude::*};
use cust::context::CurrentContext;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;

kernels! { use gpu_kernels::saxpy; } // y[i] = a x[i] + y[i]

const BATCHES: usize = 6;
const BIAS: usize = BATCHES; // the bias is the data behind the last batch
const ELEMENTS: usize = 1 << 17;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;

/// The step of a batch, as a graph, with the page-locked memory that it reads.
struct Step {
    graph: GraphExec,
    batch: LockedBuffer<f32>,
}

/// Captures the step. The device's copy of the bias and of the batch take turns in `data`.
fn step(
    work: &Stream,
    kernels: &Kernels,
    data: &mut DeviceBuffer<f32>,
    sum: &mut DeviceBuffer<f32>,
) -> Result<Step> {
    let batch = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut bias = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut bias, BIAS);
    capture::begin(work)?;
    for input in [&bias, &batch] {
        // SAFETY: nothing runs now; the caller that launches the graph keeps the memory.
        unsafe {
            data.async_copy_from(input, work)?;
            launch!(kernels.saxpy<<<BLOCKS, THREADS, 0, work>>>(1.0, &*data, &mut *sum))?;
        }
    }
    let graph = capture::end(work)?.instantiate()?;
    Ok(Step { graph, batch })
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?; // the graph launches its kernels: it stays loaded
    let work = stream::non_blocking()?.named("work");
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut sum = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    let mut data = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    CurrentContext::synchronize()?;
    let mut step = step(&work, &kernels, &mut data, &mut sum)?;

    for number in 0..BATCHES {
        labs::fill(&mut step.batch, number);
        // SAFETY: the host waits for the stream before the memory is read or freed.
        unsafe { step.graph.launch(&work)? };
    }
    // SAFETY: as above.
    unsafe { sum.async_copy_to(&mut output, &work)? };
    work.synchronize()?;
    labs::hand_in(&output)
}
