//! Measurements and claims of the part `steps`.

use crate::steps::{Ring, STEPS, THREADS, graph};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;

const DATA: Seed = Seed::new(14);

/// The ring, and the expected results.
struct CheckedRing {
    ring: Ring,
    given: Vec<f32>,
    expected: Vec<f32>,
}

impl CheckedRing {
    fn new(blocks: u32) -> Result<Self> {
        let given: Vec<f32> = (0..(blocks * THREADS) as usize).map(|i| DATA.f32(i)).collect();
        let expected = (0..STEPS).fold(given.clone(), |before, _| relaxed(&before));
        Ok(Self { ring: Ring::new(blocks)?, given, expected })
    }
}

impl Workload for CheckedRing {
    fn poison(&mut self) -> Result<()> {
        self.ring.x.copy_from(&self.given)?;
        self.ring.y.set_8(0xFF)?;
        Ok(self.ring.arrivals.set_8(0)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let found = self.ring.x.as_host_vec()?;
        Ok(check::equal("the ring", 0, &found, |i| self.expected[i])?)
    }
}

/// A step on the CPU.
fn relaxed(x: &[f32]) -> Vec<f32> {
    let n = x.len();
    let at = |i: usize| {
        let (left, right) = (x[(i + n - 1) % n], x[(i + 1) % n]);
        (left + right).mul_add(0.25, 0.5 * x[i])
    };
    (0..n).map(at).collect()
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["steps"])?;
    let blocks = part.device().multiprocessors()?;
    let mut known = CheckedRing::new(blocks)?;
    part.predict(format!(
        "{STEPS} steps of {blocks} blocks. A launch per step costs what a launch costs the host. In a graph it costs\n\
         what one kernel hands over to the next; in one kernel, what a barrier of all blocks takes."
    ));

    let nodes = known.ring.capture(Ring::launches, stream)?;
    let dependent_nodes = known.ring.capture(Ring::dependent_launches, stream)?;
    let plan = Plan::new().steps(STEPS, STEPS * known.given.len());
    let variants = variants! { known: CheckedRing, differ in Graphs;
        ("launches", "a launch per step"), [stream] => Ok(known.ring.launches(stream)?);
        ("dependent-launches", "dependent launches"), [stream] => Ok(known.ring.dependent_launches(stream)?),
            also Kernels, Launches;
        "graph", [stream] => Ok(graph(&nodes, stream)?);
        ("dependent-graph", "graph, dependent launches"), [stream] => Ok(graph(&dependent_nodes, stream)?),
            also Kernels;
        ("persistent", "one persistent kernel"), [stream] => Ok(known.ring.persistent(stream)?), also Kernels, Launches;
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    part.show_enqueued("a step", STEPS, &outcomes);
    let [launches, dependent, graph, dependent_graph, persistent] = &outcomes;
    part.chart_start("launches", launches, 16);
    part.chart_start("graph", graph, 16);
    for outcome in [dependent, dependent_graph, persistent] {
        part.keep(&outcome.name, &outcome.recording);
    }

    let host = persistent.issuing.median().div_duration_f64(launches.issuing.median());
    expect! { part;
        "faster/graph", "a graph's steps are faster than launches" => graph.speedup_over(launches).at_least(1.5);
        "faster/persistent", "a persistent kernel's steps are faster than launches" =>
            persistent.speedup_over(launches).at_least(1.5);
        "host-bound/least", "launches that may begin early cost the host as much" =>
            dependent.speedup_over(launches).at_least(0.8);
        "host-bound/most", "and are hardly faster" => dependent.speedup_over(launches).at_most(1.25);
        "faster/dependent-graph", "in a graph, dependent launches overlap" =>
            dependent_graph.speedup_over(graph).at_least(1.1);
        "host/persistent", "one launch costs the host little" => share(host).at_most(0.02);
    }
    part.take_away("Steps of a microsecond belong in a graph or in one kernel, not in launches.");
    Ok(())
}
