//! What a batch takes: its load, its copy, its kernel, and the hand-overs between them.

use super::{BATCHES, Loader, data};
use crate::depth::{BatchSlot, LoaderPipeline, THREADS};
use crate::verdicts::loading::Loading;
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use std::slice;
use std::time::Duration;

impl Loader {
    /// Times a copy, a kernel, and a batch's way when the next one begins behind it, and makes each load take `load(batch)` kernels.
    /// What such a batch takes beside its load, its copy and its kernel is the hand-over: of a thread that has just loaded, since a
    /// core and a link that had nothing to do begin later.
    pub fn measure(
        &mut self,
        part: &Part,
        streams: [&Stream; 2],
        load: impl Fn(usize) -> f64,
    ) -> Result<Loading> {
        let mut slot = BatchSlot::new()?;
        data(0).fill(&mut slot.host);
        let ([copy, compute], LoaderPipeline { results, kernels, rounds }) =
            (streams, &self.pipeline);
        let copies = part.alone([copy], || {
            // SAFETY: the buffer is page-locked and outlives the pass.
            (0..BATCHES)
                .try_for_each(|_| Ok(unsafe { slot.device.async_copy_from(&slot.host, copy) }?))
        })?;
        let kernels = part.alone([compute], || {
            (0..BATCHES).try_for_each(|batch| {
                let (kernel, mut result) =
                    (&kernels.fma_tiles_unspecialised, results[batch].index(..));
                // SAFETY: the buffers outlive the pass, and any grid covers all tiles.
                Ok(unsafe {
                    launch!(kernel<<<1, THREADS, 0, compute>>>(&slot.device, &mut result, *rounds))
                }?)
            })
        })?;
        let [copied, kernel] = [copies, kernels].map(|all| all / BATCHES as u32);
        self.loads = (0..BATCHES).map(|batch| kernel.mul_f64(load(batch))).collect();
        let all = |batch, host: &mut [f32]| self.load(batch, host);
        let ring = slice::from_mut(&mut slot);
        let turns = part.alone(streams, || self.pipeline.feed(ring, 0..BATCHES, all, streams))?;
        let passed = copies + kernels + self.loads.iter().sum::<Duration>();
        let hand_over = turns.saturating_sub(passed) / BATCHES as u32;
        Ok(Loading { loads: self.loads.clone(), hand_over, copy: copied, kernel })
    }
}
