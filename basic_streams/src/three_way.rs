//! three-way: how close can three streams get to the fastest possible time?
//!
//! The data is cut into chunks. A chunk's copy in, kernel and copy out follow one another; different chunks have nothing to
//! do with each other. One stream keeps them all in order. With a stream for each role, and an event wherever a chunk
//! goes from one role to the next, both copy engines and the multiprocessors work at once. Three device buffers in
//! rotation are enough:
//!
//! ```text
//! copy in   |HHHHhhhhHHHHhhhh        |
//! compute   |    KKKKkkkkKKKKkkkk    |
//! copy out  |        DDDDddddDDDDdddd|
//! ```
//!
//! The two directions share the link, so the bound is what both take together, not the longer of the two alone. What
//! remains above it is the first chunk's way in and the last one's way out: more chunks make it less, until starting a
//! copy costs more than that. The pipeline runs twice: with a kernel that takes next to nothing beside the copies, and with
//! one that is about as long as a copy. A time below the bound, anything that overlaps within one stream, or a kernel that
//! takes turns with copies although it has a stream of its own would prove this wrong.

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::alone::Piece;
use examples_host::bounded::near_bound;
use examples_host::few_values::{Batch, Expected};
use examples_host::host_waits;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use std::ops::Range;

kernels! { use gpu_kernels::affine_strided_x4; }

const DATA: Batch = Batch::new(1);
const A: f32 = 2.0;
const B: f32 = 1.0;
/// Device buffers in rotation: one is filled while one is worked on and one is emptied.
const BUFFERS: usize = 3;
/// Blocks of a kernel, and multiply-adds of each element: on an H200 as fast as memory, and as long as a copy.
type Work = (u32, u32);
const SHORT: Work = (1024, 1);
const LONG: Work = (8, 16);

/// Page-locked data, cut into chunks, and the device buffers that the chunks pass through.
struct Pipeline {
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    chunks: Vec<Range<usize>>,
    slots: Vec<Slot>,
    kernels: Kernels,
    work: Work,
}

/// A device buffer, and an event for each time that it changes hands.
struct Slot {
    data: DeviceBuffer<f32>,
    filled: Event,
    computed: Event,
    emptied: Event,
}

impl Pipeline {
    fn copy_in(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let range = self.chunks[chunk].clone();
        let mut data = self.slots[chunk % BUFFERS].data.index(..range.len());
        // SAFETY: the input is page-locked and outlives the pass.
        unsafe { data.async_copy_from(&self.input[range], stream)? };
        Ok(())
    }

    fn compute(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, (blocks, rounds)) = (&self.kernels.affine_strided_x4, self.work);
        let mut data = self.slots[chunk % BUFFERS].data.index(..self.chunks[chunk].len());
        // SAFETY: the buffer outlives the pass, and any grid does.
        unsafe { launch!(kernel<<<blocks, 256, 0, stream>>>(&mut data, A, B, rounds))? };
        Ok(())
    }

    fn copy_out(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let range = self.chunks[chunk].clone();
        let data = self.slots[chunk % BUFFERS].data.index(..range.len());
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { data.async_copy_to(&mut self.output[range], stream)? };
        Ok(())
    }

    /// One stream keeps the order, and the host waits for each chunk.
    fn host_sync(&mut self, stream: &Stream) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            self.copy_in(chunk, stream)?;
            self.compute(chunk, stream)?;
            self.copy_out(chunk, stream)?;
            stream.synchronize()?;
        }
        Ok(())
    }

    /// One stream keeps the order: no event is needed.
    fn one_stream(&mut self, stream: &Stream) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            self.copy_in(chunk, stream)?;
            self.compute(chunk, stream)?;
            self.copy_out(chunk, stream)?;
        }
        Ok(())
    }

    /// Each chunk in the next of four streams. They share the three buffers: an event says when one is free.
    fn round_robin(&mut self, streams: &[Stream; 4]) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let stream = &streams[chunk % streams.len()];
            stream.wait(&self.slots[chunk % BUFFERS].emptied)?;
            self.copy_in(chunk, stream)?;
            self.compute(chunk, stream)?;
            self.copy_out(chunk, stream)?;
            self.slots[chunk % BUFFERS].emptied.record(stream)?;
        }
        Ok(())
    }

    /// A stream for each role: events hand every chunk from one to the next, and its buffer back to the first.
    fn three_streams(&mut self, [copy_in, compute, copy_out]: [&Stream; 3]) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let slot = chunk % BUFFERS;
            copy_in.wait(&self.slots[slot].emptied)?;
            self.copy_in(chunk, copy_in)?;
            self.slots[slot].filled.record(copy_in)?;

            compute.wait(&self.slots[slot].filled)?;
            self.compute(chunk, compute)?;
            self.slots[slot].computed.record(compute)?;

            copy_out.wait(&self.slots[slot].computed)?;
            self.copy_out(chunk, copy_out)?;
            self.slots[slot].emptied.record(copy_out)?;
        }
        Ok(())
    }

    /// Both directions at once and nothing else, each with a buffer of its own: no schedule is faster.
    fn copies(&mut self, copy_in: &Stream, copy_out: &Stream) -> Result<()> {
        for range in self.chunks.iter().cloned() {
            let mut arriving = self.slots[0].data.index(..range.len());
            let leaving = self.slots[1].data.index(..range.len());
            // SAFETY: as for the copies one by one.
            unsafe { arriving.async_copy_from(&self.input[range.clone()], copy_in)? };
            // SAFETY: as above.
            unsafe { leaving.async_copy_to(&mut self.output[range], copy_out)? };
        }
        Ok(())
    }
}

