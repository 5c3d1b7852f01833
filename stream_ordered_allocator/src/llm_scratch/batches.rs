//! The batches, their tokens and what must come out.

use super::layer::{self, D, LAUNCHES, Layer};
use super::reference;
use super::scratch::{Calls, Scratch};
use examples_host::prelude::*;
use examples_host::tally;
use std::time::Duration;

/// How far an element may be from the reference. The outputs are of the order of 1.
pub const TOLERANCE: f64 = 1e-4;

struct Batch {
    input: HostBuffer<f32>,
    output: HostBuffer<f32>,
    expected: Vec<f64>,
}

/// All batches, and the layer that serves them one after the other.
pub struct Batches {
    pub stream: Stream,
    layer: Layer,
    batches: Vec<Batch>,
    x: DeviceBuffer<f32>,
    out: DeviceBuffer<f32>,
    plan: Plan,
}

/// What serving all batches once took.
#[derive(Default)]
pub struct Served {
    /// Each batch, and the allocator's calls of that.
    pub times: Vec<(Duration, Duration)>,
    /// What was enqueued.
    pub work: tally::Work,
}

impl Batches {
    /// Batches of these many tokens, each with data of its own.
    pub fn new(device: &Device, lengths: &[usize]) -> anyhow::Result<Self> {
        let stream = Stream::non_blocking(device, "layer")?;
        let mut batches = Vec::new();
        for (number, length) in lengths.iter().enumerate() {
            let mut input = HostBuffer::page_locked(device, length * D)?;
            Seed::new(600 + number as u64).fill_f32(0, input.write()?);
            batches.push(Batch {
                expected: reference::forward(input.read()?),
                output: HostBuffer::page_locked(device, length * D)?,
                input,
            });
        }
        let longest = lengths.iter().max().map_or(1, |length| length * D);
        let tokens: usize = lengths.iter().sum();
        let bytes = tokens * D * size_of::<f32>();
        let elements = lengths
            .iter()
            .map(|&length| layer::launch_elements(length))
            .sum();
        Ok(Self {
            layer: Layer::new(&stream)?,
            batches,
            x: DeviceBuffer::new(&stream, longest)?,
            out: DeviceBuffer::new(&stream, longest)?,
            plan: Plan::new()
                .bytes_in(bytes)
                .bytes_out(bytes)
                .launches(LAUNCHES * lengths.len(), elements),
            stream,
        })
    }

    /// Elements of scratch memory that the largest batch takes at once.
    pub fn most_scratch(&self) -> usize {
        let room =
            |batch: &Batch| Arena::<f32>::room_for(layer::scratch_lengths(batch.input.len() / D));
        self.batches.iter().map(room).max().unwrap_or(1)
    }

    /// The work of all batches.
    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self, scratch: &mut Scratch) -> Result<()> {
        scratch.poison(&self.stream, self.most_scratch())?;
        self.x.poison()?;
        self.out.poison()?;
        self.batches
            .iter_mut()
            .try_for_each(|batch| batch.output.poison())?;
        self.stream.synchronize()
    }

    /// Serves all batches, each to its end.
    pub fn serve(&mut self, scratch: &mut Scratch) -> anyhow::Result<Served> {
        let before = tally::enqueued();
        let mut times = Vec::new();
        for batch in &mut self.batches {
            let (begin, mut calls) = (host_clock::now(), Calls::default());
            self.x.copy_from(&batch.input)?;
            self.out.set_len(batch.input.len())?;
            self.layer
                .forward(&self.x, &mut self.out, scratch, &mut calls)?;
            self.out.copy_to(&mut batch.output)?;
            self.stream.synchronize()?;
            times.push((host_clock::now() - begin, calls.0));
        }
        let work = tally::enqueued() - before;
        Ok(Served { times, work })
    }

    /// Compares every element with the reference.
    pub fn check(&self) -> anyhow::Result<Checked> {
        let mut all = Checked::default();
        for batch in &self.batches {
            let reference = &batch.expected;
            let expected = |index: usize| reference[index] as f32;
            let close = |got: &f32, expected: &f32| f64::from((got - expected).abs()) <= TOLERANCE;
            all = all.and(check::matching(
                "the output",
                0,
                batch.output.read()?,
                expected,
                close,
            )?);
        }
        Ok(all)
    }

    /// The largest distance of an element from the reference. Not a number when an element is none.
    pub fn largest_error(&self) -> anyhow::Result<f64> {
        let mut largest = 0.0_f64;
        for batch in &self.batches {
            for (got, expected) in batch.output.read()?.iter().zip(&batch.expected) {
                let error = (f64::from(*got) - expected).abs();
                // Keeps a NaN, which f64::max drops.
                largest = if error > largest || error.is_nan() {
                    error
                } else {
                    largest
                };
            }
        }
        Ok(largest)
    }
}
