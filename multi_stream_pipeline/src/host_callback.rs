//! host-callback: what does it cost to have the host between two stages?
//!
//! Chunks are copied out, a host function works on them, and the results are copied in again for a kernel. A ring of
//! page-locked buffers lets the three stages work on different chunks at the same time:
//!
//! ```text
//! copy out    |OOOO oooo OOOO
//! function    |    FFFFF fffff FFFFF
//! next stage  |          NN    nn    NN
//! ```
//!
//! Who calls the function? The *callback*: the stream does, on a thread of the driver (`cuLaunchHostFunc`), and the
//! program's thread has long gone on. The *polling thread*: the program queries an event again and again and then calls
//! the function itself; nothing reacts faster, and a core does nothing else. The *blocking thread* sleeps until the event
//! wakes it up. They differ in what one hand-over costs, and whom. Chunks out of order, a result that differs, or a
//! program's thread that is held up by callbacks would prove this wrong. A host function must not call CUDA, and has no
//! way to return an error.

use anyhow::Result;
use cuda_host::{host_function::Lent, prelude::*};
use std::{ops::Range, sync::Arc};

kernels! { pub struct Kernels; use gpu_kernels::affine_x4; }

/// What is called with the number of each chunk and its data, and how the program's thread waits for an event.
pub type ChunkCallback = Arc<dyn Fn(usize, &mut [f32]) + Send + Sync>;
pub type WaitFunction = fn(&Event) -> CudaResult<()>;

/// Chunks in device memory, and the ring that they pass through.
pub struct CallbackPipeline {
    pub kernels: Option<Kernels>, // of the next stage; without them it is the copy alone
    pub input: DeviceBuffer<f32>,
    pub results: DeviceBuffer<f32>,
    pub chunks: Vec<Range<usize>>,
    pub ring: Vec<HostSlot>,
    pub function: ChunkCallback,
}

/// Page-locked memory for a chunk, with an event for the end of each stage.
pub struct HostSlot {
    pub data: LockedBuffer<f32>,
    pub landed: Event,
    pub called: Event,
    pub emptied: Event,
}

impl CallbackPipeline {
    pub fn new(data: &[f32], chunks: Vec<Range<usize>>, buffers: usize) -> Result<Self> {
        let kernels = Some(Kernels::load(gpu_kernels::SM_70)?);
        let input = DeviceBuffer::from_slice(data)?;
        let results = DeviceBuffer::zeroed(data.len())?;
        let (function, mut ring): (ChunkCallback, _) = (Arc::new(|_, _| ()), vec![]);
        for _ in 0..buffers {
            let data = LockedBuffer::new(&0.0, chunks[0].len())?;
            // With BLOCKING_SYNC the thread that synchronises sleeps; without, it spins.
            let landed = Event::new(EventFlags::DISABLE_TIMING | EventFlags::BLOCKING_SYNC)?;
            let called = Event::new(EventFlags::DISABLE_TIMING)?;
            let emptied = Event::new(EventFlags::DISABLE_TIMING)?;
            ring.push(HostSlot { data, landed, called, emptied });
        }
        Ok(Self { kernels, input, results, chunks, ring, function })
    }

    /// A stream calls the function.
    pub fn callbacks(&mut self, [fetch, functions, next]: [&Stream; 3]) -> Result<()> {
        let buffers = self.ring.len();
        for (i, chunk) in self.chunks.iter().enumerate() {
            let (slot, function) = (&mut self.ring[i % buffers], Arc::clone(&self.function));
            let mut result = self.results.index(chunk.clone());
            // SAFETY: all memory outlives the pass, and events order the uses of each slot, also by the function.
            unsafe {
                fetch.wait(&slot.emptied)?;
                self.input.index(chunk.clone()).async_copy_to(&mut slot.data, fetch)?;
                slot.landed.record(fetch)?;

                functions.wait(&slot.landed)?;
                let data = Lent::new(&mut slot.data);
                functions.launch_host_function(move || function(i, data.get()))?;
                slot.called.record(functions)?;

                next.wait(&slot.called)?;
                result.async_copy_from(&slot.data, next)?;
                slot.emptied.record(next)?;
                if let Some(kernels) = &self.kernels {
                    launch!(kernels.affine_x4<<<result.len().div_ceil(1024) as u32, 256, 0, next>>>(&mut result, 2.0, 1.0))?;
                }
            }
        }
        Ok(())
    }

    /// The program's thread waits for the event, by `Event::synchronize` or in a loop of `Event::query`, and calls the function.
    /// Copies out are as far ahead as the ring allows.
    pub fn program(&mut self, [fetch, next]: [&Stream; 2], wait: WaitFunction) -> Result<()> {
        let (buffers, ahead) = (self.ring.len(), self.ring.len() - 1);
        for step in 0..self.chunks.len() + ahead {
            // SAFETY: as above, and the function has returned when its result is copied.
            unsafe {
                if let Some(chunk) = self.chunks.get(step) {
                    let slot = &mut self.ring[step % buffers];
                    fetch.wait(&slot.emptied)?;
                    self.input.index(chunk.clone()).async_copy_to(&mut slot.data, fetch)?;
                    slot.landed.record(fetch)?;
                }
                let Some(i) = step.checked_sub(ahead) else { continue };
                let (slot, chunk) = (&mut self.ring[i % buffers], self.chunks[i].clone());
                let mut result = self.results.index(chunk);
                wait(&slot.landed)?;
                (self.function)(i, &mut slot.data);
                result.async_copy_from(&slot.data, next)?;
                slot.emptied.record(next)?;
                if let Some(kernels) = &self.kernels {
                    launch!(kernels.affine_x4<<<result.len().div_ceil(1024) as u32, 256, 0, next>>>(&mut result, 2.0, 1.0))?;
                }
            }
        }
        Ok(())
    }
}
