//! The stages of a batch, each in a stream: its pixels come in, three stages of kernels, its tokens go out.

use super::Images;
use crate::slot::{PATCHES, PIXELS, ROOM, SLOTS, Slot};
use anyhow::Result;
use cuda_host::prelude::*;
use gpu_kernels::VISION_THREADS as THREADS;

impl Images {
    /// The pixels of a batch of this many images come into its slot.
    pub fn copy_in(&mut self, images: usize, batch: usize, stream: &Stream) -> Result<()> {
        let len = images * PATCHES * PIXELS;
        let mut pixels = self.slots[batch % SLOTS].pixels.index(..len);
        // SAFETY: the pixels are page-locked and outlive the pass; the variants order the uses of each slot.
        Ok(unsafe { pixels.async_copy_from(&self.pixels[batch * len..][..len], stream) }?)
    }

    /// From pixels to tokens, in one stream.
    pub fn launch(&mut self, images: usize, batch: usize, stream: &Stream) -> Result<()> {
        self.extract_texture(images, batch, stream)?;
        self.score_relevance(images, batch, stream)?;
        self.allocate_tokens(images, batch, stream)
    }

    /// From pixels to the features of each patch: a warp for each.
    pub fn extract_texture(&mut self, images: usize, batch: usize, stream: &Stream) -> Result<()> {
        let patches = (images * PATCHES) as u32;
        let (texture, blocks) = (&self.kernels.texture_features, patches * 32 / THREADS);
        let Slot { pixels, features, .. } = &mut self.slots[batch % SLOTS];
        // SAFETY: the slot has room for the batch and outlives the pass.
        unsafe { launch!(texture<<<blocks, THREADS, 0, stream>>>(&*pixels, patches, features))? };
        Ok(())
    }

    /// From features to the number of tokens of each patch.
    pub fn score_relevance(&mut self, images: usize, batch: usize, stream: &Stream) -> Result<()> {
        let (weights, patches) = (&self.weights, (images * PATCHES) as u32);
        let (relevance, blocks) = (&self.kernels.patch_relevance, patches / THREADS);
        let Slot { features, counts, .. } = &mut self.slots[batch % SLOTS];
        // SAFETY: as above.
        unsafe {
            launch!(relevance<<<blocks, THREADS, 0, stream>>>(&*features, weights, patches, counts))?
        };
        Ok(())
    }

    /// From numbers of tokens to where those of each patch begin, and to the tokens.
    pub fn allocate_tokens(&mut self, images: usize, batch: usize, stream: &Stream) -> Result<()> {
        let (kernels, patches) = (&self.kernels, (images * PATCHES) as u32);
        let Slot { pixels, counts, offsets, tokens, .. } = &mut self.slots[batch % SLOTS];
        // SAFETY: as above.
        unsafe {
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
