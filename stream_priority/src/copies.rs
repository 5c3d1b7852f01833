//! copies: does a copy of high priority overtake others?
//!
//! Priorities are for kernels. One stream has many copies to the device to make; another asks for a small one now and then.
//! The copy engine takes what the driver's queues hand it, whether the stream has the same priority or a higher one:
//!
//! ```text
//! bulk     |HHHHHHHHhhhhhhhhHHHHHHHHhhhhhhhhHHHHHHHH|
//! requests |  ->    r  ->           r               |
//! ```
//!
//! If a higher priority made the small copies come sooner, this would be wrong. On a GPU the queues may: the driver shares a few of
//! them among all streams. A small copy waits for all large ones in its queue, and takes turns with those in another; which queue a
//! stream gets is not documented, and a run may see either.

use anyhow::Result;
use cuda_host::prelude::*;

pub const LARGE: usize = 1 << 18; // elements of a copy that others wait behind: 1 MiB
pub const COPIES: usize = 32;
pub const SMALL: usize = 1 << 10; // elements of a request: 4 KiB
pub const REQUESTS: usize = 20;

/// The streams: of the large copies, of the requests, and one whose events say when a request arrived.
pub struct Streams {
    pub bulk: Stream,
    pub requests: Stream,
    pub clock: Stream,
}

impl Streams {
    pub fn with_priorities(bulk: i32, requests: i32) -> Result<Self> {
        Ok(Self {
            bulk: stream::with_priority(bulk)?.named("bulk"),
            requests: stream::with_priority(requests)?.named("requests"),
            clock: stream::non_blocking()?.named("clock"),
        })
    }
}

/// Page-locked data, where it is copied to, and the events that time the copies.
pub struct Copies {
    pub data: LockedBuffer<u32>,
    pub large: DeviceBuffer<u32>,
    pub small: DeviceBuffer<u32>,
    pub began: Event,
    pub arrived: Vec<Event>,
    pub copied: Vec<Event>,
    pub ended: Event,
}

impl Copies {
    pub fn new() -> Result<Self> {
        let events = || (0..REQUESTS).map(|_| Event::new(EventFlags::DEFAULT));
        Ok(Self {
            data: LockedBuffer::new(&0, LARGE)?,
            large: DeviceBuffer::zeroed(COPIES * LARGE)?,
            small: DeviceBuffer::zeroed(REQUESTS * SMALL)?,
            began: Event::new(EventFlags::DEFAULT)?,
            arrived: events().collect::<CudaResult<_>>()?,
            copied: events().collect::<CudaResult<_>>()?,
            ended: Event::new(EventFlags::DEFAULT)?,
        })
    }

    /// The large copies and, while they are made, the small ones, with a pause in front of each. The host waits for all of them.
    pub fn pass(&mut self, on: &Streams, pause: impl Fn()) -> Result<()> {
        let Streams { bulk, requests, clock } = on;
        self.began.record(bulk)?;
        for copy in 0..COPIES {
            let mut to = self.large.index(copy * LARGE..(copy + 1) * LARGE);
            // SAFETY: both ends outlive the pass.
            unsafe { to.async_copy_from(&self.data, bulk)? };
        }
        self.ended.record(bulk)?;
        for request in 0..REQUESTS {
            pause();
            let range = request * SMALL..(request + 1) * SMALL;
            let mut to = self.small.index(range.clone());
            self.arrived[request].record(clock)?;
            // SAFETY: as above.
            unsafe { to.async_copy_from(&self.data[range], requests)? };
            self.copied[request].record(requests)?;
        }
        requests.synchronize()?;
        Ok(bulk.synchronize()?)
    }
}
