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
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use gpu_kernels::CONSUMERS;

kernels! { use gpu_kernels::fma_tiles_unspecialised; } // output = input through `rounds` multiply-adds

const CHUNKS: usize = 8;
const SLOTS: usize = 2;
const CHUNK: usize = 1 << 18;
const BLOCKS: u32 = 64; // half of the GPU: producer and consumer have room side by side
const ROUNDS: u32 = 32;

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
    cust::context::CurrentContext::synchronize()?;

    for chunk in 0..CHUNKS {
        let slot = chunk % SLOTS;
        let elements = chunk * CHUNK..(chunk + 1) * CHUNK;
        let given = input.index(elements.clone());
        // SAFETY: the host waits for the last copy out before any of this memory is freed.
        unsafe {
            launch!(kernel<<<BLOCKS, CONSUMERS, 0, producer>>>(&given, &mut products[slot], ROUNDS))?;
            producer.synchronize()?; // TODO: events instead of the host
            launch!(kernel<<<BLOCKS, CONSUMERS, 0, consumer>>>(&products[slot], &mut results[slot], ROUNDS))?;
            consumer.synchronize()?;
            results[slot].async_copy_to(&mut output[elements], &out)?;
            out.synchronize()?;
        }
    }
    labs::hand_in(&output)
}
