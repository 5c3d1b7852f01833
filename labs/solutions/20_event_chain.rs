//! A pipeline of three stages over eight chunks: a producer kernel, a consumer kernel, a copy out; a stream each, and two
//! slots that are used in turn. The host waits for every stage of every chunk. Replace all of it by events: each slot has two
//! hand-overs forward, and two backward, which say that a buffer may be written again.
//!
//! ```text
//! producer |PPPpppPPPppp
//! consumer |   CCCcccCCCccc
//! output   |      DDDdddDDDddd
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use gpu_kernels::CONSUMERS;

kernels! { use gpu_kernels::fma_tiles_unspecialised; } // output = input through `rounds` multiply-adds

const CHUNKS: usize = 8;
const SLOTS: usize = 2;
const CHUNK: usize = 1 << 18;
const BLOCKS: u32 = 64; // half of the GPU: producer and consumer have room side by side
const ROUNDS: u32 = 32;

fn events() -> Result<[Event; SLOTS]> {
    Ok([Event::new(EventFlags::DISABLE_TIMING)?, Event::new(EventFlags::DISABLE_TIMING)?])
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let kernel = &kernels.fma_tiles_unspecialised;
    let [producer, consumer, out] = stream::non_blocking_named(["producer", "consumer", "output"])?;
    let mut output = LockedBuffer::new(&0f32, CHUNKS * CHUNK)?;
    labs::fill(&mut output, 0);
    let input = DeviceBuffer::from_slice(&output)?;
    let mut products = [DeviceBuffer::<f32>::zeroed(CHUNK)?, DeviceBuffer::zeroed(CHUNK)?];
    let mut results = [DeviceBuffer::<f32>::zeroed(CHUNK)?, DeviceBuffer::zeroed(CHUNK)?];
    let (produced, consumed, put_out) = (events()?, events()?, events()?);
    cust::context::CurrentContext::synchronize()?;

    for chunk in 0..CHUNKS {
        let slot = chunk % SLOTS;
        let elements = chunk * CHUNK..(chunk + 1) * CHUNK;
        let given = input.index(elements.clone());
        // SAFETY: the host waits for the last copy out before any of this memory is freed.
        unsafe {
            producer.wait(&consumed[slot])?; // the product before is no longer needed
            launch!(kernel<<<BLOCKS, CONSUMERS, 0, producer>>>(&given, &mut products[slot], ROUNDS))?;
            produced[slot].record(&producer)?;

            consumer.wait(&produced[slot])?;
            consumer.wait(&put_out[slot])?; // the result before has been copied out
            launch!(kernel<<<BLOCKS, CONSUMERS, 0, consumer>>>(&products[slot], &mut results[slot], ROUNDS))?;
            consumed[slot].record(&consumer)?;

            out.wait(&consumed[slot])?;
            results[slot].async_copy_to(&mut output[elements], &out)?;
            put_out[slot].record(&out)?;
        }
    }
    out.synchronize()?;
    labs::hand_in(&output)
}
