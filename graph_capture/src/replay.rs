//! replay: what does the host save when streams and events become a graph?
//!
//! One iteration is a kernel on all numbers, a fork into three streams with four kernels each on a third of the numbers,
//! a join, and a kernel on all numbers again:
//!
//! ```text
//! a  |K e  K K K K w  K|     e: the fork: the other streams wait for this event
//! b  |  w  K K K K e   |     w: a wait; at the join, stream a waits for the events of the others
//! c  |  w  K K K K e   |
//! ```
//!
//! Enqueued call by call, an iteration costs the host 14 launches and 7 calls for events. The same calls, captured once,
//! make a graph of 14 nodes, and an iteration costs one `cuGraphLaunch`. With short kernels the host was what all waited
//! for, so everything becomes faster; with long ones the device does the same in the same time, and only the host is
//! free. A graph whose kernels do not overlap as they did in the streams, or that keeps the host as busy, would prove this
//! wrong.

use cuda_host::capture::{self, GraphExec};
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;

kernels! { use gpu_kernels::affine_rounds; }

const BRANCHES: usize = 3;
const PER_BRANCH: usize = 4;
const KERNELS: usize = 2 + BRANCHES * PER_BRANCH;
/// Numbers of a branch, one for each thread of a warp.
const BRANCH: usize = 32;
const NUMBERS: usize = BRANCHES * BRANCH;
const ITERATIONS: usize = 50;
/// Multiply-adds of a kernel: some 3 and 50 µs on an H200, less than its launch takes and much more.
const SHORT: u32 = 1000;
const LONG: u32 = 20_000;
/// The same where times are modelled: no host is ever slow there.
const LONG_MODELLED: u32 = 5000;
const DATA: Seed = Seed::new(12);
/// What a multiply-add makes of a number: so much more. The result tells how many there were; with a factor below 1, all
/// numbers would soon be the same.
const FACTOR: f32 = 1.0;
const SUMMAND: f32 = 1.0 / 4096.0;

/// The numbers, the events of an iteration, and what must come out of all iterations.
struct Work {
    rounds: u32,
    kernels: Kernels,
    numbers: DeviceBuffer<f32>,
    forked: Event,
    joined: [Event; BRANCHES],
    expected: Vec<f32>,
}

impl Work {
    fn new(rounds: u32) -> anyhow::Result<Self> {
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        let all = (ITERATIONS * (2 + PER_BRANCH)) as u32 * rounds;
        let result = |i| (0..all).fold(DATA.f32(i), |x, _| x + SUMMAND);
        Ok(Self {
            rounds,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            numbers: DeviceBuffer::zeroed(NUMBERS)?,
            forked: event()?,
            joined: [event()?, event()?, event()?],
            expected: (0..NUMBERS).map(result).collect(),
        })
    }

    /// A kernel on all numbers.
    fn whole(&mut self, stream: &Stream) -> anyhow::Result<()> {
        let (kernel, numbers) = (&self.kernels.affine_rounds, &mut self.numbers);
        // SAFETY: the buffer outlives the run, and events order the kernels that share numbers.
        unsafe { launch!(kernel<<<1, 96, 0, stream>>>(numbers, FACTOR, SUMMAND, self.rounds))? };
        Ok(())
    }

    /// A kernel on a branch's numbers.
    fn third(&mut self, branch: usize, stream: &Stream) -> anyhow::Result<()> {
        let (kernel, rounds) = (&self.kernels.affine_rounds, self.rounds);
        let mut numbers = self.numbers.index(branch * BRANCH..(branch + 1) * BRANCH);
        // SAFETY: as above.
        unsafe { launch!(kernel<<<1, 32, 0, stream>>>(&mut numbers, FACTOR, SUMMAND, rounds))? };
        Ok(())
    }

    /// One iteration: fork, four kernels in each stream, join.
    fn iteration(&mut self, streams: [&Stream; BRANCHES]) -> anyhow::Result<()> {
        let [a, others @ ..] = streams;
        self.whole(a)?;
        self.forked.record(a)?;
        for stream in others {
            stream.wait(&self.forked)?;
        }
        for _ in 0..PER_BRANCH {
            for (branch, stream) in streams.into_iter().enumerate() {
                self.third(branch, stream)?;
            }
        }
        for (stream, joined) in others.into_iter().zip(&self.joined) {
            joined.record(stream)?;
            a.wait(joined)?;
        }
        self.whole(a)
    }

