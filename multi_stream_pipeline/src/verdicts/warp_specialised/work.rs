//! What the forms of the kernel work on: one array in device memory, and what must become of it.

use super::{LaunchCase, ROUNDS};
use crate::forms::{Form, Forms};
use crate::verdicts::rounds;
use anyhow::{Context, Result};
use cuda_host::prelude::*;
use examples_host::ceilings::Ceilings;
use examples_host::few_values::{Batch, ExpectedValues};
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SM_70, SUMMAND};

kernels! { use gpu_kernels::affine_rounds_x4; }

const DATA: Batch = Batch::new(31);

/// One array in device memory, and what must become of it.
pub struct DeviceArray {
    pub stream: Stream,
    pub input: DeviceBuffer<f32>,
    pub output: DeviceBuffer<f32>,
    /// By rounds, and the rounds of the last launch.
    pub expected: Vec<(u32, ExpectedValues)>,
    pub launched: u32,
}

impl DeviceArray {
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

    /// What memory and arithmetic allow: copies within the device, and multiply-adds of elements in registers.
    pub fn ceilings(&mut self, part: &Part) -> Result<Ceilings> {
        let (Self { stream, input, output, .. }, kernels) = (self, Kernels::load(SM_70)?);
        let blocks = 2 * part.device().multiprocessors()?;
        let in_registers = blocks as usize * 256 * 4;
        let mut registers = DeviceBuffer::<f32>::zeroed(in_registers)?;
        let copy = |len: usize| {
            let (from, mut to) = (input.index(..len), output.index(..len));
            // SAFETY: both buffers outlive the copy.
            unsafe { to.async_copy_from(&from, stream)? };
            Ok(())
        };
        let compute = |rounds| {
            let (kernel, data) = (&kernels.affine_rounds_x4, &mut registers);
            // SAFETY: the buffer outlives the kernel, and the grid has a thread for every four elements.
            unsafe { launch!(kernel<<<blocks, 256, 0, stream>>>(data, FACTOR, SUMMAND, rounds))? };
            Ok(())
        };
        part.ceilings(input.len(), in_registers, copy, compute)
    }

    pub fn launch(
        &mut self,
        forms: &Forms,
        (blocks, rounds): LaunchCase,
        form: Form,
    ) -> Result<()> {
        self.launched = rounds;
        // SAFETY: the arrays are of equal length and outlive the kernel.
        unsafe {
            forms.launch((form, blocks), (&self.input, &mut self.output), rounds, &self.stream)
        }
    }
}

impl Workload for DeviceArray {
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
