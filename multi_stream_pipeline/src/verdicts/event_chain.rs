//! Measurements and claims of the part `event-chain`.

use super::rounds;
use crate::event_chain::{BLOCKS, CONSUMED, EventChain, PRODUCED, SLOTS};
use anyhow::Result;
use cuda_host::prelude::*;
use examples_host::alone::each;
use examples_host::beside::together;
use examples_host::few_values::Batch;
use examples_host::prelude::*;
use gpu_kernels::CONSUMERS as THREADS;

const DATA: Batch = Batch::new(21);

impl Workload for EventChain {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.output);
        for slot in &mut self.slots {
            slot.product.set_8(0xFF)?;
            slot.result.set_8(0xFF)?;
        }
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let expected = rounds::after(PRODUCED + CONSUMED);
        Ok(check::equal("the output", 0, &self.output, |index| expected.of(DATA, index))?)
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
    let mut data = LockedBuffer::new(&0.0, elements)?;
    DATA.fill(&mut data);
    let mut work = EventChain::new(data, chunks::ranges::<f32>(elements, chunks)?)?;

    let besides = "The host's waiting between the stages comes on top of their sum.";
    let stages = [
        ("producer", each(chunks, &producer, produce)),
        ("consumer", each(chunks, &consumer, consume)),
        ("output", each(chunks, &output, copy_out)),
    ];
    let mut links = part.chain(&mut work, chunks, besides, stages)?;

    let plan = Plan::new().launches(2 * chunks, 2 * elements).bytes_out(4 * elements);
    let variants = variants! { work: EventChain, differ in Streams;
        "host-sync", roles => work.host_sync(roles), waits 3 * chunks, also Waits;
        "one-stream", [&producer] => work.one_stream(&producer);
        "events", roles => work.events(roles), also Events;
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

fn produce(of: &mut EventChain, i: usize, stream: &Stream) -> Result<()> {
    let input = of.input.index(of.chunks[i].clone());
    let mut product = of.slots[i % SLOTS].product.index(..input.len());
    // SAFETY: the buffers outlive the pass, and any grid covers all tiles.
    unsafe {
        launch!(of.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, stream>>>(&input, &mut product, PRODUCED))?;
    }
    Ok(())
}

fn consume(of: &mut EventChain, i: usize, stream: &Stream) -> Result<()> {
    let (slot, len) = (&of.slots[i % SLOTS], of.chunks[i].len());
    let (product, mut result) = (slot.product.index(..len), slot.result.index(..len));
    // SAFETY: as for the producer.
    unsafe {
        launch!(of.kernels.fma_tiles_unspecialised<<<BLOCKS, THREADS, 0, stream>>>(&product, &mut result, CONSUMED))?;
    }
    Ok(())
}

fn copy_out(of: &mut EventChain, i: usize, stream: &Stream) -> Result<()> {
    let range = of.chunks[i].clone();
    let result = of.slots[i % SLOTS].result.index(..range.len());
    // SAFETY: the output is page-locked and outlives the pass.
    unsafe { result.async_copy_to(&mut of.output[range], stream)? };
    Ok(())
}
