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
//! pipeline in larger steps. The kernels have three stages of their own: texture extraction, relevance scoring and token allocation.
//! With a stream for each of them, too, kernels of different batches can run at the same time:
//!
//! ```text
//! five streams   texture    | TTTTTT    |    T: features   R: relevance   between I and O, as above
//!                relevance  |  RRRRRR   |    A: where tokens begin, and the tokens
//!                tokens     |   AAAAAA  |
//! ```
//!
//! The critical path is the longest stage. A wrong count, tokens of another image, or a time below that path would prove this wrong.

mod stages;

use crate::slot::{PATCHES, PIXELS, ROOM, SLOTS, Slot};
use anyhow::Result;
use cuda_host::prelude::*;

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

    /// A stream for each stage of the kernels, too: what one of them leaves in the slot, the next one waits for.
    pub fn five_streams(
        &mut self,
        images: usize,
        [copy_in, texture, relevance, tokens, copy_out]: [&Stream; 5],
    ) -> Result<()> {
        for batch in 0..self.counts.len() / PATCHES / images {
            let slot = batch % SLOTS;
            copy_in.wait(&self.slots[slot].out)?; // all streams are done with this slot
            self.copy_in(images, batch, copy_in)?;
            self.slots[slot].come.record(copy_in)?;

            texture.wait(&self.slots[slot].come)?;
            self.extract_texture(images, batch, texture)?;
            self.slots[slot].extracted.record(texture)?;

            relevance.wait(&self.slots[slot].extracted)?;
            self.score_relevance(images, batch, relevance)?;
            self.slots[slot].scored.record(relevance)?;

            tokens.wait(&self.slots[slot].scored)?;
            self.allocate_tokens(images, batch, tokens)?;
            self.slots[slot].computed.record(tokens)?;

            copy_out.wait(&self.slots[slot].computed)?;
            self.copy_out(images, batch, copy_out)?;
            self.slots[slot].out.record(copy_out)?;
        }
        Ok(())
    }
}
