//! The data of the rounds, the expected results, and the times of the phases.

use super::phases::Phases;
use crate::controller::{INPUT, PHASES, ROUND, Rounds, Size};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::few_values::{Batch, ExpectedValues};
use examples_host::prelude::*;
use std::time::Duration;

const DATA: Batch = Batch::new(61);

/// The rounds, with what the phases took in each run of all of them.
pub struct CheckedRounds<'s> {
    pub rounds: Rounds<'s>,
    pub took: Vec<[Duration; PHASES]>,
    pub phases: Phases,
    /// Whether to record the phases of the last run.
    pub ran: bool,
    expected: ExpectedValues,
}

impl<'s> CheckedRounds<'s> {
    /// The data, and the rounds of each phase. No more streams are used than there are.
    pub fn new(streams: &'s [Stream], phases: Phases, grids: [Size; PHASES]) -> Result<Self> {
        let mut rounds = Rounds::new(streams, phases.each_ref().map(|rounds| rounds.end), grids)?;
        DATA.fill(&mut rounds.input);
        let expected = ExpectedValues::by(|x| x.mul_add(2.0, 1.0));
        Ok(Self { rounds, took: Vec::new(), phases, ran: false, expected })
    }

    /// Notes what the phases of the last run took, which has ended.
    fn note_phases(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.ran) {
            return Ok(());
        }
        let Rounds { begin, ends, .. } = &self.rounds;
        let mut times = [Duration::ZERO; PHASES];
        for (time, rounds) in times.iter_mut().zip(&self.phases) {
            let first = rounds.start.checked_sub(1).map_or(begin, |last| &ends[last]);
            let took = ends[rounds.end - 1].elapsed_time_f32(first)?;
            *time = Duration::try_from_secs_f64(f64::from(took) / 1e3)?;
        }
        self.took.push(times);
        Ok(())
    }

    /// The plan of every run.
    pub fn plan(&self) -> Plan {
        let rounds = self.rounds.ends.len();
        let elements = rounds * ROUND;
        Plan::new().copies(4 * elements).launches(2 * rounds, elements).launches_differ()
    }

    /// The copies of this many rounds, each direction in a stream of its own and in whole halves: no choice is faster.
    pub fn copies(&mut self, rounds: usize) -> Result<()> {
        let (half, of) = (ROUND / 2, &mut self.rounds);
        let (mut arriving, leaving) = (of.staging.index(..half), of.staging.index(half..));
        for part in 0..2 * rounds {
            let from = part % (2 * INPUT) * half;
            // SAFETY: as for a chunk; the two halves of the staging memory have nothing to do with each other.
            unsafe { arriving.async_copy_from(&of.input[from..from + half], &of.streams[0])? };
            let to = &mut of.output[part * half..(part + 1) * half];
            // SAFETY: as above.
            unsafe { leaving.async_copy_to(to, &of.streams[1])? };
        }
        Ok(())
    }

    /// The copy in of a round, in one piece.
    pub fn copy_in(&mut self) -> Result<()> {
        let Rounds { staging, input, streams, .. } = &mut self.rounds;
        // SAFETY: as for a chunk.
        Ok(unsafe { staging.async_copy_from(&input[..ROUND], &streams[0]) }?)
    }
}

impl Workload for CheckedRounds<'_> {
    fn poison(&mut self) -> Result<()> {
        self.note_phases()?;
        check::poison(&mut self.rounds.output);
        Ok(self.rounds.staging.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        self.note_phases()?;
        let expected = |index| self.expected.of(DATA, index % (INPUT * ROUND));
        Ok(check::equal("the output", 0, &self.rounds.output, expected)?)
    }
}
