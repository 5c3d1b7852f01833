//! What the rounds share: the data, the staging memory, and the events at the end of each round and around a kernel in it.

use super::{A, B, Grid, INPUT, LONG, PHASES, ROUND};
use anyhow::Result;
use cuda_host::kernels;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::few_values::{Batch, Expected};
use examples_host::prelude::*;
use std::time::Duration;

kernels! {
    /// The kernel of a chunk.
    pub struct Kernels;
    use gpu_kernels::affine_strided_x4;
}

const DATA: Batch = Batch::new(61);

/// The data of all rounds, and what they share.
pub struct Rounds<'s> {
    pub(super) input: LockedBuffer<f32>,
    pub(super) output: LockedBuffer<f32>,
    pub(super) staging: DeviceBuffer<f32>,
    pub(super) streams: &'s [Stream],
    /// The end of what each stream has been given.
    pub(super) handed: Vec<Event>,
    pub(super) begin: Event,
    /// The end of each round's last chunk.
    pub(super) ends: Vec<Event>,
    /// Around the kernel of each round's first chunk.
    pub(super) samples: Vec<[Event; 2]>,
    pub(super) kernels: Kernels,
    expected: Expected,
    /// Rounds of a phase.
    pub per_phase: usize,
    /// The grid of a long kernel.
    pub long: Grid,
    /// What the phases took, for each run of all rounds.
    pub phases: Vec<[Duration; PHASES]>,
    /// The phases of the last run are to be noted.
    pub(super) ran: bool,
}

impl<'s> Rounds<'s> {
    /// Bytes of a round in each direction.
    pub const BYTES: u64 = 4 * ROUND as u64;

    /// The data, and events for each round, with so many rounds of each phase. No more streams are used than there are.
    pub fn new(streams: &'s [Stream], per_phase: usize) -> Result<Self> {
        let rounds = PHASES * per_phase;
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
            long: LONG[0],
            phases: Vec::new(),
            ran: false,
        })
    }

    /// The rounds of all phases.
    pub fn all(&self) -> usize {
        PHASES * self.per_phase
    }

    /// How long the sampled kernel of a round took.
    pub fn sample(&self, round: usize) -> Result<Duration> {
        let [began, ended] = &self.samples[round];
        ended.synchronize()?;
        milliseconds(ended.elapsed_time_f32(began)?)
    }

    /// Notes what the phases of the last run took, which has ended.
    fn note_phases(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.ran) {
            return Ok(());
        }
        let mut phases = [Duration::ZERO; PHASES];
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
