//! The chunks, the expected results, and what the functions of each run leave.

use super::function::{CallbackState, transform};
use crate::host_callback::CallbackPipeline;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::few_values::Batch;
use examples_host::prelude::*;
use std::sync::Arc;

const DATA: Batch = Batch::new(100);

/// The pipeline, and the functions of its runs.
pub struct Calls {
    pub pipeline: CallbackPipeline,
    /// The failures of the current run.
    pub function: Arc<CallbackState>,
    /// One entry per run so far, with the calling thread.
    runs: Vec<(&'static str, Arc<CallbackState>)>,
    /// Whether the functions were called in order, for each run that was checked.
    pub in_order: Vec<bool>,
}

impl Calls {
    /// `chunks` chunks of `len` elements, and a ring of `buffers`.
    pub fn new(len: usize, chunks: usize, buffers: usize) -> Result<Self> {
        let mut data = vec![0.0; len * chunks];
        DATA.fill(&mut data);
        let pipeline =
            CallbackPipeline::new(&data, chunks::ranges::<f32>(data.len(), chunks)?, buffers)?;
        Ok(Self { pipeline, function: Arc::default(), runs: vec![], in_order: vec![] })
    }

    /// The pipeline, with the function of the present run, in which this variant calls it.
    pub fn called_by(&mut self, variant: &'static str) -> &mut CallbackPipeline {
        let function = Arc::clone(&self.function);
        self.runs.push((variant, Arc::clone(&function)));
        self.pipeline.function = Arc::new(move |chunk, data| function.call(chunk, data));
        &mut self.pipeline
    }

    /// The function, called by the program's thread.
    pub fn call(&mut self, i: usize) {
        let ring = &mut self.pipeline.ring;
        let buffers = ring.len();
        self.function.call(i, &mut ring[i % buffers].data);
    }

    /// How busy the function was in the median of a variant's runs. Both times are of the same run, and so of the same core: cores of
    /// one machine differ by a factor of two, and a bound that was measured on another one says nothing.
    pub fn busy(&self, variant: &str) -> f64 {
        let own = self.runs.iter().filter(|(of, _)| *of == variant);
        let mut busy: Vec<f64> = own.map(|(_, function)| function.busy()).collect();
        busy.sort_by(f64::total_cmp);
        busy.get(busy.len() / 2).copied().unwrap_or_default()
    }
}

/// A chunk's copy out, as soon as its slot is empty.
pub fn fetch(of: &mut Calls, i: usize, stream: &Stream) -> Result<()> {
    let CallbackPipeline { input, chunks, ring, .. } = &mut of.pipeline;
    let buffers = ring.len();
    let slot = &mut ring[i % buffers];
    stream.wait(&slot.emptied)?;
    // SAFETY: the slot is page-locked, outlives the pass, and its events order all uses.
    unsafe { input.index(chunks[i].clone()).async_copy_to(&mut slot.data, stream)? };
    Ok(slot.landed.record(stream)?)
}

/// The work after the function: a copy returns the chunk, and a kernel works on it.
pub fn next_stage(of: &mut Calls, i: usize, stream: &Stream) -> Result<()> {
    let CallbackPipeline { kernels, results, chunks, ring, .. } = &mut of.pipeline;
    let (slot, mut result) = (&ring[i % ring.len()], results.index(chunks[i].clone()));
    // SAFETY: as for the copy out.
    unsafe {
        result.async_copy_from(&slot.data, stream)?;
        slot.emptied.record(stream)?;
        if let Some(kernels) = kernels {
            launch!(kernels.affine_x4<<<result.len().div_ceil(1024) as u32, 256, 0, stream>>>(&mut result, 2.0, 1.0))?;
        }
    }
    Ok(())
}

impl Workload for Calls {
    fn poison(&mut self) -> Result<()> {
        self.function = Arc::default();
        self.pipeline.ring.iter_mut().for_each(|slot| check::poison(&mut slot.data));
        Ok(self.pipeline.results.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let CallbackPipeline { results, chunks, .. } = &self.pipeline;
        self.in_order.push(self.function.calls().into_iter().eq(0..chunks.len()));
        let len = chunks[0].len();
        let expected = |index| transform(index / len, DATA.given(index)).mul_add(2.0, 1.0);
        Ok(check::equal("the results", 0, &results.as_host_vec()?, expected)?)
    }
}
