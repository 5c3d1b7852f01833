//! Stages that hand chunks on: how fast such a chain can be, and what its intervals say of its order and its gaps.
//!
//! The first chunk takes its way through all stages; from then on the slowest stage sets the pace, or the link, where one stage
//! copies in and another one copies out. Every stage of a chain has a stream of its own, of the stage's name.

use crate::alone::{Alone, TimedAlone};
use crate::expect::{Expected, Measured, share, truth};
use crate::intervals::{Recording, Span};
use crate::measure::MeasuredVariant;
use crate::options::UsageError;
use crate::part::Part;
use crate::part_option::PartOption::{Chunks, Size};
use crate::table::Table;
use crate::units;
use std::array;
use std::time::Duration;

/// Clocks of a kernel's and a copy's records may differ by this much.
const TOLERANCE_NS: u64 = 1000;
/// The most of its bound that a variant may seem to reach: stages measured alone vary that much.
const MOST: f64 = 1.05;

/// The stages in order, with what each takes alone for all chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageChain {
    stages: [(&'static str, Duration); 3],
    /// Stages that share the link, with what they take at the same time.
    sharing: Option<(&'static str, Duration)>,
    chunks: usize,
}

/// The stages of a chain, to be timed alone: three, and, if there is a fourth time, those that share the link together.
pub struct Links<'v, S, const N: usize> {
    names: [&'static str; N],
    chunks: usize,
    /// The stages, in order.
    pub alone: Alone<'v, S, N>,
}

impl<S, const N: usize> Links<'_, S, N> {
    /// The chain, by the least times so far.
    pub fn chain(&self) -> StageChain {
        let least = self.alone.least();
        let timed = |at| (self.names[at], least[at]);
        let chain = StageChain::new(array::from_fn(timed), self.chunks);
        match N {
            3 => chain,
            _ => chain.sharing(timed(3)),
        }
    }
}

impl StageChain {
    /// A chain of these stages.
    pub fn new(stages: [(&'static str, Duration); 3], chunks: usize) -> Self {
        Self {
            stages,
            sharing: None,
            chunks,
        }
    }

    /// Two stages share the link, and take so long at the same time.
    pub fn sharing(mut self, together: (&'static str, Duration)) -> Self {
        self.sharing = Some(together);
        self
    }

    /// The least time for all chunks, if they are equal: one chunk's way through all stages, and what sets the pace once for
    /// each other chunk.
    pub fn bound(&self) -> Duration {
        let (chunks, times) = (self.chunks as f64, self.stages.map(|(_, time)| time));
        let together = self.sharing.map(|(_, time)| time);
        let pace = times.into_iter().chain(together).max().unwrap_or_default();
        times.iter().sum::<Duration>().div_f64(chunks) + pace.mul_f64((chunks - 1.0) / chunks)
    }

    /// The least share of the shorter of two stages' time in which both must run, if the slowest stage is never idle: 1 if one of
    /// the two is the slowest.
    pub fn owed(&self, stages: [&str; 2]) -> f64 {
        let times = self.stages.iter().filter(|(name, _)| stages.contains(name));
        let times: Vec<Duration> = times.map(|(_, time)| *time).collect();
        let pace = self.stages.iter().map(|(_, time)| *time).max();
        let together = times
            .iter()
            .sum::<Duration>()
            .saturating_sub(pace.unwrap_or_default());
        let shorter = times.into_iter().min().unwrap_or_default();
        together.as_secs_f64() / shorter.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The slowest stage.
    pub fn slowest(&self) -> &'static str {
        let slowest = self.stages.into_iter().max_by_key(|(_, time)| *time);
        slowest.map_or("", |(name, _)| name)
    }

    /// How much of the bound a variant's best run reaches.
    pub fn reached(&self, outcome: &MeasuredVariant) -> Measured {
        share(self.bound().as_secs_f64() / outcome.times.min().as_secs_f64())
    }

    /// The share of the slowest stage's time, from its first chunk to its last, in which it was idle.
    pub fn idle(&self, outcome: &MeasuredVariant) -> Measured {
        share(idle_share(&outcome.recording.on(self.slowest())))
    }

    /// That no chunk started a stage before it had left the one before.
    pub fn in_order(&self, outcome: &MeasuredVariant) -> Expected {
        let (early, of) = disorder(&outcome.recording, self.stages.map(|(name, _)| name));
        truth(early == 0 && of > 0, format!("{early} of {of} do"), "none")
    }

    /// The times of the stages in words.
    fn alone(&self) -> String {
        let stage = |(name, time): (&str, Duration)| format!("{name} {}", units::time(time));
        let times: Vec<String> = self.stages.into_iter().map(stage).collect();
        let together = self
            .sharing
            .map_or_else(String::new, |sharing| format!("; {}", stage(sharing)));
        format!(
            "Alone, all {} chunks: {}{together}.",
            self.chunks,
            times.join(", ")
        )
    }
}

/// How many hand-overs between consecutive `streams` came too early, and how many there were: the k-th operation of a
/// stream must not start before the k-th of the stream before it has ended.
fn disorder(recording: &Recording, streams: [&str; 3]) -> (usize, usize) {
    let stages = streams.map(|stream| recording.on(stream));
    let pairs = stages
        .windows(2)
        .flat_map(|pair| pair[0].iter().zip(&pair[1]));
    let early: Vec<bool> = pairs
        .map(|(before, after)| after.start + TOLERANCE_NS < before.end)
        .collect();
    (early.iter().filter(|&&early| early).count(), early.len())
}

/// The share of the time from the first start to the last end in which nothing ran.
fn idle_share(spans: &[Span]) -> f64 {
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
        return 0.0;
    };
    let busy: u64 = spans.iter().map(|span| span.nanoseconds()).sum();
    1.0 - busy as f64 / (last.end - first.start).max(1) as f64
}

impl Part<'_> {
    /// Chunks to cut `elements` into: `--chunks`, or the default.
    ///
    /// # Errors
    /// As [`Part::chunks`]; one chunk makes no chain.
    pub fn chained_chunks(&self, default: usize, elements: usize) -> Result<usize, UsageError> {
        match self.chunks(default, elements)? {
            1 => Err(UsageError(
                "--chunks 1 makes no chain: the stages have nothing else to work on meanwhile"
                    .to_owned(),
            )),
            chunks => Ok(chunks),
        }
    }

    /// Times each stage of all chunks without the others, each in the stream of its name, and predicts what the chain takes;
    /// `besides` is what else is expected of it. Behind the three stages may come a fourth piece: the two that share the link, at
    /// the same time.
    ///
    /// # Errors
    /// What a stage returns, or the driver.
    pub fn chain<'v, S, const N: usize>(
        &mut self,
        work: &mut S,
        chunks: usize,
        besides: &str,
        stages: [(&'static str, TimedAlone<'v, S>); N],
    ) -> anyhow::Result<Links<'v, S, N>> {
        const { assert!(N == 3 || N == 4) };
        let names = stages.each_ref().map(|(name, _)| *name);
        let alone = self.alone_in_turn(work, stages.map(|(_, stage)| stage))?;
        let links = Links {
            names,
            chunks,
            alone,
        };
        self.predict_chain(&links.chain(), besides);
        Ok(links)
    }

    fn predict_chain(&mut self, chain: &StageChain, besides: &str) {
        self.predict(format!(
            "{}\n\
             One after the other they take the sum, {}. In a chain they take one chunk's way through all stages and\n\
             {} times {}, {}: the bound.\n{besides}",
            chain.alone(),
            units::time(chain.stages.iter().map(|(_, time)| *time).sum()),
            chain.chunks - 1,
            if chain.sharing.is_some() { "the longest of these" } else { "that of the slowest stage" },
            units::time(chain.bound()),
        ));
    }

    /// Prints the outcomes beside the bound, with the idle share of the slowest stage where it has a stream of its own, and
    /// keeps their timelines.
    pub fn show_chain(&mut self, outcomes: &[MeasuredVariant], chain: &StageChain) {
        self.show_beside_bound(
            outcomes,
            chain,
            &format!("{} idle", chain.slowest()),
            |outcome| {
                let chained = outcome.recording.streams().len() > 1;
                chained.then(|| chain.idle(outcome))
            },
        );
    }

    /// Prints the outcomes beside the bound, with the share of the time in which the program's thread was free, and keeps
    /// their timelines.
    pub fn show_chain_and_thread(&mut self, outcomes: &[MeasuredVariant], chain: &StageChain) {
        self.show_beside_bound(outcomes, chain, "program's thread free", |outcome| {
            Some(share(outcome.thread_free()))
        });
    }

    fn show_beside_bound(
        &mut self,
        outcomes: &[MeasuredVariant],
        chain: &StageChain,
        figure: &str,
        found: impl Fn(&MeasuredVariant) -> Option<Measured>,
    ) {
        let first = outcomes
            .first()
            .map(MeasuredVariant::median)
            .unwrap_or_default();
        let median = format!("median, {}", self.device().times());
        let mut table = Table::new(["variant", &median, "speed-up", "of the bound", figure]);
        for outcome in outcomes {
            table.row([
                outcome.name.to_string(),
                units::time(outcome.median()),
                units::ratio(first.as_secs_f64() / outcome.median().as_secs_f64()),
                units::percent(chain.bound().div_duration_f64(outcome.median())),
                found(outcome).map_or_else(|| "-".to_owned(), |found| found.to_string()),
            ]);
            self.keep(&outcome.name, &outcome.recording);
        }
        self.say(table);
    }

    /// Claims of each outcome that it is not faster than the chain's bound.
    pub fn expect_not_below(&mut self, outcomes: &[MeasuredVariant], chain: &StageChain) {
        for outcome in outcomes {
            let id = format!("not-below-bound/{}", outcome.name.id);
            let sentence = format!("{} is not faster than the bound", outcome.name);
            let limited = chain.reached(outcome).at_most(MOST);
            self.expect(id, &sentence, limited.for_any(&[Size, Chunks]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Engine, Interval, Source};

    #[test]
    fn one_chunk_takes_the_sum_and_many_take_the_slowest_stage() {
        let us = Duration::from_micros;
        let stages = [("a", us(30)), ("b", us(60)), ("c", us(10))];
        assert_eq!(StageChain::new(stages, 1).bound(), us(100));
        assert_eq!(StageChain::new(stages, 10).bound(), us(64));
        assert_eq!(StageChain::new(stages, 10).slowest(), "b");
    }

    #[test]
    fn a_shared_link_that_is_slower_than_every_stage_sets_the_pace() {
        let us = Duration::from_micros;
        let chain = StageChain::new([("in", us(60)), ("kernels", us(30)), ("out", us(60))], 10);
        let both = |time| chain.clone().sharing(("both", us(time))).bound();
        assert_eq!(both(80), us(15 + 72));
        assert_eq!(both(60), chain.bound());
    }

    #[test]
    fn stages_that_fit_beside_one_another_into_the_slowest_owe_no_overlap() {
        let us = Duration::from_micros;
        let chain = |pace| StageChain::new([("a", us(30)), ("b", us(60)), ("c", us(pace))], 10);
        let owed = |pace| chain(pace).owed(["a", "b"]);
        assert_eq!([10, 75, 90, 200].map(owed), [1.0, 0.5, 0.0, 0.0]);
    }

    fn interval(stream: &str, start: u64, end: u64) -> Interval {
        Interval {
            device: 0,
            engine: Engine::Kernel,
            name: "k".into(),
            stream: stream.into(),
            span: Span { start, end },
            bytes: 0,
        }
    }

    #[test]
    fn a_stage_that_starts_too_early_is_counted() {
        let recording = Recording::new(
            Source::SoftwareGpu,
            vec![
                interval("a", 0, 10_000),
                interval("b", 10_000, 20_000),
                interval("c", 20_000, 30_000),
                interval("a", 10_000, 20_000),
                interval("b", 18_000, 30_000),
                interval("c", 30_000, 40_000),
            ],
        );
        assert_eq!(disorder(&recording, ["a", "b", "c"]), (1, 4));
    }

    #[test]
    fn idle_time_is_what_lies_between_the_first_and_the_last() {
        let span = |start, end| Span { start, end };
        assert_eq!(idle_share(&[span(5, 10), span(15, 20), span(20, 25)]), 0.25);
        assert_eq!(idle_share(&[]), 0.0);
    }
}
