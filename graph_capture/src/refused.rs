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

use cuda_host::capture;
use cuda_host::{kernels, launch, prelude::*};
use cust::context::CurrentContext;
use cust::error::CudaResult;
use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use cust::stream::{Stream, StreamFlags};
use examples_host::answer::answer;
use examples_host::prelude::*;

kernels! { use gpu_kernels::iota; }

/// Fresh streams and events for each program, and a kernel.
struct Scene {
    kernels: Kernels,
    out: DeviceBuffer<u32>,
    stream: Stream,
    other: Stream,
    /// One that synchronises with the legacy stream.
    blocking: Stream,
    event: Event,
}

/// A rule: the name of the program that breaks it, what the driver says, and what to do instead.
struct Rule {
    id: &'static str,
    program: fn(&Scene) -> CudaResult<()>,
    error: &'static str,
    instead: &'static str,
}

const RULES: [Rule; 8] = [
    Rule {
        id: "wait-for-the-stream",
        program: wait_for_the_stream,
        error: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        instead: "wait behind the launch",
    },
    Rule {
        id: "ask-for-an-event",
        program: ask_for_an_event,
        error: "CUDA_ERROR_CAPTURED_EVENT",
        instead: "record it behind the launch",
    },
    Rule {
        id: "allocate",
        program: allocate,
        error: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        instead: "allocate before the capture",
    },
    Rule {
        id: "fork-without-join",
        program: fork_without_join,
        error: "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        instead: "make the first stream wait",
    },
    Rule {
        id: "end-in-the-fork",
        program: end_in_the_fork,
        error: "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
        instead: "end it where it began",
    },
    Rule {
        id: "wait-for-the-outside",
        program: wait_for_the_outside,
        error: "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        instead: "wait before the launch",
    },
    Rule {
        id: "wait-for-another-capture",
        program: wait_for_another_capture,
        error: "CUDA_ERROR_STREAM_CAPTURE_MERGE",
        instead: "fork both from one stream",
    },
    Rule {
        id: "use-the-legacy-stream",
        program: use_the_legacy_stream,
        error: "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        instead: "use a non-blocking stream",
    },
];

impl Scene {
    fn new() -> anyhow::Result<Self> {
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

fn wait_for_the_stream(scene: &Scene) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    scene.kernel(&scene.stream)?;
    scene.stream.synchronize()
}

fn ask_for_an_event(scene: &Scene) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    scene.kernel(&scene.stream)?;
    scene.event.record(&scene.stream)?;
    scene.event.query().map(drop)
}

fn allocate(scene: &Scene) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    // SAFETY: the memory is not used.
    unsafe { DeviceBuffer::<u8>::uninitialized(1 << 20) }.map(drop)
}

fn fork_without_join(scene: &Scene) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    scene.event.record(&scene.stream)?;
    scene.other.wait(&scene.event)?;
    scene.kernel(&scene.other)?;
    capture::end(&scene.stream).map(drop)
}

fn end_in_the_fork(scene: &Scene) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    scene.event.record(&scene.stream)?;
    scene.other.wait(&scene.event)?;
    scene.kernel(&scene.other)?;
    capture::end(&scene.other).map(drop)
}

fn wait_for_the_outside(scene: &Scene) -> CudaResult<()> {
    scene.kernel(&scene.other)?;
    scene.event.record(&scene.other)?;
    capture::begin(&scene.stream)?;
    scene.stream.wait(&scene.event)
}

fn wait_for_another_capture(scene: &Scene) -> CudaResult<()> {
    capture::begin(&scene.stream)?;
    capture::begin(&scene.other)?;
    scene.event.record(&scene.other)?;
    scene.stream.wait(&scene.event)
}

fn use_the_legacy_stream(scene: &Scene) -> CudaResult<()> {
    capture::begin(&scene.blocking)?;
    scene.kernel(&stream::legacy())
}

/// Ends whatever is being captured. Returns how many of the streams work again.
fn recover(scene: &Scene) -> anyhow::Result<usize> {
    for stream in [&scene.stream, &scene.other, &scene.blocking] {
        // Where nothing is captured, or the capture is spoilt, there is no graph.
        let _ = capture::end(stream);
    }
    CurrentContext::synchronize()?;
    let mut working = 0;
    for stream in [&scene.stream, &scene.other, &scene.blocking] {
        scene.kernel(stream)?;
        stream.synchronize()?;
        working += 1;
    }
    Ok(working)
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    part.predict(
        "Each program breaks a rule of capture. The driver names the rule, the capture gives no\n\
         graph, and the streams work again.",
    );
    let mut table = Table::new(["program", "error", "instead"]);
    let (mut answers, mut working, mut streams) = (Vec::new(), 0, 0);
    for Rule { id, program, error, instead } in RULES {
        let scene = Scene::new()?;
        let said = answer(program(&scene));
        let short = said.trim_start_matches("CUDA_ERROR_").trim_start_matches("STREAM_");
        table.row([id.replace('-', " "), short.to_owned(), instead.to_owned()]);
        answers.push((id, said, error));
        working += recover(&scene)?;
        streams += 3;
    }
    part.say(table);
    for (id, said, error) in answers {
        let name = id.replace('-', " ");
        expect! { part; "refused/{id}", "{name}: refused" => exactly(said, error); }
    }
    let all = truth(working == streams, format!("{working} of {streams}"), "all");
    expect! { part; "working-again", "streams that work again after the error" => all; }
    part.take_away(
        "Capture work only: no waiting, no asking, no allocating, and join what was forked.",
    );
    Ok(())
}
