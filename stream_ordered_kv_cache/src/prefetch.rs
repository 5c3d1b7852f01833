//! prefetch: a cache that lies in host memory comes to the device layer by layer, while the layer before is read.
//!
//! Page-locked memory of the host holds the keys and values of a long prompt, which several sequences continue. The
//! device has room for two layers. Attention must wait for the copy of its layer; the copy into a buffer must wait for
//! the attention that read it last. In one stream nothing else can happen. A copy stream and two events per buffer keep
//! exactly these two orders:
//!
//! ```text
//! one stream |HHHKKKKKhhhkkkkkHHHKKKKK  |
//! copies     |HHHhhh  HHH     hhh       |
//! attention  |   KKKKKkkkkkKKKKK        |
//! ```
//!
//! As long as attention takes longer than a copy, what remains of the copies is the first, and the short gaps between
//! kernels. Copies during which no kernel runs for longer would prove this wrong.

use crate::cache::{Kernels, LAYERS, PageAddresses, in_order, page_len};
use crate::sequences::Sequences;
use anyhow::Result;
use cuda_host::prelude::*;

pub const STEPS: usize = 4; // decode steps; each reads all layers
pub const BUFFERS: usize = 2; // one is read while the next is filled

/// A cache in host memory, room for two of its layers on the device, and the sequences that continue it.
pub struct Decode {
    kernels: Kernels,
    pub tokens: usize,
    /// By layer: all its pages, one behind the other.
    pub on_host: Vec<LockedBuffer<f32>>,
    pub slots: Vec<Layer>,
    pub sequences: Sequences,
}

/// Room for a layer, and an event for each time that it changes hands.
pub struct Layer {
    pub pages: DeviceBuffer<f32>,
    table: PageAddresses,
    filled: Event,
    read: Event,
}

impl Decode {
    pub fn new(tokens: usize, page_tokens: usize, queries: &[f32], count: usize) -> Result<Self> {
        let (all, len) = (tokens.div_ceil(page_tokens), page_len(page_tokens));
        let (mut on_host, mut slots) = (vec![], vec![]);
        for _ in 0..LAYERS {
            on_host.push(LockedBuffer::new(&0.0, all * len)?);
        }
        for _ in 0..BUFFERS {
            let pages = DeviceBuffer::zeroed(all * len)?;
            let address = |page| pages.index(page * len..).as_device_ptr();
            let table = PageAddresses::new((0..all).map(address), page_tokens)?;
            let filled = Event::new(EventFlags::DISABLE_TIMING)?;
            let read = Event::new(EventFlags::DISABLE_TIMING)?;
            slots.push(Layer { pages, table, filled, read });
        }
        let sequences = Sequences::new(queries, count)?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        Ok(Self { kernels, tokens, on_host, slots, sequences })
    }

    /// One stream keeps everything in order.
    pub fn one_stream(&self, stream: &Stream) -> Result<()> {
        for (step, layer) in in_order(STEPS) {
            let slot = &self.slots[layer % BUFFERS];
            // SAFETY: the host's memory is page-locked and outlives the copy.
            unsafe { slot.pages.index(..).async_copy_from(&self.on_host[layer], stream)? };
            self.launch_attention(slot, (step, layer), stream)?;
        }
        Ok(())
    }

    /// The next layer comes while this one is read: an event says that a slot is filled, another that it was read.
    pub fn prefetch(&self, copies: &Stream, attention: &Stream) -> Result<()> {
        for (step, layer) in in_order(STEPS) {
            let slot = &self.slots[layer % BUFFERS];
            copies.wait(&slot.read)?;
            // SAFETY: as above.
            unsafe { slot.pages.index(..).async_copy_from(&self.on_host[layer], copies)? };
            slot.filled.record(copies)?;

            attention.wait(&slot.filled)?;
            self.launch_attention(slot, (step, layer), attention)?;
            slot.read.record(attention)?;
        }
        Ok(())
    }

    /// Attention of all sequences over the layer in a slot.
    pub fn launch_attention(&self, slot: &Layer, at: (usize, usize), on: &Stream) -> Result<()> {
        let context = (&slot.table, self.tokens);
        Ok(self.sequences.launch_attention(&self.kernels, context, at, on)?)
    }
}
