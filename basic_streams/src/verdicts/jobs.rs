//! The numbers of small kernels, and the expected results.

use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};
use rayon::prelude::*;

/// Numbers of one kernel: one per lane of its warp. Few, because the CPU computes them too.
const NUMBERS: usize = 8;

/// Numbers for `count` kernels of `rounds` multiply-adds. Every kernel's are its own.
pub fn numbers(count: usize, rounds: u32) -> Vec<f32> {
    let seed = Seed::new(u64::from(rounds));
    (0..count * NUMBERS).map(|i| seed.f32(i)).collect()
}

/// The plan of running `count` kernels once.
pub fn plan(count: usize) -> Plan {
    Plan::new().launches(count, count * NUMBERS)
}

/// Kernels whose results are known.
pub struct CheckedJobs<J> {
    pub jobs: J,
    output: DeviceSlice<f32>,
    expected: Vec<f32>,
    used: usize,
}

impl<J> CheckedJobs<J> {
    /// The kernels of `jobs` store their results in `output`.
    pub fn new(jobs: J, output: DeviceSlice<f32>, numbers: &[f32], rounds: u32) -> Self {
        let chain = |&x: &f32| (0..rounds).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND));
        let expected = numbers.par_iter().map(chain).collect();
        Self { jobs, output, expected, used: numbers.len() / NUMBERS }
    }

    /// From now on only the first `count` kernels are run, and checked.
    pub fn use_first(&mut self, count: usize) {
        self.used = count;
    }
}

impl<J> Workload for CheckedJobs<J> {
    fn poison(&mut self) -> Result<()> {
        Ok(self.output.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let mut found = vec![0.0; self.used * NUMBERS];
        self.output.index(..found.len()).copy_to(&mut found)?;
        let expected = |i: usize| self.expected[i];
        Ok(check::equal("the jobs' results", 0, &found, expected)?)
    }
}
