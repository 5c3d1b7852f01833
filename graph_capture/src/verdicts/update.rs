//! Measurements and claims of the part `update`.

use crate::update::{BATCH, BATCHES, Batches, ROUNDS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

/// Kernels of an iteration.
const KERNELS: usize = 8;
const DATA: Seed = Seed::new(13);

/// The batches, and the expected results.
struct CheckedBatches {
    batches: Batches,
    expected: Vec<f32>,
}

impl CheckedBatches {
    fn new() -> Result<Self> {
        let given: Vec<f32> = (0..BATCHES * BATCH).map(|i| DATA.f32(i)).collect();
        let steps = KERNELS as u32 * ROUNDS;
        let result = |&x: &f32| (0..steps).fold(x, |x, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self { batches: Batches::new(&given)?, expected: given.iter().map(result).collect() })
    }
}

impl Workload for CheckedBatches {
    fn poison(&mut self) -> Result<()> {
        self.batches.scratch.set_8(0xFF)?;
        Ok(self.batches.results.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let mut found = vec![0.0; BATCHES * BATCH];
        self.batches.results.copy_to(&mut found)?;
        Ok(check::equal("the results", 0, &found, |i| self.expected[i])?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [stream] = &stream::non_blocking_named(["stream"])?;
    let mut known = CheckedBatches::new()?;
    part.predict(format!(
        "{BATCHES} iterations of {KERNELS} kernels, so short that the device waits for the host. Capturing takes\n\
         as many calls as launching, and instantiating comes on top; two changed nodes and a\n\
         launch are three calls."
    ));

    let (graph, nodes) = known.batches.capture(0, stream)?;
    let [updated, set] = [graph.instantiate()?, graph.instantiate()?];
    let plan = Plan::new().kernels(BATCHES * KERNELS, BATCHES * KERNELS * BATCH);
    let variants = variants! { known: CheckedBatches, differ in Graphs, HostWork;
        "launches", [stream] => known.batches.launches(stream);
        ("instantiate", "capture, instantiate"), [stream] => known.batches.instantiate(stream);
        ("update", "capture, update"), [stream] => known.batches.update(&updated, stream);
        ("set-parameters", "set two nodes"), [stream] => known.batches.set_nodes(&set, nodes, stream);
    };
    let outcomes = part.compare("variants", plan, &mut known, variants)?;
    part.show_enqueued("a batch", BATCHES, &outcomes);
    part.keep_host_times(BATCHES, &outcomes);
    for outcome in &outcomes {
        part.keep(&outcome.name, &outcome.recording);
    }

    let [launches, instantiate, update, set] = &outcomes;
    expect! { part;
        "cheaper/set-parameters", "two changed nodes cost the host less than launches" =>
            set.host_speedup_over(launches).at_least(2.5);
        "dearer/instantiate", "instantiating each time costs the host more than changing nodes" =>
            set.host_speedup_over(instantiate).at_least(3.0);
        "no-dearer/update", "updating from a new capture costs no more than instantiating it" =>
            instantiate.host_speedup_over(update).at_most(1.0);
    }
    part.take_away("Keep the instance: change the nodes that differ, and launch it again.");
    Ok(())
}