    /// Every iteration call by call.
    fn launches(&mut self, streams: [&Stream; BRANCHES]) -> anyhow::Result<()> {
        (0..ITERATIONS).try_for_each(|_| self.iteration(streams))
    }

    /// The same calls, captured: the graph has a node for each kernel, and an edge where a stream waited.
    fn capture(&mut self, streams: [&Stream; BRANCHES]) -> anyhow::Result<capture::Graph> {
        capture::begin(streams[0])?;
        self.iteration(streams)?;
        Ok(capture::end(streams[0])?)
    }
}

/// Every iteration with one call.
fn graph(graph: &GraphExec, stream: &Stream) -> anyhow::Result<()> {
    for _ in 0..ITERATIONS {
        // SAFETY: the numbers outlive the run, and the launches of a graph follow one another.
        unsafe { graph.launch(stream)? };
    }
    Ok(())
}

impl Workload for Work {
    fn poison(&mut self) -> anyhow::Result<()> {
        let given: Vec<f32> = (0..NUMBERS).map(|i| DATA.f32(i)).collect();
        Ok(self.numbers.copy_from(&given)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let found = self.numbers.as_host_vec()?;
        Ok(check::equal("the numbers", 0, &found, |i| self.expected[i])?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [a, b, c] = &stream::non_blocking_named(["a", "b", "c"])?;
    let streams = [a, b, c];
    part.predict(format!(
        "An iteration has {KERNELS} kernels, six of them one after the other. Call by call it costs the\n\
         host {KERNELS} launches; as a graph, one. The device needs six kernels' time in any case."
    ));

    let (nodes, short) = compare(part, streams, "short", SHORT)?;
    let (_, long) = compare(part, streams, "long", part.by_times(LONG, LONG_MODELLED))?;
    for (group, outcomes) in [("short", &short), ("long", &long)] {
        for outcome in outcomes {
            let (id, text) = (&outcome.name.id, &outcome.name.text);
            let label = Label::new(format!("{group}-{id}"), format!("{group} kernels, {text}"));
            part.chart_start(label, outcome, 2 * KERNELS);
        }
    }

    let together = |Outcome { recording, .. }: &Outcome, least| {
        count(recording.max_concurrency(Engine::Kernel)).at_least(least).in_records_of(recording)
    };
    let ([short, short_graph], [long, long_graph]) = (&short, &long);
    expect! { part;
        "nodes", "a node for each kernel, and none for an event" => exactly(nodes, KERNELS);
        "host/short", "short kernels: host's time, launches to graph" => short_graph.host_speedup_over(short).at_least(5.0);
        "together/short", "short kernels: the graph's branches run together" => together(short_graph, 2);
        "host/long", "long kernels: host's time, launches to graph" => long_graph.host_speedup_over(long).at_least(5.0);
        "together/long", "long kernels: the graph's branches run together" => together(long_graph, BRANCHES);
        "faster/short", "short kernels: the graph is faster" => short_graph.speedup_over(short).at_least(1.4);
        "as-fast/long", "long kernels: the device takes no longer" => long_graph.speedup_over(long).at_least(0.95);
        "no-faster/long", "long kernels: and hardly less" => long_graph.speedup_over(long).at_most(1.25);
    }
    part.take_away(
        "Capture once, launch often: a graph costs the host one call, whatever its size.",
    );
    Ok(())
}

/// Compares launches with a graph of so long kernels. Returns the number of its nodes as well.
fn compare(
    part: &mut Part,
    streams: [&Stream; BRANCHES],
    group: &'static str,
    rounds: u32,
) -> anyhow::Result<(usize, [Outcome; 2])> {
    let a = streams[0];
    let mut work = Work::new(rounds)?;
    let captured = work.capture(streams)?;
    let nodes = captured.nodes()?;
    let exec = captured.instantiate()?;
    let plan = Plan::new().kernels(ITERATIONS * KERNELS, ITERATIONS * (2 + PER_BRANCH) * NUMBERS);
    let variants = variants! { work: Work;
        "launches", streams => work.launches(streams);
        "graph", [a] => graph(&exec, a);
    };
    let outcomes = part.compare(group, plan, &mut work, variants)?;
    part.show_enqueued(&format!("{group} kernels"), ITERATIONS, &outcomes);
    part.keep_host_times(ITERATIONS, &outcomes);
    Ok((nodes, outcomes))
}
