//! depth: how far ahead must a thread load?
//!
//! One thread loads batches of equal length, each in a little less time than the kernel takes. At depth 0 it waits for the kernel
//! before it loads the next batch: the GPU waits for every load and every copy. At depth 1 it loads while the kernel runs, and at
//! depth 2 while one batch is copied and another is worked on:
//!
//! ```text
//! depth 0  load    |LLLL        LLLL          depth 2  load    |LLLLllllLLLLllllLLLL
//!          copy    |    HH          HH                 copy    |    HH  hh  HH  hh
//!          kernel  |      KKKKK       K                kernel  |      KKKKKkkkkkKKKKKkk
//! ```
//!
//! A batch passes three stages, so three batches under way keep all of them busy: a depth of 2. With d + 1 of them, a batch takes
//! (L + R + H + K) / (d + 1), where R is what the hand-overs cost, but not less than the longest stage. R is found where nothing
//! overlaps, as at depth 0, and foretells the other depths. An idle time that differs from this, or one that falls at depth 4, would
//! prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { pub struct Kernels; use gpu_kernels::fma_tiles_unspecialised; }

pub const LEN: usize = 1 << 18; // elements of a batch: 1 MiB
pub const THREADS: u32 = gpu_kernels::CONSUMERS; // of the kernel's one block: to its stream, a small kernel is as long as a large one

/// A batch in page-locked memory and in device memory, with an event for the end of its copy and of its kernel.
pub struct BatchSlot {
    pub host: LockedBuffer<f32>,
    pub device: DeviceBuffer<f32>,
    pub copied: Event,
    pub used: Event,
}

impl BatchSlot {
    pub fn new() -> Result<Self> {
        Ok(Self {
            host: LockedBuffer::new(&0.0, LEN)?,
            device: DeviceBuffer::zeroed(LEN)?,
            copied: Event::new(EventFlags::DISABLE_TIMING)?,
            // A thread that waits for it sleeps.
            used: Event::new(EventFlags::DISABLE_TIMING | EventFlags::BLOCKING_SYNC)?,
        })
    }
}

/// Room for the result of each batch, and the kernel that computes it with `rounds` multiply-adds of each element.
pub struct LoaderPipeline {
    pub results: Vec<DeviceBuffer<f32>>,
    pub kernels: Kernels,
    pub rounds: u32,
}

impl LoaderPipeline {
    pub fn new(batches: usize, rounds: u32) -> Result<Self> {
        let results = (0..batches).map(|_| DeviceBuffer::zeroed(LEN)).collect::<CudaResult<_>>()?;
        Ok(Self { results, kernels: Kernels::load(gpu_kernels::SM_70)?, rounds })
    }

    /// What a thread does: its batches go through a ring of slots, one more than it loads ahead. `load` reads a batch into page-locked
    /// memory. Each thread has a ring of its own, and all of them share the streams.
    pub fn feed(
        &self,
        ring: &mut [BatchSlot],
        batches: impl Iterator<Item = usize>,
        load: impl Fn(usize, &mut [f32]),
        [copy, compute]: [&Stream; 2],
    ) -> Result<()> {
        for (turn, batch) in batches.enumerate() {
            let slot = &mut ring[turn % ring.len()];
            slot.used.synchronize()?; // the kernel has worked on what the slot held
            load(batch, &mut slot.host);
            // SAFETY: all memory outlives the run, events order its uses, and any grid covers all tiles.
            unsafe {
                slot.device.async_copy_from(&slot.host, copy)?;
                slot.copied.record(copy)?;

                compute.wait(&slot.copied)?;
                launch!(self.kernels.fma_tiles_unspecialised<<<1, THREADS, 0, compute>>>(&slot.device, &mut self.results[batch].index(..), self.rounds))?;
                slot.used.record(compute)?;
            }
        }
        Ok(())
    }
}
