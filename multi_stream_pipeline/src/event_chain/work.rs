//! What the stages hand on: the chunks, and the slots that they pass through.

use super::{CONSUMED, PRODUCED, SLOTS};
use crate::rounds;
use anyhow::Result;
use cuda_host::kernels;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, LockedBuffer};
use examples_host::few_values::{Batch, Expected};
use examples_host::prelude::*;
use std::ops::Range;

kernels! {
    /// The kernel of both stages.
    pub struct Kernels;
    use gpu_kernels::fma_tiles_unspecialised;
}

const DATA: Batch = Batch::new(21);

/// The chunks, and the slots that they pass through.
pub struct Work {
    pub input: DeviceBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub chunks: Vec<Range<usize>>,
    pub slots: Vec<Slot>,
    pub kernels: Kernels,
    expected: Expected,
}

/// What lies between producer and consumer, and between consumer and output, with an event for the end of each stage.
pub struct Slot {
    pub product: DeviceBuffer<f32>,
    pub result: DeviceBuffer<f32>,
    pub produced: Event,
    pub consumed: Event,
    pub put_out: Event,
}

impl Slot {
    fn new(len: usize) -> Result<Self> {
        Ok(Self {
            product: DeviceBuffer::zeroed(len)?,
            result: DeviceBuffer::zeroed(len)?,
            produced: Event::new(EventFlags::DISABLE_TIMING)?,
            consumed: Event::new(EventFlags::DISABLE_TIMING)?,
            put_out: Event::new(EventFlags::DISABLE_TIMING)?,
        })
    }
}

impl Work {
    pub fn new(elements: usize, chunks: usize) -> Result<Self> {
        let mut output = LockedBuffer::new(&0.0, elements)?;
        DATA.fill(&mut output);
        let chunks = chunks::ranges::<f32>(elements, chunks)?;
        let slot = |_| Slot::new(chunks[0].len());
        Ok(Self {
            input: DeviceBuffer::from_slice(&output)?,
            slots: (0..SLOTS).map(slot).collect::<Result<_>>()?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            expected: rounds::after(PRODUCED + CONSUMED),
            output,
            chunks,
        })
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for slot in &mut self.slots {
            slot.product.set_8(0xFF)?;
            slot.result.set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = |index| self.expected.of(DATA, index);
        Ok(check::equal("the output", 0, &self.output, expected)?)
    }
}
