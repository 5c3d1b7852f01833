//! event-chain: what closes the gaps between producer, consumer and output?
//!
//! The consumer must not start with a chunk before the producer has finished it, nor the copy out before the consumer has.
//! A host that waits keeps this order, and so does a single stream; nothing overlaps in either. Events keep it between
//! streams: the consumer's stream waits for the event behind the producer's kernel, and the host has long gone on.
//!
//! ```text
//! host sync  producer |PPP         ppp            events  producer |PPPpppPPPppp
//!            consumer |   CCCC        cccc                consumer |   CCCCccccCCCCcccc
//!            output   |       OO          oo              output   |       OO  oo  OO  oo
//! ```
//!
//! C chunks take no less than one chunk's way through all stages and C - 1 times its way through the slowest. A time below
//! that, a consumer that starts too early, or that is idle in spite of the events would prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;
use gpu_kernels::CONSUMERS as THREADS;
use std::ops::Range;

kernels! { pub struct Kernels; use gpu_kernels::fma_tiles_unspecialised; }

pub const PRODUCED: u32 = 16; // multiply-adds of each element
pub const CONSUMED: u32 = 64;
pub const BLOCKS: u32 = 4; // few, so that kernels of two streams find room beside each other
pub const SLOTS: usize = 3; // one is filled, one is emptied, one is on the way

/// The chunks in device memory, the slots that they pass through, and page-locked memory for the results.
pub struct EventChain {
    pub kernels: Kernels,
    pub input: DeviceBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub chunks: Vec<Range<usize>>,
    pub slots: Vec<ChunkSlot>,
}

/// The buffers between producer and consumer, and between consumer and output, with an event for the end of each stage.
pub struct ChunkSlot {
    pub product: DeviceBuffer<f32>,
    pub result: DeviceBuffer<f32>,
    produced: Event,
    consumed: Event,
    put_out: Event,
}

impl EventChain {
    /// The data are uploaded, and their page-locked memory is there for the results.
    pub fn new(data: LockedBuffer<f32>, chunks: Vec<Range<usize>>) -> Result<Self> {
        let (input, mut slots) = (DeviceBuffer::from_slice(&data)?, vec![]);
        let buffer = || DeviceBuffer::zeroed(chunks[0].len());
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        for _ in 0..SLOTS {
            let (product, result) = (buffer()?, buffer()?);
            let (produced, consumed, put_out) = (event()?, event()?, event()?);
            slots.push(ChunkSlot { product, result, produced, consumed, put_out });
        }
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        Ok(Self { kernels, input, output: data, chunks, slots })
    }

    /// The host waits for each stage before it starts the next.
    pub fn host_sync(&mut self, [producer, consumer, output]: [&Stream; 3]) -> Result<()> {
        for (i, chunk) in self.chunks.iter().enumerate() {
            let (slot, input) = (&self.slots[i % SLOTS], self.input.index(chunk.clone()));
            let mut product = slot.product.index(..chunk.len());
            let mut result = slot.result.index(..chunk.len());
            // SAFETY: all memory outlives the pass, and the host's waits order its uses. Any grid covers all tiles.
            unsafe {
                launch!(self.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, producer>>>(&input, &mut product, PRODUCED))?;
                producer.synchronize()?;
                launch!(self.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, consumer>>>(&product, &mut result, CONSUMED))?;
                consumer.synchronize()?;
                result.async_copy_to(&mut self.output[chunk.clone()], output)?;
                output.synchronize()?;
            }
        }
        Ok(())
    }

    /// One stream keeps the order: no event is needed.
    pub fn one_stream(&mut self, stream: &Stream) -> Result<()> {
        for (i, chunk) in self.chunks.iter().enumerate() {
            let (slot, input) = (&self.slots[i % SLOTS], self.input.index(chunk.clone()));
            let mut product = slot.product.index(..chunk.len());
            let mut result = slot.result.index(..chunk.len());
            // SAFETY: as above, in the order of the stream.
            unsafe {
                launch!(self.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, stream>>>(&input, &mut product, PRODUCED))?;
                launch!(self.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, stream>>>(&product, &mut result, CONSUMED))?;
                result.async_copy_to(&mut self.output[chunk.clone()], stream)?;
            }
        }
        Ok(())
    }

    /// A stream for each stage. Events hand every chunk on, and give the slot's buffers back.
    pub fn events(&mut self, [producer, consumer, output]: [&Stream; 3]) -> Result<()> {
        for (i, chunk) in self.chunks.iter().enumerate() {
            let (slot, input) = (&self.slots[i % SLOTS], self.input.index(chunk.clone()));
            let mut product = slot.product.index(..chunk.len());
            let mut result = slot.result.index(..chunk.len());
            // SAFETY: as above, but that events order the uses.
            unsafe {
                producer.wait(&slot.consumed)?; // the product before has been consumed
                launch!(self.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, producer>>>(&input, &mut product, PRODUCED))?;
                slot.produced.record(producer)?;

                consumer.wait(&slot.produced)?;
                consumer.wait(&slot.put_out)?; // the result before has been copied out
                launch!(self.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, consumer>>>(&product, &mut result, CONSUMED))?;
                slot.consumed.record(consumer)?;

                output.wait(&slot.consumed)?;
                result.async_copy_to(&mut self.output[chunk.clone()], output)?;
                slot.put_out.record(output)?;
            }
        }
        Ok(())
    }
}
