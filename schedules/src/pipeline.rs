//! pipeline: is a derived schedule as fast as one by hand?
//!
//! The data passes through in chunks. A chunk is copied in, two kernels work on it side by side, a third one joins what they
//! made, and the result is copied out:
//!
//! ```text
//!             x ── left ───► y ─┐
//! copy in ──► x                 join ──► z ── copy out
//!             x ── right ──► z ─┘
//! ```
//!
//! Three sets of the buffers x, y and z rotate: while one is filled, another is worked on, and a third is emptied. So there are
//! two kinds of order to keep. A chunk's operations follow one another; and a buffer is not overwritten before the chunk
//! before has been read from it, which is the kind that is forgotten. The pipeline is scheduled three times: *by hand*, with a
//! record and a wait for each of these orders; as a *graph* that captures the same calls, and costs the host one launch; and
//! *derived* by `scheduler.rs` from what each operation reads and writes.
//!
//! Unequal times, a schedule that is faster than the bound, or a report of the race checker would prove this wrong.

use crate::scheduler::{Data, Scheduler};
use anyhow::{Result, bail};
use cuda_host::capture::{self, GraphExec};
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::alone::each;
use examples_host::few_values::{Batch, Expected};
use examples_host::order_calls::{OrderCalls, lines_of_function};
use examples_host::prelude::*;
use gpu_kernels::{FACTOR, SUMMAND};
use std::ops::Range;

kernels! { use gpu_kernels::{fma_tiles_unspecialised, saxpy}; }

const DATA: Batch = Batch::new(31);
/// Multiply-adds of the kernels that work side by side: about as long as a copy, on an H200.
const LEFT: u32 = 48;
const RIGHT: u32 = 32;
/// What the join makes of both: `SHARE * y + z`.
const SHARE: f32 = 0.5;
/// Few blocks: kernels of two streams find room beside each other. Each takes a multiprocessor for itself, so that a kernel's time does
/// not depend on where the others' blocks happen to be.
const BLOCKS: u32 = 4;
const THREADS: u32 = gpu_kernels::CONSUMERS;
/// Sets of buffers in rotation.
const SLOTS: usize = 3;
/// Copies in, two streams for kernels, copies out.
type Streams<'s> = [&'s Stream; 4];

/// The chunks, and the buffers that they pass through.
struct Work {
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    chunks: Vec<Range<usize>>,
    slots: Vec<Slot>,
    kernels: Kernels,
    /// Dynamic shared memory of a block of the left and the right kernel.
    alone: u32,
    expected: Expected,
}

/// A set of buffers, and an event for the end of each operation.
struct Slot {
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    z: DeviceBuffer<f32>,
    filled: Event,
    left: Event,
    right: Event,
    joined: Event,
    emptied: Event,
}

impl Slot {
    fn new(len: usize) -> Result<Self> {
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        Ok(Self {
            x: DeviceBuffer::zeroed(len)?,
            y: DeviceBuffer::zeroed(len)?,
            z: DeviceBuffer::zeroed(len)?,
            filled: event()?,
            left: event()?,
            right: event()?,
            joined: event()?,
            emptied: event()?,
        })
    }
}

impl Work {
    fn new(device: &Device, elements: usize, chunks: usize) -> Result<Self> {
        let (kernels, alone) =
            (Kernels::load(gpu_kernels::SM_70)?, device.shared_bytes_of_a_lone_block()?);
        kernels.fma_tiles_unspecialised.allow_dynamic_shared_bytes(alone)?;
        let mut input = LockedBuffer::new(&0.0, elements)?;
        DATA.fill(&mut input);
        let chunks = chunks::ranges::<f32>(elements, chunks)?;
        let slot = |_| Slot::new(chunks[0].len());
        let after = |rounds, x| (0..rounds).fold(x, |x: f32, _| x.mul_add(FACTOR, SUMMAND));
        Ok(Self {
            input,
            output: LockedBuffer::new(&0.0, elements)?,
            slots: (0..SLOTS).map(slot).collect::<Result<_>>()?,
            kernels,
            alone,
            expected: Expected::by(|x| SHARE.mul_add(after(LEFT, x), after(RIGHT, x))),
            chunks,
        })
    }

    fn copy_in(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let range = self.chunks[chunk].clone();
        let mut x = self.slots[chunk % SLOTS].x.index(..range.len());
        // SAFETY: the input is page-locked and outlives the pass. The schedules order the uses of each buffer.
        unsafe { x.async_copy_from(&self.input[range], stream)? };
        Ok(())
    }

