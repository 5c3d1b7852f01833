//! The batches that go through the streams: copied in, worked on, copied out, in memory from a pool.

use super::forms::{Form, Forms};
use crate::data::{Batch, Expected};
use anyhow::Context;
use examples_host::prelude::*;
use std::time::Duration;

const DATA: Batch = Batch::new(32);
/// Blocks per multiprocessor.
const BLOCKS: u32 = 2;

/// The batches on the host, and the kernels.
pub struct Batches<'f> {
    forms: &'f Forms,
    pool: MemoryPool,
    rounds: u32,
    input: Vec<HostBuffer<f32>>,
    output: Vec<HostBuffer<f32>>,
    expected: Expected,
}

impl<'f> Batches<'f> {
    /// `count` batches of together `elements` elements, each element to go through `rounds` multiply-adds.
    pub fn new(
        device: &Device,
        forms: &'f Forms,
        elements: usize,
        count: usize,
        rounds: u32,
    ) -> Result<Self> {
        let pool = MemoryPool::new(device)?;
        // What one run has freed is there for the next, and each stream keeps to its own: looking for memory of other streams
        // costs the host time, and memory that crosses makes one stream wait for the other.
        pool.set_release_threshold(u64::MAX)?;
        pool.allow_only(&[])?;
        let mut input = HostBuffer::page_locked(device, elements)?;
        DATA.fill(&mut input)?;
        Ok(Self {
            forms,
            pool,
            rounds,
            input: input.split(count)?,
            output: HostBuffer::page_locked(device, elements)?.split(count)?,
            expected: Expected::after(rounds),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.input.len()
    }

    /// Everything about one batch, in one stream: its memory, too, comes and goes in the order of the stream.
    fn enqueue(&mut self, batch: usize, form: Form, stream: &Stream) -> Result<()> {
        let (input, output) = (&self.input[batch], &mut self.output[batch]);
        let mut data = self.pool.allocate(stream, input.len())?;
        let mut result = self.pool.allocate(stream, input.len())?;
        data.copy_from(input)?;
        self.forms
            .launch(form, BLOCKS, &data, &mut result, self.rounds)?;
        result.copy_to(output)
    }

    /// All batches, the streams in turn.
    pub fn pass(&mut self, form: Form, streams: &[&Stream]) -> anyhow::Result<()> {
        let in_turn = streams.iter().cycle();
        (0..self.len())
            .zip(in_turn)
            .try_for_each(|(batch, stream)| Ok(self.enqueue(batch, form, stream)?))
    }

    /// Makes every result of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.output.iter_mut().try_for_each(HostBuffer::poison)
    }

    /// Compares every element with what the CPU computes.
    pub fn check(&self) -> anyhow::Result<Checked> {
        let expected = &self.expected;
        check::pieces("the output", &self.output, |index| expected.of(DATA, index))
    }

    /// How near all batches on `streams` come to the bound: times the copies alone and the batches in turn, so that what
    /// disturbs the one disturbs the other, and takes the median of the pairs. No bound is below `kernels`.
    pub fn share_of_bound(
        &mut self,
        part: &Part,
        form: Form,
        streams: &[&Stream; 4],
        kernels: Duration,
    ) -> anyhow::Result<f64> {
        let [inwards, outwards, ..] = *streams;
        let longest = self.input.iter().map(HostBuffer::len).max().unwrap_or(1);
        let mut arriving = DeviceBuffer::new(inwards, longest)?;
        let mut leaving = DeviceBuffer::new(outwards, longest)?;
        leaving.poison()?;
        let watch = Stopwatch::new(part.device())?;
        let mut shares = Vec::new();
        for round in 0..=part.iterations(9) {
            // Waits for the copies of the run before, so that no copy of the next has to.
            self.poison()?;
            let copies = watch.time([inwards, outwards], || {
                both_ways(
                    (&mut arriving, &self.input),
                    (&mut leaving, &mut self.output),
                )
            })?;
            self.poison()?;
            let all = watch.time(streams.iter().copied(), || self.pass(form, streams))?;
            if round > 0 {
                let bound = copies.event.max(kernels);
                shares.push(bound.as_secs_f64() / all.event.as_secs_f64());
            }
        }
        shares.sort_by(f64::total_cmp);
        shares
            .get(shares.len() / 2)
            .copied()
            .context("no round was timed")
    }

    /// Times each stage over all batches without the others, in the pieces that they come in, and both directions
    /// together.
    pub fn stages_alone(
        &mut self,
        part: &Part,
        form: Form,
        [inwards, outwards]: [&Stream; 2],
    ) -> Result<Stages> {
        let (watch, runs) = (Stopwatch::new(part.device())?, part.iterations(7));
        let longest = self.input.iter().map(HostBuffer::len).max().unwrap_or(1);
        let mut arriving = DeviceBuffer::new(inwards, longest)?;
        let mut leaving = DeviceBuffer::new(outwards, longest)?;
        leaving.poison()?;
        let (input, output) = (&self.input[..], &mut self.output[..]);
        let copy_in = watch.median(runs, [inwards], || {
            input.iter().try_for_each(|piece| arriving.copy_from(piece))
        })?;
        let copy_out = watch.median(runs, [outwards], || {
            output
                .iter_mut()
                .try_for_each(|piece| copy_to(&mut leaving, piece))
        })?;
        let both_copies = watch.median(runs, [inwards, outwards], || {
            both_ways((&mut arriving, input), (&mut leaving, output))
        })?;
        leaving.hand_to(inwards)?;
        let kernel = watch.median(runs, [inwards], || {
            input.iter().try_for_each(|piece| {
                arriving.set_len(piece.len())?;
                self.forms
                    .launch(form, BLOCKS, &arriving, &mut leaving, self.rounds)
            })
        })?;
        Ok(Stages {
            copy_in,
            kernel,
            copy_out,
            both_copies,
        })
    }
}

/// All copies of both directions, started together.
fn both_ways(
    (arriving, input): (&mut DeviceBuffer<f32>, &[HostBuffer<f32>]),
    (leaving, output): (&mut DeviceBuffer<f32>, &mut [HostBuffer<f32>]),
) -> Result<()> {
    input.iter().zip(output).try_for_each(|(from, to)| {
        arriving.copy_from(from)?;
        copy_to(leaving, to)
    })
}

fn copy_to(from: &mut DeviceBuffer<f32>, piece: &mut HostBuffer<f32>) -> Result<()> {
    from.set_len(piece.len())?;
    from.copy_to(piece)
}
