//! steps: what does a step cost when each needs the one before?
//!
//! A ring of elements, a thread for each, a block for each multiprocessor. In a step every element becomes a mean of itself
//! and its neighbours, which may be another block's: no step may begin before the last one has ended. Five ways to keep
//! that order:
//!
//! ```text
//! launches               host |LLLLLLLLLLLLLLLLLL|     L: launches   K: a step   b: a barrier
//!                        GPU  | K  K  K  K  K  K |     the host is what everything waits for
//! graph                  GPU  |K K K K K K K K K |     1000 nodes, one launch
//! dependent launches     GPU  |KKKKKKKKKKKKKKKKKK|     each begins early, and waits itself
//! one persistent kernel  GPU  |KbKbKbKbKbKbKbKbKb|     one launch; the blocks wait for each other
//! ```
//!
//! Between two kernels the device drains, hands over and fills again; dependent launches overlap some of that. A barrier
//! leaves the blocks where they are, but each must tell all others through the L2 cache that it has arrived. A step that used
//! a neighbour's old value would give other bits, and launches that cost as little as a graph's nodes would prove this wrong.

use cuda_host::capture::{self, GraphExec};
use cuda_host::launch_attributes::Attribute;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;

kernels! {
    /// The kernels that run everywhere.
    struct Kernels;
    use gpu_kernels::{relax, relax_persistent};
}
kernels! {
    /// The kernel that may begin early.
    struct Hopper;
    use gpu_kernels::relax_dependent;
}

/// Even, so that the results are in the first buffer again.
const STEPS: usize = 1000;
const THREADS: u32 = 256;
const DATA: Seed = Seed::new(14);
/// The kernel may begin before the one before it in the stream has ended.
const MAY_BEGIN_EARLY: [Attribute; 1] = [Attribute::programmatic_stream_serialization(true)];

/// The two buffers that steps go to and fro between, and the word in which blocks count their arrivals.
struct Ring {
    kernels: Kernels,
    hopper: Hopper,
    blocks: u32,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    arrivals: DeviceBuffer<u32>,
    expected: Vec<f32>,
}

impl Ring {
    fn new(blocks: u32) -> anyhow::Result<Self> {
        let elements = (blocks * THREADS) as usize;
        let given: Vec<f32> = (0..elements).map(|i| DATA.f32(i)).collect();
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            hopper: Hopper::load(gpu_kernels::SM_90)?,
            blocks,
            x: DeviceBuffer::zeroed(elements)?,
            y: DeviceBuffer::zeroed(elements)?,
            arrivals: DeviceBuffer::zeroed(1)?,
            expected: (0..STEPS).fold(given, |before, _| relaxed(&before)),
        })
    }

    /// One launch for each step (`cuLaunchKernel`): the stream keeps the order.
    fn launches(&mut self, stream: &Stream) -> anyhow::Result<()> {
        for step in 0..STEPS {
            let (blocks, Kernels { relax, .. }) = (self.blocks, &self.kernels);
            let (from, to) = match step % 2 {
                0 => (&self.x, &mut self.y),
                _ => (&self.y, &mut self.x),
            };
            // SAFETY: the buffers outlive the run, and the grid has a thread for each element.
            unsafe { launch!(relax<<<blocks, THREADS, 0, stream>>>(from, to))? };
        }
        Ok(())
    }

    /// The same launches, allowed to begin early (`cuLaunchKernelEx`): each kernel waits itself for the one before.
    fn dependent_launches(&mut self, stream: &Stream) -> anyhow::Result<()> {
        for step in 0..STEPS {
            let (blocks, kernel) = (self.blocks, &self.hopper.relax_dependent);
            let (from, to) = match step % 2 {
                0 => (&self.x, &mut self.y),
                _ => (&self.y, &mut self.x),
            };
            let arguments = (from, to, self.expected.len());
            // SAFETY: as above; the kernel waits before it reads or writes.
            unsafe { kernel.launch_with(&MAY_BEGIN_EARLY, blocks, THREADS, 0, stream, arguments)? };
        }
        Ok(())
    }

    /// What `enqueue` enqueues, as a graph.
    fn capture(
        &mut self,
        stream: &Stream,
        enqueue: impl FnOnce(&mut Self, &Stream) -> anyhow::Result<()>,
    ) -> anyhow::Result<GraphExec> {
        capture::begin(stream)?;
        enqueue(self, stream)?;
        Ok(capture::end(stream)?.instantiate()?)
    }

    /// One launch for all steps (`cuLaunchCooperativeKernel`): the blocks wait for each other between them.
    fn persistent(&mut self, stream: &Stream) -> anyhow::Result<()> {
        let (kernel, elements) = (&self.kernels.relax_persistent, self.expected.len());
        let arguments = (&mut self.x, &mut self.y, elements, &mut self.arrivals, STEPS as u32);
        // SAFETY: as above; no block has arrived yet.
        unsafe { kernel.launch_cooperative(self.blocks, THREADS, 0, stream, arguments)? };
        Ok(())
    }
}

/// One launch for a graph of all steps (`cuGraphLaunch`).
fn graph(exec: &GraphExec, stream: &Stream) -> anyhow::Result<()> {
    // SAFETY: the ring outlives the run.
    unsafe { exec.launch(stream)? };
    Ok(())
}

impl Workload for Ring {
    fn poison(&mut self) -> anyhow::Result<()> {
        let given: Vec<f32> = (0..self.x.len()).map(|i| DATA.f32(i)).collect();
        self.x.copy_from(&given)?;
        self.y.set_8(0xFF)?;
        Ok(self.arrivals.set_8(0)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let found = self.x.as_host_vec()?;
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
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [stream] = &stream::non_blocking_named(["steps"])?;
    let blocks = part.device().multiprocessors()?;
    let mut ring = Ring::new(blocks)?;
    part.predict(format!(
        "{STEPS} steps of {blocks} blocks. A launch per step costs what a launch costs the host. In a graph it costs\n\
         what one kernel hands over to the next; in one kernel, what a barrier of all blocks takes."
    ));

    let elements = ring.expected.len();
    let nodes = ring.capture(stream, Ring::launches)?;
    let dependent_nodes = ring.capture(stream, Ring::dependent_launches)?;
    let plan = Plan::new().steps(STEPS, STEPS * elements);
    let variants = variants! { ring: Ring;
        ("launches", "a launch per step"), [stream] => ring.launches(stream);
        ("dependent-launches", "dependent launches"), [stream] => ring.dependent_launches(stream);
        "graph", [stream] => graph(&nodes, stream);
        ("dependent-graph", "graph, dependent launches"), [stream] => graph(&dependent_nodes, stream);
        ("persistent", "one persistent kernel"), [stream] => ring.persistent(stream);
    };
    let outcomes = part.compare("variants", plan, &mut ring, variants)?;
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
    part.take_away(
        "Steps of a microsecond belong into a graph or into one kernel, not into launches.",
    );
    Ok(())
}
