//! three-way: how close can three streams get to the fastest possible time?
//!
//! The data is cut into chunks. A chunk's copy in, kernel and copy out follow one another; different chunks have nothing to
//! do with each other. One stream keeps them all in order. With a stream for each role, and an event wherever a chunk
//! goes from one role to the next, both copy engines and the multiprocessors work at once. Three device buffers in
//! rotation are enough:
//!
//! ```text
//! copy in   |HHHHhhhhHHHHhhhh        |
//! compute   |    K   k   K   k       |
//! copy out  |     DDDDddddDDDDdddd   |
//! ```
//!
//! The two directions share the link, so the bound is what both take together, not the longer of the two alone. What
//! remains above it is the first chunk's way in and the last one's way out: more chunks make it less, until starting a
//! copy costs more than that. A time below the bound, copies that overlap within one stream, or directions that take
//! turns although they have a stream each would prove this wrong.

use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use std::ops::Range;

kernels! { use gpu_kernels::affine_x4; }

const DATA: Seed = Seed::new(1);
const A: f32 = 2.0;
const B: f32 = 1.0;
/// Device buffers in rotation: one is filled while one is worked on and one is emptied.
const BUFFERS: usize = 3;

/// Page-locked data, cut into chunks, and the device buffers that the chunks pass through.
struct Pipeline {
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    chunks: Vec<Range<usize>>,
    slots: Vec<Slot>,
    kernels: Kernels,
}

/// A device buffer, and an event for each time that it changes hands.
struct Slot {
    data: DeviceBuffer<f32>,
    filled: Event,
    computed: Event,
    emptied: Event,
}

impl Pipeline {
    fn new(elements: usize) -> anyhow::Result<Self> {
        let mut input = LockedBuffer::new(&0.0, elements)?;
        DATA.fill_f32(0, &mut input);
        let output = LockedBuffer::new(&0.0, elements)?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let mut new = Self { input, output, kernels, chunks: Vec::new(), slots: Vec::new() };
        new.cut(1)?;
        Ok(new)
    }

    fn copy_in(&self, chunk: usize, stream: &Stream) -> anyhow::Result<()> {
        let range = self.chunks[chunk].clone();
        let mut data = self.slots[chunk % BUFFERS].data.index(..range.len());
        // SAFETY: the input is page-locked and outlives the pass.
        unsafe { data.async_copy_from(&self.input[range], stream)? };
        Ok(())
    }

    fn compute(&self, chunk: usize, stream: &Stream) -> anyhow::Result<()> {
        let elements = self.chunks[chunk].len();
        let mut data = self.slots[chunk % BUFFERS].data.index(..elements);
        let blocks = elements.div_ceil(4 * 256) as u32;
        // SAFETY: the buffer outlives the pass, and the grid has a thread for every four elements.
        unsafe { launch!(self.kernels.affine_x4<<<blocks, 256, 0, stream>>>(&mut data, A, B))? };
        Ok(())
    }

    fn copy_out(&mut self, chunk: usize, stream: &Stream) -> anyhow::Result<()> {
        let range = self.chunks[chunk].clone();
        let data = self.slots[chunk % BUFFERS].data.index(..range.len());
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { data.async_copy_to(&mut self.output[range], stream)? };
        Ok(())
    }

    /// One stream keeps the order, and the host waits for each chunk.
    fn host_sync(&mut self, stream: &Stream) -> anyhow::Result<()> {
        for chunk in 0..self.chunks.len() {
            self.copy_in(chunk, stream)?;
            self.compute(chunk, stream)?;
            self.copy_out(chunk, stream)?;
            stream.synchronize()?;
        }
        Ok(())
    }

    /// One stream keeps the order: no event is needed.
    fn one_stream(&mut self, stream: &Stream) -> anyhow::Result<()> {
        for chunk in 0..self.chunks.len() {
            self.copy_in(chunk, stream)?;
            self.compute(chunk, stream)?;
            self.copy_out(chunk, stream)?;
        }
        Ok(())
    }

