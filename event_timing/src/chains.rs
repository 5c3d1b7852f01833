//! Chains of small steps, each on the result of the one before: what the parts keep in order, or not.

use cuda_host::{kernels, launch};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::prelude::{Checked, Seed, Workload, check};

kernels! { use gpu_kernels::affine_rounds; }

/// Numbers of a chain, one for each thread of a warp: a step leaves nearly all of the device to others.
pub const NUMBERS: usize = 32;
/// What a multiply-add makes of a number: so much more. The result tells how many there were; with a factor below 1, all
/// numbers would soon be the same.
const FACTOR: f32 = 1.0;
const SUMMAND: f32 = 1.0 / 4096.0;
const DATA: Seed = Seed::new(6);

/// Chains of the same number of multiply-adds in the end, and what must come out of them.
pub struct Chains {
    kernels: Kernels,
    numbers: Vec<DeviceBuffer<f32>>,
    expected: Vec<f32>,
}

impl Chains {
    /// So many chains, of so many multiply-adds each, however they are cut into steps.
    pub fn new(count: usize, rounds: u32) -> anyhow::Result<Self> {
        let given = |i| DATA.f32(i);
        let step = |x: f32, _| x + SUMMAND;
        let numbers = (0..count).map(|_| DeviceBuffer::zeroed(NUMBERS));
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            numbers: numbers.collect::<Result<_, _>>()?,
            expected: (0..count * NUMBERS).map(|i| (0..rounds).fold(given(i), step)).collect(),
        })
    }

    /// A step of a chain: so many multiply-adds of each number, in place (`cuLaunchKernel`).
    pub fn step(&mut self, chain: usize, rounds: u32, stream: &Stream) -> anyhow::Result<()> {
        let (kernels, numbers) = (&self.kernels, &mut self.numbers[chain]);
        // SAFETY: the buffer outlives the run, and each step waits for the one before it in its chain.
        unsafe {
            launch!(kernels.affine_rounds<<<1, 32, 0, stream>>>(numbers, FACTOR, SUMMAND, rounds))?
        };
        Ok(())
    }
}

impl Workload for Chains {
    fn poison(&mut self) -> anyhow::Result<()> {
        for (chain, numbers) in self.numbers.iter_mut().enumerate() {
            let given: Vec<f32> = (0..NUMBERS).map(|i| DATA.f32(chain * NUMBERS + i)).collect();
            numbers.copy_from(&given)?;
        }
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut checked = Checked::default();
        for (chain, numbers) in self.numbers.iter().enumerate() {
            let found = numbers.as_host_vec()?;
            let expected = |i: usize| self.expected[i];
            checked = checked.and(check::equal("the chains", chain * NUMBERS, &found, expected)?);
        }
        Ok(checked)
    }
}
