//! Timing variants against one another.
//!
//! A timed region forks from one start event into the variant's streams and joins from all of them
//! into one end event, so that it holds all of the variant's work and nothing else; its event time
//! must agree with the host's clock. Variants are warmed up, then run in turn (A B A B), so that
//! none has the machine to itself in a better moment, and each run starts from poisoned buffers.

use crate::alone::Rounds;
use crate::check::{Checked, Mismatch, REFERENCE};
use crate::contexts;
use crate::cpu_time;
use crate::device::{Device, TimeSource};
use crate::error::{Error, Result, failed};
use crate::expect::{Measured, ratio, share};
use crate::host_clock;
use crate::identity::{self, CallCounts, Differ, Judged};
use crate::intervals::{Engine, Recording, Source};
use crate::joined::{Join, Joined};
use crate::label::Label;
use crate::part::Part;
use crate::plan::{EqualWork, Plan};
use crate::range::range;
use crate::recording::{self, Trace};
use crate::results::Kind;
use crate::shortest::Shortest;
use crate::statistics::Durations;
use crate::table::Table;
use crate::tally::{self, WorkAmount};
use crate::units;
use crate::variant;
use anyhow::{Context, bail};
use cuda_host::{EventExt, StreamExt};
use cust::error::{CudaError, CudaResult};
use cust::event::EventFlags;
use cust::sys;
use libcuda::observe::unobserved;
use std::time::Duration;

/// One timed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From the start event to the end event.
    pub event: Duration,
    /// The same on the host's clock, from before the first to after the wait for the last.
    pub host: Duration,
    /// How long the host's thread was busy with the body itself: afterwards it is free.
    pub issuing: Duration,
    /// The CPU time that the thread used meanwhile, where the host is real.
    pub cpu: Option<Duration>,
}

/// Measures regions on one device, or on several that the program uses when it is made. Its events
/// and its stream are made once. Its own operations are not observed: neither counted nor
/// recorded.
pub struct Stopwatch {
    device: Device,
    origin: cust::stream::Stream,
    start: cust::event::Event,
    /// By context: an event is recorded in streams of its own context only. The device's own is the first.
    joined: Vec<(sys::CUcontext, cust::event::Event)>,
    end: cust::event::Event,
}

impl Stopwatch {
    /// A stopwatch for the device.
    pub fn new(device: &Device) -> Result<Self> {
        let made = unobserved(|| {
            let in_use = device.in_use();
            if in_use.len() > 1 {
                device
                    .make_current()
                    .map_err(|_| CudaError::InvalidContext)?;
            }
            Ok::<_, CudaError>(Self {
                device: device.clone(),
                origin: cuda_host::stream::non_blocking()?.named("stopwatch"),
                start: cust::event::Event::new(EventFlags::DEFAULT)?,
                joined: joins(&in_use)?,
                end: cust::event::Event::new(EventFlags::DEFAULT)?,
            })
        });
        made.map_err(of_stopwatch)
    }

    /// Times what `body` enqueues in `streams`: they wait for the start event, and the end event
    /// waits for them. Work in other streams counts only if `body` waits for it itself.
    pub fn time<'s, T: Joined + 's, E: From<Error>>(
        &self,
        streams: impl IntoIterator<Item = &'s T> + Clone,
        body: impl FnOnce() -> Result<(), E>,
    ) -> Result<Sample, E> {
        self.device.synchronize()?;
        let begin = host_clock::now();
        unobserved(|| self.fork(streams.clone())).map_err(of_stopwatch)?;
        let (body_begins, cpu_begins) = (host_clock::now(), cpu_time::of_thread());
        body()?;
        let cpu_ends = cpu_time::of_thread();
        let issuing = host_clock::now() - body_begins;
        unobserved(|| self.join(streams)).map_err(of_stopwatch)?;
        let waiting = range("wait for the end");
        self.end.synchronize().map_err(of_stopwatch)?;
        drop(waiting);
        let host = host_clock::now() - begin;
        let event = self.end.elapsed_time_f32(&self.start);
        let milliseconds = f64::from(event.map_err(of_stopwatch)?);
        Ok(Sample {
            event: Duration::from_nanos((milliseconds * 1e6).round().max(0.0) as u64),
            host,
            issuing,
            cpu: cpu_ends.zip(cpu_begins).map(|(end, begin)| end - begin),
        })
    }

