//! Timing variants against one another.
//!
//! A timed region forks from one start event into the variant's streams and joins from all of them into one end event,
//! so that it holds all of the variant's work and nothing else; its event time must agree with the host's clock. Variants are
//! warmed up, then run in turn (A B A B), so that none has the machine to itself in a better moment, and each run
//! starts from poisoned buffers.

use crate::check::Checked;
use crate::device::{Device, TimeSource};
use crate::error::{Error, Result};
use crate::event::{Event, Timing};
use crate::host_clock;
use crate::intervals::Recording;
use crate::part::Part;
use crate::plan::Plan;
use crate::recorder;
use crate::statistics::Durations;
use crate::stream::Stream;
use crate::table::Table;
use crate::tally::{self, Work};
use crate::units;
use anyhow::{Context, anyhow, bail};
use std::time::Duration;

/// One timed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From the start event to the end event.
    pub event: Duration,
    /// The same on the host's clock, from before the first to after the wait for the last.
    pub host: Duration,
}

/// Measures regions on one device. Its events and its stream are made once.
pub struct Stopwatch {
    device: Device,
    origin: Stream,
    start: Event,
    end: Event,
}

impl Stopwatch {
    /// A stopwatch for the device.
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self {
            device: device.clone(),
            origin: Stream::non_blocking(device, "stopwatch")?,
            start: Event::new(device, Timing::On)?,
            end: Event::new(device, Timing::On)?,
        })
    }

    /// Times what `body` enqueues in `streams`: they wait for the start event, and the end event waits for them.
    /// Work in other streams counts only if `body` waits for it itself.
    pub fn time<'s, E: From<Error>>(
        &self,
        streams: impl IntoIterator<Item = &'s Stream> + Clone,
        body: impl FnOnce() -> Result<(), E>,
    ) -> Result<Sample, E> {
        self.device.synchronize()?;
        let begin = host_clock::now();
        self.start.record(&self.origin)?;
        for stream in streams.clone() {
            stream.wait(&self.start)?;
        }
        body()?;
        for stream in streams {
            self.origin.wait_for(stream)?;
        }
        self.end.record(&self.origin)?;
        self.end.synchronize()?;
        let host = host_clock::now() - begin;
        Ok(Sample {
            event: self.end.elapsed_since(&self.start)?,
            host,
        })
    }
}

/// Host and event time may differ by this share …
const AGREEMENT: f64 = 0.05;
/// … or by this much, which enqueueing the events and waking up the host cost.
const AGREEMENT_FLOOR: Duration = Duration::from_micros(50);

impl Sample {
    /// Whether the event time can be believed.
    pub fn agrees(&self) -> bool {
        let apart = self.event.abs_diff(self.host);
        apart <= AGREEMENT_FLOOR || apart.as_secs_f64() <= self.host.as_secs_f64() * AGREEMENT
    }
}

type Body<'v, S> = Box<dyn FnMut(&mut S) -> anyhow::Result<()> + 'v>;
type CheckBody<'v, S> = Box<dyn FnMut(&mut S) -> anyhow::Result<Checked> + 'v>;

struct Variant<'v, S> {
    name: String,
    streams: Vec<Stream>,
    body: Body<'v, S>,
}

/// Variants of one piece of work, to be timed against one another. `S` is what they share: buffers, mostly.
pub struct Comparison<'v, S> {
    plan: Plan,
    variants: Vec<Variant<'v, S>>,
    prepare: Body<'v, S>,
    check: Option<CheckBody<'v, S>>,
}

/// What was found about one variant.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The variant's name.
    pub name: String,
    /// Event times of the timed runs.
    pub times: Durations,
    /// Host times of the same runs.
    pub host_times: Durations,
    /// What ran when, in one more run.
    pub recording: Recording,
}

impl Outcome {
    /// The median event time.
    pub fn median(&self) -> Duration {
        self.times.median()
    }
}

