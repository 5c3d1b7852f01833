//! append: one stream writes a token's keys and values while another attends to the tokens before it.
//!
//! In each step and layer, a token's keys and values come out of what the layer before has computed, and are appended
//! to the layer's cache. Attention of that step reads the tokens before it. So there are two orders to keep: an append
//! comes behind the attention of the layer before, and attention behind the appends of the earlier steps. The second
//! was met long ago. Kept by the host, both cost a round trip; kept by events, neither costs anything:
//!
//! ```text
//! host waits  attention |KKKK          KKKK          KKKK      |
//!             append    |        K             K             K |
//! events      attention |KKKK KKKK KKKK KKKK KKKK KKKK         |
//!             append    |K    K    K    K    K    K            |
//! ```
//!
//! One stream needs no events and no host, but has each append between two attentions. An append that begins before
//! the attention it comes from has ended, an output that a missing token has changed, or gaps that remain would prove
//! this wrong.

mod answers;
mod decode;
mod lengths;
mod missing_event;
mod order;

use crate::model::{HEAD_DIM, HEADS, LAYERS, WIDTH};
use crate::timeline;
use answers::Answers;
use decode::{Decode, Shape};
use examples_host::gantt::Gantt;
use examples_host::intervals::Interval;
use examples_host::prelude::*;
use examples_host::statistics::Durations;
use gpu_kernels::Signature as _;
use std::time::Duration;

impl Decode {
    /// The host waits for what each kernel is to read.
    fn host_sync(&mut self) -> anyhow::Result<()> {
        for (step, layer) in self.order() {
            self.attention.synchronize()?;
            if step == 0 {
                self.append_prompt(layer)?;
            }
            self.append_token(step, layer)?;
            self.append.synchronize()?;
            self.attend(step, layer)?;
        }
        Ok(())
    }

    /// Everything in order: this works when both streams are the same.
    fn one_stream(&mut self) -> anyhow::Result<()> {
        for (step, layer) in self.order() {
            if step == 0 {
                self.append_prompt(layer)?;
            }
            self.append_token(step, layer)?;
            self.attend(step, layer)?;
        }
        Ok(())
    }

    /// The streams wait for each other, and the host for nothing.
    fn events(&mut self, omit_event: bool) -> anyhow::Result<()> {
        for (step, layer) in self.order() {
            self.append.wait_for(&self.attention)?;
            if step == 0 {
                self.append_prompt(layer)?;
                self.written[layer].record(&self.append)?;
            }
            if !omit_event {
                self.attention.wait(&self.written[layer])?;
            }
            self.attend(step, layer)?;
            self.append_token(step, layer)?;
            self.written[layer].record(&self.append)?;
        }
        Ok(())
    }
}

/// What the variants share: the decoding in two streams and in one, and which of them ran last.
struct State {
    apart: Decode,
    together: Decode,
    in_one_stream: bool,
    answers: Answers,
}

