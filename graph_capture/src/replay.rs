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
//! make a graph of 14 nodes, and an iteration costs one `cuGraphLaunch`. With short kernels the device waits for the host's
//! calls, so a graph makes everything faster. With long kernels the device needs the same time as before, and only the host
//! gains. A graph whose kernels do not overlap as in the streams, or that needs as much host time, would prove this wrong.

use anyhow::Result;
use cuda_host::capture::{self, Graph, GraphExec};
use cuda_host::prelude::*;

kernels! { use gpu_kernels::affine_rounds; }

pub const ITERATIONS: usize = 50;
pub const PER_BRANCH: usize = 4;
/// One for each thread of a warp, in each of three branches.
pub const NUMBERS: usize = 3 * 32;
/// A kernel adds this to its numbers, `rounds` times.
pub const SUMMAND: f32 = 1.0 / 4096.0;

/// The numbers, and the events of an iteration.
pub struct ForkJoin {
    kernels: Kernels,
    pub numbers: DeviceBuffer<f32>,
    forked: Event,
    joined: [Event; 2],
    rounds: u32,
}

impl ForkJoin {
    pub fn new(rounds: u32) -> Result<Self> {
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            numbers: DeviceBuffer::zeroed(NUMBERS)?,
            forked: event()?,
            joined: [event()?, event()?],
            rounds,
        })
    }

    /// One iteration: fork, four kernels in each stream, join.
    pub fn iteration(&mut self, [a, b, c]: [&Stream; 3]) -> Result<()> {
        let (kernel, rounds) = (&self.kernels.affine_rounds, self.rounds);
        let mut left = self.numbers.index(..32);
        let mut middle = self.numbers.index(32..64);
        let mut right = self.numbers.index(64..);
        // SAFETY: the numbers outlive the run, and events order the kernels that share them.
        unsafe {
            launch!(kernel<<<1, 96, 0, a>>>(&mut self.numbers, 1.0, SUMMAND, rounds))?;
            self.forked.record(a)?;
            b.wait(&self.forked)?;
            c.wait(&self.forked)?;
            for _ in 0..PER_BRANCH {
                launch!(kernel<<<1, 32, 0, a>>>(&mut left, 1.0, SUMMAND, rounds))?;
                launch!(kernel<<<1, 32, 0, b>>>(&mut middle, 1.0, SUMMAND, rounds))?;
                launch!(kernel<<<1, 32, 0, c>>>(&mut right, 1.0, SUMMAND, rounds))?;
            }
            self.joined[0].record(b)?;
            a.wait(&self.joined[0])?;
            self.joined[1].record(c)?;
            a.wait(&self.joined[1])?;
            launch!(kernel<<<1, 96, 0, a>>>(&mut self.numbers, 1.0, SUMMAND, rounds))?;
        }
        Ok(())
    }

    /// Every iteration call by call.
    pub fn launches(&mut self, streams: [&Stream; 3]) -> Result<()> {
        for _ in 0..ITERATIONS {
            self.iteration(streams)?;
        }
        Ok(())
    }

    /// The same calls, captured: the graph has a node for each kernel, and an edge where a stream waited.
    pub fn capture(&mut self, streams: [&Stream; 3]) -> Result<Graph> {
        capture::begin(streams[0])?;
        self.iteration(streams)?;
        Ok(capture::end(streams[0])?)
    }
}

/// Every iteration with one call.
pub fn graph(graph: &GraphExec, stream: &Stream) -> Result<()> {
    for _ in 0..ITERATIONS {
        // SAFETY: the numbers outlive the run, and the launches of a graph follow one another.
        unsafe { graph.launch(stream)? };
    }
    Ok(())
}