    fn fork<'s, T: Joined + 's>(&self, streams: impl IntoIterator<Item = &'s T>) -> CudaResult<()> {
        self.start.record(&self.origin)?;
        for stream in streams {
            // SAFETY: both handles live.
            let result = unsafe { sys::cuStreamWaitEvent(stream.handle(), self.start.raw(), 0) };
            succeeded(result)?;
        }
        Ok(())
    }

    fn join<'s, T: Joined + 's>(&self, streams: impl IntoIterator<Item = &'s T>) -> CudaResult<()> {
        for stream in streams {
            // One event is enough: a wait captures the record that is the latest when it is issued.
            let joined = self.joined_in(stream.handle());
            // SAFETY: both handles live.
            succeeded(unsafe { sys::cuEventRecord(joined.raw(), stream.handle()) })?;
            self.origin.wait(joined)?;
        }
        self.end.record(&self.origin)
    }

    /// The event of the stream's context.
    fn joined_in(&self, stream: sys::CUstream) -> &cust::event::Event {
        let found = match &self.joined[..] {
            [_] => None,
            several => contexts::of_stream(stream)
                .and_then(|context| several.iter().find(|(own, _)| *own == context)),
        };
        let (_, event) = found.unwrap_or(&self.joined[0]);
        event
    }

    /// The median event time of `runs` timed runs of `body`, after one that warms up.
    pub fn median<'s, T: Joined + 's, E: From<Error>>(
        &self,
        runs: usize,
        streams: impl IntoIterator<Item = &'s T> + Clone,
        mut body: impl FnMut() -> Result<(), E>,
    ) -> Result<Duration, E> {
        self.time(streams.clone(), &mut body)?;
        let mut times = Vec::new();
        for _ in 0..runs.max(1) {
            times.push(self.time(streams.clone(), &mut body)?.event);
        }
        Ok(Durations::new(times).map_or(Duration::ZERO, |times| times.median()))
    }
}

/// An event for each context.
fn joins(
    in_use: &[(u32, sys::CUcontext)],
) -> CudaResult<Vec<(sys::CUcontext, cust::event::Event)>> {
    let new = || cust::event::Event::new(EventFlags::DISABLE_TIMING);
    match in_use {
        [(_, own)] => Ok(vec![(*own, new()?)]),
        several => several
            .iter()
            .map(|&(_, context)| Ok((context, contexts::within(context, new)?)))
            .collect(),
    }
}

fn succeeded(result: sys::CUresult) -> CudaResult<()> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::UnknownError),
    }
}

/// A call that failed around a timed region: its own failure, or that of work enqueued before.
fn of_stopwatch(error: CudaError) -> Error {
    failed("timing the region", error as i32, "stopwatch".to_owned())
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

/// The group of a part that compares variants once.
pub const VARIANTS: &str = "variants";

type MeasuredFunction<'v, S> = Box<dyn FnMut(&mut S) -> anyhow::Result<()> + 'v>;
type CheckBody<'v, S> = Box<dyn FnMut(&mut S) -> anyhow::Result<Checked> + 'v>;

struct PreparedVariant<'v, S> {
    name: Label,
    streams: Vec<Join>,
    waits: usize,
    also: &'static [Differ],
    chooses_streams: bool,
    body: MeasuredFunction<'v, S>,
}

impl<S> PreparedVariant<'_, S> {
    /// The names of the streams that it has to use.
    fn required_streams(&self) -> Vec<String> {
        let streams = self.streams.iter().filter(|_| !self.chooses_streams);
        streams.map(Joined::label).collect()
    }
}

/// Variants of one piece of work, to be timed against one another. `S` is what they share: buffers,
/// mostly.
pub struct Comparison<'v, S> {
    group: &'static str,
    plan: Plan,
    differ: Option<&'static [Differ]>,
    variants: Vec<PreparedVariant<'v, S>>,
    prepare: MeasuredFunction<'v, S>,
    check: Option<CheckBody<'v, S>>,
    alone: Option<&'v mut (dyn Rounds<S> + 'v)>,
    runs: usize,
}