impl Workload for Pipeline {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for slot in &mut self.slots {
            slot.data.set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let (_, rounds) = self.work;
        let expected = Expected::by(|x| (0..rounds).fold(x, |x, _| x.mul_add(A, B)));
        Ok(check::equal("the output", 0, &self.output, |index| expected.of(DATA, index))?)
    }
}

impl Chunked for Pipeline {
    fn elements(&self) -> usize {
        self.input.len()
    }

    fn cut(&mut self, chunks: usize) -> Result<()> {
        self.chunks = chunks::ranges::<f32>(self.input.len(), chunks)?;
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        self.slots.clear();
        for _ in 0..BUFFERS {
            self.slots.push(Slot {
                data: DeviceBuffer::zeroed(self.chunks[0].len())?,
                filled: event()?,
                computed: event()?,
                emptied: event()?,
            });
        }
        Ok(())
    }
}

impl Pipeline {
    fn new(elements: usize) -> Result<Self> {
        let mut input = LockedBuffer::new(&0.0, elements)?;
        DATA.fill(&mut input);
        let (output, kernels) =
            (LockedBuffer::new(&0.0, elements)?, Kernels::load(gpu_kernels::SM_70)?);
        let (chunks, slots, work) = (Vec::new(), Vec::new(), SHORT);
        let mut new = Self { input, output, chunks, slots, kernels, work };
        new.cut(1)?;
        Ok(new)
    }

    /// From now on with this kernel.
    fn with(&mut self, work: Work) -> &mut Self {
        self.work = work;
        self
    }

    /// One stage of all chunks.
    fn each(&mut self, stage: Stage, stream: &Stream) -> Result<()> {
        (0..self.chunks.len()).try_for_each(|chunk| stage(self, chunk, stream))
    }
}

type Stage = fn(&mut Pipeline, usize, &Stream) -> Result<()>;

