//! The data, in rounds: each brings two mebibytes to the device, through a kernel and back, a chunk in each stream.
//!
//! The staging memory on the device is fixed, and the streams share it: more streams have smaller chunks. At most two rounds are
//! under way, so that a choice made now takes effect soon.

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::few_values::{Batch, Expected};
use examples_host::prelude::*;
use std::ops::Range;
use std::time::Duration;

kernels! { use gpu_kernels::affine_strided_x4; }

const DATA: Batch = Batch::new(61);
const A: f32 = 2.0;
const B: f32 = 1.0;
/// Elements of a round.
const ROUND: usize = 1 << 19;
/// The input repeats after so many rounds.
const INPUT: usize = 12;
/// The work of each phase: blocks of a kernel, and threads of a block. Few of them are slow, and leave the rest of the device to
/// other streams.
pub const PHASES: [(u32, u32); 3] = [(8, 256), (1, 96), (8, 256)];
/// Rounds that are under way at most.
pub const AHEAD: usize = 2;

/// The data of all rounds, and what they share.
pub struct Rounds<'s> {
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    staging: DeviceBuffer<f32>,
    streams: &'s [Stream],
    /// The end of what each stream has been given.
    handed: Vec<Event>,
    begin: Event,
    /// The end of each round's last chunk.
    ends: Vec<Event>,
    /// Around the kernel of each round's first chunk.
    samples: Vec<[Event; 2]>,
    kernels: Kernels,
    expected: Expected,
    /// Rounds of a phase.
    pub per_phase: usize,
    /// What the phases took, for each run of all rounds.
    pub phases: Vec<[Duration; PHASES.len()]>,
    /// The phases of the last run are to be noted.
    ran: bool,
}

impl<'s> Rounds<'s> {
    /// Bytes of a round in each direction.
    pub const BYTES: u64 = 4 * ROUND as u64;

    /// The data, and events for each round, with so many rounds of each phase. No more streams are used than there are.
    pub fn new(streams: &'s [Stream], per_phase: usize) -> Result<Self> {
        let rounds = PHASES.len() * per_phase;
        let mut input = LockedBuffer::new(&0.0, INPUT * ROUND)?;
        DATA.fill(&mut input);
        let timed = || Event::new(EventFlags::DEFAULT);
        let order = |_| Event::new(EventFlags::DISABLE_TIMING);
        Ok(Self {
            input,
            output: LockedBuffer::new(&0.0, rounds * ROUND)?,
            staging: DeviceBuffer::zeroed(ROUND)?,
            streams,
            handed: (0..streams.len()).map(order).collect::<Result<_, _>>()?,
            begin: timed()?,
            ends: (0..rounds).map(|_| timed()).collect::<Result<_, _>>()?,
            samples: (0..rounds).map(|_| Ok([timed()?, timed()?])).collect::<Result<_>>()?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            expected: Expected::by(|x| x.mul_add(A, B)),
            per_phase,
            phases: Vec::new(),
            ran: false,
        })
    }

    /// The rounds of all phases.
    pub fn all(&self) -> usize {
        PHASES.len() * self.per_phase
    }

    /// The rounds from the first on, each with the number of streams that is chosen for it, and with events around a kernel if
    /// that is asked for.
    pub fn run(
        &mut self,
        rounds: usize,
        mut choose: impl FnMut(&Self, usize) -> Result<(usize, bool)>,
    ) -> Result<()> {
        let mut before = 0;
        self.begin.record(&self.streams[0])?;
        for round in 0..rounds {
            if round >= AHEAD {
                self.ends[round - AHEAD].synchronize()?;
            }
            let (streams, sampled) = choose(self, round)?;
            if streams != before {
                self.hand_over(before, streams)?;
            }
            for part in 0..streams {
                self.chunk(round, part..streams, sampled && part == 0)?;
            }
            self.ends[round].record(&self.streams[streams - 1])?;
            before = streams;
        }
        self.ran = rounds == self.all();
        Ok(())
    }

