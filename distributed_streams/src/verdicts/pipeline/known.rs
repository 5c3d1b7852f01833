//! The batch, and the expected results.

use crate::pipeline::stage::Stages;
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::{Context, CurrentContext};
use examples_host::few_values::{Batch, ExpectedValues};
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

const DATA: Batch = Batch::new(61);

/// The stages, and the expected output.
pub struct CheckedStages {
    pub stages: Stages,
    /// Elements of a micro-batch.
    len: usize,
    expected: ExpectedValues,
}

impl CheckedStages {
    pub fn new(contexts: &[Context], len: usize, batches: usize, rounds: u32) -> Result<Self> {
        let mut input = vec![0.0; len * batches];
        DATA.fill(&mut input);
        let all = rounds * contexts.len() as u32;
        let after = |x| (0..all).fold(x, |x: f32, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self {
            stages: Stages::new(contexts, &input, batches, rounds)?,
            len,
            expected: ExpectedValues::of_batch(DATA, input.len(), after),
        })
    }
}

impl Workload for CheckedStages {
    fn poison(&mut self) -> Result<()> {
        for stage in &mut self.stages.stages {
            CurrentContext::set_current(&stage.context)?;
            for slot in stage.arrived.iter_mut().chain(&mut stage.product) {
                slot.set_8(0xFF)?;
            }
        }
        Ok(self.stages.output.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let mut found = vec![0.0; self.stages.batches * self.len];
        self.stages.output.index(..found.len()).copy_to(&mut found)?;
        let expected = |index| self.expected.of(DATA, index);
        Ok(check::equal("the last stage's output", 0, &found, expected)?)
    }
}
