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

use crate::cache::{Kernels, Numbers, Table};
use crate::model::{HEAD_DIM, HEADS, LAYERS, Layer, WIDTH, in_order, page_len, query};
use crate::reference::{Outputs, check_pages};
use crate::size::{self, Pages};
use cuda_host::prelude::*;
use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use examples_host::ahead::Updates;
use examples_host::before::ends_before;
use examples_host::idle::beside_kernel;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use gpu_kernels::{Signature as _, append_kv, paged_attention};
use std::time::Duration;

/// Steps while the length of the prompt is chosen, and then.
const FEW: usize = 4;
const STEPS: usize = 32;

/// Decode steps: a prompt in every layer's cache, and then token after token.
struct Decode {
    prompt: usize,
    steps: usize,
    layers: Vec<OfLayer>,
    /// By step, for the first layer.
    queries: DeviceBuffer<f32>,
    /// By step and layer: the next layer's queries.
    outputs: DeviceBuffer<f32>,
    /// Recorded behind the latest attention.
    computed: Event,
    kernels: Kernels,
    expected: Outputs,
}

struct OfLayer {
    pages: Vec<DeviceBuffer<f32>>,
    table: Table,
    /// What is to be appended.
    numbers: Numbers,
    /// Recorded behind the latest append.
    written: Event,
    on_cpu: Layer,
}

impl Decode {
    fn new(prompt: usize, steps: usize, page_tokens: usize) -> anyhow::Result<Self> {
        let tokens = prompt + steps;
        let mut layers = Vec::new();
        for layer in 0..LAYERS {
            let on_cpu = Layer::new(layer, tokens);
            let mut pages = Vec::new();
            for _ in 0..tokens.div_ceil(page_tokens) {
                pages.push(DeviceBuffer::zeroed(page_len(page_tokens))?);
            }
            layers.push(OfLayer {
                table: Table::new(pages.iter().map(|page| page.as_device_ptr()), page_tokens)?,
                pages,
                numbers: Numbers::of(&on_cpu)?,
                written: Event::new(EventFlags::DISABLE_TIMING)?,
                on_cpu,
            });
        }
        let queries: Vec<f32> = (0..steps * WIDTH).map(query).collect();
        let on_cpu = layers.iter().map(|layer| &layer.on_cpu);
        let expected = Outputs::new(on_cpu, steps, 1, |step| prompt + step);
        Ok(Self {
            prompt,
            steps,
            layers,
            queries: DeviceBuffer::from_slice(&queries)?,
            outputs: DeviceBuffer::zeroed(steps * LAYERS * WIDTH)?,
            computed: Event::new(EventFlags::DISABLE_TIMING)?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            expected,
        })
    }

    /// Writes the prompt's tokens into a layer's cache.
    fn append_prompt(&self, layer: usize, stream: &Stream) -> anyhow::Result<()> {
        let OfLayer { table, numbers, .. } = &self.layers[layer];
        Ok(self.kernels.append(table, 0..self.prompt, numbers, stream)?)
    }

    /// Writes the token of a step into a layer's cache.
    fn append(&self, step: usize, layer: usize, stream: &Stream) -> anyhow::Result<()> {
        let (OfLayer { table, numbers, .. }, token) = (&self.layers[layer], self.prompt + step);
        Ok(self.kernels.append(table, token..token + 1, numbers, stream)?)
    }

    /// Attention of a step over all tokens before it.
    fn attend(&self, step: usize, layer: usize, stream: &Stream) -> anyhow::Result<()> {
        let (table, tokens) = (&self.layers[layer].table, self.prompt + step);
        let at = |number: usize| number * WIDTH..(number + 1) * WIDTH;
        let number = step * LAYERS + layer;
        let query = match layer {
            0 => self.queries.index(at(step)),
            _ => self.outputs.index(at(number - 1)),
        };
        let mut output = self.outputs.index(at(number));
        Ok(self.kernels.attend(table, tokens, &query, &mut output, stream)?)
    }

