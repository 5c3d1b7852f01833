//! The rounds of a run, each with the number of streams that is chosen for it: a fixed one, the one that the telemetry asks for, or the
//! one that a log holds. At most two rounds are under way, so that a choice made now takes effect soon.

use crate::controller::Rounds;
use crate::decide::{Decision, FIRST, Floors, Telemetry, decide};
use anyhow::Result;
use std::time::Duration;

/// Rounds that are under way at most.
pub const AHEAD: usize = 2;
/// The controller looks at one round of this many.
pub const SAMPLED: usize = 6;

impl Rounds<'_> {
    /// The rounds from the first on, each with the number of streams that is chosen for it, and with events around a kernel if
    /// that is requested.
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
        Ok(())
    }

    /// How long the sampled kernel of a round took.
    fn sample(&self, round: usize) -> Result<Duration> {
        let [began, ended] = &self.samples[round];
        ended.synchronize()?;
        Ok(Duration::try_from_secs_f64(f64::from(ended.elapsed_time_f32(began)?) / 1e3)?)
    }
}

/// Rounds with one number of streams.
pub fn fixed(rounds: &mut Rounds, streams: usize) -> Result<()> {
    rounds.run(rounds.ends.len(), |_, _| Ok((streams, false)))
}

/// Rounds with the number of streams that the telemetry asks for. Returns every decision.
pub fn adaptive(rounds: &mut Rounds, floors: &Floors) -> Result<Vec<Decision>> {
    let (mut log, mut streams, mut used) = (Vec::new(), FIRST, Vec::new());
    rounds.run(rounds.ends.len(), |rounds, round| {
        if let Some(before) = round.checked_sub(AHEAD).filter(|before| before % SAMPLED == 0) {
            let (kernel, then) = (rounds.sample(before)?, used[before]);
            let telemetry = Telemetry { round: before, streams: then, kernel };
            let decision = decide(floors, telemetry, (round, streams));
            streams = decision.streams;
            log.push(decision);
        }
        used.push(streams);
        Ok((streams, round % SAMPLED == 0))
    })?;
    Ok(log)
}

/// Rounds with the numbers of streams of the log, and no telemetry.
pub fn replay(rounds: &mut Rounds, log: &[Decision]) -> Result<()> {
    rounds.run(rounds.ends.len(), |_, round| Ok((streams(log, round), false)))
}

/// The number of streams in a round, by the log.
pub fn streams(log: &[Decision], round: usize) -> usize {
    let last = log.iter().rev().find(|decision| decision.round <= round);
    last.map_or(FIRST, |decision| decision.streams)
}