/// The findings about one variant.
#[derive(Clone, Debug)]
pub struct MeasuredVariant {
    /// The group that it is a variant of.
    pub group: &'static str,
    /// The variant.
    pub name: Label,
    /// Event times of the timed runs.
    pub times: Durations,
    /// Host times of the same runs.
    pub host_times: Durations,
    /// How long the host's thread was busy in each of these runs with what the variant does itself.
    pub issuing: Durations,
    /// The share of that time in which the thread burned CPU time, over all runs, where the host is real.
    pub cpu_busy: Option<f64>,
    /// What ran when, in the shortest of some more runs.
    pub recording: Recording,
}

/// The id of a claim about the variants of a group.
pub(crate) fn id_in(group: &str, what: &str) -> String {
    match group {
        VARIANTS => what.to_owned(),
        group => format!("{group}/{what}"),
    }
}

impl MeasuredVariant {
    /// The id of a claim about this variant.
    pub fn id(&self, what: &str) -> String {
        id_in(self.group, &format!("{what}/{}", self.name.id))
    }

    /// The median event time.
    pub fn median(&self) -> Duration {
        self.times.median()
    }

    /// How many times as fast as another variant, by their medians.
    pub fn speedup_over(&self, other: &Self) -> Measured {
        ratio(other.median().div_duration_f64(self.median()))
    }

    /// The same by their least times: for variants in which the host's threads set the pace. Another program that takes such a
    /// thread's core makes a run longer, never shorter.
    pub fn undisturbed_speedup_over(&self, other: &Self) -> Measured {
        ratio(other.times.min().div_duration_f64(self.times.min()))
    }

    /// How many times as long another variant occupies the host's thread with its calls.
    pub fn host_speedup_over(&self, other: &Self) -> Measured {
        ratio(
            other
                .issuing
                .median()
                .div_duration_f64(self.issuing.median()),
        )
    }

    /// The share of one engine's time in which another was busy as well, as [`Recording::share`].
    pub fn overlap(&self, of: Engine, with: Engine) -> Measured {
        share(self.recording.share(of, with))
    }

    /// The share of the host's time in which its thread was free for other work.
    pub fn thread_free(&self) -> f64 {
        1.0 - self.issuing.median().as_secs_f64() / self.host_times.median().as_secs_f64()
    }
}

impl<'v, S> Comparison<'v, S> {
    /// A comparison of variants that all do the planned work. `group` is the id of what they are variants of: [`VARIANTS`],
    /// or the word that distinguishes the comparisons of a part.
    pub fn new(group: &'static str, plan: Plan) -> Self {
        Self {
            group,
            plan,
            differ: None,
            variants: Vec::new(),
            prepare: Box::new(|_| Ok(())),
            check: None,
            alone: None,
            runs: DEFAULT_ITERATIONS,
        }
    }

    /// Times each variant so often where the command line says nothing: the shortest of many runs varies less.
    pub fn runs(mut self, runs: usize) -> Self {
        self.runs = runs;
        self
    }

