//! hand-over: can the compiler check the order?
//!
//! Copies in, kernels and copies out have a stream each, and three device buffers rotate. An event must stand wherever a buffer
//! goes from one stream to the next, and nothing but care sees to it. Here is the pipeline once with care, and once with a
//! type: a buffer belongs to a stream, its operations run there, and handing it on records the event, makes the next stream
//! wait, and takes the old handle away. Then a forgotten event is a program that does not compile; `owned.rs` has four
//! of them.
//!
//! ```text
//! copy in   |HHHHhhhhHHHHhhhh        |   by hand  filled.record(copy_in)?; compute.wait(&filled)?;
//! compute   |    K   k   K   k       |   owned    let data = data.hand_to(compute)?;
//! copy out  |     DDDDddddDDDDdddd   |
//! ```
//!
//! Both make the same calls of the driver, in the same order. A difference in the result, a longer time, or a report of the
//! race checker would prove this wrong. What the type does not know is the host's memory: those copies are still `unsafe`.

use anyhow::{Context, Result};
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;
use multi_stream_pipeline::owned::{self, Released};
use std::collections::VecDeque;
use std::ops::Range;

kernels! { use gpu_kernels::affine_x4; }

const DATA: Seed = Seed::new(41);
const A: f32 = 2.0;
const B: f32 = 1.0;
/// Device buffers in rotation: one is filled while one is worked on and one is emptied.
const BUFFERS: usize = 3;

/// The data, and the buffers of both programs.
struct Work {
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    chunks: Vec<Range<usize>>,
    slots: Vec<Slot>,
    owned: VecDeque<Released<f32>>,
    kernels: Kernels,
    /// With a thread for every four elements of a buffer.
    blocks: u32,
}

/// A device buffer, and an event for each time that it changes hands.
struct Slot {
    data: DeviceBuffer<f32>,
    filled: Event,
    computed: Event,
    emptied: Event,
}

impl Slot {
    fn new(len: usize) -> Result<Self> {
        Ok(Self {
            data: DeviceBuffer::zeroed(len)?,
            filled: Event::new(EventFlags::DISABLE_TIMING)?,
            computed: Event::new(EventFlags::DISABLE_TIMING)?,
            emptied: Event::new(EventFlags::DISABLE_TIMING)?,
        })
    }
}

impl Work {
    fn new(elements: usize, chunks: usize) -> Result<Self> {
        let mut input = LockedBuffer::new(&0.0, elements)?;
        DATA.fill_f32(0, &mut input);
        let chunks = chunks::ranges::<f32>(elements, chunks)?;
        let len = chunks[0].len();
        Ok(Self {
            input,
            output: LockedBuffer::new(&0.0, elements)?,
            chunks,
            slots: (0..BUFFERS).map(|_| Slot::new(len)).collect::<Result<_>>()?,
            owned: (0..BUFFERS).map(|_| Released::zeroed(len)).collect::<Result<_, _>>()?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            blocks: len.div_ceil(4 * 256) as u32,
        })
    }

    /// Each record has its wait, and each wait its record, as long as the programmer sees to it.
    fn by_hand(&mut self, [copy_in, compute, copy_out]: [&Stream; 3]) -> Result<()> {
        let (kernel, blocks) = (&self.kernels.affine_x4, self.blocks);
        for (index, chunk) in self.chunks.iter().cloned().enumerate() {
            let slot = &mut self.slots[index % BUFFERS];
            let mut data = slot.data.index(..chunk.len());
            copy_in.wait(&slot.emptied)?;
            // SAFETY: the input outlives the pass; the events order all uses of the buffer, here and below.
            unsafe { data.async_copy_from(&self.input[chunk.clone()], copy_in)? };
            slot.filled.record(copy_in)?;

            compute.wait(&slot.filled)?;
            // SAFETY: the grid has a thread for every four elements.
            unsafe { launch!(kernel<<<blocks, 256, 0, compute>>>(&mut slot.data, A, B))? };
            slot.computed.record(compute)?;

            copy_out.wait(&slot.computed)?;
            // SAFETY: the output outlives the pass, and is read behind it.
            unsafe { data.async_copy_to(&mut self.output[chunk], copy_out)? };
            slot.emptied.record(copy_out)?;
        }
        Ok(())
    }

