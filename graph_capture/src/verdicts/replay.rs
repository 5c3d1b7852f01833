//! Measurements and claims of the part `replay`.

use crate::replay::{ForkJoin, ITERATIONS, NUMBERS, PER_BRANCH, SUMMAND, graph};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// Kernels of an iteration.
const KERNELS: usize = 2 + 3 * PER_BRANCH;
/// Multiply-adds of a kernel. On an H200 they take about 3 µs, less than a launch costs the host, and 50 µs, which is much more.
const SHORT: u32 = 1000;
const LONG: u32 = 20_000;
/// Enough where times are modelled: the modelled host needs the same time for every launch, and the software GPU executes each round.
const LONG_MODELLED: u32 = 5000;
const DATA: Seed = Seed::new(12);

/// Iterations, and the expected results.
struct Iterations {
    fork_join: ForkJoin,
    expected: Vec<f32>,
}

impl Iterations {
    fn new(rounds: u32) -> Result<Self> {
        let all = (ITERATIONS * (2 + PER_BRANCH)) as u32 * rounds;
        let result = |i| (0..all).fold(DATA.f32(i), |x, _| x + SUMMAND);
        let expected = (0..NUMBERS).map(result).collect();
        Ok(Self { fork_join: ForkJoin::new(rounds)?, expected })
    }
}

impl Workload for Iterations {
    fn poison(&mut self) -> Result<()> {
        let given: Vec<f32> = (0..NUMBERS).map(|i| DATA.f32(i)).collect();
        Ok(self.fork_join.numbers.copy_from(&given)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let found = self.fork_join.numbers.as_host_vec()?;
        Ok(check::equal("the numbers", 0, &found, |i| self.expected[i])?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
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

    let together = |MeasuredVariant { recording, .. }: &MeasuredVariant, least| {
        count(recording.max_concurrency(Engine::Kernel)).at_least(least).in_records_of(recording)
    };
    let ([short, short_graph], [long, long_graph]) = (&short, &long);
    expect! { part;
        "nodes", "a node for each kernel, and none for an event" => exactly(nodes, KERNELS);
        "host/short", "short kernels: host's time, launches to graph" => short_graph.host_speedup_over(short).at_least(5.0);
        "together/short", "short kernels: the graph's branches run together" => together(short_graph, 2);
        "host/long", "long kernels: host's time, launches to graph" => long_graph.host_speedup_over(long).at_least(5.0);
        "together/long", "long kernels: the graph's branches run together" => together(long_graph, 3);
        "faster/short", "short kernels: the graph is faster" => short_graph.speedup_over(short).at_least(1.4);
        "as-fast/long", "long kernels: the device takes no longer" => long_graph.speedup_over(long).at_least(0.95);
        "no-faster/long", "long kernels: and hardly less" => long_graph.speedup_over(long).at_most(1.25);
    }
    part.take_away(
        "Capture once, launch often: a graph costs the host one call, whatever its size.",
    );
    Ok(())
}

/// Compares launches with a graph, of kernels of this length. Returns the number of its nodes as well.
fn compare(
    part: &mut Part,
    streams: [&Stream; 3],
    group: &'static str,
    rounds: u32,
) -> Result<(usize, [MeasuredVariant; 2])> {
    let a = streams[0];
    let mut iterations = Iterations::new(rounds)?;
    let captured = iterations.fork_join.capture(streams)?;
    let nodes = captured.nodes()?;
    let exec = captured.instantiate()?;
    let plan = Plan::new().kernels(ITERATIONS * KERNELS, ITERATIONS * (2 + PER_BRANCH) * NUMBERS);
    let variants = variants! { iterations: Iterations, differ in Graphs, Streams, Events;
        "launches", streams => iterations.fork_join.launches(streams);
        "graph", [a] => graph(&exec, a);
    };
    let outcomes = part.compare(group, plan, &mut iterations, variants)?;
    part.show_enqueued(&format!("{group} kernels"), ITERATIONS, &outcomes);
    part.keep_host_times(ITERATIONS, &outcomes);
    Ok((nodes, outcomes))
}
