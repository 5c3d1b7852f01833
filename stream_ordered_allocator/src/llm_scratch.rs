//! llm-scratch: what do allocators do to the latency of batches whose sizes change?
//!
//! One layer of a small transformer serves one batch after the other: attention (queries, keys, values, an s by s matrix
//! of scores, its softmax), and the feed-forward network that attention feeds. Each batch has its own length s, so the
//! scratch memory has another size each time:
//!
//! ```text
//! attention   |q k v  scores  attended  -> after|                 s·d each, and s²
//! network     |                                  hidden -> out|   4·s·d
//! freed       |                    q k v scores ^             ^ hidden, after
//! ```
//!
//! With cuMemAlloc and cuMemFree each free waits for the device in the middle of the batch, and large sizes go to the
//! operating system. A pool puts both into the stream. Before each round it is asked for the largest batch's memory once
//! and keeps it, so that what is timed is a pool that has grown, as a server's has after its first batches. An arena of the
//! largest batch's size needs no allocator at all, but has to know that size. All three run the same code. An output that
//! differs from a computation in double precision, or a pool whose batches take more than a quarter longer than the
//! arena's, would prove this wrong.

use crate::layer::{D, HIDDEN, Layer, Slice, Weight};
use anyhow::Result;
use cuda_host::prelude::*;

/// Where scratch memory comes from.
pub trait Scratch {
    /// Memory for work in the stream.
    fn alloc_async(&mut self, elements: usize, stream: &Stream) -> Result<DeviceBuffer<f32>>;

    /// Frees it behind what the stream has been given.
    fn free_async(&mut self, memory: DeviceBuffer<f32>, stream: &Stream) -> Result<()>;
}

/// The driver's memory, in no stream's order.
pub struct Malloc;

impl Scratch for Malloc {
    fn alloc_async(&mut self, elements: usize, _: &Stream) -> Result<DeviceBuffer<f32>> {
        // SAFETY: each kernel writes what the next one reads.
        Ok(unsafe { DeviceBuffer::uninitialized(elements)? }) //        cuMemAlloc
    }

    fn free_async(&mut self, memory: DeviceBuffer<f32>, stream: &Stream) -> Result<()> {
        stream.synchronize()?;
        drop(memory); //                                                cuMemFree
        Ok(())
    }
}

impl Scratch for MemoryPool {
    fn alloc_async(&mut self, elements: usize, stream: &Stream) -> Result<DeviceBuffer<f32>> {
        // SAFETY: as above, in stream order.
        Ok(unsafe { MemoryPool::alloc_async(self, elements, stream)? }) // cuMemAllocFromPoolAsync
    }

    fn free_async(&mut self, memory: DeviceBuffer<f32>, stream: &Stream) -> Result<()> {
        Ok(memory.drop_async(stream)?) //                               cuMemFreeAsync
    }
}

/// A layer, and room for a batch before and behind it.
pub struct Model {
    pub layer: Layer,
    pub x: DeviceBuffer<f32>,
    pub out: DeviceBuffer<f32>,
}

impl Model {
    /// Serves one batch to its end.
    pub fn serve(
        &self,
        (input, output): (&LockedBuffer<f32>, &mut LockedBuffer<f32>),
        scratch: &mut impl Scratch,
    ) -> Result<()> {
        let (mut x, out) = (self.x.index(..input.len()), self.out.index(..input.len()));
        // SAFETY: page-locked memory that is read and written behind the wait.
        unsafe {
            x.async_copy_from(&input[..], &self.layer.stream)?;
            self.forward(&x, &out, scratch)?;
            out.async_copy_to(&mut output[..], &self.layer.stream)?;
        }
        Ok(self.layer.stream.synchronize()?)
    }

    fn forward(&self, x: &Slice, out: &Slice, scratch: &mut impl Scratch) -> Result<()> {
        let (layer, stream, s) = (&self.layer, &self.layer.stream, x.len() / D);

        let after = scratch.alloc_async(s * D, stream)?;
        let q = scratch.alloc_async(s * D, stream)?;
        layer.project(x, Weight::Query, &q)?;
        let k = scratch.alloc_async(s * D, stream)?;
        layer.project(x, Weight::Key, &k)?;
        let v = scratch.alloc_async(s * D, stream)?;
        layer.project(x, Weight::Value, &v)?;
        let scores = scratch.alloc_async(s * s, stream)?;
        layer.scores(&q, &k, &scores, s)?;
        let attended = scratch.alloc_async(s * D, stream)?;
        layer.product(&scores, &v, &attended, [s, D, s])?;
        layer.project(&attended, Weight::Output, &after)?;
        layer.add(&after, Weight::BiasOutput, x)?;
        for memory in [q, k, v, scores, attended] {
            scratch.free_async(memory, stream)?;
        }

        let hidden = scratch.alloc_async(s * HIDDEN, stream)?;
        layer.project(&after, Weight::Up, &hidden)?;
        layer.bias_gelu(&hidden, Weight::BiasUp)?;
        layer.project(&hidden, Weight::Down, out)?;
        layer.add(out, Weight::BiasDown, &after)?;
        scratch.free_async(hidden, stream)?;
        scratch.free_async(after, stream)
    }
}
