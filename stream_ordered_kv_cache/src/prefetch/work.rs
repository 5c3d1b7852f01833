//! What attention reads: a cache in host memory, and the slots on the device that its layers come to.

use super::{BUFFERS, STEPS};
use crate::cache::{Kernels, Table};
use crate::model::{LAYERS, Layer, page_len};
use crate::sequences::Sequences;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, LockedBuffer};
use examples_host::prelude::*;

/// A cache in host memory, room for two of its layers on the device, and the sequences that continue it.
pub struct Work {
    pub tokens: usize,
    /// By layer: all its pages, one behind the other.
    pub on_host: Vec<LockedBuffer<f32>>,
    pub slots: Vec<Slot>,
    pub sequences: Sequences,
    pub kernels: Kernels,
}

/// Room for a layer, and an event for each time that it changes hands.
pub struct Slot {
    pub pages: DeviceBuffer<f32>,
    pub table: Table,
    pub filled: Event,
    pub read: Event,
}

impl Work {
    pub fn new(tokens: usize, page_tokens: usize, sequences: usize) -> anyhow::Result<Self> {
        let (pages, page_len) = (tokens.div_ceil(page_tokens), page_len(page_tokens));
        let layers: Vec<Layer> = (0..LAYERS).map(|layer| Layer::new(layer, tokens)).collect();
        let (mut on_host, mut slots) = (Vec::new(), Vec::new());
        for layer in &layers {
            let mut memory = LockedBuffer::new(&0.0, pages * page_len)?;
            for (page, memory) in memory.chunks_mut(page_len).enumerate() {
                memory.copy_from_slice(&layer.page(page, page_tokens, tokens));
            }
            on_host.push(memory);
        }
        for _ in 0..BUFFERS {
            let buffer = DeviceBuffer::zeroed(pages * page_len)?;
            let address = |page| buffer.index(page * page_len..).as_device_ptr();
            slots.push(Slot {
                table: Table::new((0..pages).map(address), page_tokens)?,
                pages: buffer,
                filled: Event::new(EventFlags::DISABLE_TIMING)?,
                read: Event::new(EventFlags::DISABLE_TIMING)?,
            });
        }
        let sequences = Sequences::new(&layers, STEPS, sequences, |_| tokens)?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        Ok(Self { tokens, on_host, slots, sequences, kernels })
    }
}

impl Workload for Work {
    fn poison(&mut self) -> anyhow::Result<()> {
        for slot in &mut self.slots {
            slot.pages.set_8(0xFF)?;
        }
        Ok(self.sequences.poison()?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        self.sequences.check()
    }
}