impl<'v, S> Comparison<'v, S> {
    /// A comparison of variants that all do the planned work.
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            variants: Vec::new(),
            prepare: Box::new(|_| Ok(())),
            check: None,
        }
    }

    /// Adds a variant: what it enqueues, and the streams that it enqueues into.
    pub fn variant(
        mut self,
        name: impl Into<String>,
        streams: &[&Stream],
        body: impl FnMut(&mut S) -> anyhow::Result<()> + 'v,
    ) -> Self {
        let streams = streams.iter().map(|&stream| stream.clone()).collect();
        self.variants.push(Variant {
            name: name.into(),
            streams,
            body: Box::new(body),
        });
        self
    }

    /// What comes before each run and is not timed: poisoning the buffers that the run must fill.
    pub fn prepare(mut self, body: impl FnMut(&mut S) -> anyhow::Result<()> + 'v) -> Self {
        self.prepare = Box::new(body);
        self
    }

    /// Checks every element that a run has left. Called after the last run of each variant, with `--validate` after each.
    pub fn check(mut self, body: impl FnMut(&mut S) -> anyhow::Result<Checked> + 'v) -> Self {
        self.check = Some(Box::new(body));
        self
    }

    /// Runs the variants in turn and returns what was found, in their order. Claims, for the part, that the work was equal, that
    /// event times agree with the host's clock, and that every element is right.
    pub fn run(mut self, part: &mut Part, state: &mut S) -> anyhow::Result<Vec<Outcome>> {
        let iterations = part.iterations(DEFAULT_ITERATIONS);
        let watch = Stopwatch::new(part.device())?;
        let mut samples = vec![Vec::with_capacity(iterations); self.variants.len()];
        // Round 0 warms up.
        for round in 0..=iterations {
            for (index, samples) in samples.iter_mut().enumerate() {
                let sample = self.timed(index, &watch, state)?;
                if round > 0 {
                    samples.push(sample);
                }
                if part.options().validate {
                    self.checked(index, state)?;
                }
            }
        }
        let mut outcomes = Vec::with_capacity(samples.len());
        let mut checked = Vec::with_capacity(samples.len());
        for (index, samples) in samples.iter().enumerate() {
            let recording = self.recorded(index, part.device(), state)?;
            checked.extend(self.checked(index, state)?);
            outcomes.push(self.outcome(index, samples, recording)?);
        }
        self.claim(part, &samples.concat(), &checked)?;
        Ok(outcomes)
    }

    fn timed(&mut self, index: usize, watch: &Stopwatch, state: &mut S) -> anyhow::Result<Sample> {
        (self.prepare)(state)?;
        let variant = &mut self.variants[index];
        let before = tally::enqueued();
        let sample = watch
            .time(&variant.streams, || (variant.body)(state))
            .with_context(|| format!("variant {}", variant.name))?;
        self.equal_work(index, tally::enqueued() - before)?;
        Ok(sample)
    }

    fn recorded(
        &mut self,
        index: usize,
        device: &Device,
        state: &mut S,
    ) -> anyhow::Result<Recording> {
        (self.prepare)(state)?;
        let variant = &mut self.variants[index];
        let recording = recorder::record(device, || (variant.body)(state))
            .with_context(|| format!("variant {}", variant.name))?;
        // Work in a stream that the timed region does not join would not be timed.
        for stream in recording.streams() {
            let joined = variant.streams.iter().any(|joined| joined.name() == stream);
            if !joined && !variant.streams.is_empty() {
                bail!(
                    "variant {} enqueues into stream {stream}, which its timed region does not join",
                    variant.name
                );
            }
        }
        Ok(recording)
    }

    fn checked(&mut self, index: usize, state: &mut S) -> anyhow::Result<Option<Checked>> {
        let Some(check) = &mut self.check else {
            return Ok(None);
        };
        let name = &self.variants[index].name;
        check(state)
            .map(Some)
            .with_context(|| format!("variant {name}: wrong result"))
    }

    fn equal_work(&self, index: usize, done: Work) -> anyhow::Result<()> {
        Ok(self.plan.check(&self.variants[index].name, done)?)
    }

    fn outcome(
        &self,
        index: usize,
        samples: &[Sample],
        recording: Recording,
    ) -> anyhow::Result<Outcome> {
        let durations = |of: fn(&Sample) -> Duration| {
            Durations::new(samples.iter().map(of).collect()).ok_or_else(|| anyhow!("no timed run"))
        };
        Ok(Outcome {
            name: self.variants[index].name.clone(),
            times: durations(|sample| sample.event)?,
            host_times: durations(|sample| sample.host)?,
            recording,
        })
    }

    fn claim(
        &self,
        part: &mut Part,
        samples: &[Sample],
        checked: &[Checked],
    ) -> anyhow::Result<()> {
        part.claim(
            "all variants do the same work",
            true,
            self.plan,
            "as planned",
        );
        let agreeing = samples.iter().filter(|sample| sample.agrees()).count();
        let found = format!("{agreeing} of {} runs", samples.len());
        let limit = format!(
            "all, within {} or {}",
            units::percent(AGREEMENT),
            units::time(AGREEMENT_FLOOR)
        );
        part.claim(
            "event times agree with the host's clock",
            agreeing == samples.len(),
            found,
            limit,
        );
        let Some(first) = checked.first() else {
            return Ok(());
        };
        let found = format!("{} elements of {} variants", first.elements, checked.len());
        part.claim(
            "every element is right",
            true,
            found,
            "equal to the CPU's reference",
        );
        let same = checked.iter().all(|other| other == first);
        part.claim(
            "all variants give the same bits",
            same,
            if same { "they do" } else { "they differ" },
            "bit for bit",
        );
        Ok(())
    }
}

/// Timed runs of each variant where neither the part nor the command line says otherwise.
const DEFAULT_ITERATIONS: usize = 10;

/// A table of outcomes: median, spread, and speed against the first of them.
pub fn table(outcomes: &[Outcome], times: TimeSource) -> Table {
    let mut table = Table::new(["variant", &format!("median, {times}"), "spread", "speed-up"]);
    for outcome in outcomes {
        let speedup = outcomes[0].median().as_secs_f64() / outcome.median().as_secs_f64();
        table.row([
            outcome.name.clone(),
            units::time(outcome.median()),
            units::percent(outcome.times.spread()),
            units::ratio(speedup),
        ]);
    }
    table
}
