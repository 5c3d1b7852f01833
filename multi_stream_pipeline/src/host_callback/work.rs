//! The chunks of host-callback, the ring that they pass through, and the stages one by one.

use super::Roles;
use super::line::{Line, transform};
use crate::data::Batch;
use examples_host::host_clock;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use gpu_kernels::SM_70;
use std::sync::Arc;
use std::time::Duration;

kernels! {
    pub unsafe struct Kernels {
        fn affine_x4(data: &mut [f32], a: f32, b: f32) = gpu_kernels::affine_x4;
    }
}

const A: f32 = 2.0;
const B: f32 = 1.0;
/// Buffers of the ring: one for each stage, and one to spare.
const BUFFERS: usize = 4;

impl Kernels {
    /// The last stage's kernel.
    pub fn finish(&self, data: &mut DeviceBuffer<f32>) -> Result<()> {
        let grid = Grid::cover(data.len().div_ceil(4), 256);
        self.affine_x4(grid, data, A, B)
    }
}

/// What every chunk holds; each differs from the others.
fn batch(chunk: usize) -> Batch {
    Batch::new(100 + chunk as u64)
}

/// Page-locked buffers that are used in turns, with an event each for "the copy into it has landed".
pub struct HostRing(Vec<(HostBuffer<f32>, Event)>);

impl HostRing {
    /// `count` buffers of `len` elements.
    pub fn new(device: &Device, count: usize, len: usize) -> Result<Self> {
        let slot = |_| {
            let landed = Event::new(device, Timing::OffBlocking)?;
            Ok((HostBuffer::page_locked(device, len)?, landed))
        };
        Ok(Self((0..count).map(slot).collect::<Result<_>>()?))
    }

    /// Buffers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The buffer of that chunk.
    pub fn slot(&mut self, chunk: usize) -> &mut HostBuffer<f32> {
        let count = self.0.len();
        &mut self.0[chunk % count].0
    }

    /// The event of that buffer.
    pub fn landed(&self, chunk: usize) -> &Event {
        &self.0[chunk % self.0.len()].1
    }

    fn poison(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(|(slot, _)| slot.poison())
    }
}

/// The chunks, and what they pass through.
pub struct Work {
    pub input: Vec<DeviceBuffer<f32>>,
    pub ring: HostRing,
    pub results: Vec<DeviceBuffer<f32>>,
    pub kernels: Kernels,
    /// Of the present run.
    pub line: Arc<Line>,
    /// How long the program's thread was busy in each run.
    issuing: Vec<Duration>,
    /// Whether the functions were called in order, for each run that was checked.
    in_order: Vec<bool>,
    host: HostBuffer<f32>,
}

impl Work {
    /// `chunks` chunks of `len` elements in device memory.
    pub fn new(part: &Part, [fetch, _, next]: Roles, len: usize, chunks: usize) -> Result<Self> {
        let device = part.device();
        let buffers = |stream| -> Result<Vec<_>> {
            (0..chunks)
                .map(|_| DeviceBuffer::new(stream, len))
                .collect()
        };
        let mut work = Self {
            input: buffers(fetch)?,
            ring: HostRing::new(device, BUFFERS.min(chunks), len)?,
            results: buffers(next)?,
            kernels: Kernels::load(device, SM_70)?,
            line: Arc::default(),
            issuing: Vec::new(),
            in_order: Vec::new(),
            host: HostBuffer::page_locked(device, len)?,
        };
        (0..chunks).try_for_each(|chunk| work.fill(chunk))?;
        Ok(work)
    }

    /// Puts a chunk's data into device memory.
    pub fn fill(&mut self, chunk: usize) -> Result<()> {
        batch(chunk).fill(&mut self.host)?;
        self.input[chunk].copy_from(&self.host)
    }

    /// Puts one element that is not a number into a chunk.
    pub fn spoil(&mut self, chunk: usize, index: usize) -> Result<()> {
        batch(chunk).fill(&mut self.host)?;
        self.host.write()?[index] = f32::NAN;
        self.input[chunk].copy_from(&self.host)
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.ring.poison()?;
        self.results.iter_mut().try_for_each(DeviceBuffer::poison)
    }

    /// Runs `body` with a new line and notes how long the program's thread was busy with it.
    pub fn issue(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> anyhow::Result<()> {
        self.line = Arc::default();
        let start = host_clock::now();
        body(self)?;
        self.issuing.push(host_clock::now() - start);
        Ok(())
    }

    /// How long the program's thread was busy with each of so many variants that took turns: the median.
    pub fn issuing(&self, variants: usize) -> impl Iterator<Item = Duration> {
        (0..variants).filter_map(move |variant| {
            let runs = self.issuing.iter().skip(variant).step_by(variants);
            Durations::new(runs.copied().collect()).map(|runs| runs.median())
        })
    }

    /// In how many of the runs that were checked the functions were called in order, and how many those are.
    pub fn calls_in_order(&self) -> (usize, usize) {
        let in_order = self.in_order.iter().filter(|&&in_order| in_order);
        (in_order.count(), self.in_order.len())
    }

    /// Compares every element of the results with what the CPU computes.
    pub fn check(&mut self) -> anyhow::Result<Checked> {
        let calls = self.line.calls();
        self.in_order
            .push(calls.into_iter().eq(0..self.input.len()));
        let mut checked = Checked::default();
        for (chunk, result) in self.results.iter().enumerate() {
            result.copy_to(&mut self.host)?;
            let (first, batch) = (chunk * result.len(), batch(chunk));
            let expected = |index| transform(chunk, batch.given(index - first)).mul_add(A, B);
            checked = checked.and(check::equal(
                "the results",
                first,
                self.host.read()?,
                expected,
            )?);
        }
        Ok(checked)
    }

    /// Times each stage over all chunks without the others: the copies out, the functions, and the copies in with
    /// their kernels.
    pub fn stages_alone(&mut self, part: &Part, [fetch, _, next]: Roles) -> Result<[Duration; 3]> {
        let (watch, runs) = (Stopwatch::new(part.device())?, part.iterations(5));
        let chunks = self.input.len();
        let fetched = watch.median(runs, [fetch], || {
            (0..chunks).try_for_each(|chunk| self.input[chunk].copy_to(self.ring.slot(chunk)))
        })?;
        let mut called = Duration::ZERO;
        for chunk in 0..chunks {
            self.input[chunk].copy_to(self.ring.slot(chunk))?;
            let data = self.ring.slot(chunk).write()?;
            let start = host_clock::now();
            self.line.call(chunk, data);
            called += host_clock::now() - start;
        }
        let finished = watch.median(runs, [next], || {
            (0..chunks).try_for_each(|chunk| {
                self.results[chunk].copy_from(self.ring.slot(chunk))?;
                self.kernels.finish(&mut self.results[chunk])
            })
        })?;
        Ok([fetched, called, finished])
    }
}
