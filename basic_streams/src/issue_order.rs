//! issue-order: does it matter in which order independent chains of work are issued?
//!
//! Eight streams each copy a chunk in, run a small, long kernel on it and, in the second half of the part, copy the
//! chunk out again. Depth-first issues one stream's whole chain, then the next stream's; breadth-first issues all copies
//! in, then all kernels, then all copies out:
//!
//! ```text
//! depth-first    H0 K0 D0  H1 K1 D1  H2 K2 D2 ..
//! breadth-first  H0 H1 H2 ..  K0 K1 K2 ..  D0 D1 D2 ..
//! ```
//!
//! Only the order within a stream is a dependency. A device that looks at the heads of all streams treats both orders
//! alike: the copies in one after the other, then the last one's kernel, then its copy out. A device that feeds several
//! streams through one queue, or both directions through one engine, cannot: then the orders differ, and the charts show
//! which stream waits for which.

use anyhow::Result;
use cuda_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};
use std::ops::Range;

kernels! { use gpu_kernels::affine_rounds; }

/// Multiply-adds of an element: they make a kernel of one warp long.
pub const ROUNDS: u32 = 25_000;

/// Page-locked data, and a device buffer for each chunk. The kernel changes the first 32 elements of a chunk.
pub struct ChunkChains {
    kernels: Kernels,
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub data: Vec<DeviceBuffer<f32>>,
    pub chunks: Vec<Range<usize>>,
}

impl ChunkChains {
    pub fn new(chunks: Vec<Range<usize>>) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let input = LockedBuffer::new(&0.0, chunks[chunks.len() - 1].end)?;
        let output = LockedBuffer::new(&0.0, input.len())?;
        let mut data = Vec::new();
        for chunk in &chunks {
            data.push(DeviceBuffer::zeroed(chunk.len())?);
        }
        Ok(Self { kernels, input, output, data, chunks })
    }

    pub fn async_copy_in(&mut self, i: usize, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the input is page-locked and outlives the run.
        unsafe { self.data[i].async_copy_from(&self.input[self.chunks[i].clone()], stream) }
    }

    pub fn launch(&mut self, i: usize, stream: &Stream) -> CudaResult<()> {
        let (kernel, x) = (&self.kernels.affine_rounds, &mut self.data[i]);
        // SAFETY: the buffer outlives the run, and the kernel changes no more elements than it has threads.
        unsafe { launch!(kernel<<<1, 32, 0, stream>>>(x, FACTOR, SUMMAND, ROUNDS)) }
    }

    pub fn async_copy_out(&mut self, i: usize, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the output is page-locked, outlives the run, and is read when the host has waited for it.
        unsafe { self.data[i].async_copy_to(&mut self.output[self.chunks[i].clone()], stream) }
    }

    /// One stream's copy in and kernel, then the next stream's.
    pub fn depth_first(&mut self, streams: &[Stream]) -> CudaResult<()> {
        for (i, stream) in streams.iter().enumerate() {
            self.async_copy_in(i, stream)?;
            self.launch(i, stream)?;
        }
        Ok(())
    }

    /// The same, with copies out.
    pub fn depth_first_both_ways(&mut self, streams: &[Stream]) -> CudaResult<()> {
        for (i, stream) in streams.iter().enumerate() {
            self.async_copy_in(i, stream)?;
            self.launch(i, stream)?;
            self.async_copy_out(i, stream)?;
        }
        Ok(())
    }

    /// All copies in, then all kernels.
    pub fn breadth_first(&mut self, streams: &[Stream]) -> CudaResult<()> {
        for (i, stream) in streams.iter().enumerate() {
            self.async_copy_in(i, stream)?;
        }
        for (i, stream) in streams.iter().enumerate() {
            self.launch(i, stream)?;
        }
        Ok(())
    }

    /// All copies in, then all kernels, then all copies out.
    pub fn breadth_first_both_ways(&mut self, streams: &[Stream]) -> CudaResult<()> {
        self.breadth_first(streams)?;
        for (i, stream) in streams.iter().enumerate() {
            self.async_copy_out(i, stream)?;
        }
        Ok(())
    }
}