/// Copies in, kernels, copies out, and copies in both directions, each without the others.
fn stages<'v>(
    [copy_in, compute, copy_out]: [&'v Stream; 3],
    work: Work,
) -> [Piece<'v, Pipeline>; 4] {
    [
        piece([copy_in], |all: &mut Pipeline| all.each(Pipeline::copy_in, copy_in)),
        piece([compute], move |all: &mut Pipeline| all.with(work).each(Pipeline::compute, compute)),
        piece([copy_out], |all: &mut Pipeline| all.each(Pipeline::copy_out, copy_out)),
        piece([copy_in, copy_out], |all: &mut Pipeline| all.copies(copy_in, copy_out)),
    ]
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let roles = &stream::non_blocking_named(["copy in", "compute", "copy out"])?;
    let roles = roles.each_ref();
    let mut pipeline =
        Pipeline::new(part.elements_by_times::<f32>(ByteSize::mib(64), ByteSize::mib(16))?)?;
    let short = part.alone_in_turn(&mut pipeline, stages(roles, SHORT))?.stages();
    let long = part.alone_in_turn(&mut pipeline, stages(roles, LONG))?.stages();
    part.predict_pipelines(&short, &long);
    let body = |all: &mut Pipeline| all.with(SHORT).three_streams(roles);
    let best = part.best_chunks("three streams", &mut pipeline, roles, &short, body)?;

    let (outcomes, stages) = compare(part, &mut pipeline, roles, (VARIANTS, SHORT, short))?;
    let near = near_bound(&outcomes[3], &stages, size_of_val(&pipeline.input[..]));
    part.expect("near-bound/three-streams", "three streams come near the bound", near);
    pipeline.cut(part.chunks(best.max(2), pipeline.input.len())?)?;
    let (outcomes, stages) = compare(part, &mut pipeline, roles, ("balanced", LONG, long))?;
    let [_, one_stream, _, three_streams] = &outcomes;
    part.chart(&three_streams.name, &three_streams.recording, Rows::Engines);
    let gain = ratio(one_stream.median().div_duration_f64(three_streams.median()));
    let sentence = "long kernel: three streams are faster than one";
    part.expect("balanced/faster/three-streams", sentence, gain.at_least(1.5));
    let predicted = stages.pipelined(pipeline.chunks.len());
    let as_predicted = time(three_streams.median()).near(predicted, 0.1);
    let sentence = "long kernel: three streams take the bound, and a chunk to fill and drain";
    part.expect("balanced/as-predicted/three-streams", sentence, as_predicted);
    part.take_away("A stream per role and an event per hand-over keep both directions busy.");
    Ok(())
}

/// Compares the variants with one of the kernels.
fn compare(
    part: &mut Part,
    pipeline: &mut Pipeline,
    roles: [&Stream; 3],
    (group, work, whole): (&'static str, Work, Stages),
) -> Result<([Outcome; 4], Stages)> {
    let (one, four) = (roles[0], &stream::non_blocking_named(["A", "B", "C", "D"])?);
    let (bytes, chunks) = (size_of_val(&pipeline.input[..]), pipeline.chunks.len());
    let mut alone = part.alone_in_turn(pipeline, stages(roles, work))?;
    let plan = Plan::new().copies(bytes).launches(chunks, bytes / size_of::<f32>());
    let kernel = if work == LONG { ", long kernel" } else { "" };
    let name = |id: &'static str| (id, id.replace('-', " ") + kernel);
    let variants = [
        variant(name("host-sync"), [one], |all: &mut Pipeline| all.with(work).host_sync(one)),
        variant(name("one-stream"), [one], |all: &mut Pipeline| all.with(work).one_stream(one)),
        variant(name("round-robin"), four, |all: &mut Pipeline| all.with(work).round_robin(four)),
        variant(name("three-streams"), roles, |all: &mut Pipeline| {
            all.with(work).three_streams(roles)
        }),
    ];
    let outcomes = part.compare_bounded(group, plan, pipeline, &mut alone, variants)?;
    let stages = alone.stages().or_whole(whole);
    part.show_bounded(&outcomes, &stages);

    // Filling and draining takes the time of a chunk. Less data takes the host longer to enqueue than the device to copy.
    let least = 0.5 * (1.0 - 1.0 / chunks as f64);
    let judged: &[_] = if bytes < 4 << 20 || chunks == 1 { &[] } else { &[Size] };
    let [copy_in, kernel, copy_out] = [Engine::HostToDevice, Engine::Kernel, Engine::DeviceToHost];
    for outcome in &outcomes {
        let mut expect = |pair: &str, sentence: &str, (a, b)| {
            let found = share(outcome.recording.share(a, b));
            let expected = match outcome.name.id.as_str() {
                "host-sync" | "one-stream" => found.at_most(0.01).for_any(&[Size, Chunks]),
                _ => found.at_least(least).for_any(judged),
            };
            part.expect(outcome.id(pair), &format!("{}: {sentence}", outcome.name), expected);
        };
        expect("duplex", "copies in run during copies out", (copy_out, copy_in));
        // A short kernel may fall between two copies.
        if work == LONG {
            expect("kernel-in", "kernels run during copies in", (kernel, copy_in));
            expect("kernel-out", "kernels run during copies out", (kernel, copy_out));
        }
    }
    let waits = host_waits::count(&outcomes[0].recording);
    let found = truth(waits == chunks, format!("{waits} waits"), format!("{chunks}"));
    let sentence = "host sync: the host waits for each chunk";
    part.expect_recorded(outcomes[0].id("waits"), sentence, &outcomes[0].recording, found);
    Ok((outcomes, stages))
}
