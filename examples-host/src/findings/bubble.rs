//! The bubble of a pipeline over several devices: the time in which its stages have nothing to do.

use crate::compare::Workload;
use crate::expect::{Measured, right, share};
use crate::label::Label;
use crate::measure::Stopwatch;
use crate::part::Part;
use crate::results::Kind;
use crate::table::Table;
use crate::units;
use cust::stream::Stream;
use std::time::Duration;

/// A pipeline of `stages` devices, each of which works on a micro-batch for the time `stage`.
#[derive(Clone, Copy, Debug)]
pub struct MicroBatchPipeline {
    /// How many stages there are.
    pub stages: usize,
    /// What the slowest of them needs for a micro-batch when it does nothing else.
    pub stage: Duration,
}

/// What a run with some number of micro-batches has shown.
#[derive(Clone, Copy, Debug)]
pub struct Bubble {
    /// The micro-batches.
    pub batches: usize,
    time: Duration,
    pipeline: MicroBatchPipeline,
}

impl MicroBatchPipeline {
    /// What it shows that so many micro-batches took so long.
    pub fn bubble(self, batches: usize, time: Duration) -> Bubble {
        Bubble {
            batches,
            time,
            pipeline: self,
        }
    }
}

impl Bubble {
    /// The share of the stages' time in which they were idle, (P - 1) / (M + P - 1) at least.
    pub fn idle(&self) -> f64 {
        let busy = self.pipeline.stage * self.batches as u32;
        1.0 - busy.div_duration_f64(self.time)
    }

    /// The least share: a stage waits until the first micro-batch arrives, and again until the last has left.
    pub fn least(&self) -> f64 {
        (self.pipeline.stages - 1) as f64 / self.slots()
    }

    /// The share of the bound that the run reaches: M + P - 1 times what a stage needs for a micro-batch.
    pub fn reached(&self) -> Measured {
        let bound = self.pipeline.stage.mul_f64(self.slots());
        share(bound.div_duration_f64(self.time))
    }

    fn slots(&self) -> f64 {
        (self.batches + self.pipeline.stages - 1) as f64
    }
}

impl Part<'_> {
    /// Runs `body` with each number of micro-batches, and prints the bubble beside the least one. Claims that every element is
    /// right with each number.
    ///
    /// # Errors
    /// What `work` or `body` returns.
    pub fn bubbles<'s, W: Workload>(
        &mut self,
        pipeline: MicroBatchPipeline,
        counts: &[usize],
        work: &mut W,
        streams: impl IntoIterator<Item = &'s Stream> + Clone,
        body: impl Fn(&mut W, usize) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Bubble>> {
        let watch = Stopwatch::new(self.device())?;
        let timed = self.at_points(RUNS, counts, work, |work, &batches| {
            Ok(watch.time(streams.clone(), || body(work, batches))?.event)
        })?;
        let mut found = Vec::new();
        let time = format!("time, {}", self.device().times());
        let mut table = Table::new([
            "micro-batches",
            &time,
            "bubble",
            "(P-1)/(M+P-1)",
            "of the bound",
        ]);
        for (&batches, times) in counts.iter().zip(&timed.times) {
            let bubble = pipeline.bubble(batches, times.median());
            table.row([
                batches.to_string(),
                units::time(times.median()),
                units::percent(bubble.idle()),
                units::percent(bubble.least()),
                bubble.reached().to_string(),
            ]);
            let label = Label::new(
                format!("batches-{batches}"),
                format!("{batches} micro-batches"),
            );
            self.timed("batches", label, Kind::Makespan, times);
            found.push(bubble);
        }
        self.say(table);
        let sentence = "every element is right with each number of micro-batches";
        self.expect(
            "elements/batches",
            sentence,
            right(&timed.checked, "elements"),
        );
        Ok(found)
    }
}

/// Timed runs with each number of micro-batches.
const RUNS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_without_gaps_has_the_least_bubble() {
        let us = Duration::from_micros;
        let pipeline = MicroBatchPipeline {
            stages: 2,
            stage: us(10),
        };
        let tight = pipeline.bubble(3, us(40));
        assert_eq!((tight.idle(), tight.least()), (0.25, 0.25));
        assert_eq!(tight.reached().to_string(), "100.0 %");
        let in_turn = pipeline.bubble(2, us(40));
        assert_eq!((in_turn.idle(), in_turn.least()), (0.5, 1.0 / 3.0));
        assert_eq!(in_turn.reached().to_string(), "75.0 %");
    }
}
