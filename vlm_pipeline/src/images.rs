//! images: what do images gain that overlap?
//!
//! For each image: its pixels come in; a kernel computes four features of each patch, another one its relevance to the query, which
//! says how many tokens it gets, from 64 to 400; a third one adds up where each patch's tokens begin; a fourth writes them; counts and
//! tokens go out. Within an image nothing can overlap. Between images everything can:
//!
//! ```text
//! serial         |IKKKKOIKKKKOIKKKKO|     I: pixels come in   K: the four kernels   O: tokens go out
//! three streams  in      |IIIIII    |
//!                kernels | KKKKKK   |
//!                out     |  OOOOOO  |
//! ```
//!
//! Small operations cost their starts: several images at once, a batch, cost one start instead of several, and fill and drain the
//! pipeline in larger steps. The critical path is the longest stage. A wrong count in any patch, tokens of another image, or a time
//! below the critical path would prove this wrong.

use crate::slot::{PATCHES, PIXELS, ROOM, SLOTS, Slot};
use anyhow::Result;
use cuda_host::prelude::*;
use gpu_kernels::VISION_THREADS as THREADS;

kernels! { use gpu_kernels::{allocate_tokens, emit_tokens, patch_relevance, texture_features}; }

/// The query's weights, the images in page-locked memory, their results, and the slots on the device that they pass through.
pub struct Images {
    kernels: Kernels,
    weights: DeviceBuffer<f32>,
    pixels: LockedBuffer<f32>,
    pub counts: LockedBuffer<u32>,
    pub tokens: LockedBuffer<f32>,
    slots: Vec<Slot>,
}

impl Images {
    pub fn new(weights: &[f32], pixels: &[f32]) -> Result<Self> {
        let images = pixels.len() / (PATCHES * PIXELS);
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            weights: DeviceBuffer::from_slice(weights)?,
            pixels: LockedBuffer::from_slice(pixels)?,
            counts: LockedBuffer::new(&0, images * PATCHES)?,
            tokens: LockedBuffer::new(&0.0, images * ROOM)?,
            slots: (0..SLOTS).map(|_| Slot::new()).collect::<Result<_>>()?,
        })
    }

    /// One stream: each image after the one before.
    pub fn serial(&mut self, stream: &Stream) -> Result<()> {
        for image in 0..self.counts.len() / PATCHES {
            self.copy_in(1, image, stream)?;
            self.launch(1, image, stream)?;
            self.copy_out(1, image, stream)?;
        }
        Ok(())
    }

    /// A stream for each stage. Events hand every batch of images on, and give its slot back.
    pub fn three_streams(
        &mut self,
        images: usize,
        [copy_in, compute, copy_out]: [&Stream; 3],
    ) -> Result<()> {
        for batch in 0..self.counts.len() / PATCHES / images {
            let slot = batch % SLOTS;
            copy_in.wait(&self.slots[slot].out)?; // the kernels that read these pixels are done, too
            self.copy_in(images, batch, copy_in)?;
            self.slots[slot].come.record(copy_in)?;

            compute.wait(&self.slots[slot].come)?;
            self.launch(images, batch, compute)?;
            self.slots[slot].computed.record(compute)?;

            copy_out.wait(&self.slots[slot].computed)?;
            self.copy_out(images, batch, copy_out)?;
            self.slots[slot].out.record(copy_out)?;
        }
        Ok(())
    }

    /// The pixels of a batch of this many images come into its slot.
    pub fn copy_in(&mut self, images: usize, batch: usize, stream: &Stream) -> Result<()> {
        let len = images * PATCHES * PIXELS;
        let mut pixels = self.slots[batch % SLOTS].pixels.index(..len);
        // SAFETY: the pixels are page-locked and outlive the pass; the variants order the uses of each slot.
        Ok(unsafe { pixels.async_copy_from(&self.pixels[batch * len..][..len], stream) }?)
    }

    /// From pixels to tokens.
    pub fn launch(&mut self, images: usize, batch: usize, stream: &Stream) -> Result<()> {
        let (kernels, weights, patches) = (&self.kernels, &self.weights, (images * PATCHES) as u32);
        let Slot { pixels, features, counts, offsets, tokens, .. } = &mut self.slots[batch % SLOTS];
        // SAFETY: the slot has room for the batch and outlives the pass.
        unsafe {
            launch!(kernels.texture_features<<<patches * 32 / THREADS, THREADS, 0, stream>>>(&*pixels, patches, &mut *features))?;
            launch!(kernels.patch_relevance<<<patches / THREADS, THREADS, 0, stream>>>(&*features, weights, patches, &mut *counts))?;
            launch!(kernels.allocate_tokens<<<images as u32, PATCHES as u32, 0, stream>>>(&*counts, &mut *offsets))?;
            launch!(kernels.emit_tokens<<<patches, THREADS, 0, stream>>>(&*pixels, &*counts, &*offsets, tokens))?;
        }
        Ok(())
    }

    /// How many tokens there are is not known to the host: it takes the room for all.
    pub fn copy_out(&mut self, images: usize, batch: usize, stream: &Stream) -> Result<()> {
        let (slot, patches, room) = (&self.slots[batch % SLOTS], images * PATCHES, images * ROOM);
        let counts = &mut self.counts[batch * patches..][..patches];
        let tokens = &mut self.tokens[batch * room..][..room];
        // SAFETY: the results are page-locked, outlive the pass, and are read behind it.
        unsafe {
            slot.counts.index(..patches).async_copy_to(counts, stream)?;
            slot.tokens.index(..room).async_copy_to(tokens, stream)?;
        }
        Ok(())
    }
}
