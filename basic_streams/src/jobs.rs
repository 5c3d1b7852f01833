//! Long, small, independent kernels: what several parts put into their streams.
//!
//! A job is one warp that repeats a multiply-add on a few numbers of its own. It leaves room for every other job on
//! the device, so that only streams decide which of them run together.

use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SM_70, SUMMAND};
use rayon::prelude::*;

kernels! {
    pub unsafe struct Kernels {
        fn fma_chain(input: &[f32], output: *mut f32, rounds: u32) = gpu_kernels::fma_chain;
    }
}

/// Numbers of one job, of which the warp takes one per lane. Few, because the CPU computes them too.
const NUMBERS: usize = 8;
const WARP: u32 = 32;

/// One kernel's data; they belong to the stream that it will run in.
pub struct Job {
    input: DeviceBuffer<f32>,
    output: DeviceBuffer<f32>,
}

impl Job {
    /// Gives the job to `stream`, which waits for what the job's stream has been given before.
    pub fn hand_to(&mut self, stream: &Stream) -> Result<()> {
        self.input.hand_to(stream)?;
        self.output.hand_to(stream)
    }

    /// Enqueues the kernel in the job's stream.
    pub fn launch(&mut self, kernels: &Kernels, rounds: u32) -> Result<()> {
        kernels.fma_chain(Grid::new(1, WARP), &self.input, &mut self.output, rounds)
    }
}

/// Jobs of equal length, with what must come out of them.
pub struct Jobs {
    pub jobs: Vec<Job>,
    pub kernels: Kernels,
    pub rounds: u32,
    expected: Vec<f32>,
    result: HostBuffer<f32>,
}

impl Jobs {
    /// `count` jobs of `rounds` rounds, all belonging to `home`. Every job's numbers are its own.
    pub fn new(home: &Stream, count: usize, rounds: u32) -> Result<Self> {
        let device = home.device();
        let seed = Seed::new(u64::from(rounds));
        let numbers: Vec<f32> = (0..count * NUMBERS).map(|i| seed.f32(i)).collect();
        let expected = numbers.par_iter().map(|&x| chain(x, rounds)).collect();
        let jobs = numbers
            .chunks(NUMBERS)
            .map(|numbers| {
                let mut upload = HostBuffer::page_locked(device, NUMBERS)?;
                upload.write()?.copy_from_slice(numbers);
                let mut input = DeviceBuffer::new(home, NUMBERS)?;
                input.copy_from(&upload)?;
                Ok(Job {
                    input,
                    output: DeviceBuffer::new(home, NUMBERS)?,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            jobs,
            kernels: Kernels::load(device, SM_70)?,
            rounds,
            expected,
            result: HostBuffer::page_locked(device, NUMBERS)?,
        })
    }

    /// Job `i` goes to stream `i % streams`.
    pub fn deal(&mut self, streams: &[&Stream]) -> Result<()> {
        let turns = streams.iter().cycle();
        self.jobs
            .iter_mut()
            .zip(turns)
            .try_for_each(|(job, stream)| job.hand_to(stream))
    }

    /// Enqueues the jobs in the order of `indices`, each in its own stream.
    pub fn launch(&mut self, indices: impl IntoIterator<Item = usize>) -> Result<()> {
        indices
            .into_iter()
            .try_for_each(|index| self.jobs[index].launch(&self.kernels, self.rounds))
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.jobs.iter_mut().try_for_each(|job| job.output.poison())
    }

    /// Compares every number of the first `count` jobs with what the CPU computes.
    pub fn check(&mut self, count: usize) -> anyhow::Result<Checked> {
        let mut checked = Checked::default();
        for (index, job) in self.jobs.iter().take(count).enumerate() {
            self.result.poison()?;
            job.output.copy_to(&mut self.result)?;
            let first = index * NUMBERS;
            let expected = |i: usize| self.expected[i];
            checked = checked.and(check::equal(
                "the jobs' results",
                first,
                self.result.read()?,
                expected,
            )?);
        }
        Ok(checked)
    }

    /// The plan of running `count` jobs once.
    pub fn plan(count: usize) -> Plan {
        Plan::new().launches(count, count * NUMBERS)
    }
}

/// What one number becomes.
fn chain(x: f32, rounds: u32) -> f32 {
    (0..rounds).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND))
}
