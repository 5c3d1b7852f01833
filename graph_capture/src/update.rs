//! update: what does it cost to launch a graph with other arguments?
//!
//! A graph keeps the arguments of the launches that it was captured from. Here eight kernels follow one another, and each
//! iteration works on another batch: the first kernel reads from another place, and the last one writes to another. Four
//! ways to get there:
//!
//! ```text
//! launches        L L L L L L L L
//! instantiate     begin L L L L L L L L end  cuGraphInstantiate              cuGraphLaunch
//! update          begin L L L L L L L L end  cuGraphExecUpdate               cuGraphLaunch
//! set parameters                             cuGraphExecKernelNodeSetParams 2x cuGraphLaunch
//! ```
//!
//! A capture takes as many calls as launching, which do not reach the device and cost the host about a third. Instantiating
//! costs more than that saves, and updating less; changing two nodes costs the least. A launch that had the arguments of
//! another iteration would prove this wrong, and the results with it.

mod batches;

use batches::Batches;
use cuda_host::capture::{self, Graph, GraphExec, Node};
use cuda_host::{kernels, launch, prelude::*};
use cust::stream::Stream;
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

kernels! { use gpu_kernels::{affine_rounds, fma_chain}; }

const BATCHES: usize = 64;
/// Numbers of a batch, one for each thread of a warp.
const BATCH: usize = 32;
/// Kernels of an iteration, the first and the last among them.
const KERNELS: usize = 8;
/// Multiply-adds of a kernel: less than 1 µs on an H200.
const ROUNDS: u32 = 200;

/// A graph that is ready to launch, and the nodes that tell batches apart.
struct Captured {
    graph: Graph,
    first: Node,
    last: Node,
}

impl Batches {
    /// From the batch to where it is worked on.
    fn first(&mut self, batch: usize, stream: &Stream) -> anyhow::Result<()> {
        let (kernel, scratch) = (&self.kernels.fma_chain, &mut self.scratch);
        let given = self.given.index(batch * BATCH..(batch + 1) * BATCH);
        // SAFETY: the buffers outlive the run, and one stream keeps the order.
        unsafe { launch!(kernel<<<1, 32, 0, stream>>>(&given, scratch, ROUNDS))? };
        Ok(())
    }

    /// In place: the same in each iteration.
    fn middle(&mut self, stream: &Stream) -> anyhow::Result<()> {
        let (kernel, scratch) = (&self.kernels.affine_rounds, &mut self.scratch);
        // SAFETY: as above.
        unsafe { launch!(kernel<<<1, 32, 0, stream>>>(scratch, FACTOR, SUMMAND, ROUNDS))? };
        Ok(())
    }

    /// From there to the batch's result.
    fn last(&mut self, batch: usize, stream: &Stream) -> anyhow::Result<()> {
        let (kernel, scratch) = (&self.kernels.fma_chain, &self.scratch);
        let mut result = self.results.index(batch * BATCH..(batch + 1) * BATCH);
        // SAFETY: as above.
        unsafe { launch!(kernel<<<1, 32, 0, stream>>>(scratch, &mut result, ROUNDS))? };
        Ok(())
    }

    /// All kernels of a batch, call by call.
    fn launch(&mut self, batch: usize, stream: &Stream) -> anyhow::Result<()> {
        self.first(batch, stream)?;
        for _ in 0..KERNELS - 2 {
            self.middle(stream)?;
        }
        self.last(batch, stream)
    }

    /// The same calls, captured; the nodes are those that were captured last at the time.
    fn capture(&mut self, batch: usize, stream: &Stream) -> anyhow::Result<Captured> {
        capture::begin(stream)?;
        self.first(batch, stream)?;
        let first = capture::latest_node(stream)?;
        for _ in 0..KERNELS - 2 {
            self.middle(stream)?;
        }
        self.last(batch, stream)?;
        let last = capture::latest_node(stream)?;
        Ok(Captured { graph: capture::end(stream)?, first, last })
    }

    fn launches(&mut self, stream: &Stream) -> anyhow::Result<()> {
        (0..BATCHES).try_for_each(|batch| self.launch(batch, stream))
    }

    /// A new graph for each batch.
    fn instantiate(&mut self, stream: &Stream) -> anyhow::Result<()> {
        for batch in 0..BATCHES {
            let exec = self.capture(batch, stream)?.graph.instantiate()?;
            // SAFETY: the buffers outlive the run.
            unsafe { exec.launch(stream)? };
        }
        Ok(())
    }

    /// A new graph for each batch, whose arguments the one instance takes over.
    fn update(&mut self, exec: &GraphExec, stream: &Stream) -> anyhow::Result<()> {
        for batch in 0..BATCHES {
            exec.update(&self.capture(batch, stream)?.graph)?;
            // SAFETY: as above.
            unsafe { exec.launch(stream)? };
        }
        Ok(())
    }

    /// Other arguments for two nodes of the one instance.
    fn set_parameters(
        &mut self,
        exec: &GraphExec,
        captured: &Captured,
        stream: &Stream,
    ) -> anyhow::Result<()> {
        let kernel = &self.kernels.fma_chain;
        for batch in 0..BATCHES {
            let numbers = batch * BATCH..(batch + 1) * BATCH;
            let (given, mut result) =
                (self.given.index(numbers.clone()), self.results.index(numbers));
            // SAFETY: the buffers outlive the run; launches that were enqueued keep their arguments.
            unsafe {
                let first = (&given, &mut self.scratch, ROUNDS);
                exec.set_kernel(captured.first, kernel, 1, 32, 0, first)?;
                let last = (&self.scratch, &mut result, ROUNDS);
                exec.set_kernel(captured.last, kernel, 1, 32, 0, last)?;
                exec.launch(stream)?;
            }
        }
        Ok(())
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [stream] = &stream::non_blocking_named(["stream"])?;
    let mut batches = Batches::new()?;
    part.predict(format!(
        "{BATCHES} iterations of {KERNELS} kernels, so short that the device waits for the host. Capturing takes\n\
         as many calls as launching, and instantiating comes on top; two changed nodes and a\n\
         launch are three calls."
    ));

    let captured = batches.capture(0, stream)?;
    let [updated, set] = [captured.graph.instantiate()?, captured.graph.instantiate()?];
    let plan = Plan::new().kernels(BATCHES * KERNELS, BATCHES * KERNELS * BATCH);
    let variants = variants! { work: Batches;
        "launches", [stream] => work.launches(stream);
        ("instantiate", "capture, instantiate"), [stream] => work.instantiate(stream);
        ("update", "capture, update"), [stream] => work.update(&updated, stream);
        ("set-parameters", "set two nodes"), [stream] => work.set_parameters(&set, &captured, stream);
    };
    let outcomes = part.compare("variants", plan, &mut batches, variants)?;
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
