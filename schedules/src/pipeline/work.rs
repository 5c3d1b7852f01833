//! What the schedules put in order: the chunks, the buffers that they pass through, and the five operations on each.

use super::SLOTS;
use anyhow::Result;
use cuda_host::prelude::*;
use std::ops::Range;

kernels! { use gpu_kernels::{fma_tiles_unspecialised, saxpy}; }

/// Multiply-adds of the kernels that work side by side: about as long as a copy, on an H200.
pub const LEFT: u32 = 48;
pub const RIGHT: u32 = 32;
/// The join computes `SHARE * y + z`.
pub const SHARE: f32 = 0.5;
/// Few blocks: kernels of two streams find room beside each other. Each takes a multiprocessor for itself, so that a kernel's time does
/// not depend on where the others' blocks happen to be.
const BLOCKS: u32 = 4;
const THREADS: u32 = gpu_kernels::CONSUMERS;

/// The chunks, and the buffers that they pass through.
pub struct ChunkBuffers {
    input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub chunks: Vec<Range<usize>>,
    pub slots: Vec<BufferSet>,
    kernels: Kernels,
    /// Dynamic shared memory of a block of the left and the right kernel.
    alone: u32,
}

/// A set of buffers, and an event for the end of each operation.
pub struct BufferSet {
    pub x: DeviceBuffer<f32>,
    pub y: DeviceBuffer<f32>,
    pub z: DeviceBuffer<f32>,
    pub filled: Event,
    pub left: Event,
    pub right: Event,
    pub joined: Event,
    pub emptied: Event,
}

impl BufferSet {
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

impl ChunkBuffers {
    /// Bytes of shared memory with which blocks of the left and the right kernel have a multiprocessor to themselves.
    pub fn new(alone: u32, input: LockedBuffer<f32>, chunks: Vec<Range<usize>>) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        kernels.fma_tiles_unspecialised.allow_dynamic_shared_bytes(alone)?; // cuFuncSetAttribute(…)
        let output = LockedBuffer::new(&0.0, input.len())?;
        let slot = |_| BufferSet::new(chunks[0].len());
        let slots = (0..SLOTS).map(slot).collect::<Result<_>>()?;
        Ok(Self { input, output, slots, kernels, alone, chunks })
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
        let BufferSet { x, y, .. } = &mut self.slots[chunk % SLOTS];
        let (x, mut y) = (x.index(..len), y.index(..len));
        // SAFETY: the buffers outlive the pass, and any grid covers all tiles.
        unsafe { launch!(kernel<<<BLOCKS, THREADS, self.alone, stream>>>(&x, &mut y, LEFT))? };
        Ok(())
    }

    pub fn right(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.fma_tiles_unspecialised, self.chunks[chunk].len());
        let BufferSet { x, z, .. } = &mut self.slots[chunk % SLOTS];
        let (x, mut z) = (x.index(..len), z.index(..len));
        // SAFETY: as for the left kernel.
        unsafe { launch!(kernel<<<BLOCKS, THREADS, self.alone, stream>>>(&x, &mut z, RIGHT))? };
        Ok(())
    }

    pub fn join(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.saxpy, self.chunks[chunk].len());
        let BufferSet { y, z, .. } = &mut self.slots[chunk % SLOTS];
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
}
