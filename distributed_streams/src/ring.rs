//! An all-reduce of our own: a ring over peer copies.
//!
//! The data is cut into as many chunks as there are GPUs. In each of the N - 1 steps of the first half a GPU sends a chunk to its
//! successor, which adds its own numbers: after them, each GPU holds the sum of one chunk. In the N - 1 steps of the second half
//! the sums go round. Every GPU sends 2 (N - 1) / N of the data, however many there are.
//!
//! ```text
//! 3 GPUs     reduce-scatter: add what arrives     all-gather: keep what arrives
//! GPU 0      send 0, add to 2   send 2, add to 1   send 1, get 0   send 0, get 2
//! GPU 1      send 1, add to 0   send 0, add to 2   send 2, get 1   send 1, get 0
//! GPU 2      send 2, add to 1   send 1, add to 0   send 0, get 2   send 2, get 1
//! ```
//!
//! Chunk c is added up in the order of GPUs c, c + 1, .., c + N - 1, whatever runs when: the same bits each time.

use crate::gpus;
use anyhow::Result;
use cuda_host::{kernels, launch, peer, prelude::*};
use cust::context::{Context, CurrentContext};
use cust::event::Event;
use cust::memory::{DeviceBuffer, DeviceSlice};
use cust::stream::Stream;
use examples_host::prelude::chunks;
use std::ops::Range;

kernels! { use gpu_kernels::saxpy; }

const THREADS: u32 = 256;

/// What the GPUs need for it beside their data.
pub struct RingBuffers {
    contexts: Vec<Context>,
    kernels: Vec<Kernels>,
    /// Where each GPU receives what it has to add, one slot for each step.
    inboxes: Vec<DeviceBuffer<f32>>,
    /// Recorded by each GPU behind what it has sent.
    sent: Vec<Event>,
    /// Recorded by each GPU behind the last use of its inbox.
    taken: Vec<Event>,
}

impl RingBuffers {
    /// A ring of these GPUs for all-reduces of at most `elements`.
    pub fn new(contexts: &[Context], elements: usize) -> Result<Self> {
        Ok(Self {
            contexts: contexts.to_vec(),
            kernels: gpus::on_each(contexts, |_| Ok(Kernels::load(gpu_kernels::SM_70)?))?,
            inboxes: gpus::on_each(contexts, |_| {
                // SAFETY: floats, and what is read has arrived before.
                Ok(unsafe { DeviceBuffer::uninitialized(inbox(elements, contexts.len()))? })
            })?,
            sent: gpus::events(contexts)?,
            taken: gpus::events(contexts)?,
        })
    }

    /// Adds up `range` of the GPUs' data in place, each GPU's part of the work in its own stream.
    pub fn all_reduce(
        &mut self,
        data: &mut [DeviceBuffer<f32>],
        range: Range<usize>,
        streams: &[Stream],
    ) -> Result<()> {
        let gpus = self.contexts.len();
        let chunks = chunks_of(range, gpus)?;
        let chunk = |number: usize| chunks[number % gpus].clone();
        for step in 0..gpus - 1 {
            for (gpu, stream) in streams.iter().enumerate() {
                let partial = data[gpu].index(chunk(gpu + gpus - step));
                self.send_to_inbox(gpu, step, &partial, stream)?;
            }
            for (gpu, stream) in streams.iter().enumerate() {
                let mut own = data[gpu].index(chunk(gpu + gpus - step - 1));
                self.add(gpu, step, &mut own, stream)?;
            }
        }
        for (taken, stream) in self.taken.iter().zip(streams) {
            taken.record(stream)?;
        }
        for step in 0..gpus - 1 {
            for (gpu, stream) in streams.iter().enumerate() {
                self.send(gpu, data, chunk(gpu + 1 + gpus - step), stream)?;
            }
            for (gpu, stream) in streams.iter().enumerate() {
                stream.wait(&self.sent[predecessor(gpu, gpus)])?;
            }
        }
        Ok(())
    }

    /// Copies what the successor has to add into its inbox.
    fn send_to_inbox(
        &mut self,
        gpu: usize,
        step: usize,
        chunk: &DeviceSlice<f32>,
        stream: &Stream,
    ) -> Result<()> {
        let next = (gpu + 1) % self.contexts.len();
        if step == 0 {
            stream.wait(&self.taken[next])?; // the inbox is empty again
        }
        let mut slot = slot(&self.inboxes[next], step, self.contexts.len(), chunk.len());
        let (to, from) = ((&mut slot, &self.contexts[next]), (chunk, &self.contexts[gpu]));
        // SAFETY: both buffers live as long as the work, and events order the uses of the slot.
        unsafe { peer::copy_async(to, from, stream)? };
        self.sent[gpu].record(stream)?;
        Ok(())
    }

    /// Adds what has arrived in the inbox.
    fn add(
        &mut self,
        gpu: usize,
        step: usize,
        chunk: &mut DeviceSlice<f32>,
        stream: &Stream,
    ) -> Result<()> {
        let gpus = self.contexts.len();
        stream.wait(&self.sent[predecessor(gpu, gpus)])?;
        let (kernel, blocks) = (&self.kernels[gpu].saxpy, (chunk.len() as u32).div_ceil(THREADS));
        let arrived = slot(&self.inboxes[gpu], step, gpus, chunk.len());
        CurrentContext::set_current(&self.contexts[gpu])?;
        // SAFETY: a thread for every element, and chunk and slot are of one length.
        unsafe { launch!(kernel<<<blocks, THREADS, 0, stream>>>(1.0, &arrived, chunk))? };
        Ok(())
    }

    /// Copies a sum into the successor's data.
    fn send(
        &mut self,
        gpu: usize,
        data: &[DeviceBuffer<f32>],
        chunk: Range<usize>,
        stream: &Stream,
    ) -> Result<()> {
        let next = (gpu + 1) % self.contexts.len();
        let (mut to, from) = (data[next].index(chunk.clone()), data[gpu].index(chunk));
        let (to, from) = ((&mut to, &self.contexts[next]), (&from, &self.contexts[gpu]));
        // SAFETY: as above. The successor has sent its own numbers on before this sum came to be.
        unsafe { peer::copy_async(to, from, stream)? };
        self.sent[gpu].record(stream)?;
        Ok(())
    }
}

fn predecessor(gpu: usize, gpus: usize) -> usize {
    (gpu + gpus - 1) % gpus
}

/// The part of an inbox for what arrives in one step.
fn slot(inbox: &DeviceBuffer<f32>, step: usize, gpus: usize, len: usize) -> DeviceSlice<f32> {
    let start = step * (inbox.len() / (gpus - 1));
    inbox.index(start..start + len)
}

/// Elements of an inbox with a slot for each step: a slot holds the longest chunk.
fn inbox(elements: usize, gpus: usize) -> usize {
    (elements.div_ceil(gpus) + 32) * (gpus - 1).max(1)
}

/// The chunks of a range, one for each GPU.
pub fn chunks_of(range: Range<usize>, gpus: usize) -> Result<Vec<Range<usize>>> {
    let chunks = chunks::ranges::<f32>(range.len(), gpus)?.into_iter();
    Ok(chunks.map(|chunk| range.start + chunk.start..range.start + chunk.end).collect())
}
