//! event-chain: what closes the gaps between producer, consumer and output?
//!
//! The consumer must not start with a chunk before the producer has finished it, nor the copy out before the consumer
//! has. A host that waits and then launches the next stage sees to that, and nothing ever overlaps. An event does it
//! without the host: recorded behind the producer's kernel, waited for by the consumer's stream, it says "when that is
//! done", and the host has long gone on.
//!
//! ```text
//! host sync  producer |PPP         ppp            events  producer |PPPpppPPPppp
//!            consumer |   CCCC        cccc                consumer |   CCCCccccCCCCcccc
//!            output   |       OO          oo              output   |       OO  oo  OO  oo
//! ```
//!
//! The middle way is one stream: no host in between, no gaps, and still no overlap. The kernels are small, four blocks
//! each, because kernels that fill the device run one after the other whatever the events say.
//!
//! With C chunks the chain cannot be faster than one chunk's way through all stages and C - 1 times the slowest stage. A
//! time below that, a consumer that starts before its producer has ended, or idle time between the consumer's kernels
//! in spite of the events would prove this wrong.

use crate::rounds;
use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DeviceSlice, LockedBuffer};
use cust::stream::Stream;
use examples_host::chain::Chain;
use examples_host::few_values::{Batch, Expected};
use examples_host::options::UsageError;
use examples_host::prelude::*;
use std::ops::Range;

kernels! { use gpu_kernels::fma_tiles_unspecialised; }

const DATA: Batch = Batch::new(21);
/// Multiply-adds per element.
const PRODUCED: u32 = 16;
const CONSUMED: u32 = 64;
/// Few blocks: kernels of several streams find room beside each other.
const BLOCKS: u32 = 4;
const THREADS: u32 = gpu_kernels::CONSUMERS;
/// Slots in rotation: one is filled, one is emptied, one is on the way.
const SLOTS: usize = 3;
/// The streams of producer, consumer and output.
type Roles<'s> = [&'s Stream; 3];

/// The chunks, and the buffers that they pass through.
struct Work {
    input: DeviceBuffer<f32>,
    output: LockedBuffer<f32>,
    chunks: Vec<Range<usize>>,
    slots: Vec<Slot>,
    kernels: Kernels,
    expected: Expected,
}

/// What lies between producer and consumer, and between consumer and output, with an event for the end of each stage.
struct Slot {
    product: DeviceBuffer<f32>,
    result: DeviceBuffer<f32>,
    produced: Event,
    consumed: Event,
    put_out: Event,
}

impl Work {
    fn new(elements: usize, chunks: usize) -> Result<Self> {
        let mut output = LockedBuffer::new(&0.0, elements)?;
        DATA.fill(&mut output);
        let input = DeviceBuffer::from_slice(&output)?;
        let chunks = chunks::ranges::<f32>(elements, chunks)?;
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        let mut slots = Vec::new();
        for _ in 0..SLOTS {
            slots.push(Slot {
                product: DeviceBuffer::zeroed(chunks[0].len())?,
                result: DeviceBuffer::zeroed(chunks[0].len())?,
                produced: event()?,
                consumed: event()?,
                put_out: event()?,
            });
        }
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let expected = rounds::after(PRODUCED + CONSUMED);
        Ok(Self {
            input,
            output,
            chunks,
            slots,
            kernels,
            expected,
        })
    }

    /// The chunk's place in its slot: the product, and the result.
    fn places(&self, chunk: usize) -> [DeviceSlice<f32>; 2] {
        let (slot, len) = (&self.slots[chunk % SLOTS], self.chunks[chunk].len());
        [slot.product.index(..len), slot.result.index(..len)]
    }

    fn produce(&self, chunk: usize, stream: &Stream) -> Result<()> {
        let (input, [mut product, _]) = (
            self.input.index(self.chunks[chunk].clone()),
            self.places(chunk),
        );
        // SAFETY: the buffers outlive the pass; any grid covers all tiles. The variants order the uses of each slot.
        Ok(unsafe {
            launch!(self.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, stream>>>(&input, &mut product, PRODUCED))?
        })
    }

    fn consume(&self, chunk: usize, stream: &Stream) -> Result<()> {
        let [product, mut result] = self.places(chunk);
        // SAFETY: as for the producer.
        Ok(unsafe {
            launch!(self.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, stream>>>(&product, &mut result, CONSUMED))?
        })
    }

    fn copy_out(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let [_, result] = self.places(chunk);
        let output = &mut self.output[self.chunks[chunk].clone()];
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        Ok(unsafe { result.async_copy_to(output, stream)? })
    }