    fn left(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.fma_tiles_unspecialised, self.chunks[chunk].len());
        let Slot { x, y, .. } = &mut self.slots[chunk % SLOTS];
        let (x, mut y) = (x.index(..len), y.index(..len));
        // SAFETY: the buffers outlive the pass, and any grid covers all tiles.
        unsafe { launch!(kernel<<<BLOCKS, THREADS, self.alone, stream>>>(&x, &mut y, LEFT))? };
        Ok(())
    }

    fn right(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.fma_tiles_unspecialised, self.chunks[chunk].len());
        let Slot { x, z, .. } = &mut self.slots[chunk % SLOTS];
        let (x, mut z) = (x.index(..len), z.index(..len));
        // SAFETY: as for the left kernel.
        unsafe { launch!(kernel<<<BLOCKS, THREADS, self.alone, stream>>>(&x, &mut z, RIGHT))? };
        Ok(())
    }

    fn join(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.saxpy, self.chunks[chunk].len());
        let Slot { y, z, .. } = &mut self.slots[chunk % SLOTS];
        let (y, mut z, blocks) = (y.index(..len), z.index(..len), len.div_ceil(256) as u32);
        // SAFETY: the buffers outlive the pass, and the grid has a thread for each element.
        unsafe { launch!(kernel<<<blocks, 256, 0, stream>>>(SHARE, &y, &mut z))? };
        Ok(())
    }

    fn copy_out(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let range = self.chunks[chunk].clone();
        let z = self.slots[chunk % SLOTS].z.index(..range.len());
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { z.async_copy_to(&mut self.output[range], stream)? };
        Ok(())
    }

    /// Every order is a record and a wait.
    fn by_hand(&mut self, [copy_in, left, right, copy_out]: Streams) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let (slot, used) = (chunk % SLOTS, chunk >= SLOTS);
            if used {
                copy_in.wait(&self.slots[slot].left)?; // x has been read …
                copy_in.wait(&self.slots[slot].right)?; // … by both
            }
            self.copy_in(chunk, copy_in)?;
            self.slots[slot].filled.record(copy_in)?;

            left.wait(&self.slots[slot].filled)?;
            if used {
                left.wait(&self.slots[slot].joined)?; // y has been read
            }
            self.left(chunk, left)?;
            self.slots[slot].left.record(left)?;

            right.wait(&self.slots[slot].filled)?;
            if used {
                right.wait(&self.slots[slot].emptied)?; // z has been copied out
            }
            self.right(chunk, right)?;
            self.slots[slot].right.record(right)?;

            right.wait(&self.slots[slot].left)?;
            self.join(chunk, right)?;
            self.slots[slot].joined.record(right)?;

            copy_out.wait(&self.slots[slot].joined)?;
            self.copy_out(chunk, copy_out)?;
            self.slots[slot].emptied.record(copy_out)?;
        }
        Ok(())
    }

    /// The same calls as nodes and edges of a graph. What came last in all streams is behind the last copy out.
    fn capture(&mut self, streams: Streams) -> Result<GraphExec> {
        let first = streams[0];
        capture::begin(first)?;
        self.by_hand(streams)?;
        first.wait(&self.slots[(self.chunks.len() - 1) % SLOTS].emptied)?;
        Ok(capture::end(first)?.instantiate()?)
    }

    /// Each operation with what it reads and what it writes.
    fn derived(&mut self, tasks: &mut Scheduler) -> Result<()> {
        tasks.restart();
        for chunk in 0..self.chunks.len() {
            let [x, y, z] = ["x", "y", "z"].map(|name| Data::device(name, chunk % SLOTS));
            let [input, output] = ["input", "output"].map(|name| Data::host(name, chunk));
            tasks.task([input], [x], |stream| self.copy_in(chunk, stream))?;
            tasks.task([x], [y], |stream| self.left(chunk, stream))?;
            tasks.task([x], [z], |stream| self.right(chunk, stream))?;
            tasks.task([y, z], [z], |stream| self.join(chunk, stream))?;
            tasks.task([z], [output], |stream| self.copy_out(chunk, stream))?;
        }
        Ok(())
    }

    /// The copies of both directions, which share the link, without the kernels.
    fn copies(&mut self, [copy_in, copy_out]: [&Stream; 2]) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            self.copy_in(chunk, copy_in)?;
            self.copy_out(chunk, copy_out)?;
        }
        Ok(())
    }

    /// The kernels without the copies.
    fn kernels(&mut self, [_, left, right, _]: Streams) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let slot = chunk % SLOTS;
            if chunk >= SLOTS {
                left.wait(&self.slots[slot].joined)?;
            }
            self.left(chunk, left)?;
            self.slots[slot].left.record(left)?;
            self.right(chunk, right)?;
            right.wait(&self.slots[slot].left)?;
            self.join(chunk, right)?;
            self.slots[slot].joined.record(right)?;
        }
        Ok(())
    }
}

