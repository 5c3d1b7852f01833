//! append: one stream writes a token's keys and values while another attends to the tokens before it.
//!
//! In each step and layer, a token's keys and values come out of what the layer before has computed, and are appended
//! to the layer's cache. Attention of that step reads the tokens before it. So there are two orders to keep: an append
//! comes behind the attention of the layer before, and attention behind the appends of the earlier steps, which have
//! ended long ago. Kept by the host, both cost a round trip; kept by events, neither costs anything:
//!
//! ```text
//! host waits  host      |wwwww   www   wwwww   www   wwwww  |
//!             attention |KKKK           KKKK          KKKK  |
//!             append    |       K             K             |
//! events      attention |KKKK KKKK KKKK KKKK KKKK KKKK      |
//!             append    |     K    K    K    K    K    K    |
//! ```
//!
//! One stream needs no events and no host, but has each append between two attentions. An append that begins before
//! the attention it comes from has ended, an output that a missing token has changed, or gaps that remain would prove
//! this wrong.

mod decode;

use crate::model::{HEAD_DIM, HEADS, LAYERS, WIDTH, in_order};
use crate::size::{self, Pages};
use cuda_host::prelude::*;
use cust::stream::Stream;
use decode::Decode;
use examples_host::ahead::Updates;
use examples_host::before::ends_before;
use examples_host::host_waits;
use examples_host::idle::beside_kernel;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use gpu_kernels::{Signature as _, append_kv, paged_attention};

/// Steps while the length of the prompt is chosen, and then.
const FEW: usize = 4;
const STEPS: usize = 32;

impl Decode {
    /// The host waits for what each kernel is to read.
    fn host_sync(&self, append: &Stream, attention: &Stream) -> anyhow::Result<()> {
        for layer in 0..LAYERS {
            self.append_prompt(layer, append)?;
        }
        for (step, layer) in in_order(self.steps) {
            attention.synchronize()?; // the token comes out of the layer before
            self.append(step, layer, append)?;
            append.synchronize()?; // attention reads it in the next step
            self.attend(step, layer, attention)?;
        }
        Ok(())
    }

    /// One stream keeps everything in order.
    fn one_stream(&self, stream: &Stream) -> anyhow::Result<()> {
        for layer in 0..LAYERS {
            self.append_prompt(layer, stream)?;
        }
        for (step, layer) in in_order(self.steps) {
            self.append(step, layer, stream)?;
            self.attend(step, layer, stream)?;
        }
        Ok(())
    }

    /// The streams wait for each other, and the host for nothing. A wait stands for the latest record at the time of the
    /// call: for the attention of the layer before, and for the append of the step before.
    fn events(&self, append: &Stream, attention: &Stream) -> anyhow::Result<()> {
        for layer in 0..LAYERS {
            self.append_prompt(layer, append)?;
            self.written[layer].record(append)?;
        }
        for (step, layer) in in_order(self.steps) {
            append.wait(&self.computed)?;
            attention.wait(&self.written[layer])?;
            self.attend(step, layer, attention)?;
            self.computed.record(attention)?;
            self.append(step, layer, append)?;
            self.written[layer].record(append)?;
        }
        Ok(())
    }

    /// Writes the prompt's tokens into a layer's cache.
    fn append_prompt(&self, layer: usize, stream: &Stream) -> anyhow::Result<()> {
        Ok(self.layers[layer].append(&self.kernels, 0..self.prompt, stream)?)
    }

    /// Writes the token of a step into a layer's cache.
    fn append(&self, step: usize, layer: usize, stream: &Stream) -> anyhow::Result<()> {
        let token = self.prompt + step;
        Ok(self.layers[layer].append(&self.kernels, token..token + 1, stream)?)
    }

    /// Attention of a step over all tokens before it.
    fn attend(&self, step: usize, layer: usize, stream: &Stream) -> anyhow::Result<()> {
        let (table, tokens) = (&self.layers[layer].table, self.prompt + step);
        let (query, mut output) = self.sequence.at(step, layer, 0);
        Ok(self.kernels.attend(table, tokens, &query, &mut output, stream)?)
    }

    /// Attention without the appends: no order hides more.
    fn attention_alone(&self, attention: &Stream) -> anyhow::Result<()> {
        in_order(self.steps).try_for_each(|(step, layer)| self.attend(step, layer, attention))
    }