    /// The host waits for each stage before it starts the next.
    fn host_sync(&mut self, [producer, consumer, output]: Roles) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            self.produce(chunk, producer)?;
            producer.synchronize()?;
            self.consume(chunk, consumer)?;
            consumer.synchronize()?;
            self.copy_out(chunk, output)?;
            output.synchronize()?;
        }
        Ok(())
    }

    /// One stream keeps the order: no event is needed.
    fn one_stream(&mut self, stream: &Stream) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            self.produce(chunk, stream)?;
            self.consume(chunk, stream)?;
            self.copy_out(chunk, stream)?;
        }
        Ok(())
    }

    /// A stream for each stage. Events hand every chunk on, and the slot's buffers back.
    fn events(&mut self, [producer, consumer, output]: Roles) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let slot = chunk % SLOTS;
            producer.wait(&self.slots[slot].consumed)?; // the product before last is no longer needed
            self.produce(chunk, producer)?;
            self.slots[slot].produced.record(producer)?;

            consumer.wait(&self.slots[slot].produced)?;
            consumer.wait(&self.slots[slot].put_out)?; // nor is its result
            self.consume(chunk, consumer)?;
            self.slots[slot].consumed.record(consumer)?;

            output.wait(&self.slots[slot].consumed)?;
            self.copy_out(chunk, output)?;
            self.slots[slot].put_out.record(output)?;
        }
        Ok(())
    }

    /// One stage of all chunks.
    fn each(&mut self, stage: impl Fn(&mut Self, usize) -> Result<()>) -> Result<()> {
        (0..self.chunks.len()).try_for_each(|chunk| stage(self, chunk))
    }
}

impl Workload for Work {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for slot in &mut self.slots {
            slot.product.set_8(0xFF)?;
            slot.result.set_8(0xFF)?;
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
    let [producer, consumer, output] = stream::named(["producer", "consumer", "output"])?;
    let roles = [&producer, &consumer, &output];
    // A GPU needs so much that what the host does besides does not count; a model's host does nothing besides.
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(64), ByteSize::mib(16))?;
    let (elements, chunks) = (32 * lines, part.chunks(16, lines)?);
    if chunks == 1 {
        let reason = "--chunks 1 makes no chain: the stages have nothing else to work on meanwhile";
        return Err(UsageError(reason.to_owned()).into());
    }
    let mut work = Work::new(elements, chunks)?;

    let produced = part.alone([&producer], || {
        work.each(|work, chunk| work.produce(chunk, &producer))
    })?;
    let consumed = part.alone([&consumer], || {
        work.each(|work, chunk| work.consume(chunk, &consumer))
    })?;
    let put_out = part.alone([&output], || {
        work.each(|work, chunk| work.copy_out(chunk, &output))
    })?;
    let stages = [
        ("producer", produced),
        ("consumer", consumed),
        ("output", put_out),
    ];
    let chain = Chain::new(stages, chunks);
    part.predict_chain(
        &chain,
        "A host that waits between the stages adds its own time to their sum.",
    );

    let plan = Plan::new()
        .launches(2 * chunks, 2 * elements)
        .bytes_out(elements * size_of::<f32>());
    let outcomes = part.compare(
        "variants",
        plan,
        &mut work,
        [
            variant("host-sync", roles, |work: &mut Work| work.host_sync(roles)),
            variant("one-stream", [&producer], |work: &mut Work| {
                work.one_stream(&producer)
            }),
            variant("events", roles, |work: &mut Work| work.events(roles)),
        ],
    )?;
    part.show_chain(&outcomes, &chain);
    let [host_sync, _, events] = &outcomes;
    part.chart(&events.name, &events.recording, Rows::Streams);
    part.chart(&host_sync.name, &host_sync.recording, Rows::Streams);

    let slowest = chain.slowest();
    let sentence = "no chunk starts a stage before the last one ended";
    part.expect(
        "order/host-sync",
        &format!("host sync: {sentence}"),
        chain.in_order(host_sync),
    );
    part.expect(
        "order/events",
        &format!("events: {sentence}"),
        chain.in_order(events),
    );
    let sentence = format!("the {slowest} is idle between chunks");
    part.expect(
        "idle/host-sync",
        &format!("host sync: {sentence}"),
        chain.idle(host_sync).at_least(0.4),
    );
    part.expect(
        "idle/events",
        &format!("events: {sentence}"),
        chain.idle(events).at_most(0.2),
    );
    let near = chain.reached(events).at_least(0.85);
    part.expect("near-bound/events", "events come near the bound", near);
    part.expect_not_below(&outcomes, &chain);
    part.take_away("Events hand chunks from stage to stage without the host, and the slowest stage never waits.");
    Ok(())
}
