//! The batches on the device, where one of them is worked on, and what must become of them.

use super::{BATCH, BATCHES, KERNELS, Kernels, ROUNDS};
use cust::memory::{CopyDestination, DeviceBuffer};
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

const DATA: Seed = Seed::new(13);

/// The batches, what they become, and where one of them is worked on.
pub struct Batches {
    pub kernels: Kernels,
    pub given: DeviceBuffer<f32>,
    pub scratch: DeviceBuffer<f32>,
    pub results: DeviceBuffer<f32>,
    expected: Vec<f32>,
}

impl Batches {
    pub fn new() -> anyhow::Result<Self> {
        let given: Vec<f32> = (0..BATCHES * BATCH).map(|i| DATA.f32(i)).collect();
        let steps = KERNELS as u32 * ROUNDS;
        let result = |&x: &f32| (0..steps).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            given: DeviceBuffer::from_slice(&given)?,
            scratch: DeviceBuffer::zeroed(BATCH)?,
            results: DeviceBuffer::zeroed(given.len())?,
            expected: given.iter().map(result).collect(),
        })
    }
}

impl Workload for Batches {
    fn poison(&mut self) -> anyhow::Result<()> {
        self.scratch.set_8(0xFF)?;
        Ok(self.results.set_8(0xFF)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut found = vec![0.0; BATCHES * BATCH];
        self.results.copy_to(&mut found)?;
        Ok(check::equal("the results", 0, &found, |i| self.expected[i])?)
    }
}