    /// Times these pieces once in each timed round, before the variants. A model repeats itself: there they are not timed
    /// again.
    pub(crate) fn bounded_by(mut self, alone: &'v mut (dyn Rounds<S> + 'v)) -> Self {
        self.alone = Some(alone);
        self
    }

    /// These variants.
    pub(crate) fn of<const N: usize>(mut self, variants: variant::Variants<'v, S, N>) -> Self {
        self.differ = variants.differ;
        let variants = variants.table.into_iter().map(|variant| PreparedVariant {
            name: variant.label,
            streams: variant.streams,
            waits: variant.waits,
            also: variant.also,
            chooses_streams: variant.chooses_streams,
            body: variant.body,
        });
        self.variants = variants.collect();
        self
    }

    /// The untimed preparation of each run: poisoning the buffers that the run must fill.
    pub fn prepare(mut self, body: impl FnMut(&mut S) -> anyhow::Result<()> + 'v) -> Self {
        self.prepare = Box::new(body);
        self
    }

    /// Checks every element that a run has left. Called after the last run of each variant, with
    /// `--validate` after each.
    pub fn check(mut self, body: impl FnMut(&mut S) -> anyhow::Result<Checked> + 'v) -> Self {
        self.check = Some(Box::new(body));
        self
    }

    /// Runs the variants in turn and returns what was found, in their order. Claims, for the part, that the work was equal, that
    /// event times agree with the host's clock, and that every element is right.
    ///
    /// Each variant is warmed up, timed, and recorded in further runs, since recording costs time: in more of them if the first
    /// ones were disturbed. A model is not disturbed by being watched and has nothing to warm up: there the last timed run is the
    /// recorded one.
    pub fn run(mut self, part: &mut Part, state: &mut S) -> anyhow::Result<Vec<MeasuredVariant>> {
        let device = part.device();
        recording::install();
        let watch = Stopwatch::new(device)?;
        let mut runs: Vec<Runs> = self.variants.iter().map(|_| Runs::default()).collect();
        let timed = part.iterations(self.runs);
        let (warm_up, extra, most) = if recording::is_free(device) {
            (0, 0, 0)
        } else {
            (1, RECORDED, RECORDED_AGAIN)
        };
        let rounds = warm_up + timed + extra;
        let mut work = EqualWork::new(self.plan);
        for round in 0..rounds {
            let last = round + 1 == rounds;
            let turn = Turn {
                timed: (warm_up..warm_up + timed).contains(&round),
                recorded: last || round >= warm_up + timed,
                checked: last || part.options().validate,
            };
            if let (Some(alone), false, 1..) = (&mut self.alone, turn.recorded, round * warm_up) {
                alone.round(state, &watch)?;
            }
            for (index, runs) in runs.iter_mut().enumerate() {
                self.turn(index, turn, &watch, state, &mut work, runs)?;
            }
        }
        let again = Turn {
            timed: false,
            recorded: true,
            checked: part.options().validate,
        };
        for _ in 0..most {
            if runs.iter().all(Runs::is_undisturbed) {
                break;
            }
            for (index, runs) in runs.iter_mut().enumerate() {
                self.turn(index, again, &watch, state, &mut work, runs)?;
            }
        }
        self.claim(part, &work, &runs);
        self.claim_identity(part, &runs);
        let names = self.variants.into_iter().map(|variant| variant.name);
        let outcomes: anyhow::Result<Vec<MeasuredVariant>> = runs
            .into_iter()
            .zip(names)
            .map(|(runs, name)| runs.outcome(self.group, name))
            .collect();
        let outcomes = outcomes?;
        let group = match self.group {
            VARIANTS => Label::new(VARIANTS, self.plan.to_string()),
            group => Label::new(group, format!("{}: {}", Label::from(group), self.plan)),
        };
        part.planned(&group, &self.plan);
        for MeasuredVariant { name, times, .. } in &outcomes {
            part.timed(&group, name, Kind::Makespan, times);
        }
        Ok(outcomes)
    }

    /// One run of one variant: adds what it did to `work`, and what was found to its `runs`.
    fn turn(
        &mut self,
        index: usize,
        turn: Turn,
        watch: &Stopwatch,
        state: &mut S,
        work: &mut EqualWork,
        runs: &mut Runs,
    ) -> anyhow::Result<()> {
        let (
            TracedRun {
                sample,
                enqueued,
                trace,
            },
            recording,
        ) = if turn.recorded {
            let (timed, recording) = self.recorded(index, watch, state)?;
            (timed, Some(recording))
        } else {
            (self.timed(index, watch, state)?, None)
        };
        if let (Some(trace), Some(recording)) = (trace, &recording) {
            runs.did(CallCounts::of(&trace.taking(sample.issuing), recording));
        }
        let name = &self.variants[index].name.text;
        match (&recording, self.plan.is_counted_in_recordings()) {
            (Some(recording), true) => match recording.source {
                Source::Events(_) => work.add_uncounted(),
                _ => work.add(name, tally::of_recording(recording)),
            },
            (None, true) => {}
            (_, false) => work.add(name, enqueued),
        }
        if let Some(recording) = recording {
            runs.recorded.add(sample.event, recording);
        }
        if turn.timed {
            runs.samples.push(sample);
        }
        if turn.checked {
            self.check_into(&mut runs.checked, index, state)?;
        }
        Ok(())
    }

    fn timed(
        &mut self,
        index: usize,
        watch: &Stopwatch,
        state: &mut S,
    ) -> anyhow::Result<TracedRun> {
        self.prepared(state)?;
        self.timed_unprepared(index, watch, state)
    }

    fn prepared(&mut self, state: &mut S) -> anyhow::Result<()> {
        let _phase = range("prepare");
        (self.prepare)(state)
    }

    /// The times of a run, and the work that it enqueued.
    fn timed_unprepared(
        &mut self,
        index: usize,
        watch: &Stopwatch,
        state: &mut S,
    ) -> anyhow::Result<TracedRun> {
        let variant = &mut self.variants[index];
        let _phase = range(&variant.name.text);
        let before = tally::enqueued();
        let mut trace = None;
        let body = || {
            let (done, traced) = recording::traced(|| (variant.body)(state));
            trace = traced;
            done
        };
        let sample = watch
            .time(&variant.streams, body)
            .with_context(|| format!("variant {}", variant.name))?;
        let enqueued = tally::enqueued() - before;
        Ok(TracedRun {
            sample,
            enqueued,
            trace,
        })
    }

    fn recorded(
        &mut self,
        index: usize,
        watch: &Stopwatch,
        state: &mut S,
    ) -> anyhow::Result<(TracedRun, Recording)> {
        self.prepared(state)?;
        let run = || self.timed_unprepared(index, watch, state);
        let (timed, recording) = recording::recorded(&watch.device, run)?;
        self.all_joined(index, &recording)?;
        Ok((timed, recording))
    }

    /// Work in a stream that the timed region does not join would not be timed. A variant that
    /// names no streams waits for its work itself.
    fn all_joined(&self, index: usize, recording: &Recording) -> anyhow::Result<()> {
        let PreparedVariant { name, streams, .. } = &self.variants[index];
        let joined =
            |stream: &str| streams.is_empty() || streams.iter().any(|s| s.label() == stream);
        // The kernels of a graph run in streams of its own, which the launching stream waits for.
        if recording
            .calls
            .iter()
            .any(|call| call.name == "cuGraphLaunch")
        {
            return Ok(());
        }
        match recording
            .streams()
            .into_iter()
            .find(|stream| !joined(stream))
        {
            None => Ok(()),
            Some(stray) => bail!(
                "variant {name} enqueues into stream {stray}, which its timed region does not join"
            ),
        }
    }

    /// Checks what a run has left. The first mismatch stays; any other error ends the part.
    fn check_into(
        &mut self,
        checked: &mut Option<Result<Checked, Mismatch>>,
        index: usize,
        state: &mut S,
    ) -> anyhow::Result<()> {
        let (Some(check), None | Some(Ok(_))) = (&mut self.check, &checked) else {
            return Ok(());
        };
        let _phase = range("check");
        *checked = Some(match check(state) {
            Ok(right) => Ok(right),
            Err(error) => {
                let name = &self.variants[index].name;
                Err(error
                    .downcast::<Mismatch>()
                    .with_context(|| format!("variant {name}"))?)
            }
        });
        Ok(())
    }

    fn claim_identity(&self, part: &mut Part, runs: &[Runs]) {
        let variants = self.variants.iter().zip(runs);
        let judged = variants.filter_map(|(variant, runs)| {
            Some(Judged {
                name: &variant.name,
                required: variant.required_streams(),
                also: variant.also,
                waits: variant.waits,
                shape: runs.shape.as_ref()?,
            })
        });
        let judged: Vec<Judged> = judged.collect();
        part.claim_broken(self.group, identity::broken(self.differ, &judged));
    }

    fn claim(&self, part: &mut Part, work: &EqualWork, runs: &[Runs]) {
        let id = |what: &str| id_in(self.group, what);
        part.claim_equal_work(id("equal-work"), "all variants do the same work", work);
        let samples: Vec<&Sample> = runs.iter().flat_map(|runs| &runs.samples).collect();
        let agreeing = samples.iter().filter(|sample| sample.agrees()).count();
        let found = format!("{agreeing} of {} runs", samples.len());
        let limit = format!(
            "nine in ten, within {} or {}",
            units::percent(AGREEMENT),
            units::time(AGREEMENT_FLOOR)
        );
        part.claim(
            id("clocks-agree"),
            "event times agree with the host's clock",
            agreeing * 10 >= samples.len() * 9,
            found,
            limit,
        );
        let checked: Vec<&Checked> = runs
            .iter()
            .filter_map(|runs| runs.checked.as_ref()?.as_ref().ok())
            .collect();
        for (variant, runs) in self.variants.iter().zip(runs) {
            if let Some(Err(mismatch)) = &runs.checked {
                part.claim(
                    id(&format!("elements/{}", variant.name.id)),
                    &format!("{}: every element is right", variant.name),
                    false,
                    mismatch,
                    REFERENCE,
                );
            }
        }
        if let Some(first) = checked.first() {
            let found = format!("{} elements of {} variants", first.elements, checked.len());
            part.claim(
                id("elements"),
                "every element is right",
                true,
                found,
                REFERENCE,
            );
            let same = checked.iter().all(|other| other == first);
            let found = if same { "they are" } else { "they differ" };
            part.claim(
                id("same-bits"),
                "all variants' results are the same",
                same,
                found,
                "bit for bit",
            );
        }
    }
}

