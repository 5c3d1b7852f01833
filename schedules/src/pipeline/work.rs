//! What the schedules put in order: the chunks, the buffers that they pass through, and the five operations on each.

use super::{SLOTS, Streams};
use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::few_values::{Batch, Expected};
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};
use std::ops::Range;

kernels! { use gpu_kernels::{fma_tiles_unspecialised, saxpy}; }

const DATA: Batch = Batch::new(31);
/// Multiply-adds of the kernels that work side by side: about as long as a copy, on an H200.
const LEFT: u32 = 48;
const RIGHT: u32 = 32;
/// What the join makes of both: `SHARE * y + z`.
const SHARE: f32 = 0.5;
/// Few blocks: kernels of two streams find room beside each other. Each takes a multiprocessor for itself, so that a kernel's time does
/// not depend on where the others' blocks happen to be.
const BLOCKS: u32 = 4;
const THREADS: u32 = gpu_kernels::CONSUMERS;
/// The chunks, and the buffers that they pass through.
pub struct Work {
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    pub chunks: Vec<Range<usize>>,
    pub slots: Vec<Slot>,
    kernels: Kernels,
    /// Dynamic shared memory of a block of the left and the right kernel.
    alone: u32,
    expected: Expected,
}

/// A set of buffers, and an event for the end of each operation.
pub struct Slot {
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    z: DeviceBuffer<f32>,
    pub filled: Event,
    pub left: Event,
    pub right: Event,
    pub joined: Event,
    pub emptied: Event,
}

impl Slot {
    pub fn new(len: usize) -> Result<Self> {
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        Ok(Self {
            x: DeviceBuffer::zeroed(len)?,
            y: DeviceBuffer::zeroed(len)?,
            z: DeviceBuffer::zeroed(len)?,
            filled: event()?,
            left: event()?,
            right: event()?,
            joined: event()?,
            emptied: event()?,
        })
    }
}

impl Work {
    pub fn new(device: &Device, elements: usize, chunks: usize) -> Result<Self> {
        let (kernels, alone) =
            (Kernels::load(gpu_kernels::SM_70)?, device.shared_bytes_of_a_lone_block()?);
        kernels.fma_tiles_unspecialised.allow_dynamic_shared_bytes(alone)?;
        let mut input = LockedBuffer::new(&0.0, elements)?;
        DATA.fill(&mut input);
        let chunks = chunks::ranges::<f32>(elements, chunks)?;
        let slot = |_| Slot::new(chunks[0].len());
        let after = |rounds, x| (0..rounds).fold(x, |x: f32, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self {
            input,
            output: LockedBuffer::new(&0.0, elements)?,
            slots: (0..SLOTS).map(slot).collect::<Result<_>>()?,
            kernels,
            alone,
            expected: Expected::by(|x| SHARE.mul_add(after(LEFT, x), after(RIGHT, x))),
            chunks,
        })
    }

    pub fn copy_in(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let range = self.chunks[chunk].clone();
        let mut x = self.slots[chunk % SLOTS].x.index(..range.len());
        // SAFETY: the input is page-locked and outlives the pass. The schedules order the uses of each buffer.
        unsafe { x.async_copy_from(&self.input[range], stream)? };
        Ok(())
    }

    pub fn left(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.fma_tiles_unspecialised, self.chunks[chunk].len());
        let Slot { x, y, .. } = &mut self.slots[chunk % SLOTS];
        let (x, mut y) = (x.index(..len), y.index(..len));
        // SAFETY: the buffers outlive the pass, and any grid covers all tiles.
        unsafe { launch!(kernel<<<BLOCKS, THREADS, self.alone, stream>>>(&x, &mut y, LEFT))? };
        Ok(())
    }

    pub fn right(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.fma_tiles_unspecialised, self.chunks[chunk].len());
        let Slot { x, z, .. } = &mut self.slots[chunk % SLOTS];
        let (x, mut z) = (x.index(..len), z.index(..len));
        // SAFETY: as for the left kernel.
        unsafe { launch!(kernel<<<BLOCKS, THREADS, self.alone, stream>>>(&x, &mut z, RIGHT))? };
        Ok(())
    }

    pub fn join(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.saxpy, self.chunks[chunk].len());
        let Slot { y, z, .. } = &mut self.slots[chunk % SLOTS];
        let (y, mut z, blocks) = (y.index(..len), z.index(..len), len.div_ceil(256) as u32);
        // SAFETY: the buffers outlive the pass, and the grid has a thread for each element.
        unsafe { launch!(kernel<<<blocks, 256, 0, stream>>>(SHARE, &y, &mut z))? };
        Ok(())
    }

    pub fn copy_out(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let range = self.chunks[chunk].clone();
        let z = self.slots[chunk % SLOTS].z.index(..range.len());
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { z.async_copy_to(&mut self.output[range], stream)? };
        Ok(())
    }

    /// The kernels without the copies.
    pub fn kernels(&mut self, [_, left, right, _]: Streams) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let slot = chunk % SLOTS;
            if chunk >= SLOTS {
                left.wait(&self.slots[slot].joined)?;
            }
            self.left(chunk, left)?;
            self.slots[slot].left.record(left)?;
            self.right(chunk, right)?;
            right.wait(&self.slots[slot].left)?;
            self.join(chunk, right)?;
            self.slots[slot].joined.record(right)?;
        }
        Ok(())
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for Slot { x, y, z, .. } in &mut self.slots {
            for buffer in [x, y, z] {
                buffer.set_8(0xFF)?;
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = |index| self.expected.of(DATA, index);
        Ok(check::equal("the output", 0, &self.output, expected)?)
    }
}
