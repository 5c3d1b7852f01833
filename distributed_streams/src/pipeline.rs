//! pipeline: how busy are the stages of a pipeline over several GPUs?
//!
//! A model that is too large for one GPU is cut into P stages, one on each. A batch passes through all of them, and while one stage
//! works the others have nothing to do, unless the batch is cut as well: into M micro-batches that follow each other through the
//! stages. A copy takes each from GPU to GPU, and an event of one GPU tells a stream of the next that it has arrived.
//!
//! ```text
//! in turn  GPU 0 |1   2   3   |        pipeline  GPU 0 |123  |
//!          GPU 1 | 1   2   3  |                  GPU 1 | 123 |
//!          GPU 2 |  1   2   3 |                  GPU 2 |  123|
//! ```
//!
//! The first micro-batch needs P steps, and each further one a step more: of M + P - 1 steps a stage works in M. The rest is the
//! bubble, (P - 1) / (M + P - 1), and no schedule of this kind has a smaller one. A smaller one, a stage that begins before
//! its micro-batch has arrived, or copies that leave the stages waiting would prove this wrong.

pub mod stage;

use crate::pipeline::stage::Stages;
use cuda_host::prelude::*;

/// Micro-batches that a GPU has room for: one is worked on while one is on the way.
pub const SLOTS: usize = 2;

impl Stages {
    /// The host waits for each stage before it starts the next.
    pub fn host_sync(&mut self, compute: &[Stream], copies: &[Stream]) -> CudaResult<()> {
        for batch in 0..self.batches {
            for stage in 0..self.stages.len() {
                self.compute(stage, batch, &compute[stage])?;
                compute[stage].synchronize()?;
                if stage + 1 < self.stages.len() {
                    self.copy_to_next(stage, batch, &copies[stage])?;
                    copies[stage].synchronize()?;
                }
            }
        }
        Ok(())
    }

    /// Events hand each micro-batch on, and nothing else makes a stage wait.
    pub fn pipelined(&mut self, compute: &[Stream], copies: &[Stream]) -> CudaResult<()> {
        let last = self.stages.len() - 1;
        for batch in 0..self.batches {
            let slot = batch % SLOTS;
            for stage in 0..last {
                if stage > 0 {
                    compute[stage].wait(&self.stages[stage - 1].sent[slot])?; // it has arrived
                }
                compute[stage].wait(&self.stages[stage].sent[slot])?; // the product before has left
                self.compute(stage, batch, &compute[stage])?;
                self.stages[stage].computed[slot].record(&compute[stage])?;

                copies[stage].wait(&self.stages[stage].computed[slot])?; // it is there
                copies[stage].wait(&self.stages[stage + 1].computed[slot])?; // what arrived before was used
                self.copy_to_next(stage, batch, &copies[stage])?;
                self.stages[stage].sent[slot].record(&copies[stage])?;
            }
            compute[last].wait(&self.stages[last - 1].sent[slot])?; // it has arrived at the last stage
            self.compute(last, batch, &compute[last])?;
            self.stages[last].computed[slot].record(&compute[last])?;
        }
        Ok(())
    }

    /// The same, but the next one starts when it has passed all stages.
    pub fn in_turn(&mut self, compute: &[Stream], copies: &[Stream]) -> CudaResult<()> {
        let last = self.stages.len() - 1;
        for batch in 0..self.batches {
            let slot = batch % SLOTS;
            if batch > 0 {
                compute[0].wait(&self.stages[last].computed[(batch - 1) % SLOTS])?;
            }
            for stage in 0..last {
                if stage > 0 {
                    compute[stage].wait(&self.stages[stage - 1].sent[slot])?;
                }
                compute[stage].wait(&self.stages[stage].sent[slot])?;
                self.compute(stage, batch, &compute[stage])?;
                self.stages[stage].computed[slot].record(&compute[stage])?;

                copies[stage].wait(&self.stages[stage].computed[slot])?;
                copies[stage].wait(&self.stages[stage + 1].computed[slot])?;
                self.copy_to_next(stage, batch, &copies[stage])?;
                self.stages[stage].sent[slot].record(&copies[stage])?;
            }
            compute[last].wait(&self.stages[last - 1].sent[slot])?;
            self.compute(last, batch, &compute[last])?;
            self.stages[last].computed[slot].record(&compute[last])?;
        }
        Ok(())
    }
}
