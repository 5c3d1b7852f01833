//! Long, small, independent kernels: what several parts put into their streams.
//!
//! A job is one warp that repeats a multiply-add on a few numbers of its own. It leaves room for every other job on
//! the device, so that only streams decide which of them run together.

use cuda_host::{kernels, launch};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::prelude::{Checked, Plan, Seed, Workload, check};
use gpu_kernels::{FACTOR, SUMMAND};
use rayon::prelude::*;

kernels! { use gpu_kernels::fma_chain; }

/// Numbers of one job, of which the warp takes one per lane. Few, because the CPU computes them too.
const NUMBERS: usize = 8;
const WARP: u32 = 32;

/// Jobs of equal length, with what must come out of them.
pub struct Jobs {
    kernels: Kernels,
    rounds: u32,
    input: DeviceBuffer<f32>,
    output: DeviceBuffer<f32>,
    expected: Vec<f32>,
    used: usize,
}

impl Jobs {
    /// `count` jobs of `rounds` multiply-adds each. Every job's numbers are its own.
    pub fn new(count: usize, rounds: u32) -> anyhow::Result<Self> {
        let seed = Seed::new(u64::from(rounds));
        let numbers: Vec<f32> = (0..count * NUMBERS).map(|i| seed.f32(i)).collect();
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            rounds,
            input: DeviceBuffer::from_slice(&numbers)?,
            output: DeviceBuffer::zeroed(numbers.len())?,
            expected: numbers.par_iter().map(|&x| chain(x, rounds)).collect(),
            used: count,
        })
    }

    /// Enqueues a job in a stream (`cuLaunchKernel`): a grid of one block, a block of one warp.
    pub fn compute(&self, job: usize, stream: &Stream) -> anyhow::Result<()> {
        let numbers = job * NUMBERS..(job + 1) * NUMBERS;
        let (x, mut y) = (self.input.index(numbers.clone()), self.output.index(numbers));
        // SAFETY: both buffers outlive the run, and a job's numbers are its own.
        unsafe {
            launch!(self.kernels.fma_chain<<<1, WARP, 0, stream>>>(&x, &mut y, self.rounds))?
        };
        Ok(())
    }

    /// From now on only the first `count` jobs are run, and checked.
    pub fn use_first(&mut self, count: usize) {
        self.used = count;
    }

    /// The plan of running `count` jobs once.
    pub fn plan(count: usize) -> Plan {
        Plan::new().launches(count, count * NUMBERS)
    }
}

impl Workload for Jobs {
    fn poison(&mut self) -> anyhow::Result<()> {
        Ok(self.output.set_8(0xFF)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut found = vec![0.0; self.used * NUMBERS];
        self.output.index(..found.len()).copy_to(&mut found)?;
        let expected = |i: usize| self.expected[i];
        Ok(check::equal("the jobs' results", 0, &found, expected)?)
    }
}

/// What one number becomes.
fn chain(x: f32, rounds: u32) -> f32 {
    (0..rounds).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND))
}
