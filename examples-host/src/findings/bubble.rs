//! The bubble of a pipeline over several devices: the time in which its stages have nothing to do.

use crate::check::{self, Checked};
use crate::compare::Workload;
use crate::expect::{Found, right, share};
use crate::intervals::{Engine, Interval, Recording, total};
use crate::label::Label;
use crate::measure::Stopwatch;
use crate::part::Part;
use crate::recording::recorded;
use crate::results::Kind;
use crate::statistics::Durations;
use crate::table::Table;
use crate::units;
use cust::stream::Stream;
use std::time::Duration;

/// A pipeline of `stages` devices, each of which works on a micro-batch with one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Pipeline {
    /// How many stages there are.
    pub stages: usize,
    /// The kernel's name.
    pub kernel: &'static str,
}

/// What a run with some number of micro-batches has shown.
#[derive(Clone, Copy, Debug)]
pub struct Bubble {
    /// The micro-batches.
    pub batches: usize,
    /// From the first kernel to the last.
    makespan: Duration,
    /// All kernels together.
    busy: Duration,
    stages: usize,
}

impl Pipeline {
    /// What a recording of so many micro-batches shows.
    pub fn bubble(self, recording: &Recording, batches: usize) -> Bubble {
        let works = |own: &Interval| own.engine == Engine::Kernel && own.name == self.kernel;
        let kernels = recording.spans(works);
        let start = kernels.iter().map(|span| span.start).min().unwrap_or(0);
        let end = kernels.iter().map(|span| span.end).max().unwrap_or(0);
        Bubble {
            batches,
            makespan: Duration::from_nanos(end - start),
            busy: total(&kernels),
            stages: self.stages,
        }
    }
}

impl Bubble {
    /// The share of the stages' time in which they were idle, (P - 1) / (M + P - 1) at least.
    pub fn idle(&self) -> f64 {
        1.0 - self
            .busy
            .div_duration_f64(self.makespan * self.stages as u32)
    }

    /// The least share: a stage waits until the first micro-batch arrives, and again until the last has left.
    pub fn least(&self) -> f64 {
        (self.stages - 1) as f64 / self.slots()
    }

    /// The share of the bound that the run reaches: M + P - 1 times what a stage needs for a micro-batch.
    pub fn reached(&self) -> Found {
        share(self.bound().div_duration_f64(self.makespan))
    }

    fn slots(&self) -> f64 {
        (self.batches + self.stages - 1) as f64
    }

    fn bound(&self) -> Duration {
        let stage = self.busy.div_f64((self.batches * self.stages) as f64);
        stage.mul_f64(self.slots())
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
        pipeline: Pipeline,
        counts: &[usize],
        work: &mut W,
        streams: impl IntoIterator<Item = &'s Stream> + Clone,
        body: impl Fn(&mut W, usize) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Bubble>> {
        let watch = Stopwatch::new(self.device())?;
        let (mut found, mut checked) = (Vec::new(), Ok(Checked::default()));
        let time = format!("time, {}", self.device().times());
        let mut table = Table::new([
            "micro-batches",
            &time,
            "bubble",
            "(P-1)/(M+P-1)",
            "of the bound",
        ]);
        for &batches in counts {
            for _ in 0..self.warm_up() {
                watch.time(streams.clone(), || body(work, batches))?;
            }
            work.poison()?;
            let run = || watch.time(streams.clone(), || body(work, batches));
            let (sample, recording) = recorded(self.device(), run)?;
            check::add(&mut checked, work.check())?;
            let bubble = pipeline.bubble(&recording, batches);
            table.row([
                batches.to_string(),
                units::time(sample.event),
                units::percent(bubble.idle()),
                units::percent(bubble.least()),
                bubble.reached().to_string(),
            ]);
            if let Some(times) = Durations::new(vec![sample.event]) {
                let label = Label::new(
                    format!("batches-{batches}"),
                    format!("{batches} micro-batches"),
                );
                self.timed("batches", label, Kind::Makespan, &times);
            }
            found.push(bubble);
        }
        self.say(table);
        let sentence = "every element is right with each number of micro-batches";
        self.expect("elements/batches", sentence, right(&checked, "elements"));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{Source, Span};

    #[test]
    fn a_pipeline_without_gaps_has_the_least_bubble() {
        let interval = |device, start: u64| Interval {
            device,
            engine: Engine::Kernel,
            name: "stage".into(),
            stream: format!("GPU {device}"),
            span: Span {
                start,
                end: start + 10,
            },
            bytes: 0,
        };
        let pipeline = Pipeline {
            stages: 2,
            kernel: "stage",
        };
        let tight = vec![
            interval(0, 0),
            interval(0, 10),
            interval(0, 20),
            interval(1, 10),
            interval(1, 20),
            interval(1, 30),
        ];
        let bubble = pipeline.bubble(&Recording::new(Source::SoftwareGpu, tight), 3);
        assert_eq!((bubble.idle(), bubble.least()), (0.25, 0.25));
        assert_eq!(bubble.bound(), bubble.makespan);
        let in_turn = vec![
            interval(0, 0),
            interval(1, 10),
            interval(0, 20),
            interval(1, 30),
        ];
        let bubble = pipeline.bubble(&Recording::new(Source::SoftwareGpu, in_turn), 2);
        assert_eq!(bubble.idle(), 0.5);
        assert_eq!(bubble.bound(), Duration::from_nanos(30));
    }
}
