//! ways: how long does the work take, and who says so?
//!
//! The work is two kernels at the same time that do nothing but let a certain time pass, so its real time is known:
//!
//! ```text
//! a      |s aaaaaaaa       e|      s: start event   j: b's work is done   e: end event
//! b      | bbbbbbbbbbbbbbbbj|
//! other  |se                |
//! host   |cc      wwwwwwwwww|      c: calls   w: waits
//! ```
//!
//! An event is complete when its stream has come past it. Three ways miss some of the work: events in a stream without work, an end event in
//! front of the join, the host's clock without a wait. One of these that is right, or one of the others that is wrong, would prove this
//! wrong.

use anyhow::Result;
use cuda_host::prelude::*;
use std::time::Duration;

kernels! { use gpu_kernels::spin; }

pub const SHORT: u64 = 1_000_000; // ns, by the GPU's timer: the kernel in stream `a`
pub const LONG: u64 = 2_000_000; // the longer one in stream `b`, and so all of the work

/// The kernels' buffers, and the events to time them by.
pub struct TimedKernels {
    kernels: Kernels,
    spun: [DeviceBuffer<u32>; 2],
    start: Event,
    joined: Event,
    end: Event,
}

impl TimedKernels {
    pub fn new() -> Result<Self> {
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            spun: [DeviceBuffer::zeroed(1)?, DeviceBuffer::zeroed(1)?],
            start: Event::new(EventFlags::DEFAULT)?,
            joined: Event::new(EventFlags::DISABLE_TIMING)?,
            end: Event::new(EventFlags::DEFAULT)?,
        })
    }

    fn launch(&mut self, a: &Stream, b: &Stream) -> CudaResult<()> {
        // SAFETY: each kernel stores one number for its one block, and the buffers outlive them.
        unsafe {
            launch!(self.kernels.spin<<<1, 1, 0, a>>>(SHORT, &mut self.spun[0]))?;
            launch!(self.kernels.spin<<<1, 1, 0, b>>>(LONG, &mut self.spun[1]))
        }
    }

    /// The time between the two events, when both have happened (`cuEventElapsedTime`). They keep their times until then.
    pub fn elapsed(&self) -> Result<Duration> {
        self.end.synchronize()?;
        Ok(Duration::from_secs_f64(f64::from(self.end.elapsed_time_f32(&self.start)?) / 1e3))
    }

    /// Wrong: both events are in a stream that has nothing to do.
    pub fn other_stream(&mut self, [a, b, other]: [&Stream; 3]) -> Result<Duration> {
        self.start.record(other)?;
        self.launch(a, b)?;
        self.end.record(other)?;
        self.elapsed()
    }

    /// Wrong: nothing makes the end event wait for the other stream.
    pub fn no_join(&mut self, [a, b]: [&Stream; 2]) -> Result<Duration> {
        self.start.record(a)?;
        b.wait(&self.start)?;
        self.launch(a, b)?;
        self.end.record(a)?;
        self.elapsed()
    }

    /// Wrong: a launch returns before its kernel has run. `now` reads the host's clock.
    pub fn host_calls(&mut self, [a, b]: [&Stream; 2], now: fn() -> Duration) -> Result<Duration> {
        let begin = now();
        self.launch(a, b)?;
        Ok(now() - begin)
    }

    /// Right: both events are in the stream that takes longest.
    pub fn right_stream(&mut self, [a, b]: [&Stream; 2]) -> Result<Duration> {
        self.start.record(b)?;
        self.launch(a, b)?;
        self.end.record(b)?;
        self.elapsed()
    }

    /// Right: the other stream begins behind the start event, and the end event comes behind the other stream.
    pub fn fork_and_join(&mut self, [a, b]: [&Stream; 2]) -> Result<Duration> {
        self.start.record(a)?;
        b.wait(&self.start)?;
        self.launch(a, b)?;
        self.joined.record(b)?;
        a.wait(&self.joined)?;
        self.end.record(a)?;
        self.elapsed()
    }

    /// Right, except for the way to the device and back: the host waits for both streams.
    pub fn host_waits(&mut self, [a, b]: [&Stream; 2], now: fn() -> Duration) -> Result<Duration> {
        let begin = now();
        self.launch(a, b)?;
        a.synchronize()?;
        b.synchronize()?;
        Ok(now() - begin)
    }

    /// The driver's answer about an end event that has not happened yet.
    pub fn too_early(&mut self, [a, b]: [&Stream; 2]) -> Result<CudaResult<f32>> {
        self.start.record(b)?;
        self.launch(a, b)?;
        self.end.record(b)?;
        let answer = self.end.elapsed_time_f32(&self.start);
        self.end.synchronize()?;
        Ok(answer)
    }
}