    /// The host waits for what each kernel is to read.
    fn host_sync(&self, append: &Stream, attention: &Stream) -> anyhow::Result<()> {
        for layer in 0..LAYERS {
            self.append_prompt(layer, append)?;
        }
        for (step, layer) in in_order(self.steps) {
            attention.synchronize()?; // the token comes out of the layer before
            self.append(step, layer, append)?;
            append.synchronize()?; // attention reads what was appended
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
            self.layers[layer].written.record(append)?;
        }
        for (step, layer) in in_order(self.steps) {
            append.wait(&self.computed)?;
            attention.wait(&self.layers[layer].written)?;
            self.attend(step, layer, attention)?;
            self.computed.record(attention)?;
            self.append(step, layer, append)?;
            self.layers[layer].written.record(append)?;
        }
        Ok(())
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

impl Workload for Decode {
    fn poison(&mut self) -> anyhow::Result<()> {
        for page in self.layers.iter_mut().flat_map(|layer| &mut layer.pages) {
            page.set_8(0xFF)?;
        }
        Ok(self.outputs.set_8(0xFF)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut checked = self.expected.check(&self.outputs)?;
        for layer in &self.layers {
            let (pages, page_tokens) = (&layer.pages, layer.table.page_tokens);
            let tokens = self.prompt + self.steps;
            checked = checked.and(check_pages(&layer.on_cpu, pages, page_tokens, tokens)?);
        }
        Ok(checked)
    }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [append, attention] = stream::named(["append", "attention"])?;
    let both = [&append, &attention];
    part.predict(format!(
        "{LAYERS} layers with {HEADS} heads of {HEAD_DIM}. Events take no more time than attention alone, unless it takes\n\
         the host longer to enqueue. A host that waits adds two round trips in each layer: twice the cost\n\
         of a synchronous append. The longer attention takes, the less that matters."
    ));
    let pages = Pages::of(part);
    let prompts = size::prompts(part)?;
    let make = |prompt| Decode::new(prompt, FEW, pages.hold(prompt)?);
    let updates = Updates {
        count: FEW * LAYERS,
        streams: both,
        device: &|work: &mut Decode| work.attention_alone(&attention),
        round_trips: &|work: &mut Decode| work.round_trips(&append),
        host_sync: &|work: &mut Decode| work.host_sync(&append, &attention),
        events: &|work: &mut Decode| work.events(&append, &attention),
    };
    let prompt = part.host_ahead("tokens", &prompts, make, &updates)?;

    let mut work = Decode::new(prompt, STEPS, pages.hold(prompt)?)?;
    let updates = STEPS * LAYERS;
    let elements = (LAYERS * prompt + 2 * updates) * WIDTH;
    let plan = Plan::new().launches(LAYERS + 2 * updates, elements);
    let outcomes = part.compare(
        "variants",
        plan,
        &mut work,
        [
            variant(("host-sync", "host sync per append"), both, |work: &mut Decode| {
                work.host_sync(&append, &attention)
            }),
            variant("one-stream", [&attention], |work: &mut Decode| work.one_stream(&attention)),
            variant(("events", "events per layer"), both, |work: &mut Decode| {
                work.events(&append, &attention)
            }),
        ],
    )?;
    let alone = part.alone([&attention], || work.attention_alone(&attention))?;
    part.show(&outcomes);
    part.say(format!("bound: attention alone, {}", units::time(alone)));
    part.show_host_waits(&outcomes);
    let (write, read) = (append_kv::NAME, paged_attention::NAME);
    let gaps = ("idle-between-updates", "idle between updates");
    let [idle_host, _, idle_events] = part.idle_between(gaps, write, &outcomes)?;
    let [host_sync, one_stream, events] = &outcomes;
    let step = LAYERS..2 * LAYERS;
    part.chart_stretch("one step", [host_sync, events], |i| i.name == read, step);
    part.keep(&one_stream.name, &one_stream.recording);

    let of_cache = (0..updates).map(|n| [(write, n), (read, n)]);
    let of_token = (1..updates).map(|n| [(read, n - 1), (write, LAYERS + n)]);
    part.expect(
        "order",
        "each append and attention begins when what it comes from has ended",
        ends_before(&events.recording, of_cache.chain(of_token)),
    );
    part.expect(
        "appends-beside-attention",
        "events: appends run during attention",
        share(beside_kernel(&events.recording, write, read)).at_least(0.25),
    );
    let times = |one: Duration, other: Duration| one.div_duration_f64(other);
    part.expect(
        "faster/events",
        "events beat a host that waits",
        ratio(times(host_sync.median(), events.median())).at_least(1.5),
    );
    part.expect(
        "as-fast-as/one-stream",
        "events are as fast as one stream",
        ratio(times(one_stream.median(), events.median())).at_least(0.97).for_any(&[Size, Chunks]),
    );
    part.expect(
        "idle/events",
        "events: idle time between updates, relative to host sync",
        share(times(idle_events, idle_host)).at_most(0.1),
    );
    let reached = share(times(alone, events.median()));
    let near = "events come near attention alone";
    part.expect("near-bound/events", near, reached.at_least(0.85));
    let bound = "events are not faster than attention alone";
    part.expect("not-below-bound/events", bound, reached.at_most(1.05).for_any(&[Size, Chunks]));
    part.take_away(
        "Two events per layer keep both orders; a host that waits pays two round trips for them.",
    );
    Ok(())
}