    /// A chunk's way through the device, in its stream: `part` is its number, and that of all in the round.
    pub fn chunk(&mut self, round: usize, part: Range<usize>, sampled: bool) -> Result<()> {
        let (stream, [began, ended]) = (&self.streams[part.start], &self.samples[round]);
        let (kernel, (blocks, threads)) =
            (&self.kernels.affine_strided_x4, PHASES[round / self.per_phase]);
        let len = ROUND / part.end;
        let at = |first: usize| first + part.start * len..first + (part.start + 1) * len;
        let (from, to) = (at(round % INPUT * ROUND), at(round * ROUND));
        let mut data = self.staging.index(at(0));
        // SAFETY: the input is page-locked and outlives the run. A piece of the staging memory is its stream's alone.
        unsafe { data.async_copy_from(&self.input[from], stream)? };
        if sampled {
            began.record(stream)?;
        }
        // SAFETY: the staging memory outlives the run, and any grid does.
        unsafe { launch!(kernel<<<blocks, threads, 0, stream>>>(&mut data, A, B, 1))? };
        if sampled {
            ended.record(stream)?;
        }
        // SAFETY: the output is page-locked, outlives the run, and is read behind it.
        unsafe { data.async_copy_to(&mut self.output[to], stream)? };
        Ok(())
    }

    /// Shares the staging memory anew: no stream begins before all that had a piece of it have ended.
    fn hand_over(&self, before: usize, now: usize) -> Result<()> {
        for (stream, handed) in self.streams[..before].iter().zip(&self.handed) {
            handed.record(stream)?;
        }
        for stream in &self.streams[..now] {
            for handed in &self.handed[..before] {
                stream.wait(handed)?;
            }
        }
        Ok(())
    }

    /// How long the sampled kernel of a round took.
    pub fn sample(&self, round: usize) -> Result<Duration> {
        let [began, ended] = &self.samples[round];
        ended.synchronize()?;
        milliseconds(ended.elapsed_time_f32(began)?)
    }

    /// The copies of so many rounds, each direction in a stream of its own and in whole halves: no choice is faster.
    pub fn copies(&mut self, rounds: usize) -> Result<()> {
        let half = ROUND / 2;
        let (mut arriving, leaving) = (self.staging.index(..half), self.staging.index(half..));
        for part in 0..2 * rounds {
            let from = part % (2 * INPUT) * half;
            // SAFETY: as for a chunk; the two halves of the staging memory have nothing to do with each other.
            unsafe { arriving.async_copy_from(&self.input[from..from + half], &self.streams[0])? };
            let to = &mut self.output[part * half..(part + 1) * half];
            // SAFETY: as above.
            unsafe { leaving.async_copy_to(to, &self.streams[1])? };
        }
        Ok(())
    }

    /// The copy in of a round, in one piece.
    pub fn copy_in(&mut self) -> Result<()> {
        // SAFETY: as for a chunk.
        unsafe { self.staging.async_copy_from(&self.input[..ROUND], &self.streams[0])? };
        Ok(())
    }

    /// Notes what the phases of the last run took, which has ended.
    fn note_phases(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.ran) {
            return Ok(());
        }
        let mut phases = [Duration::ZERO; PHASES.len()];
        for (phase, time) in phases.iter_mut().enumerate() {
            let first = (phase * self.per_phase)
                .checked_sub(1)
                .map_or(&self.begin, |last| &self.ends[last]);
            *time =
                milliseconds(self.ends[(phase + 1) * self.per_phase - 1].elapsed_time_f32(first)?)?;
        }
        self.phases.push(phases);
        Ok(())
    }

    /// The plan of every run.
    pub fn plan(&self) -> Plan {
        let (rounds, elements) = (self.all(), self.all() * ROUND);
        Plan::new().copies(4 * elements).launches(2 * rounds, elements).launches_differ()
    }
}

fn milliseconds(time: f32) -> Result<Duration> {
    Ok(Duration::try_from_secs_f64(f64::from(time) / 1e3)?)
}

impl Workload for Rounds<'_> {
    fn poison(&mut self) -> Result<()> {
        self.note_phases()?;
        check::poison(&mut self.output);
        Ok(self.staging.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        self.note_phases()?;
        let expected = |index| self.expected.of(DATA, index % (INPUT * ROUND));
        Ok(check::equal("the output", 0, &self.output, expected)?)
    }
}
