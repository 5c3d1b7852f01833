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
//! copy costs more than that. On a device with one copy engine the directions take turns, and the bound is their sum:
//! what is left to gain is the kernel beside the copies.
//!
//! The pipeline runs twice: with a kernel that takes next to nothing beside the copies, and with one that is about as
//! long as a copy. A time below the bound, anything that overlaps within one stream, or a kernel that takes turns with
//! copies although it has a stream of its own would prove this wrong.

mod pipeline;

use anyhow::Result;
use cuda_host::{launch, prelude::*};
use cust::memory::AsyncCopyDestination;
use cust::stream::Stream;
use examples_host::bounded::{duplex, half_of_the_gain, near_bound};
use examples_host::host_waits;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use pipeline::{Pipeline, stages};

const A: f32 = 2.0;
const B: f32 = 1.0;
/// Device buffers in rotation: one is filled while one is worked on and one is emptied.
const BUFFERS: usize = 3;
/// Blocks of a kernel, and multiply-adds of each element: on an H200 as fast as memory, and as long as a copy.
type Work = (u32, u32);
const SHORT: Work = (1024, 1);
const LONG: Work = (8, 16);
/// The streams of copies in, kernels and copies out.
type Roles<'s> = [&'s Stream; 3];

impl Pipeline {
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
    fn three_streams(&mut self, [copy_in, compute, copy_out]: Roles) -> Result<()> {
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
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let roles = &stream::non_blocking_named(["copy in", "compute", "copy out"])?;
    let roles = roles.each_ref();
    let elements = part.elements_by_times::<f32>(ByteSize::mib(64), ByteSize::mib(16))?;
    let mut pipeline = Pipeline::new(elements)?;
    let short = part.alone_in_turn(&mut pipeline, stages(roles, 1))?.stages();
    pipeline.work = LONG;
    let long = part.alone_in_turn(&mut pipeline, stages(roles, 1))?.stages();
    part.predict_pipelines(&short, &long);
    pipeline.work = SHORT;
    let body = |pipeline: &mut Pipeline| pipeline.three_streams(roles);
    let best = part.best_chunks("three streams", &mut pipeline, roles, &short, body)?;

    let (outcomes, stages) = compare(part, &mut pipeline, roles, (VARIANTS, ""), short)?;
    let near = near_bound(&outcomes[3], &stages, size_of_val(&pipeline.input[..]));
    expect! { part; "near-bound/three-streams", "three streams come near the bound" => near; }

    pipeline.cut(part.chunks(best.max(2), elements)?)?;
    pipeline.work = LONG;
    let balanced = ("balanced", ", long kernel");
    let (outcomes, stages) = compare(part, &mut pipeline, roles, balanced, long)?;
    let [_, one_stream, _, three] = &outcomes;
    part.chart(&three.name, &three.recording, Rows::Engines);
    expect! { part;
        "balanced/faster/three-streams", "long kernel: three streams are faster than one" =>
            half_of_the_gain(three, one_stream, &stages);
        "balanced/as-predicted/three-streams", "long kernel: three streams take the bound, and a chunk to fill and drain" =>
            time(three.times.min()).near(stages.pipelined(pipeline.chunks.len()), 0.1);
    }
    part.take_away("A stream per role and an event per hand-over keep both directions busy.");
    Ok(())
}

/// Compares the variants with the kernel of the pipeline; `whole` is what the stages take in one chunk.
fn compare(
    part: &mut Part,
    pipeline: &mut Pipeline,
    roles: Roles,
    (group, kernel): (&'static str, &str),
    whole: Stages,
) -> Result<([Outcome; 4], Stages)> {
    let (one, four) = (roles[0], &stream::non_blocking_named(["A", "B", "C", "D"])?);
    let (bytes, chunks) = (size_of_val(&pipeline.input[..]), pipeline.chunks.len());
    let mut alone = part.alone_in_turn(pipeline, stages(roles, chunks))?;
    let plan = Plan::new().copies(bytes).launches(chunks, bytes / size_of::<f32>());
    let name = |id: &'static str| (id, id.replace('-', " ") + kernel);
    let variants = variants! { pipeline: Pipeline;
        name("host-sync"), [one] => pipeline.host_sync(one);
        name("one-stream"), [one] => pipeline.one_stream(one);
        name("round-robin"), four => pipeline.round_robin(four);
        name("three-streams"), roles => pipeline.three_streams(roles);
    };
    let outcomes = part.compare_bounded(group, plan, pipeline, &mut alone, variants)?;
    let stages = alone.stages().or_whole(whole);
    part.show_bounded(&outcomes, &stages, alone.disturbed_link());
    part.say_what_bounds_are_made_of(&stages, chunks);

    // Filling and draining takes the time of a chunk. Less data takes the host longer to enqueue than the device to copy.
    let least = 0.5 * (1.0 - 1.0 / chunks as f64);
    let judged: &[_] = if bytes < 4 << 20 || chunks == 1 { &[] } else { &[Size] };
    let [copy_in, kernel, copy_out] = [Engine::HostToDevice, Engine::Kernel, Engine::DeviceToHost];
    for (outcome, in_order) in outcomes.iter().zip([true, true, false, false]) {
        let name = &outcome.name;
        let beside = |of, with| match in_order {
            true => outcome.overlap(of, with).at_most(0.01).for_any(&[Size, Chunks]),
            false => outcome.overlap(of, with).at_least(least).for_any(judged),
        };
        let both_ways = match in_order {
            true => beside(copy_out, copy_in),
            false => duplex(part.device(), outcome, least)?.for_any(judged),
        };
        expect! { part;
            outcome.id("duplex"), "{name}: copies in run during copies out" => both_ways;
            outcome.id("kernel-in"), "{name}: kernels run during copies in" => beside(kernel, copy_in);
        }
        // A short kernel begins about when the copy out before its own ends.
        if pipeline.work == LONG {
            expect! { part;
                outcome.id("kernel-out"), "{name}: kernels run during copies out" => beside(kernel, copy_out);
            }
        }
    }
    let Outcome { recording, .. } = &outcomes[0];
    let waits = host_waits::count(recording);
    let each_chunk =
        truth(waits == chunks, format!("{waits} waits"), chunks).in_records_of(recording);
    expect! { part; outcomes[0].id("waits"), "host sync: the host waits for each chunk" => each_chunk; }
    Ok((outcomes, stages))
}
