//! refused: what may a program not do while it captures?
//!
//! Captured work does not run, so nothing can wait for it, ask for it, or depend on its having run. And a graph must be
//! complete: what was forked must be joined, and what it waits for must be in it. Each program below breaks one of these
//! rules; the driver names it:
//!
//! ```text
//! begin(a)   a: K    wait for a?                  nothing runs: there is nothing to wait for
//! begin(a)   a: K e  b: wait(e) K      end(a)     b's work is not joined
//! ```
//!
//! An error spoils the capture, not the program: ending it gives no graph, and the stream works again. A rule that the
//! driver does not enforce, or a stream that stays unusable, would prove this wrong.

use cuda_host::{capture, prelude::*};
use cust::context::CurrentContext;

kernels! { use gpu_kernels::iota; }

/// Fresh streams and events for each program, and a kernel.
pub struct CaptureObjects {
    kernels: Kernels,
    out: DeviceBuffer<u32>,
    stream: Stream,
    other: Stream,
    /// One that synchronises with the legacy stream.
    blocking: Stream,
    event: Event,
}

impl CaptureObjects {
    pub fn new() -> anyhow::Result<Self> {
        let [stream, other] = stream::non_blocking_named(["stream", "other"])?;
        let new = Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            out: DeviceBuffer::zeroed(32)?,
            stream,
            other,
            blocking: Stream::new(StreamFlags::DEFAULT, None)?.named("blocking"),
            event: Event::new(EventFlags::DISABLE_TIMING)?,
        };
        CurrentContext::synchronize()?;
        Ok(new)
    }

    fn kernel(&self, stream: &Stream) -> CudaResult<()> {
        let mut out = self.out.index(..);
        // SAFETY: the buffer has an element for each thread.
        unsafe { launch!(self.kernels.iota<<<1, 32, 0, stream>>>(&mut out, 7)) }
    }
}

pub fn wait_for_the_stream(scene: &CaptureObjects) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    scene.kernel(&scene.stream)?;
    scene.stream.synchronize()
}

pub fn ask_for_an_event(scene: &CaptureObjects) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    scene.kernel(&scene.stream)?;
    scene.event.record(&scene.stream)?;
    scene.event.query().map(drop)
}

pub fn allocate(scene: &CaptureObjects) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    // SAFETY: the memory is not used.
    unsafe { DeviceBuffer::<u8>::uninitialized(1 << 20) }.map(drop)
}

pub fn fork_without_join(scene: &CaptureObjects) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    scene.event.record(&scene.stream)?;
    scene.other.wait(&scene.event)?;
    scene.kernel(&scene.other)?;
    capture::end(&scene.stream).map(drop)
}

pub fn end_in_the_fork(scene: &CaptureObjects) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    scene.event.record(&scene.stream)?;
    scene.other.wait(&scene.event)?;
    scene.kernel(&scene.other)?;
    capture::end(&scene.other).map(drop)
}

pub fn wait_for_the_outside(scene: &CaptureObjects) -> CudaResult<()> {
    scene.kernel(&scene.other)?;
    scene.event.record(&scene.other)?;
    capture::begin(&scene.stream)?;
    scene.stream.wait(&scene.event)
}

pub fn wait_for_another_capture(scene: &CaptureObjects) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    capture::begin(&scene.other)?;
    scene.event.record(&scene.other)?;
    scene.stream.wait(&scene.event)
}

pub fn use_the_legacy_stream(scene: &CaptureObjects) -> CudaResult<()> {
    capture::begin(&scene.blocking)?;
    scene.kernel(&stream::legacy())
}

/// Ends whatever is being captured. Returns how many of the streams work again.
pub fn recover(scene: &CaptureObjects) -> anyhow::Result<usize> {
    let streams = [&scene.stream, &scene.other, &scene.blocking];
    for stream in streams {
        // Where nothing is captured, or the capture is spoilt, there is no graph.
        let _ = capture::end(stream);
    }
    CurrentContext::synchronize()?;
    for stream in streams {
        scene.kernel(stream)?;
        stream.synchronize()?;
    }
    Ok(streams.len())
}
