//! urgent: how long does a small kernel wait while a large one runs?
//!
//! A grid of 40 waves of short blocks leaves no room on any multiprocessor. Small kernels arrive while it runs. Whenever a
//! block ends, its place goes to a block of the stream with the highest priority; between equals, to the grid that came
//! first:
//!
//! ```text
//! equal      grid     |bbbbbbbbbbbbbbbbbbbbbbbb|       high   grid     |bbbbbbbbbbbbbbbbbbbbbbbb|
//!            requests |    ->               rrr|              requests |    r    r    r    r    |
//! ```
//!
//! So with equal priorities, or the wrong way round, a request waits until all blocks of the grid have been placed; with
//! the higher priority, until any block ends. If requests of high priority were not resident together with the grid, or
//! if the grid lost more than the time of the requests, this would be wrong.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{hold, iota}; }

pub const REQUESTS: usize = 60; // that arrive while one grid runs, at most: each is a warp, which stores 32 numbers

/// The streams: of the grid, of the requests, which take turns so that none waits for the one before it, and one without work,
/// whose events say when a request arrived.
pub struct Streams {
    pub grid: Stream,
    pub requests: [Stream; 4],
    pub clock: Stream,
}

impl Streams {
    /// Streams of these priorities (`cuStreamCreateWithPriority`): the lower the number, the more urgent.
    pub fn with_priorities(grid: i32, requests: i32) -> Result<Self> {
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

/// A number for each block of the grid, the requests' answers, and the events that time them.
pub struct Load {
    kernels: Kernels,
    threads: u32,
    pub answers: DeviceBuffer<u32>,
    pub began: Event,
    pub arrived: Vec<Event>,
    pub answered: Vec<Event>,
    pub ended: Event,
    pub held: DeviceBuffer<u32>,
}

impl Load {
    /// For a grid of this many blocks, each with half of the threads that a multiprocessor has room for.
    pub fn new(blocks: usize, threads: u32) -> Result<Self> {
        let events = || (0..REQUESTS).map(|_| Event::new(EventFlags::DEFAULT));
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            threads,
            answers: DeviceBuffer::zeroed(32 * REQUESTS)?,
            began: Event::new(EventFlags::DEFAULT)?,
            arrived: events().collect::<CudaResult<_>>()?,
            answered: events().collect::<CudaResult<_>>()?,
            ended: Event::new(EventFlags::DEFAULT)?,
            held: DeviceBuffer::zeroed(blocks)?,
        })
    }

    /// The grid, whose blocks do nothing but hold their places for `ns` nanoseconds, and the requests that arrive meanwhile, with a
    /// pause in front of each. The host waits for all of them.
    pub fn pass(&mut self, ns: u64, requests: usize, on: &Streams, pause: impl Fn()) -> Result<()> {
        let (grid, blocks) = (&on.grid, self.held.len() as u32);
        self.began.record(grid)?;
        // SAFETY: the buffer has an element for each block, and outlives the pass.
        unsafe {
            launch!(self.kernels.hold<<<blocks, self.threads, 0, grid>>>(ns, &mut self.held))?
        };
        self.ended.record(grid)?;
        for request in 0..requests {
            pause();
            let stream = &on.requests[request % on.requests.len()];
            let mut answer = self.answers.index(32 * request..32 * (request + 1));
            self.arrived[request].record(&on.clock)?;
            // SAFETY: the answer is this request's own, and outlives the pass.
            unsafe {
                launch!(self.kernels.iota<<<1, 32, 0, stream>>>(&mut answer, request as u32))?
            };
            self.answered[request].record(stream)?;
        }
        Ok(CurrentContext::synchronize()?)
    }
}
