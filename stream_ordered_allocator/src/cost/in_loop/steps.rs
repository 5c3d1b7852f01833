//! The steps of the loop, the streams that they are in, and what they compute.

use super::super::source::{Kind, Source};
use crate::kernels::Kernels;
use anyhow::Context;
use examples_host::device::TimeSource;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use examples_host::tally;
use gpu_kernels::SM_70;
use std::time::Duration;

/// Steps between two waits of the host.
const BATCH: usize = 8;
/// Batches of a run.
const BATCHES: usize = 16;
/// Steps of a run.
pub const STEPS: usize = BATCH * BATCHES;
/// Elements that a step works on, however large its memory is: what is timed is the allocator.
const TOUCHED: usize = 1024;
const A: f32 = 0.5;

/// Elements that a step works on when the memory has these sizes in bytes.
pub fn touched(sizes: &[usize]) -> usize {
    let smallest = sizes.iter().min();
    smallest.map_or(1, |bytes| TOUCHED.min(bytes / size_of::<f32>()))
}

/// What a step stores in its memory.
fn value(step: usize) -> f32 {
    (step + 1) as f32 / 64.0
}

/// What the steps of one of the streams leave in its result.
fn expected(index: usize, streams: usize, element: usize) -> f32 {
    let steps = (index..STEPS).step_by(streams);
    let start = Seed::new(index as u64).f32(element);
    steps.fold(start, |result, step| A.mul_add(value(step), result))
}

/// The streams and what they compute.
pub struct Work {
    streams: Vec<Stream>,
    kernels: Kernels,
    start: Vec<HostBuffer<f32>>,
    results: Vec<DeviceBuffer<f32>>,
    output: HostBuffer<f32>,
}

/// What the calls of some runs took, and what each run took.
#[derive(Default)]
struct Times {
    allocate: Vec<Duration>,
    free: Vec<Duration>,
    runs: Vec<Duration>,
}

/// The times of one variant at one size.
pub struct Found {
    /// Each call that allocates.
    pub allocate: Durations,
    /// Each call that frees.
    pub free: Durations,
    /// Each run, from before its first step to after its last wait.
    pub runs: Durations,
}

impl Times {
    fn found(self) -> Option<Found> {
        Some(Found {
            allocate: Durations::new(self.allocate)?,
            free: Durations::new(self.free)?,
            runs: Durations::new(self.runs)?,
        })
    }
}

impl Work {
    /// The work of a run.
    pub fn plan(&self) -> Plan {
        Plan::new().launches(2 * STEPS, 2 * STEPS * self.output.len())
    }

    /// Streams, and results of as many elements as a step works on.
    pub fn new(device: &Device, count: usize, sizes: &[usize]) -> anyhow::Result<Self> {
        let touched = touched(sizes);
        let streams =
            (0..count).map(|index| Stream::non_blocking(device, format!("stream {index}")));
        let streams: Vec<Stream> = streams.collect::<Result<_>>()?;
        let (mut start, mut results) = (Vec::new(), Vec::new());
        for (index, stream) in streams.iter().enumerate() {
            let mut values = HostBuffer::page_locked(device, touched)?;
            Seed::new(index as u64).fill_f32(0, values.write()?);
            start.push(values);
            results.push(DeviceBuffer::new(stream, touched)?);
        }
        Ok(Self {
            streams,
            kernels: Kernels::load(device, SM_70)?,
            start,
            results,
            output: HostBuffer::page_locked(device, touched)?,
        })
    }

    /// The variants' times at one size, in turn: allocating, freeing, and whole runs.
    pub fn at(
        &mut self,
        part: &Part,
        bytes: usize,
        (equal, checked): (&mut EqualWork, &mut Result<Checked, check::Mismatch>),
    ) -> anyhow::Result<Vec<Found>> {
        let (device, elements) = (part.device(), bytes / size_of::<f32>());
        let mut sources = Vec::new();
        for kind in Kind::ALL {
            sources.push(Source::new(kind, device, &self.streams, elements)?);
        }
        let mut times: Vec<Times> = Kind::ALL.iter().map(|_| Times::default()).collect();
        let warm_up = usize::from(device.times() == TimeSource::Measured);
        for round in 0..warm_up + part.iterations(10) {
            for (index, source) in sources.iter_mut().enumerate() {
                let mut once = Times::default();
                let done = self.run(source, elements, &mut once)?;
                equal.add(Kind::ALL[index].name(), done);
                check::add(checked, self.check())?;
                if round >= warm_up {
                    times[index].allocate.append(&mut once.allocate);
                    times[index].free.append(&mut once.free);
                    times[index].runs.append(&mut once.runs);
                }
            }
        }
        let found = times.into_iter().map(Times::found);
        found.collect::<Option<_>>().context("no run was timed")
    }

    /// All steps, with a wait after each batch of them. Returns what was enqueued.
    fn run(
        &mut self,
        source: &mut Source,
        elements: usize,
        times: &mut Times,
    ) -> Result<tally::Work> {
        for (result, start) in self.results.iter_mut().zip(&self.start) {
            result.copy_from(start)?;
        }
        self.wait()?;
        let (before, begin) = (tally::enqueued(), host_clock::now());
        for batch in 0..BATCHES {
            for step in batch * BATCH..(batch + 1) * BATCH {
                self.step(source, elements, step, times)?;
            }
            self.wait()?;
        }
        times.runs.push(host_clock::now() - begin);
        Ok(tally::enqueued() - before)
    }

    fn step(
        &mut self,
        source: &mut Source,
        elements: usize,
        step: usize,
        times: &mut Times,
    ) -> Result<()> {
        let index = step % self.streams.len();
        let begin = host_clock::now();
        let mut scratch = source.allocate(index, &self.streams[index], elements)?;
        times.allocate.push(host_clock::now() - begin);

        let result = &mut self.results[index];
        scratch.set_len(result.len())?;
        self.kernels.fill(&mut scratch, value(step))?;
        self.kernels.add_scaled(A, &scratch, result)?;

        let begin = host_clock::now();
        source.free(index, scratch);
        times.free.push(host_clock::now() - begin);
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        self.streams.iter().try_for_each(Stream::synchronize)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut all = Checked::default();
        for (index, result) in self.results.iter().enumerate() {
            self.output.poison()?;
            result.copy_to(&mut self.output)?;
            let streams = self.streams.len();
            let expected = |element| expected(index, streams, element);
            all = all.and(check::equal(
                "the results",
                0,
                self.output.read()?,
                expected,
            )?);
        }
        Ok(all)
    }
}
