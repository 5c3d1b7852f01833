//! ways: how long does the work take, and who says so?
//!
//! The work is two kernels in two streams, which run at the same time. They do nothing but let a certain time pass, so its
//! real time is known:
//!
//! ```text
//! a      |s aaaaaaaa       e|      s: start event   j: b's work is done   e: end event
//! b      | bbbbbbbbbbbbbbbbj|
//! other  |se                |
//! host   |cc      wwwwwwwwww|      c: calls   w: waits
//! ```
//!
//! An event is complete when its stream has come past it, and elapsed time is the time between two such moments on the
//! device. Three ways measure something else: events in a stream that does none of the work; an end event in front of the
//! join, which half of the work is behind; the host's clock without a wait, which times the calls. The others must agree.
//! If one of the three came out right, or one of the others did not, this would be wrong.

use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::answer::answer;
use examples_host::prelude::*;
use examples_host::ways::{Said, way};
use std::time::Duration;

kernels! { use gpu_kernels::spin; }

/// What the kernel in stream `a` takes, and what the longer one in stream `b` takes: all of the work.
const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(2);
/// How much later the host reads the events in one of the ways.
const LATER: Duration = Duration::from_millis(3);

/// The kernels, and the events to time them by.
struct Work {
    kernels: Kernels,
    spun: [DeviceBuffer<u32>; 2],
    start: Event,
    joined: Event,
    end: Event,
}

impl Work {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            spun: [DeviceBuffer::zeroed(1)?, DeviceBuffer::zeroed(1)?],
            start: Event::new(EventFlags::DEFAULT)?,
            joined: Event::new(EventFlags::DISABLE_TIMING)?,
            end: Event::new(EventFlags::DEFAULT)?,
        })
    }

    /// The work: a kernel in each stream.
    fn launch(&mut self, a: &Stream, b: &Stream) -> anyhow::Result<()> {
        let [of_a, of_b] = &mut self.spun;
        let [short, long] = [SHORT, LONG].map(|time| time.as_nanos() as u64);
        // SAFETY: each kernel stores one number for its one block, and the buffers outlive them.
        unsafe {
            launch!(self.kernels.spin<<<1, 1, 0, a>>>(short, of_a))?;
            launch!(self.kernels.spin<<<1, 1, 0, b>>>(long, of_b))?;
        }
        Ok(())
    }

    /// The time between the two events, when both have happened (`cuEventElapsedTime`).
    fn elapsed(&self) -> anyhow::Result<Duration> {
        self.end.synchronize()?;
        Ok(Duration::from_secs_f64(f64::from(self.end.elapsed_time_f32(&self.start)?) / 1e3))
    }

    /// Wrong: both events are in a stream that has nothing to do.
    fn other_stream(&mut self, [a, b, other]: [&Stream; 3]) -> anyhow::Result<Duration> {
        self.start.record(other)?;
        self.launch(a, b)?;
        self.end.record(other)?;
        self.elapsed()
    }

    /// Wrong: nothing makes the end event wait for the other stream.
    fn no_join(&mut self, [a, b, _]: [&Stream; 3]) -> anyhow::Result<Duration> {
        self.start.record(a)?;
        b.wait(&self.start)?;
        self.launch(a, b)?;
        self.end.record(a)?;
        self.elapsed()
    }

    /// Wrong: a launch returns before its kernel has run.
    fn host_without_wait(&mut self, [a, b, _]: [&Stream; 3]) -> anyhow::Result<Duration> {
        let begin = host_clock::now();
        self.launch(a, b)?;
        Ok(host_clock::now() - begin)
    }

    /// Right: both events are in the stream that takes longest.
    fn right_stream(&mut self, [a, b, _]: [&Stream; 3]) -> anyhow::Result<Duration> {
        self.start.record(b)?;
        self.launch(a, b)?;
        self.end.record(b)?;
        self.elapsed()
    }

    /// Right: the other stream begins behind the start event, and the end event comes behind the other stream.
    fn fork_and_join(&mut self, [a, b, _]: [&Stream; 3]) -> anyhow::Result<Duration> {
        self.start.record(a)?;
        b.wait(&self.start)?;
        self.launch(a, b)?;
        self.joined.record(b)?;
        a.wait(&self.joined)?;
        self.end.record(a)?;
        self.elapsed()
    }

    /// Right: an event keeps its time until the host reads it.
    fn read_later(&mut self, streams: [&Stream; 3]) -> anyhow::Result<Duration> {
        self.fork_and_join(streams)?;
        host_clock::spend(LATER);
        self.elapsed()
    }

    /// Right, but for the way to the device and back: the host waits for both streams.
    fn host_with_wait(&mut self, [a, b, _]: [&Stream; 3]) -> anyhow::Result<Duration> {
        let begin = host_clock::now();
        self.launch(a, b)?;
        a.synchronize()?;
        b.synchronize()?;
        Ok(host_clock::now() - begin)
    }

    /// What the driver says of an end event that has not happened yet.
    fn too_early(&mut self, [a, b, _]: [&Stream; 3]) -> anyhow::Result<String> {
        self.start.record(b)?;
        self.launch(a, b)?;
        self.end.record(b)?;
        let said = answer(self.end.elapsed_time_f32(&self.start));
        self.end.synchronize()?;
        Ok(said)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [a, b, other] = &stream::non_blocking_named(["a", "b", "other"])?;
    let streams = [a, b, other];
    let mut work = Work::new()?;
    part.predict(format!(
        "The kernels take {} and {} at the same time, so the work takes {}.\n\
         Events time what lies between them in their stream, the host's clock what the host does.",
        units::time(SHORT),
        units::time(LONG),
        units::time(LONG),
    ));
    let said = part.ways(
        "ways",
        LONG,
        &mut work,
        [
            way(("other-stream", "events in another stream"), |w: &mut Work| {
                w.other_stream(streams)
            }),
            way(("no-join", "end event before the join"), |w: &mut Work| w.no_join(streams)),
            way(("host-without-wait", "host clock, no wait"), |w: &mut Work| {
                w.host_without_wait(streams)
            }),
            way(("right-stream", "events in the longest stream"), |w: &mut Work| {
                w.right_stream(streams)
            }),
            way(("fork-and-join", "fork and join"), |w: &mut Work| w.fork_and_join(streams)),
            way(("read-later", "fork and join, read later"), |w: &mut Work| w.read_later(streams)),
            way(("host-with-wait", "host clock and a wait"), |w: &mut Work| {
                w.host_with_wait(streams)
            }),
        ],
    )?;
    let recording = record(part.device(), || work.fork_and_join(streams).map(drop))?;
    part.chart(("fork-and-join", "fork and join"), &recording, Rows::Streams);

    let [other, no_join, calls, right @ ..] = &said;
    for Said { label, times } in [other, calls] {
        let (id, found) = (&label.id, share(times.median().div_duration_f64(LONG)).at_most(0.05));
        expect! { part; "wrong/{id}", "{label}: misses the work" => found; }
    }
    let half = time(no_join.times.median()).near(SHORT, 0.05);
    expect! { part; "wrong/no-join", "end event before the join: times one stream only" => half; }
    for Said { label, times } in right {
        let (id, found) = (&label.id, time(times.median()).near(LONG, 0.05));
        expect! { part; "right/{id}", "{label}: right" => found; }
    }
    let early = exactly(work.too_early(streams)?, "CUDA_ERROR_NOT_READY");
    expect! { part; "too-early", "elapsed time is refused until the end event has happened" => early; }
    part.take_away("Record the end event behind the join, in a stream that does the work.");
    Ok(())
}
