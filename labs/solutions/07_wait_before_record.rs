//! The consumer is set up first and waits for the producer's event; then the producer is started, which records it.
//! The kernel starts at once nevertheless. A wait looks at the event at the time of the call: find out what it saw.
//!
//! ```text
//! producer |HHHHHHHe
//! consumer |       wKKKKDDDDDDD
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;

kernels! { use gpu_kernels::affine_rounds_x4; }

const ELEMENTS: usize = 1 << 18;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / 4 / THREADS;
const ROUNDS: u32 = 16;

/// Works on the data as soon as it is there.
fn consume(
    kernels: &Kernels,
    data: &mut DeviceBuffer<f32>,
    output: &mut LockedBuffer<f32>,
    there: &Event,
    stream: &Stream,
) -> Result<()> {
    stream.wait(there)?;
    // SAFETY: the caller waits for the stream before it frees the memory.
    unsafe {
        launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, stream>>>(&mut *data, 1.0, 0.125, ROUNDS))?;
        data.async_copy_to(output, stream)?;
    }
    Ok(())
}

/// Loads the data.
fn produce(
    data: &mut DeviceBuffer<f32>,
    input: &LockedBuffer<f32>,
    there: &Event,
    stream: &Stream,
) -> Result<()> {
    // SAFETY: the caller waits for the consumer, which waits for this.
    unsafe { data.async_copy_from(input, stream)? };
    Ok(there.record(stream)?)
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [producer, consumer] = stream::non_blocking_named(["producer", "consumer"])?;
    let there = Event::new(EventFlags::DISABLE_TIMING)?;
    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut input, 0);
    // SAFETY: the copy fills it before the kernel reads it.
    let mut data = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS)? };

    produce(&mut data, &input, &there, &producer)?;
    consume(&kernels, &mut data, &mut output, &there, &consumer)?;
    consumer.synchronize()?;
    producer.synchronize()?;
    labs::hand_in(&output)
}