impl State {
    fn ran(&mut self, in_one_stream: bool) -> &mut Decode {
        self.in_one_stream = in_one_stream;
        if in_one_stream {
            &mut self.together
        } else {
            &mut self.apart
        }
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let append = Stream::non_blocking(part.device(), "append")?;
    let attention = Stream::non_blocking(part.device(), "attention")?;
    if part.options().omit_event {
        return missing_event::run(part, &append, &attention);
    }

    part.predict(format!(
        "{LAYERS} layers with {HEADS} heads of {HEAD_DIM}. Events take no more time than attention alone, unless it takes\n\
         the host longer to enqueue. A host that waits adds two round trips in each layer: what an append\n\
         takes that is waited for, twice. The longer attention takes, the less that matters."
    ));
    let chosen = lengths::choose(part, &append, &attention)?;
    let shape = Shape {
        steps: 32,
        ..chosen
    };
    let mut state = State {
        apart: Decode::new(&append, &attention, shape)?,
        together: Decode::new(&attention, &attention, shape)?,
        in_one_stream: false,
        answers: Answers::new(shape),
    };
    let outcomes = Comparison::new(VARIANTS, plan(shape))
        .variant(
            ("host-sync", "host sync per append"),
            &[&append, &attention],
            |state: &mut State| state.ran(false).host_sync(),
        )
        .variant("one-stream", &[&attention], |state| {
            state.ran(true).one_stream()
        })
        .variant(
            ("events", "events per layer"),
            &[&append, &attention],
            |state| state.ran(false).events(false),
        )
        .prepare(|state| {
            state.apart.poison()?;
            Ok(state.together.poison()?)
        })
        .check(|state| match state.in_one_stream {
            true => state.together.check(&mut state.answers),
            false => state.apart.check(&mut state.answers),
        })
        .run(part, &mut state)?;
    let alone = lengths::attention_alone(part, &mut state.apart)?;
    judge(part, &outcomes, alone, shape.steps)
}

/// The elements of a launch are those of its longest buffer: the tokens appended, or the outputs.
fn plan(shape: Shape) -> Plan {
    let updates = shape.steps * LAYERS;
    let table = shape.tokens().div_ceil(shape.page_tokens);
    let (append, attend) = (WIDTH.max(table), WIDTH.max(table));
    let prompt = (shape.prompt * WIDTH).max(table);
    Plan::new().launches(
        LAYERS + 2 * updates,
        LAYERS * prompt + updates * (append + attend),
    )
}

fn judge(
    part: &mut Part,
    outcomes: &[Outcome],
    alone: Duration,
    steps: usize,
) -> anyhow::Result<()> {
    let [host_sync, one_stream, events] = outcomes else {
        anyhow::bail!("{} outcomes of three variants", outcomes.len());
    };
    part.say(measure::table(outcomes, part.device().times()));
    part.say(format!("bound: attention alone, {}", units::time(alone)));
    let mut idle = Vec::new();
    let mut table = Table::new(["idle between updates", "median", "p99", "longest"]);
    for outcome in outcomes {
        let found = timeline::idle_between_updates(&outcome.recording);
        let found = found.ok_or_else(|| anyhow::anyhow!("{}: no two updates", outcome.name))?;
        table.row([
            outcome.name.to_string(),
            units::time(found.median()),
            units::time(found.percentile(99)),
            units::time(found.max()),
        ]);
        part.timed("idle-between-updates", &outcome.name, Kind::Other, &found);
        idle.push(found);
    }
    part.say(table);
    for outcome in outcomes {
        part.keep(&outcome.name, &outcome.recording);
    }
    for outcome in [host_sync, events] {
        let attention = |interval: &Interval| interval.name == gpu_kernels::paged_attention::NAME;
        let step = timeline::stretch(&outcome.recording, attention, LAYERS..2 * LAYERS);
        part.say(format!("one step, {}: {step}", outcome.name));
        part.say(Gantt::new(&step, Rows::Streams));
    }

    order::claim_kept(part, &events.recording, steps)?;
    let beside = timeline::beside(
        &events.recording,
        gpu_kernels::append_kv::NAME,
        gpu_kernels::paged_attention::NAME,
    );
    part.claim_share_at_least(
        "appends-beside-attention",
        "events: appends run during attention",
        beside,
        0.25,
    );
    let ratio = |outcome: &Outcome| outcome.median().as_secs_f64() / events.median().as_secs_f64();
    part.claim_ratio_at_least(
        "faster/events",
        "events beat the host's waiting",
        ratio(host_sync),
        1.5,
    );
    part.claim_ratio_at_least(
        "as-fast-as/one-stream",
        "events are as fast as one stream",
        ratio(one_stream),
        0.97,
    );
    let share = |of: &Durations| of.median().as_secs_f64();
    let sentence = "events: idle time between updates, of what the host's waiting leaves";
    part.claim_share_at_most(
        "idle/events",
        sentence,
        share(&idle[2]) / share(&idle[0]),
        0.1,
    );
    let reached = alone.as_secs_f64() / events.median().as_secs_f64();
    part.claim_share_at_least(
        "near-bound/events",
        "events come near attention alone",
        reached,
        0.85,
    );
    part.claim_share_at_most(
        "not-below-bound/events",
        "events are not faster than that",
        reached,
        1.05,
    );
    Ok(())
}