/// What was captured, with one call.
fn captured(graph: &GraphExec, stream: &Stream) -> Result<()> {
    // SAFETY: all buffers outlive the run, and nothing else uses them meanwhile.
    unsafe { graph.launch(stream)? };
    Ok(())
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for Slot { x, y, z, .. } in &mut self.slots {
            for buffer in [x, y, z] {
                buffer.set_8(0xFF)?;
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = |index| self.expected.of(DATA, index);
        Ok(check::equal("the output", 0, &self.output, expected)?)
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_named(["copy in", "left", "right", "copy out"])?;
    let streams = streams.each_ref();
    let [copy_in, _, _, copy_out] = streams;
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(128), ByteSize::mib(16))?;
    let (elements, chunks) = (32 * lines, part.chained_chunks(16, lines)?);
    let mut work = Work::new(part.device(), elements, chunks)?;

    let besides = "The three schedules have the same orders to keep: they take the same time.";
    let stages = [
        ("copies in", each(chunks, copy_in, Work::copy_in)),
        ("kernels", piece(streams, |work: &mut Work| work.kernels(streams))),
        ("copies out", each(chunks, copy_out, Work::copy_out)),
        (
            "both directions together",
            piece([copy_in, copy_out], move |work: &mut Work| work.copies([copy_in, copy_out])),
        ),
    ];
    let mut links = part.chain(&mut work, chunks, besides, stages)?;

    let (graph, mut tasks) = (work.capture(streams)?, Scheduler::new(&streams));
    let plan = Plan::new().copies(4 * elements).kernels(3 * chunks, 3 * elements);
    let variants = [
        variant("by-hand", streams, |work: &mut Work| work.by_hand(streams)),
        variant("graph", [copy_in], |_: &mut Work| captured(&graph, copy_in)),
        variant("derived", streams, |work: &mut Work| work.derived(&mut tasks)),
    ];
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut links.alone, variants)?;
    let chain = links.chain();
    part.show_chain_and_thread(&outcomes, &chain);
    let [by_hand, capture, derived] = source_lines()?;
    part.show_order_calls(&outcomes, [by_hand, by_hand + capture, derived]);
    for outcome in [&outcomes[2], &outcomes[0], &outcomes[1]] {
        part.chart(&outcome.name, &outcome.recording, Rows::Streams);
    }
    expect(part, &outcomes, [by_hand, derived]);
    part.expect_not_below(&outcomes, &chain);
    let near = chain.reached(&outcomes[0]).at_least(0.9);
    part.expect("near-bound/by-hand", "by hand comes near the bound", near);
    expect_ordered(part, &mut work, streams, &graph)?;
    part.take_away(
        "Who declares what each task reads and writes can have streams and events derived.",
    );
    Ok(())
}

/// Lines of code of each schedule.
fn source_lines() -> Result<[usize; 3]> {
    let of = |name| lines_of_function(include_str!("pipeline.rs"), name);
    let lines = [of("by_hand"), of("capture"), of("derived")];
    let [Some(by_hand), Some(capture), Some(derived)] = lines else {
        bail!("a schedule has no lines: {lines:?}");
    };
    Ok([by_hand, capture, derived])
}

/// What is expected of the times, the calls and the lines.
fn expect(part: &mut Part, outcomes: &[Outcome; 3], [by_hand, derived]: [usize; 2]) {
    let [hand, graph, scheduled] = outcomes;
    for other in [graph, scheduled] {
        // The shortest of the runs: what disturbs one run does not count.
        let same = time(other.times.min()).near(hand.times.min(), 0.03);
        let sentence = format!("{} takes the time of the schedule by hand", other.name);
        part.expect(other.id("same-time"), &sentence, same);
    }
    for outcome in outcomes {
        let together = outcome.recording.max_concurrency(Engine::Kernel);
        let both = truth(together >= 2, together, "at least 2");
        let sentence = format!("{}: left and right run side by side", outcome.name);
        part.expect(outcome.id("together"), &sentence, both.in_records_of(&outcome.recording));
    }
    let [by, from] = [hand, scheduled].map(|outcome| OrderCalls::of(&outcome.recording));
    let found = format!("{} waits, {} by hand", from.waits, by.waits);
    let no_more = truth(from.waits <= by.waits && from.waits > 0, found, "no more");
    let sentence = "derived: no wait more than by hand";
    part.expect("waits/derived", sentence, no_more.in_records_of(&scheduled.recording));
    let found = format!("{derived} lines, {by_hand} by hand");
    let fewer = truth(2 * derived <= by_hand, found, "at most half");
    part.expect("lines/derived", "derived: fewer lines", fewer);
    let free = ratio(hand.issuing.median().div_duration_f64(graph.issuing.median()));
    let sentence = "host's time, by hand to graph";
    part.expect("host/graph", sentence, free.at_least(1.2));
}

/// The race checker proves each schedule.
fn expect_ordered(
    part: &mut Part,
    work: &mut Work,
    streams: Streams,
    graph: &GraphExec,
) -> Result<()> {
    let [first, _, _, last] = streams;
    part.expect_unreported("ordered/by-hand", "by hand: every conflict is ordered", || {
        work.by_hand(streams)?;
        Ok(last.synchronize()?)
    })?;
    part.expect_unreported("ordered/graph", "graph: every conflict is ordered", || {
        captured(graph, first)?;
        Ok(first.synchronize()?)
    })?;
    part.expect_unreported("ordered/derived", "derived: every conflict is ordered", || {
        work.derived(&mut Scheduler::new(&streams))?;
        Ok(last.synchronize()?)
    })
}