/// A timed run of a variant, and what was traced of it.
struct TracedRun {
    sample: Sample,
    enqueued: WorkAmount,
    trace: Option<Trace>,
}

/// The purpose of a run.
#[derive(Clone, Copy)]
struct Turn {
    timed: bool,
    recorded: bool,
    checked: bool,
}

/// What the runs of one variant left.
#[derive(Default)]
struct Runs {
    samples: Vec<Sample>,
    recorded: Shortest,
    /// What the variant did in the recorded run that kept the host shortest.
    shape: Option<CallCounts>,
    checked: Option<Result<Checked, Mismatch>>,
}

impl Runs {
    /// Whether the recording that is kept shows the variant, and nothing that disturbed it.
    fn is_undisturbed(&self) -> bool {
        let least = self.samples.iter().map(|sample| sample.event).min();
        self.recorded.is_undisturbed(least)
    }

    /// Notes what the variant did in a recorded run: what disturbs the host makes it longer.
    fn did(&mut self, shape: CallCounts) {
        match &self.shape {
            Some(known) if !shape.is_quicker_than(known) => {}
            _ => self.shape = Some(shape),
        }
    }

    fn outcome(self, group: &'static str, name: Label) -> anyhow::Result<MeasuredVariant> {
        let durations =
            |of: fn(&Sample) -> Duration| Durations::new(self.samples.iter().map(of).collect());
        let found = durations(|sample| sample.event)
            .zip(durations(|sample| sample.host))
            .zip(durations(|sample| sample.issuing))
            .zip(self.recorded.recording());
        let (((times, host_times), issuing), recording) =
            found.with_context(|| format!("variant {name} was not run"))?;
        let cpu: Option<Duration> = self.samples.iter().map(|sample| sample.cpu).sum();
        let issued: Duration = issuing.sorted().iter().sum();
        Ok(MeasuredVariant {
            group,
            name,
            times,
            host_times,
            issuing,
            cpu_busy: cpu.map(|cpu| cpu.div_duration_f64(issued)),
            recording,
        })
    }
}

