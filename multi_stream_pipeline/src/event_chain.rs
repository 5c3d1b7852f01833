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
//! With C chunks the chain cannot be faster than one chunk's way through all stages and C - 1 times its way
//! through the slowest. A
//! time below that, a consumer that starts before its producer has ended, or idle time between the consumer's kernels
//! in spite of the events would prove this wrong.

mod work;

use anyhow::Result;
use cuda_host::{launch, prelude::*};
use cust::memory::AsyncCopyDestination;
use cust::stream::Stream;
use examples_host::alone::each;
use examples_host::beside::together;
use examples_host::prelude::*;
use work::Work;

/// Multiply-adds per element.
const PRODUCED: u32 = 16;
const CONSUMED: u32 = 64;
/// Few blocks: kernels of several streams find room beside each other.
const BLOCKS: u32 = 4;
const THREADS: u32 = gpu_kernels::CONSUMERS;
/// Slots in rotation: one is filled, one is emptied, one is on the way.
const SLOTS: usize = 3;

impl Work {
    /// The host waits for each stage before it starts the next.
    fn host_sync(&mut self, [producer, consumer, output]: [&Stream; 3]) -> Result<()> {
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

    /// A stream for each stage. Events hand every chunk on, and give the slot's buffers back.
    fn events(&mut self, [producer, consumer, output]: [&Stream; 3]) -> Result<()> {
        for chunk in 0..self.chunks.len() {
            let slot = chunk % SLOTS;
            producer.wait(&self.slots[slot].consumed)?; // the product before has been consumed
            self.produce(chunk, producer)?;
            self.slots[slot].produced.record(producer)?;

            consumer.wait(&self.slots[slot].produced)?;
            consumer.wait(&self.slots[slot].put_out)?; // the result before has been copied out
            self.consume(chunk, consumer)?;
            self.slots[slot].consumed.record(consumer)?;

            output.wait(&self.slots[slot].consumed)?;
            self.copy_out(chunk, output)?;
            self.slots[slot].put_out.record(output)?;
        }
        Ok(())
    }

    fn produce(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, range) = (&self.kernels.fma_tiles_unspecialised, &self.chunks[chunk]);
        let input = self.input.index(range.clone());
        let mut product = self.slots[chunk % SLOTS].product.index(..range.len());
        // SAFETY: the buffers outlive the pass; any grid covers all tiles. The variants order the uses of each slot.
        unsafe { launch!(kernel<<<BLOCKS, THREADS, 0, stream>>>(&input, &mut product, PRODUCED))? };
        Ok(())
    }

    fn consume(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let (kernel, len) = (&self.kernels.fma_tiles_unspecialised, self.chunks[chunk].len());
        let product = self.slots[chunk % SLOTS].product.index(..len);
        let mut result = self.slots[chunk % SLOTS].result.index(..len);
        // SAFETY: as for the producer.
        unsafe {
            launch!(kernel<<<BLOCKS, THREADS, 0, stream>>>(&product, &mut result, CONSUMED))?
        };
        Ok(())
    }

    fn copy_out(&mut self, chunk: usize, stream: &Stream) -> Result<()> {
        let range = self.chunks[chunk].clone();
        let result = self.slots[chunk % SLOTS].result.index(..range.len());
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { result.async_copy_to(&mut self.output[range], stream)? };
        Ok(())
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [producer, consumer, output] =
        stream::non_blocking_named(["producer", "consumer", "output"])?;
    let roles = [&producer, &consumer, &output];
    // A GPU gets more data, so that the time between the host's calls does not count. A modelled host spends none there.
    let lines = part.elements_by_times::<[f32; 32]>(ByteSize::mib(64), ByteSize::mib(16))?;
    let (elements, chunks) = (32 * lines, part.chained_chunks(16, lines)?);
    let mut work = Work::new(elements, chunks)?;

    let besides = "The host's waiting between the stages comes on top of their sum.";
    let stages = [
        ("producer", each(chunks, &producer, Work::produce)),
        ("consumer", each(chunks, &consumer, Work::consume)),
        ("output", each(chunks, &output, Work::copy_out)),
    ];
    let mut links = part.chain(&mut work, chunks, besides, stages)?;

    let plan = Plan::new().launches(2 * chunks, 2 * elements).bytes_out(4 * elements);
    let variants = variants! { work: Work;
        "host-sync", roles => work.host_sync(roles);
        "one-stream", [&producer] => work.one_stream(&producer);
        "events", roles => work.events(roles);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut links.alone, variants)?;
    let chain = links.chain();
    part.show_chain(&outcomes, &chain);
    part.not_claimed_of_the_model("variants", &["events"]);
    let [host_sync, _, events] = &outcomes;
    part.chart(&events.name, &events.recording, Rows::Streams);
    part.chart(&host_sync.name, &host_sync.recording, Rows::Streams);

    let together = share(together(&events.recording, "producer", "consumer"));
    // Half of what does not fit one after the other into the slowest stage's time. Where all fits, the two meet now and then.
    let least = (chain.owed(["producer", "consumer"]) / 2.0).max(0.15);
    expect! { part;
        "order/host-sync", "host sync: no chunk starts a stage too early" => chain.in_order(host_sync);
        "order/events", "events: no chunk starts a stage too early" => chain.in_order(events);
        "idle/host-sync", "host sync: the slowest stage is idle between chunks" => chain.idle(host_sync).at_least(0.4);
        "idle/events", "events: the slowest stage is hardly ever idle" => chain.idle(events).at_most(0.2);
        "together/events", "events: producer and consumer run at the same time" => together.at_least(least);
        "near-bound/events", "events come near the bound" => chain.reached(events).at_least(0.85);
    }
    part.expect_not_below(&outcomes, &chain);
    part.take_away(
        "Events hand chunks from stage to stage without the host: the slowest stage hardly waits.",
    );
    Ok(())
}
