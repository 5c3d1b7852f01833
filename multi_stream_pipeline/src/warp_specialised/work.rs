//! What the forms of the kernel work on: one array in device memory, and what must become of it.

use super::ROUNDS;
use crate::verdicts::rounds;
use anyhow::{Context, Result};
use cuda_host::prelude::*;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::few_values::{Batch, Expected};
use examples_host::prelude::*;

const DATA: Batch = Batch::new(31);

/// One array in device memory, and what must become of it.
pub struct Work {
    pub stream: Stream,
    pub input: DeviceBuffer<f32>,
    pub output: DeviceBuffer<f32>,
    /// By rounds, and the rounds of the last launch.
    pub expected: Vec<(u32, Expected)>,
    pub launched: u32,
}

impl Work {
    pub fn new(elements: usize) -> Result<Self> {
        let mut data = vec![0.0; elements];
        DATA.fill(&mut data);
        Ok(Self {
            stream: stream::non_blocking()?.named("kernel"),
            input: DeviceBuffer::from_slice(&data)?,
            output: DeviceBuffer::zeroed(elements)?,
            expected: ROUNDS.map(|rounds| (rounds, rounds::after(rounds))).into(),
            launched: 0,
        })
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        // SAFETY: the array outlives the operation.
        unsafe { self.output.set_8_async(0xFF, &self.stream)? };
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let of_rounds = self.expected.iter().find(|(rounds, _)| *rounds == self.launched);
        let (_, expected) = of_rounds.context("a number of rounds that is not expected")?;
        let output = self.output.as_host_vec()?;
        Ok(check::equal("the output", 0, &output, |index| expected.of(DATA, index))?)
    }
}