    /// Appends without attention, each with a round trip of the host.
    fn round_trips(&self, append: &Stream) -> anyhow::Result<()> {
        for (step, layer) in in_order(self.steps) {
            self.append(step, layer, append)?;
            append.synchronize()?;
        }
        Ok(())
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [append, attention] = &stream::non_blocking_named(["append", "attention"])?;
    let both = [append, attention];
    part.predict(format!(
        "{LAYERS} layers with {HEADS} heads of {HEAD_DIM}. Events take no more time than attention alone, unless it takes\n\
         the host longer to enqueue. A host that waits adds two round trips in each layer: twice the cost\n\
         of a synchronous append. The longer attention takes, the less that matters."
    ));
    let host_sync = |work: &mut Decode| work.host_sync(append, attention);
    let one_stream = |work: &mut Decode| work.one_stream(attention);
    let events = |work: &mut Decode| work.events(append, attention);
    let (pages, prompts) = (Pages::of(part), size::prompts(part)?);
    let updates = Updates {
        count: FEW * LAYERS,
        streams: both,
        device: &|work: &mut Decode| work.attention_alone(attention),
        round_trips: &|work: &mut Decode| work.round_trips(append),
        host_sync: &host_sync,
        events: &events,
    };
    let make = |prompt| Decode::new(prompt, FEW, pages.hold(prompt)?);
    let prompt = part.host_ahead("tokens", &prompts, make, &updates)?;

    let mut work = Decode::new(prompt, STEPS, pages.hold(prompt)?)?;
    let (prompts, updates) = (LAYERS, STEPS * LAYERS);
    let elements = (prompts * prompt + 2 * updates) * WIDTH;
    let plan = Plan::new().launches(prompts + 2 * updates, elements);
    let variants = [
        variant(("host-sync", "host sync per append"), both, host_sync),
        variant("one-stream", [attention], one_stream),
        variant(("events", "events per layer"), both, events),
    ];
    let alone = [piece([attention], |work: &mut Decode| work.attention_alone(attention))];
    let mut alone = part.alone_in_turn(&mut work, alone)?;
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut alone, variants)?;
    let [alone] = alone.least();
    part.show(&outcomes);
    part.say(format!("bound: attention alone, {}", units::time(alone)));
    part.show_host_waits(&outcomes);
    part.not_claimed_of_the_model("variants", &["one-stream"]);
    let (write, read) = (append_kv::NAME, paged_attention::NAME);
    let gaps = ("idle-between-updates", "idle between updates");
    let [idle_host, _, idle_events] = part.idle_between(gaps, write, &outcomes)?;
    let [host_sync, one_stream, events] = &outcomes;
    let step = LAYERS..2 * LAYERS;
    part.chart_stretch("one step", [host_sync, events], |i| i.name == read, step);
    part.keep(&one_stream.name, &one_stream.recording);

    let of_cache = (0..updates).map(|n| [(write, n), (read, n)]);
    let of_token = (1..updates).map(|n| [(read, n - 1), (write, prompts + n)]);
    let order = ends_before(&events.recording, of_cache.chain(of_token));
    let beside = share(beside_kernel(&events.recording, write, read)).at_least(0.25);
    // Where attention is shorter than the host's calls, the calls for events count.
    let follows: &[_] = if alone > events.issuing.median() { &[Size, Chunks] } else { &[] };
    let idle = share(idle_events.div_duration_f64(idle_host)).at_most(0.1);
    let reached = share(alone.div_duration_f64(events.times.min()));
    expect! { part;
        "order", "each append and attention begins when its input is complete" => order;
        "no-waits/events", "events: the host waits for no stream" => exactly(host_waits::count(&events.recording), 0);
        "appends-beside-attention", "events: appends run during attention" => beside;
        "faster/events", "events beat a host that waits" => events.speedup_over(host_sync).at_least(1.5);
        "as-fast-as/one-stream", "events are as fast as one stream" =>
            events.speedup_over(one_stream).at_least(0.97).for_any(follows);
        "idle/events", "events: idle time between updates, relative to host sync" => idle.in_records_of(&events.recording);
        "near-bound/events", "events come near attention alone" => reached.at_least(0.85);
        "not-below-bound/events", "events are not faster than attention alone" =>
            reached.at_most(1.05).for_any(&[Size, Chunks]);
    }
    part.take_away(
        "Two hand-overs per layer and step keep both orders; a host that waits pays two round trips.",
    );
    Ok(())
}