    /// Each chunk in the next of four streams. They share the three buffers: an event says when one is free.
    fn round_robin(&mut self, streams: &[Stream; 4]) -> anyhow::Result<()> {
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
    fn three_streams(&mut self, [copy_in, compute, copy_out]: [&Stream; 3]) -> anyhow::Result<()> {
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
    fn copies(&mut self, copy_in: &Stream, copy_out: &Stream) -> anyhow::Result<()> {
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
    fn poison(&mut self) -> anyhow::Result<()> {
        check::poison(&mut self.output);
        for slot in &mut self.slots {
            slot.data.set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        Ok(check::equal("the output", 0, &self.output, |index| DATA.f32(index).mul_add(A, B))?)
    }
}

impl Chunked for Pipeline {
    fn elements(&self) -> usize {
        self.input.len()
    }

    fn cut(&mut self, chunks: usize) -> anyhow::Result<()> {
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

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [copy_in, compute, copy_out] = &stream::named(["copy in", "compute", "copy out"])?;
    let four = &stream::named(["A", "B", "C", "D"])?;
    let roles = [copy_in, compute, copy_out];
    let elements = part.elements::<f32>(ByteSize::mib(16))?;
    let bytes = elements * size_of::<f32>();
    let mut work = Pipeline::new(elements)?;

    let mut stages = Stages {
        copy_in: part.alone([copy_in], || work.copy_in(0, copy_in))?,
        copy_out: part.alone([copy_out], || work.copy_out(0, copy_out))?,
        both_copies: part.alone([copy_in, copy_out], || work.copies(copy_in, copy_out))?,
        kernel: part.alone([compute], || work.compute(0, compute))?,
    };
    part.predict_pipeline(&stages);
    let three_streams = |work: &mut Pipeline| work.three_streams(roles);
    let copies = |work: &mut Pipeline| work.copies(copy_in, copy_out);
    let chunks = part.best_chunks("three streams", &mut work, roles, &stages, three_streams)?;
    let reached = part.reached(roles, &mut work, copies, three_streams)?;
    stages.both_copies = reached.bound;

    let plan = Plan::new().bytes_in(bytes).bytes_out(bytes).launches(chunks, elements);
    let variants = [
        variant("host-sync", [copy_in], |work: &mut Pipeline| work.host_sync(copy_in)),
        variant("one-stream", [copy_in], |work: &mut Pipeline| work.one_stream(copy_in)),
        variant("round-robin", four, |work: &mut Pipeline| work.round_robin(four)),
        variant("three-streams", roles, three_streams),
    ];
    let outcomes = part.compare("variants", plan, &mut work, variants)?;
    part.show_bounded(&outcomes, &stages);
    let [host_sync, one_stream, _, three_streams] = &outcomes;
    part.chart(&three_streams.name, &three_streams.recording, Rows::Engines);

    // Little data is best cut into few chunks, of which most of the time goes into filling and draining.
    let judged: &[_] = if chunks < 4 { &[] } else { &[Size] };
    for outcome in [host_sync, one_stream, three_streams] {
        let duplex = outcome.recording.share(Engine::DeviceToHost, Engine::HostToDevice);
        let expected = match outcome.name.id.as_str() {
            "three-streams" => share(duplex).at_least(0.5).for_any(judged),
            _ => share(duplex).at_most(0.01).for_any(&[Size, Chunks]),
        };
        let sentence = format!("{}: copies in run during copies out", outcome.name);
        part.expect(format!("duplex/{}", outcome.name.id), &sentence, expected);
    }
    let near = reached.near_bound(bytes).for_any(&[Size]);
    part.expect("near-bound/three-streams", "three streams come near the bound", near);
    part.take_away("A stream per role and an event per hand-over keep both directions busy.");
    Ok(())
}
