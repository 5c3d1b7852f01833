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

use crate::load::DELAYS;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::load_latency::{Latencies, Pass};
use examples_host::prelude::*;
use examples_host::recording::record_without_cupti;
use std::time::Duration;

const DATA: Seed = Seed::new(9);
/// Elements of a copy that others wait behind (1 MiB), and how many there are.
const LARGE: usize = 1 << 18;
const COPIES: usize = 32;
/// Elements of a request (4 KiB), and how many there are.
const SMALL: usize = 1 << 10;
const REQUESTS: usize = 20;
/// The time between two requests.
const PAUSE: Duration = Duration::from_micros(17);
const PASSES: usize = 5;
/// Why a GPU may show something else.
const QUEUES: &str = "which of the driver's queues a stream gets decides";

/// The streams: of the large copies, of the requests, and one whose events say when a request arrived.
struct Streams {
    bulk: Stream,
    requests: Stream,
    clock: Stream,
}

impl Streams {
    fn with_priorities(bulk: i32, requests: i32) -> anyhow::Result<Self> {
        Ok(Self {
            bulk: stream::with_priority(bulk)?.named("bulk"),
            requests: stream::with_priority(requests)?.named("requests"),
            clock: stream::non_blocking()?.named("clock"),
        })
    }
}

/// Page-locked data, and where it is copied to.
struct Copies {
    data: LockedBuffer<u32>,
    large: DeviceBuffer<u32>,
    small: DeviceBuffer<u32>,
    began: Event,
    arrived: Vec<Event>,
    copied: Vec<Event>,
    ended: Event,
}

impl Copies {
    fn new() -> anyhow::Result<Self> {
        let event = || Event::new(EventFlags::DEFAULT);
        let events = || (0..REQUESTS).map(|_| event()).collect::<Result<Vec<_>, _>>();
        let mut data = LockedBuffer::new(&0, LARGE)?;
        DATA.fill_u32(0, &mut data);
        Ok(Self {
            data,
            large: DeviceBuffer::zeroed(COPIES * LARGE)?,
            small: DeviceBuffer::zeroed(REQUESTS * SMALL)?,
            began: event()?,
            arrived: events()?,
            copied: events()?,
            ended: event()?,
        })
    }

    /// Forgets what an earlier pass has copied.
    fn prepare(&mut self) -> anyhow::Result<()> {
        self.large.set_8(0xFF)?;
        self.small.set_8(0xFF)?;
        Ok(CurrentContext::synchronize()?)
    }

    /// The large copies and, while they are made, the small ones. The host waits for all of them.
    fn pass(&mut self, Streams { bulk, requests, clock }: &Streams) -> anyhow::Result<Pass> {
        self.began.record(bulk)?;
        for copy in 0..COPIES {
            let mut to = self.large.index(copy * LARGE..(copy + 1) * LARGE);
            // SAFETY: both ends outlive the pass.
            unsafe { to.async_copy_from(&self.data, bulk)? };
        }
        self.ended.record(bulk)?;
        for request in 0..REQUESTS {
            host_clock::spend(PAUSE);
            let range = request * SMALL..(request + 1) * SMALL;
            self.arrived[request].record(clock)?;
            // SAFETY: as above.
            unsafe {
                self.small.index(range.clone()).async_copy_from(&self.data[range], requests)?
            };
            self.copied[request].record(requests)?;
        }
        requests.synchronize()?;
        bulk.synchronize()?;
        let requests = self.arrived.iter().zip(&self.copied);
        Ok(Pass::between((&self.began, &self.ended), requests)?)
    }

    fn check(&self) -> anyhow::Result<Checked> {
        let large = self.large.as_host_vec()?;
        let large = check::equal("the large copies", 0, &large, |i| DATA.u32(i % LARGE))?;
        let small = self.small.as_host_vec()?;
        Ok(large.and(check::equal("the small copies", 0, &small, |i| DATA.u32(i))?))
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let range = part.device().stream_priorities()?;
    let (greatest, least) = (*range.start(), *range.end());
    let equal = &Streams::with_priorities(least, least)?;
    let high = &Streams::with_priorities(least, greatest)?;
    part.predict(
        "The driver's documentation says that priorities have no effect on copies between\n\
         host and device: requests wait as long with a high priority as with an equal one.",
    );

    let mut copies = Copies::new()?;
    let variants = [
        (Label::new("equal", "equal priority"), equal),
        (Label::new("high", "requests before bulk"), high),
    ];
    let [equal, high] = part.under_load(
        ("requests", "all large copies"),
        PASSES,
        &mut copies,
        &variants,
        |copies, streams| {
            copies.prepare()?;
            copies.pass(streams)
        },
        |copies, _| copies.check(),
    )?;
    for (label, on) in &variants {
        copies.prepare()?;
        let recording = record_without_cupti(part.device(), DELAYS, || copies.pass(on).map(drop))?;
        part.chart(label, &recording, Rows::Streams);
    }

    for Latencies { label: Label { id, text }, under_load, .. } in [&equal, &high] {
        let arrive = share(*under_load).at_least(0.9);
        expect! { part; "arrive/{id}", "{text}: requests arrive while large copies are made" => arrive; }
    }
    let [_, (_, on)] = variants;
    let [has, asked] = [[on.bulk.priority()?, on.requests.priority()?], [least, greatest]];
    let as_asked = truth(has == asked, format!("{has:?}"), format!("{asked:?}"));
    let gain = ratio(equal.requests.median().div_duration_f64(high.requests.median()));
    expect! { part;
        "priorities", "the streams have the priorities that were asked for" => as_asked;
        "no-gain", "a high priority does not make copies come sooner" => gain.at_most(1.3).not_of_a_gpu(QUEUES);
        "no-loss", "nor later" => gain.at_least(0.75).not_of_a_gpu(QUEUES);
    }
    part.take_away("Priorities are for kernels: do not count on one for a copy.");
    Ok(())
}
