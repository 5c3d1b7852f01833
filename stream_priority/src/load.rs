//! A grid that fills the device many times over, and small kernels that arrive while it runs.
//!
//! The blocks of the grid do nothing but hold their place: two of them take all threads that a multiprocessor has room for.
//! Each small kernel, a request, is one warp, and needs room on any multiprocessor.

use cuda_host::{kernels, launch, prelude::*};
use cust::context::CurrentContext;
use cust::device::DeviceAttribute::MaxThreadsPerMultiprocessor;
use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::load_latency::Pass;
use examples_host::prelude::*;
use std::time::Duration;

kernels! { use gpu_kernels::{hold, iota}; }

/// Requests that arrive while one grid runs, at most.
const REQUESTS: usize = 60;
/// Streams that the requests come in by turns: a request does not wait for the one before it.
const TURNS: usize = 4;
const WARP: usize = 32;
/// Blocks of the grid that fill a multiprocessor.
const PER_MULTIPROCESSOR: u32 = 2;

/// Why the charts come from events: CUPTI holds the host up for so long that the requests come when the grid has ended.
pub const DELAYS: &str = "CUPTI would delay the requests";

/// The grid: so many waves of blocks that take so long each; and the requests that arrive while it runs, with a pause in
/// front of each.
#[derive(Clone, Copy)]
pub struct Grid {
    pub waves: u32,
    pub block: Duration,
    pub requests: usize,
    pub pause: Duration,
}

/// The streams: of the grid, of the requests, and one that does no work, whose events say when a request arrived.
pub struct Streams {
    pub grid: Stream,
    pub requests: [Stream; TURNS],
    pub clock: Stream,
}

impl Streams {
    /// Streams of these priorities (`cuStreamCreateWithPriority`): the grid's and the requests'.
    pub fn with_priorities(grid: i32, requests: i32) -> anyhow::Result<Self> {
        Ok(Self {
            grid: stream::with_priority(grid)?.named("grid"),
            requests: [
                stream::with_priority(requests)?.named("requests 1"),
                stream::with_priority(requests)?.named("requests 2"),
                stream::with_priority(requests)?.named("requests 3"),
                stream::with_priority(requests)?.named("requests 4"),
            ],
            clock: stream::non_blocking()?.named("clock"),
        })
    }
}

/// The kernels, what they store, and the events that time them.
pub struct Load {
    kernels: Kernels,
    threads: u32,
    multiprocessors: u32,
    held: DeviceBuffer<u32>,
    answers: DeviceBuffer<u32>,
    began: Event,
    arrived: Vec<Event>,
    answered: Vec<Event>,
    ended: Event,
}

impl Load {
    pub fn new(device: &Device) -> anyhow::Result<Self> {
        let event = || Event::new(EventFlags::DEFAULT);
        let events = || (0..REQUESTS).map(|_| event()).collect::<Result<Vec<_>, _>>();
        let threads = device.attribute(MaxThreadsPerMultiprocessor)?.cast_unsigned();
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            threads: threads / PER_MULTIPROCESSOR,
            multiprocessors: device.multiprocessors()?,
            held: DeviceBuffer::zeroed(0)?,
            answers: DeviceBuffer::zeroed(REQUESTS * WARP)?,
            began: event()?,
            arrived: events()?,
            answered: events()?,
            ended: event()?,
        })
    }

    /// Blocks of a grid.
    fn blocks(&self, grid: Grid) -> u32 {
        grid.waves * PER_MULTIPROCESSOR * self.multiprocessors
    }

    /// Makes room for the grid's answers and forgets all answers of an earlier pass.
    pub fn prepare(&mut self, grid: Grid) -> anyhow::Result<()> {
        let blocks = self.blocks(grid) as usize;
        if self.held.len() != blocks {
            self.held = DeviceBuffer::zeroed(blocks)?;
        }
        self.held.set_8(0xFF)?;
        self.answers.set_8(0xFF)?;
        Ok(CurrentContext::synchronize()?)
    }

    /// The grid and, while it runs, its requests. The host waits for all of them.
    pub fn pass(&mut self, grid: Grid, on: &Streams) -> anyhow::Result<Pass> {
        let (blocks, threads) = (self.blocks(grid), self.threads);
        let (Streams { grid: large, requests, clock }, ns) = (on, grid.block.as_nanos() as u64);
        self.began.record(large)?;
        // SAFETY: the buffer has an element for each block, and outlives the pass.
        unsafe { launch!(self.kernels.hold<<<blocks, threads, 0, large>>>(ns, &mut self.held))? };
        self.ended.record(large)?;
        for request in 0..grid.requests {
            host_clock::spend(grid.pause);
            let stream = &requests[request % TURNS];
            let mut answer = self.answers.index(request * WARP..(request + 1) * WARP);
            self.arrived[request].record(clock)?;
            // SAFETY: the answer is this request's own, and outlives the pass.
            unsafe {
                launch!(self.kernels.iota<<<1, WARP as u32, 0, stream>>>(&mut answer, request as u32))?
            };
            self.answered[request].record(stream)?;
        }
        CurrentContext::synchronize()?;
        let requests = self.arrived.iter().zip(&self.answered).take(grid.requests);
        Ok(Pass::between((&self.began, &self.ended), requests)?)
    }

    /// Compares what the latest pass stored with what it must be, of the grid and of `requests` requests.
    pub fn check(&self, requests: usize) -> anyhow::Result<Checked> {
        let held = check::equal("the grid's answers", 0, &self.held.as_host_vec()?, |i| i as u32)?;
        let expected = |i: usize| (i / WARP + i % WARP) as u32;
        let answers = &self.answers.as_host_vec()?[..requests * WARP];
        Ok(held.and(check::equal("the requests' answers", 0, answers, expected)?))
    }
}
