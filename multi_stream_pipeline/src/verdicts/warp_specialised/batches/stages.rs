//! The batches with known results, and their stages, each without the others.

use crate::forms::{Form, Forms};
use crate::verdicts::rounds;
use crate::warp_specialised::{BLOCKS, Batches};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::few_values::{Batch, ExpectedValues};
use examples_host::prelude::*;

const DATA: Batch = Batch::new(32);

/// The batches, and two buffers to time stages with.
pub struct StageBatches<'f> {
    pub of: Batches<'f>,
    arriving: DeviceBuffer<f32>,
    leaving: DeviceBuffer<f32>,
    expected: ExpectedValues,
}

impl<'f> StageBatches<'f> {
    pub fn new(forms: &'f Forms, elements: usize, count: usize, rounds: u32) -> Result<Self> {
        let mut of = Batches::new(forms, chunks::ranges::<f32>(elements, count)?, rounds)?;
        DATA.fill(&mut of.input);
        let len = of.batches[0].len();
        let (arriving, leaving) = (DeviceBuffer::zeroed(len)?, DeviceBuffer::zeroed(len)?);
        Ok(Self { of, arriving, leaving, expected: rounds::after(rounds) })
    }

    pub fn copy_in(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        let batch = self.of.batches[batch].clone();
        let mut data = self.arriving.index(..batch.len());
        // SAFETY: the input is page-locked and outlives the pass.
        unsafe { data.async_copy_from(&self.of.input[batch], stream)? };
        Ok(())
    }

    pub fn copy_out(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        let batch = self.of.batches[batch].clone();
        let result = self.leaving.index(..batch.len());
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { result.async_copy_to(&mut self.of.output[batch], stream)? };
        Ok(())
    }

    pub fn kernel(&mut self, batch: usize, form: Form, stream: &Stream) -> Result<()> {
        let len = self.of.batches[batch].len();
        let (data, mut result) = (self.arriving.index(..len), self.leaving.index(..len));
        let Batches { forms, rounds, .. } = self.of;
        // SAFETY: both buffers outlive the pass.
        unsafe { forms.launch((form, BLOCKS), (&data, &mut result), rounds, stream) }
    }
}

impl Workload for StageBatches<'_> {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.of.output);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = |index| self.expected.of(DATA, index);
        Ok(check::equal("the output", 0, &self.of.output, expected)?)
    }
}
