//! update: what does it cost to launch a graph with other arguments?
//!
//! A graph keeps the arguments of the launches that it was captured from. Here eight kernels follow one another, and each
//! iteration works on another batch: the first kernel reads from another place, and the last one writes to another:
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

use anyhow::Result;
use cuda_host::capture::{self, Graph, GraphExec, Node};
use cuda_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};

kernels! { use gpu_kernels::{affine_rounds, fma_chain}; }

pub const BATCHES: usize = 64;
pub const BATCH: usize = 32; // numbers, one for each thread of a warp
pub const ROUNDS: u32 = 200; // multiply-adds of a kernel: less than 1 µs on an H200

/// The batches, a buffer for the work on one of them, and the results.
pub struct Batches {
    kernels: Kernels,
    given: DeviceBuffer<f32>,
    pub scratch: DeviceBuffer<f32>,
    pub results: DeviceBuffer<f32>,
}

impl Batches {
    pub fn new(given: &[f32]) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let given = DeviceBuffer::from_slice(given)?;
        let scratch = DeviceBuffer::zeroed(BATCH)?;
        let results = DeviceBuffer::zeroed(given.len())?;
        Ok(Self { kernels, given, scratch, results })
    }

    /// Where a batch is, and where its result goes.
    fn batch(&self, i: usize) -> [DeviceSlice<f32>; 2] {
        [&self.given, &self.results].map(|all| all.index(i * BATCH..(i + 1) * BATCH))
    }

    /// All kernels of each batch, call by call.
    pub fn launches(&mut self, stream: &Stream) -> Result<()> {
        for i in 0..BATCHES {
            let [given, mut result] = self.batch(i);
            let (Kernels { affine_rounds, fma_chain }, x) = (&self.kernels, &mut self.scratch);
            // SAFETY: the buffers outlive the run, and one stream keeps the order.
            unsafe {
                launch!(fma_chain<<<1, 32, 0, stream>>>(&given, &mut *x, ROUNDS))?;
                for _ in 0..6 {
                    launch!(affine_rounds<<<1, 32, 0, stream>>>(&mut *x, FACTOR, SUMMAND, ROUNDS))?;
                }
                launch!(fma_chain<<<1, 32, 0, stream>>>(&*x, &mut result, ROUNDS))?;
            }
        }
        Ok(())
    }

    /// The same calls for one batch, captured; and the first and the last node, each captured last at the time.
    pub fn capture(&mut self, i: usize, stream: &Stream) -> Result<(Graph, [Node; 2])> {
        let [given, mut result] = self.batch(i);
        let (Kernels { affine_rounds, fma_chain }, x) = (&self.kernels, &mut self.scratch);
        capture::begin(stream)?;
        // SAFETY: as above, when the graph is launched.
        unsafe {
            launch!(fma_chain<<<1, 32, 0, stream>>>(&given, &mut *x, ROUNDS))?;
            let first = capture::latest_node(stream)?;
            for _ in 0..6 {
                launch!(affine_rounds<<<1, 32, 0, stream>>>(&mut *x, FACTOR, SUMMAND, ROUNDS))?;
            }
            launch!(fma_chain<<<1, 32, 0, stream>>>(&*x, &mut result, ROUNDS))?;
            let last = capture::latest_node(stream)?;
            Ok((capture::end(stream)?, [first, last]))
        }
    }

    /// A new graph for each batch.
    pub fn instantiate(&mut self, stream: &Stream) -> Result<()> {
        for i in 0..BATCHES {
            let exec = self.capture(i, stream)?.0.instantiate()?;
            // SAFETY: the buffers outlive the run.
            unsafe { exec.launch(stream)? };
        }
        Ok(())
    }

    /// A new graph for each batch, whose arguments the one instance takes over.
    pub fn update(&mut self, exec: &GraphExec, stream: &Stream) -> Result<()> {
        for i in 0..BATCHES {
            exec.update(&self.capture(i, stream)?.0)?;
            // SAFETY: as above.
            unsafe { exec.launch(stream)? };
        }
        Ok(())
    }

    /// Other arguments for two nodes of the one instance.
    pub fn set_nodes(&mut self, exec: &GraphExec, nodes: [Node; 2], stream: &Stream) -> Result<()> {
        for i in 0..BATCHES {
            let [given, mut result] = self.batch(i);
            let (kernel, x) = (&self.kernels.fma_chain, &mut self.scratch);
            // SAFETY: the buffers outlive the run; launches that were enqueued keep their arguments.
            unsafe {
                exec.set_kernel(nodes[0], kernel, 1, 32, 0, (&given, &mut *x, ROUNDS))?;
                exec.set_kernel(nodes[1], kernel, 1, 32, 0, (&*x, &mut result, ROUNDS))?;
                exec.launch(stream)?;
            }
        }
        Ok(())
    }
}
