//! hand-over: can the compiler check the order?
//!
//! Copies in, kernels and copies out have a stream each, and three device buffers rotate. An event must stand wherever a buffer
//! goes from one stream to the next, and nothing but care ensures it. Here is the pipeline once with care, and once with a
//! type: a buffer belongs to a stream, its operations run there, and handing it on records the event, makes the next stream
//! wait, and takes the old handle away. Then a forgotten event is a program that does not compile; `owned/programs.md`
//! has four of them.
//!
//! ```text
//! copy in   |HHHHhhhhHHHHhhhh        |   by hand  filled.record(copy_in)?; compute.wait(&filled)?;
//! compute   |    K   k   K   k       |   owned    let data = data.hand_to(compute)?;
//! copy out  |     DDDDddddDDDDdddd   |
//! ```
//!
//! Both make the same calls of the driver, in the same order. A difference in the result, a longer time, or a report of the
//! race checker would prove this wrong. What the type does not know is the host's memory: those copies are still `unsafe`.

use crate::owned::{self, Released};
use anyhow::{Context, Result};
use cuda_host::prelude::*;
use std::collections::VecDeque;
use std::ops::Range;

kernels! { use gpu_kernels::affine_x4; }

pub const A: f32 = 2.0;
pub const B: f32 = 1.0;
const BUFFERS: usize = 3; // one is filled while one is worked on and one is emptied

/// Page-locked data, and the device buffers of both programs.
pub struct HandOver {
    kernels: Kernels,
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    chunks: Vec<Range<usize>>,
    pub slots: Vec<SharedBuffer>,
    pub owned: VecDeque<Released<f32>>,
    blocks: u32,
}

/// A device buffer, and an event for each time that it changes hands.
pub struct SharedBuffer {
    pub data: DeviceBuffer<f32>,
    filled: Event,
    computed: Event,
    emptied: Event,
}

impl HandOver {
    pub fn new(chunks: Vec<Range<usize>>) -> Result<Self> {
        let input = LockedBuffer::new(&0.0, chunks[chunks.len() - 1].end)?;
        let output = LockedBuffer::new(&0.0, input.len())?;
        let (mut slots, len) = (vec![], chunks[0].len());
        for _ in 0..BUFFERS {
            let data = DeviceBuffer::zeroed(len)?;
            let filled = Event::new(EventFlags::DISABLE_TIMING)?;
            let computed = Event::new(EventFlags::DISABLE_TIMING)?;
            let emptied = Event::new(EventFlags::DISABLE_TIMING)?;
            slots.push(SharedBuffer { data, filled, computed, emptied });
        }
        let owned = (0..BUFFERS).map(|_| Released::zeroed(len)).collect::<CudaResult<_>>()?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let blocks = len.div_ceil(4 * 256) as u32; // a thread for every four elements
        Ok(Self { kernels, input, output, chunks, slots, owned, blocks })
    }

    /// Each record has its wait, and each wait its record, as long as the programmer takes care.
    pub fn by_hand(&mut self, [copy_in, compute, copy_out]: [&Stream; 3]) -> Result<()> {
        for (slot, chunk) in self.slots.iter().cycle().zip(self.chunks.iter().cloned()) {
            let mut data = slot.data.index(..chunk.len());
            // SAFETY: all memory outlives the pass, and the events order the uses of each buffer.
            unsafe {
                copy_in.wait(&slot.emptied)?;
                data.async_copy_from(&self.input[chunk.clone()], copy_in)?;
                slot.filled.record(copy_in)?;

                compute.wait(&slot.filled)?;
                launch!(self.kernels.affine_x4<<<self.blocks, 256, 0, compute>>>(&mut data, A, B))?;
                slot.computed.record(compute)?;

                copy_out.wait(&slot.computed)?;
                data.async_copy_to(&mut self.output[chunk], copy_out)?;
                slot.emptied.record(copy_out)?;
            }
        }
        Ok(())
    }

    /// No event can be left out: without it the buffer is of another stream, and the line does not compile.
    pub fn owned(&mut self, streams: [&Stream; 3]) -> Result<()> {
        let (kernel, blocks) = (&self.kernels.affine_x4, self.blocks);
        owned::streams(streams, |copy_in, compute, copy_out| {
            for chunk in self.chunks.iter().cloned() {
                let mut data = self.owned.pop_front().context("no buffer")?.acquire(copy_in)?;
                // SAFETY: the input outlives the pass.
                unsafe { data.copy_from(&self.input[chunk.clone()])? };

                let mut data = data.hand_to(compute)?;
                // SAFETY: the grid has a thread for every four elements.
                unsafe { compute.launch(kernel, blocks, 256, (&mut data, A, B))? };

                let data = data.hand_to(copy_out)?;
                // SAFETY: the output outlives the pass, and is read behind it.
                unsafe { data.copy_to(&mut self.output[chunk])? };
                self.owned.push_back(data.release()?);
            }
            Ok(())
        })
    }
}
