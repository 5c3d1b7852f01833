//! three-way: how close can three streams get to the fastest possible time?
//!
//! Data is cut into chunks, and each chunk is copied in, worked on and copied out. With a stream for each role, and an event
//! wherever a chunk goes from one role to the next, all three happen at once. Three device buffers in rotation are enough:
//!
//! ```text
//! copy in   |HHHHhhhhHHHHhhhh        |
//! compute   |    KKKKkkkkKKKKkkkk    |
//! copy out  |        DDDDddddDDDDdddd|
//! ```
//!
//! The two directions share the link: the bound is what both take together. A time below it, anything that overlaps
//! within one stream, or a kernel that takes turns with copies although it has its own stream would prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;
use std::ops::Range;

kernels! { pub struct Kernels; use gpu_kernels::affine_strided_x4; }

const BUFFERS: usize = 3; // one is filled while one is worked on and one is emptied

/// Page-locked data, the buffers that its chunks pass through, and an event for each time that a buffer changes hands.
pub struct Pipeline {
    pub kernels: Kernels,
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub chunks: Vec<Range<usize>>,
    pub buffers: Vec<DeviceBuffer<f32>>,
    pub full: Vec<Event>,
    pub computed: Vec<Event>,
    pub empty: Vec<Event>,
    pub blocks: u32,
    pub rounds: u32,
}

impl Pipeline {
    pub fn new(chunks: Vec<Range<usize>>, blocks: u32, rounds: u32) -> Result<Self> {
        let input = LockedBuffer::new(&0.0, chunks[chunks.len() - 1].end)?;
        let output = LockedBuffer::new(&0.0, input.len())?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let (mut buffers, mut full, mut computed, mut empty) = (vec![], vec![], vec![], vec![]);
        for _ in 0..BUFFERS {
            buffers.push(DeviceBuffer::zeroed(chunks[0].len())?);
            full.push(Event::new(EventFlags::DISABLE_TIMING)?);
            computed.push(Event::new(EventFlags::DISABLE_TIMING)?);
            empty.push(Event::new(EventFlags::DISABLE_TIMING)?);
        }
        Ok(Self { kernels, input, output, chunks, buffers, full, computed, empty, blocks, rounds })
    }

    /// One stream keeps the order, and the host waits for each chunk.
    pub fn host_sync(&mut self, stream: &Stream) -> Result<()> {
        for (i, chunk) in self.chunks.iter().enumerate() {
            let mut data = self.buffers[i % BUFFERS].index(..chunk.len());
            // SAFETY: all memory outlives the pass, and one stream keeps the order of its uses.
            unsafe {
                data.async_copy_from(&self.input[chunk.clone()], stream)?;
                launch!(self.kernels.affine_strided_x4<<<self.blocks, 256, 0, stream>>>(&mut data, 2.0, 1.0, self.rounds))?;
                data.async_copy_to(&mut self.output[chunk.clone()], stream)?;
            }
            stream.synchronize()?;
        }
        Ok(())
    }

    /// One stream keeps the order: no event is needed.
    pub fn one_stream(&mut self, stream: &Stream) -> Result<()> {
        for (i, chunk) in self.chunks.iter().enumerate() {
            let mut data = self.buffers[i % BUFFERS].index(..chunk.len());
            // SAFETY: as above.
            unsafe {
                data.async_copy_from(&self.input[chunk.clone()], stream)?;
                launch!(self.kernels.affine_strided_x4<<<self.blocks, 256, 0, stream>>>(&mut data, 2.0, 1.0, self.rounds))?;
                data.async_copy_to(&mut self.output[chunk.clone()], stream)?;
            }
        }
        Ok(())
    }

    /// Each chunk in the next of four streams. They share the three buffers: an event says when one is free.
    pub fn round_robin(&mut self, streams: &[Stream; 4]) -> Result<()> {
        for (i, chunk) in self.chunks.iter().enumerate() {
            let (stream, empty) = (&streams[i % streams.len()], &self.empty[i % BUFFERS]);
            let mut data = self.buffers[i % BUFFERS].index(..chunk.len());
            // SAFETY: all memory outlives the pass, and `empty` orders the uses of each buffer.
            unsafe {
                stream.wait(empty)?;
                data.async_copy_from(&self.input[chunk.clone()], stream)?;
                launch!(self.kernels.affine_strided_x4<<<self.blocks, 256, 0, stream>>>(&mut data, 2.0, 1.0, self.rounds))?;
                data.async_copy_to(&mut self.output[chunk.clone()], stream)?;
                empty.record(stream)?;
            }
        }
        Ok(())
    }

    /// A stream for each role: events hand every chunk from one to the next, and its buffer back to the first.
    pub fn three_streams(&mut self, [copy_in, compute, copy_out]: [&Stream; 3]) -> Result<()> {
        for (i, chunk) in self.chunks.iter().enumerate() {
            let slot = i % BUFFERS;
            let mut data = self.buffers[slot].index(..chunk.len());
            // SAFETY: all memory outlives the pass, and events order the uses of each buffer.
            unsafe {
                copy_in.wait(&self.empty[slot])?;
                data.async_copy_from(&self.input[chunk.clone()], copy_in)?;
                self.full[slot].record(copy_in)?;

                compute.wait(&self.full[slot])?;
                launch!(self.kernels.affine_strided_x4<<<self.blocks, 256, 0, compute>>>(&mut data, 2.0, 1.0, self.rounds))?;
                self.computed[slot].record(compute)?;

                copy_out.wait(&self.computed[slot])?;
                data.async_copy_to(&mut self.output[chunk.clone()], copy_out)?;
                self.empty[slot].record(copy_out)?;
            }
        }
        Ok(())
    }
}