/// Runs that are recorded where recording costs time, of which the shortest is kept. The first warms the profiling library up,
/// which leaves a hole of some 150 µs behind the first operation.
const RECORDED: usize = 4;

/// The most further rounds that are recorded while something seems to have disturbed all recorded runs of a variant. All variants take turns in them
/// as before, so code that counts runs may rely on it.
const RECORDED_AGAIN: usize = 8;

/// Timed runs of each variant where neither the part nor the command line says otherwise.
const DEFAULT_ITERATIONS: usize = 10;

/// A table of outcomes: median, spread, and speed against the first of them.
pub fn table(outcomes: &[MeasuredVariant], times: TimeSource) -> Table {
    let mut table = Table::new(["variant", &format!("median, {times}"), "spread", "speed-up"]);
    for outcome in outcomes {
        table.row(cells(outcomes, outcome));
    }
    table
}

/// What every table of outcomes says of one of them.
pub(crate) fn cells(outcomes: &[MeasuredVariant], outcome: &MeasuredVariant) -> [String; 4] {
    [
        outcome.name.text.clone(),
        units::time(outcome.median()),
        units::percent(outcome.times.spread()),
        units::ratio(speedup(outcomes, outcome.median())),
    ]
}

pub(crate) fn speedup(outcomes: &[MeasuredVariant], time: Duration) -> f64 {
    outcomes.first().map_or(1.0, |first| {
        first.median().as_secs_f64() / time.as_secs_f64()
    })
}

#[cfg(test)]
mod tests;
