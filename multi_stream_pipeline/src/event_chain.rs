//! event-chain: producer, consumer and output hand chunks on.
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
//! each, because kernels that fill the device have to take turns whatever the events say.
//!
//! With C chunks the chain cannot be faster than one chunk's way through all stages and C - 1 times the slowest stage. A
//! time below that, a consumer that starts before its producer has ended, or idle time between the consumer's kernels
//! in spite of the events would prove this wrong.

mod order;
mod work;

use crate::chain;
use crate::data::{Line, elements_of};
use examples_host::options::UsageError;
use examples_host::prelude::*;
use order::{disorder, idle_share};
use std::time::Duration;
use work::{Handover, Work};

/// So much that what the host does besides does not count.
const MEASURED: ByteSize = ByteSize::mib(64);
/// A model's host does nothing besides.
const MODELLED: ByteSize = ByteSize::mib(16);
/// The stages, and their streams' names.
const STAGES: [&str; 3] = ["producer", "consumer", "output"];

/// The streams of producer, consumer and output.
type Roles<'s> = [&'s Stream; 3];

impl Work {
    /// One chunk through the three stages.
    fn chunk(&mut self, chunk: usize, roles: Roles, handover: Handover) -> Result<()> {
        let [produce, consume, put_out] = roles;
        let (input, output) = (&self.input[chunk], &mut self.output[chunk]);
        self.between.turn(produce, |product| {
            self.kernels.produce(input, product)?;
            handover.hand(product, consume)?;
            self.results.turn(consume, |result| {
                self.kernels.consume(product, result)?;
                handover.hand(result, put_out)?;
                result.copy_to(output)?;
                handover.finish(result)
            })
        })
    }

    fn pass(&mut self, roles: Roles, handover: Handover) -> anyhow::Result<()> {
        (0..self.input.len()).try_for_each(|chunk| Ok(self.chunk(chunk, roles, handover)?))
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let stream = |name: &str| Stream::non_blocking(part.device(), name);
    let [producer, consumer, output] = STAGES.map(stream);
    let (producer, consumer, output) = (producer?, consumer?, output?);
    let roles = [&producer, &consumer, &output];
    let lines = part.elements_by_times::<Line>(MEASURED, MODELLED)?;
    let chunks = part.chunks(16, lines)?;
    if chunks == 1 {
        let reason = "--chunks 1 makes no chain: the stages have nothing else to work on meanwhile";
        return Err(UsageError(reason.to_owned()).into());
    }
    let elements = elements_of(lines);
    let mut work = Work::new(part, roles, elements, chunks)?;

    let stages = work.stages_alone(part, roles)?;
    let bound = chain::bound(stages, chunks);
    let [produce, consume, put_out] = stages.map(units::time);
    part.predict(format!(
        "Alone, all {chunks} chunks: producer {produce}, consumer {consume}, output {put_out}.\n\
         One after the other they take the sum, {}. Chained by events they take one chunk's way through\n\
         all stages and {} times the slowest stage, {}: the bound.",
        units::time(stages.iter().sum()),
        chunks - 1,
        units::time(bound),
    ));

    let plan = Plan::new()
        .launches(2 * chunks, 2 * elements)
        .bytes_out(elements * size_of::<f32>());
    let outcomes = Comparison::new(VARIANTS, plan)
        .variant("host-sync", &roles, |work: &mut Work| {
            work.pass(roles, Handover::HostSync)
        })
        .variant("one-stream", &[&producer], |work| {
            work.pass([&producer; 3], Handover::Event)
        })
        .variant("events", &roles, |work| work.pass(roles, Handover::Event))
        .prepare(|work| Ok(work.poison()?))
        .check(|work| work.check())
        .run(part, &mut work)?;
    let slowest = STAGES.into_iter().zip(stages).max_by_key(|(_, time)| *time);
    judge(part, &outcomes, bound, slowest.map_or("", |(name, _)| name))
}

/// `slowest` is the stage that the time of the chain depends on.
fn judge(
    part: &mut Part,
    outcomes: &[Outcome],
    bound: Duration,
    slowest: &str,
) -> anyhow::Result<()> {
    let [host_sync, one_stream, events] = outcomes else {
        anyhow::bail!("{} outcomes of three variants", outcomes.len());
    };
    let found = table(part, outcomes, bound, slowest);
    part.say(found);
    part.chart(&host_sync.name, &host_sync.recording, Rows::Streams);
    part.chart(&events.name, &events.recording, Rows::Streams);
    part.keep(&one_stream.name, &one_stream.recording);

    claim_order(part, [host_sync, events]);
    let sentence = format!("host sync: the {slowest} is idle between chunks");
    part.claim_share_at_least("idle/host-sync", &sentence, idle(host_sync, slowest), 0.4);
    let sentence = format!("events: the {slowest} is idle between chunks");
    part.claim_share_at_most("idle/events", &sentence, idle(events, slowest), 0.2);
    part.claim_share_at_least(
        "near-bound/events",
        "events come near the bound",
        reached(events, bound),
        0.85,
    );
    for outcome in outcomes {
        let sentence = format!("{} is not faster than the bound", outcome.name);
        part.claim_share_at_most(
            format!("not-below-bound/{}", outcome.name.id),
            &sentence,
            reached(outcome, bound),
            1.05,
        );
    }
    Ok(())
}

/// How much of the bound a variant reached.
fn reached(outcome: &Outcome, bound: Duration) -> f64 {
    bound.as_secs_f64() / outcome.median().as_secs_f64()
}

/// The share of time that a stage was idle between its first chunk and its last.
fn idle(outcome: &Outcome, stage: &str) -> f64 {
    idle_share(&outcome.recording.on(stage))
}

fn table(part: &Part, outcomes: &[Outcome], bound: Duration, slowest: &str) -> Table {
    let first = outcomes.first().map(Outcome::median).unwrap_or_default();
    let mut table = Table::new([
        "variant",
        &format!("median, {}", part.device().times()),
        "speed-up",
        "of the bound",
        &format!("{slowest} idle"),
    ]);
    for outcome in outcomes {
        let chained = outcome.recording.streams().len() > 1;
        table.row([
            outcome.name.to_string(),
            units::time(outcome.median()),
            units::ratio(first.as_secs_f64() / outcome.median().as_secs_f64()),
            units::percent(reached(outcome, bound)),
            if chained {
                units::percent(idle(outcome, slowest))
            } else {
                "-".to_owned()
            },
        ]);
    }
    table
}

/// Claims that each chunk goes through its stages one after the other.
fn claim_order(part: &mut Part, outcomes: [&Outcome; 2]) {
    for chained in outcomes {
        let (wrong, of) = disorder(&chained.recording, STAGES);
        let sentence = format!(
            "{}: no chunk starts a stage before the last one ended",
            chained.name
        );
        part.claim(
            format!("order/{}", chained.name.id),
            &sentence,
            wrong == 0 && of > 0,
            format!("{wrong} of {of} do"),
            "none",
        );
    }
}
