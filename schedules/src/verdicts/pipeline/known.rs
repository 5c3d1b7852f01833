//! The chunks, the expected results, and the operations that are timed without the others.

use crate::pipeline::work::{BufferSet, ChunkBuffers, LEFT, RIGHT, SHARE};
use crate::pipeline::{SLOTS, Streams};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::few_values::{Batch, ExpectedValues};
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

const DATA: Batch = Batch::new(31);

/// The chunks, and the expected output.
pub struct CheckedChunks {
    pub work: ChunkBuffers,
    expected: ExpectedValues,
}

impl CheckedChunks {
    pub fn new(device: &Device, elements: usize, chunks: usize) -> Result<Self> {
        let mut input = LockedBuffer::new(&0.0, elements)?;
        DATA.fill(&mut input);
        let chunks = chunks::ranges::<f32>(elements, chunks)?;
        let after = |rounds, x| (0..rounds).fold(x, |x: f32, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self {
            work: ChunkBuffers::new(device.shared_bytes_of_a_lone_block()?, input, chunks)?,
            expected: ExpectedValues::by(|x| SHARE.mul_add(after(LEFT, x), after(RIGHT, x))),
        })
    }

    pub fn copy_in(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        self.work.copy_in(chunk, stream)
    }

    pub fn copy_out(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        self.work.copy_out(chunk, stream)
    }

    /// The kernels without the copies.
    pub fn kernels(&mut self, [_, left, right, _]: Streams) -> Result<()> {
        for chunk in 0..self.work.chunks.len() {
            let slot = chunk % SLOTS;
            if chunk >= SLOTS {
                left.wait(&self.work.slots[slot].joined)?;
            }
            self.work.left(chunk, left)?;
            self.work.slots[slot].left.record(left)?;
            self.work.right(chunk, right)?;
            right.wait(&self.work.slots[slot].left)?;
            self.work.join(chunk, right)?;
            self.work.slots[slot].joined.record(right)?;
        }
        Ok(())
    }
}

impl Workload for CheckedChunks {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.work.output);
        for BufferSet { x, y, z, .. } in &mut self.work.slots {
            for buffer in [x, y, z] {
                buffer.set_8(0xFF)?;
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = |index| self.expected.of(DATA, index);
        Ok(check::equal("the output", 0, &self.work.output, expected)?)
    }
}
