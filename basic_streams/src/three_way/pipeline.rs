//! What the pipeline works on: page-locked data, cut into chunks, and the device buffers that the chunks pass through; and what its stages
//! take alone.

use super::{A, B, BUFFERS, Roles, SHORT, Work};
use anyhow::Result;
use cuda_host::kernels;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::alone::{Piece, each};
use examples_host::few_values::{Batch, Expected};
use examples_host::prelude::*;
use std::ops::Range;

kernels! {
    /// The kernel of the pipeline.
    pub struct Kernels;
    use gpu_kernels::affine_strided_x4;
}

const DATA: Batch = Batch::new(1);

/// The data, in and out, and what it passes through.
pub struct Pipeline {
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub chunks: Vec<Range<usize>>,
    pub slots: Vec<Slot>,
    pub kernels: Kernels,
    pub work: Work,
}

/// A device buffer, and an event for each time that it changes hands.
pub struct Slot {
    pub data: DeviceBuffer<f32>,
    pub filled: Event,
    pub computed: Event,
    pub emptied: Event,
}

impl Pipeline {
    /// One chunk, and the short kernel.
    pub fn new(elements: usize) -> Result<Self> {
        let mut input = LockedBuffer::new(&0.0, elements)?;
        DATA.fill(&mut input);
        let (output, kernels) =
            (LockedBuffer::new(&0.0, elements)?, Kernels::load(gpu_kernels::SM_70)?);
        let (chunks, slots, work) = (Vec::new(), Vec::new(), SHORT);
        let mut new = Self { input, output, chunks, slots, kernels, work };
        new.cut(1)?;
        Ok(new)
    }

    /// Both directions at once and nothing else, each with a buffer of its own: no schedule is faster.
    fn copies(&mut self, copy_in: &Stream, copy_out: &Stream) -> Result<()> {
        for range in self.chunks.iter().cloned() {
            let mut arriving = self.slots[0].data.index(..range.len());
            let leaving = self.slots[1].data.index(..range.len());
            // SAFETY: as for the copies one by one.
            unsafe { arriving.async_copy_from(&self.input[range.clone()], copy_in)? };
            // SAFETY: as above.
            unsafe { leaving.async_copy_to(&mut self.output[range], copy_out)? };
        }
        Ok(())
    }
}

/// The stages, each of all chunks without the others, and the copies of both directions together.
pub fn stages<'v>(
    [copy_in, compute, copy_out]: Roles<'v>,
    chunks: usize,
) -> [Piece<'v, Pipeline>; 4] {
    [
        each(chunks, copy_in, Pipeline::copy_in),
        each(chunks, compute, Pipeline::compute),
        each(chunks, copy_out, Pipeline::copy_out),
        piece([copy_in, copy_out], |all: &mut Pipeline| all.copies(copy_in, copy_out)),
    ]
}

impl Workload for Pipeline {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for slot in &mut self.slots {
            slot.data.set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let (_, rounds) = self.work;
        let expected = Expected::by(|x| (0..rounds).fold(x, |x, _| x.mul_add(A, B)));
        Ok(check::equal("the output", 0, &self.output, |index| expected.of(DATA, index))?)
    }
}

impl Chunked for Pipeline {
    fn elements(&self) -> usize {
        self.input.len()
    }

    fn cut(&mut self, chunks: usize) -> Result<()> {
        self.chunks = chunks::ranges::<f32>(self.input.len(), chunks)?;
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        self.slots.clear();
        for _ in 0..BUFFERS {
            self.slots.push(Slot {
                data: DeviceBuffer::zeroed(self.chunks[0].len())?,
                filled: event()?,
                computed: event()?,
                emptied: event()?,
            });
        }
        Ok(())
    }
}
