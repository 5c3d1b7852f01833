//! The data of the pipeline and the expected results; its stages, each without the others.

use super::Roles;
use crate::three_way::Pipeline;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::alone::{TimedAlone, each};
use examples_host::few_values::{Batch, ExpectedValues};
use examples_host::prelude::*;

const DATA: Batch = Batch::new(1);

/// A pipeline of one chunk, with its data.
pub fn pipeline(elements: usize, (blocks, rounds): (u32, u32)) -> Result<Pipeline> {
    let mut pipeline = Pipeline::new(chunks::ranges::<f32>(elements, 1)?, blocks, rounds)?;
    DATA.fill(&mut pipeline.input);
    Ok(pipeline)
}

impl Workload for Pipeline {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for buffer in &mut self.buffers {
            buffer.set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = ExpectedValues::by(|x| (0..self.rounds).fold(x, |x, _| x.mul_add(2.0, 1.0)));
        Ok(check::equal("the output", 0, &self.output, |index| expected.of(DATA, index))?)
    }
}

/// The stages, each of all chunks without the others, and the copies of both directions together.
pub fn stages<'v>(
    [copies_in, kernels, copies_out]: Roles<'v>,
    chunks: usize,
) -> [TimedAlone<'v, Pipeline>; 4] {
    [
        each(chunks, copies_in, copy_in),
        each(chunks, kernels, compute),
        each(chunks, copies_out, copy_out),
        piece([copies_in, copies_out], |all: &mut Pipeline| {
            both_copies(all, copies_in, copies_out)
        }),
    ]
}

fn copy_in(of: &mut Pipeline, i: usize, stream: &Stream) -> Result<()> {
    let (range, buffer) = (of.chunks[i].clone(), i % of.buffers.len());
    let mut data = of.buffers[buffer].index(..range.len());
    // SAFETY: the input is page-locked and outlives the pass.
    unsafe { data.async_copy_from(&of.input[range], stream)? };
    Ok(())
}

fn compute(of: &mut Pipeline, i: usize, stream: &Stream) -> Result<()> {
    let (kernel, rounds) = (&of.kernels.affine_strided_x4, of.rounds);
    let mut data = of.buffers[i % of.buffers.len()].index(..of.chunks[i].len());
    // SAFETY: the buffer outlives the pass, and any grid does.
    unsafe { launch!(kernel<<<of.blocks, 256, 0, stream>>>(&mut data, 2.0, 1.0, rounds))? };
    Ok(())
}

fn copy_out(of: &mut Pipeline, i: usize, stream: &Stream) -> Result<()> {
    let (range, buffer) = (of.chunks[i].clone(), i % of.buffers.len());
    let data = of.buffers[buffer].index(..range.len());
    // SAFETY: the output is page-locked and outlives the pass.
    unsafe { data.async_copy_to(&mut of.output[range], stream)? };
    Ok(())
}

/// Both directions at once and nothing else, each with a buffer of its own: no schedule is faster.
fn both_copies(of: &mut Pipeline, copy_in: &Stream, copy_out: &Stream) -> Result<()> {
    for range in of.chunks.iter().cloned() {
        let mut arriving = of.buffers[0].index(..range.len());
        let leaving = of.buffers[1].index(..range.len());
        // SAFETY: as for the copies one by one.
        unsafe {
            arriving.async_copy_from(&of.input[range.clone()], copy_in)?;
            leaving.async_copy_to(&mut of.output[range], copy_out)?;
        }
    }
    Ok(())
}