    /// No event can be left out: without it the buffer is of another stream, and the line does not compile.
    fn owned(&mut self, streams: [&Stream; 3]) -> Result<()> {
        let (kernel, blocks) = (&self.kernels.affine_x4, self.blocks);
        owned::streams(streams, |copy_in, compute, copy_out| {
            for chunk in self.chunks.iter().cloned() {
                let released = self.owned.pop_front().context("a buffer is missing")?;
                let mut data = released.acquire(copy_in)?;
                // SAFETY: the input outlives the pass.
                unsafe { data.copy_from(&self.input[chunk.clone()])? };

                let mut data = data.hand_to(compute)?;
                // SAFETY: the grid has a thread for every four elements.
                unsafe { compute.launch(kernel, blocks, 256, (&mut data, A, B))? };

                let data = data.hand_to(copy_out)?;
                // SAFETY: the output outlives the pass, and is read behind it.
                unsafe { data.copy_to(&mut self.output[chunk])? };
                self.owned.push_back(data.release()?);
            }
            Ok(())
        })
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for (slot, owned) in self.slots.iter_mut().zip(&mut self.owned) {
            slot.data.set_8(0xFF)?;
            *owned = Released::zeroed(slot.data.len())?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = |index| DATA.f32(index).mul_add(A, B);
        Ok(check::equal("the output", 0, &self.output, expected)?)
    }
}

/// Timed runs: the shortest of ten differed by 3 % on a busy host, with equal medians.
const RUNS: usize = 40;

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [copy_in, compute, copy_out] =
        stream::non_blocking_named(["copy in", "compute", "copy out"])?;
    let roles = [&copy_in, &compute, &copy_out];
    let elements = part.elements_by_times::<f32>(ByteSize::mib(256), ByteSize::mib(16))?;
    let chunks = part.chunks(16, elements)?;
    let mut work = Work::new(elements, chunks)?;
    part.predict(
        "Both programs make the same calls: a wait and a record for each time that a buffer changes hands. They take\n\
         the same time and leave the same bits. Where an event is missing, the first is wrong in silence; the second does not compile, as the tests of owned.rs show.",
    );

    let bytes = 4 * elements;
    let plan = Plan::new().copies(bytes).launches(chunks, elements);
    let variants = variants! { work: Work;
        ("by-hand", "events by hand"), roles => work.by_hand(roles);
        ("owned", "checked by the compiler"), roles => work.owned(roles);
    };
    let outcomes = part.compare_often("variants", RUNS, plan, &mut work, variants)?;
    part.say(measure::table(&outcomes, part.device().times()));
    let [by_hand, owned] = &outcomes;
    part.chart(&owned.name, &owned.recording, Rows::Streams);
    part.chart(&by_hand.name, &by_hand.recording, Rows::Streams);

    // The shortest of the runs: what disturbs one run does not count.
    let same = time(owned.times.min()).near(by_hand.times.min(), 0.02);
    expect! { part; "same-time", "both take the same time" => same; }
    let silent = "events by hand: the race checker is silent";
    part.expect_unreported("no-report/by-hand", silent, || {
        work.by_hand(roles)?;
        Ok(copy_out.synchronize()?)
    })?;
    let silent = "checked by the compiler: the race checker is silent";
    part.expect_unreported("no-report/owned", silent, || {
        work.owned(roles)?;
        Ok(copy_out.synchronize()?)
    })?;
    part.take_away("A buffer that belongs to a stream turns a forgotten event into a compile error, at no cost.");
    Ok(())
}
