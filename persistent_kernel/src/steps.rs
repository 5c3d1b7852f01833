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

use anyhow::Result;
use cuda_host::capture::{self, GraphExec};
use cuda_host::launch_attributes::Attribute;
use cuda_host::prelude::*;

kernels! { struct Kernels; use gpu_kernels::{relax, relax_persistent}; }
kernels! { struct Hopper; use gpu_kernels::relax_dependent; }

/// Even, so that the results are in the first buffer again.
pub const STEPS: usize = 1000;
pub const THREADS: u32 = 256;
/// The kernel may begin before the one before it in the stream has ended.
const MAY_BEGIN_EARLY: [Attribute; 1] = [Attribute::programmatic_stream_serialization(true)];

/// A function that enqueues all steps.
type Enqueue = fn(&mut Ring, &Stream) -> CudaResult<()>;

/// The two buffers that steps go to and fro between, and the word in which blocks count their arrivals.
pub struct Ring {
    kernels: Kernels,
    hopper: Hopper,
    blocks: u32,
    pub x: DeviceBuffer<f32>,
    pub y: DeviceBuffer<f32>,
    pub arrivals: DeviceBuffer<u32>,
}

impl Ring {
    pub fn new(blocks: u32) -> Result<Self> {
        let elements = (blocks * THREADS) as usize;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let hopper = Hopper::load(gpu_kernels::SM_90)?;
        let x = DeviceBuffer::zeroed(elements)?;
        let y = DeviceBuffer::zeroed(elements)?;
        let arrivals = DeviceBuffer::zeroed(1)?;
        Ok(Self { kernels, hopper, blocks, x, y, arrivals })
    }

    /// One launch for each step (`cuLaunchKernel`): the stream keeps the order.
    pub fn launches(&mut self, stream: &Stream) -> CudaResult<()> {
        for _ in 0..STEPS / 2 {
            // SAFETY: the buffers outlive the run, and the grid has a thread for each element.
            unsafe {
                launch!(self.kernels.relax<<<self.blocks, THREADS, 0, stream>>>(&self.x, &mut self.y))?;
                launch!(self.kernels.relax<<<self.blocks, THREADS, 0, stream>>>(&self.y, &mut self.x))?;
            }
        }
        Ok(())
    }

    /// The same launches, allowed to begin early (`cuLaunchKernelEx`): each kernel waits itself for the one before.
    pub fn dependent_launches(&mut self, stream: &Stream) -> CudaResult<()> {
        let (relax, blocks, len) = (&self.hopper.relax_dependent, self.blocks, self.x.len());
        for _ in 0..STEPS / 2 {
            // SAFETY: as above; each kernel waits before it reads or writes.
            unsafe {
                launch!(relax<<<blocks, THREADS, 0, stream, MAY_BEGIN_EARLY>>>(&self.x, &mut self.y, len))?;
                launch!(relax<<<blocks, THREADS, 0, stream, MAY_BEGIN_EARLY>>>(&self.y, &mut self.x, len))?;
            }
        }
        Ok(())
    }

    /// The launches of `enqueue` as nodes of a graph, with an edge from each to the next.
    pub fn capture(&mut self, enqueue: Enqueue, stream: &Stream) -> Result<GraphExec> {
        capture::begin(stream)?;
        enqueue(self, stream)?;
        Ok(capture::end(stream)?.instantiate()?)
    }

    /// One launch for all steps (`cuLaunchCooperativeKernel`): the blocks wait for each other between them.
    pub fn persistent(&mut self, stream: &Stream) -> CudaResult<()> {
        let (relax, len) = (&self.kernels.relax_persistent, self.x.len());
        let arguments = (&mut self.x, &mut self.y, len, &mut self.arrivals, STEPS as u32);
        // SAFETY: as above; no block has arrived yet.
        unsafe { relax.launch_cooperative(self.blocks, THREADS, 0, stream, arguments) }
    }
}

/// One launch for a graph of all steps (`cuGraphLaunch`).
pub fn graph(graph: &GraphExec, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the ring outlives the run.
    unsafe { graph.launch(stream) }
}
