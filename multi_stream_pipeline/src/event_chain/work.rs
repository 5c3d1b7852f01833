//! The data of event-chain, its stages one by one, and the two ways to hand a chunk on.

use super::Roles;
use crate::data::{Batch, Expected};
use examples_host::prelude::*;
use gpu_kernels::{CONSUMERS, SM_70};
use std::time::Duration;

kernels! {
    pub unsafe struct Kernels {
        fn fma_tiles(input: &[f32], output: *mut f32, rounds: u32) = gpu_kernels::fma_tiles_unspecialised;
    }
}

const DATA: Batch = Batch::new(21);
/// Multiply-adds per element.
const PRODUCED: u32 = 16;
const CONSUMED: u32 = 64;
/// Few blocks: kernels of several streams find room beside each other.
const SMALL: Grid = Grid::new(4, CONSUMERS);
/// Buffers of each ring: one that is filled, one that is emptied, one on the way.
const BUFFERS: usize = 3;

impl Kernels {
    /// The producer's kernel: `product` becomes as long as `input`.
    pub fn produce(
        &self,
        input: &DeviceBuffer<f32>,
        product: &mut DeviceBuffer<f32>,
    ) -> Result<()> {
        product.set_len(input.len())?;
        self.fma_tiles(SMALL, input, product, PRODUCED)
    }

    /// The consumer's kernel.
    pub fn consume(
        &self,
        product: &DeviceBuffer<f32>,
        result: &mut DeviceBuffer<f32>,
    ) -> Result<()> {
        result.set_len(product.len())?;
        self.fma_tiles(SMALL, product, result, CONSUMED)
    }
}

/// How a stage learns that its data is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The host waits for the stage before.
    HostSync,
    /// An event, where the stages are in different streams.
    Event,
}

impl Handover {
    /// Gives `buffer` to the stage in `stream`.
    pub fn hand(self, buffer: &mut DeviceBuffer<f32>, stream: &Stream) -> Result<()> {
        match self {
            Self::HostSync => {
                buffer.stream().synchronize()?;
                // SAFETY: the host has just waited for everything that used the buffer.
                unsafe { buffer.assume_ordered_on(stream) };
                Ok(())
            }
            Self::Event => buffer.hand_to(stream),
        }
    }

    /// Behind the last stage of a chunk.
    pub fn finish(self, buffer: &DeviceBuffer<f32>) -> Result<()> {
        match self {
            Self::HostSync => buffer.stream().synchronize(),
            Self::Event => Ok(()),
        }
    }
}

/// The chunks, and the buffers that they pass through.
pub struct Work {
    pub input: Vec<DeviceBuffer<f32>>,
    pub between: Ring<f32>,
    pub results: Ring<f32>,
    pub output: Vec<HostBuffer<f32>>,
    pub kernels: Kernels,
    expected: Expected,
}

impl Work {
    /// Data in device memory, in `chunks` pieces; the host has waited for it to get there.
    pub fn new(
        part: &Part,
        [produce, consume, _]: Roles,
        elements: usize,
        chunks: usize,
    ) -> Result<Self> {
        let device = part.device();
        let mut given = HostBuffer::page_locked(device, elements)?;
        DATA.fill(&mut given)?;
        let mut input = DeviceBuffer::new(produce, elements)?;
        input.copy_from(&given)?;
        produce.synchronize()?;
        let input = input.split(chunks)?;
        let longest = input.iter().map(DeviceBuffer::len).max().unwrap_or(1);
        Ok(Self {
            input,
            between: Ring::new(produce, BUFFERS.min(chunks), longest)?,
            results: Ring::new(consume, BUFFERS.min(chunks), longest)?,
            output: HostBuffer::page_locked(device, elements)?.split(chunks)?,
            kernels: Kernels::load(device, SM_70)?,
            expected: Expected::after(PRODUCED + CONSUMED),
        })
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.between.poison()?;
        self.results.poison()?;
        self.output.iter_mut().try_for_each(HostBuffer::poison)
    }

    /// Compares every element with what the CPU computes.
    pub fn check(&self) -> anyhow::Result<Checked> {
        let expected = &self.expected;
        check::pieces("the output", &self.output, |index| expected.of(DATA, index))
    }

    /// Times each stage over all chunks without the others.
    pub fn stages_alone(&mut self, part: &Part, roles: Roles) -> Result<[Duration; 3]> {
        let [produce, consume, put_out] = roles;
        let (watch, runs) = (Stopwatch::new(part.device())?, part.iterations(5));
        let longest = self.input.iter().map(DeviceBuffer::len).max().unwrap_or(1);
        let mut product = DeviceBuffer::new(produce, longest)?;
        let mut result = DeviceBuffer::new(consume, longest)?;
        let (input, kernels) = (&self.input, &self.kernels);
        let produced = watch.median(runs, [produce], || {
            let mut chunks = input.iter();
            chunks.try_for_each(|chunk| kernels.produce(chunk, &mut product))
        })?;
        product.hand_to(consume)?;
        let consumed = watch.median(runs, [consume], || {
            input.iter().try_for_each(|chunk| {
                product.set_len(chunk.len())?;
                kernels.consume(&product, &mut result)
            })
        })?;
        result.hand_to(put_out)?;
        let output = &mut self.output;
        let put_out = watch.median(runs, [put_out], || {
            output.iter_mut().try_for_each(|chunk| {
                result.set_len(chunk.len())?;
                result.copy_to(chunk)
            })
        })?;
        Ok([produced, consumed, put_out])
    }
}
