//! Measurements and claims of the part `append`.

mod known;

use super::size::{self, Pages};
use crate::append::Decode;
use crate::cache::{HEAD_DIM, HEADS, LAYERS, WIDTH, in_order};
use cuda_host::prelude::*;
use examples_host::ahead::Updates;
use examples_host::before::ends_before;
use examples_host::host_waits;
use examples_host::idle::beside_kernel;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use gpu_kernels::{Signature as _, append_kv, paged_attention};
use known::CheckedAppend;

/// Steps while the length of the prompt is chosen, and then.
const FEW: usize = 4;
const STEPS: usize = 32;

/// Attention without the appends: no order hides more.
fn attention_alone(of: &Decode, attention: &Stream) -> anyhow::Result<()> {
    in_order(of.steps).try_for_each(|(step, layer)| of.launch_attention(step, layer, attention))
}

/// Appends without attention, each with a round trip of the host.
fn round_trips(of: &Decode, append: &Stream) -> anyhow::Result<()> {
    for (step, layer) in in_order(of.steps) {
        of.launch_append(step, layer, append)?;
        append.synchronize()?;
    }
    Ok(())
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
    let host_sync = |work: &mut CheckedAppend| work.of.host_sync(append, attention);
    let one_stream = |work: &mut CheckedAppend| work.of.one_stream(attention);
    let events = |work: &mut CheckedAppend| work.of.events(append, attention);
    let (pages, prompts) = (Pages::of(part), size::prompts(part)?);
    let updates = Updates {
        count: FEW * LAYERS,
        streams: both,
        device: &|work: &mut CheckedAppend| attention_alone(&work.of, attention),
        round_trips: &|work: &mut CheckedAppend| round_trips(&work.of, append),
        host_sync: &host_sync,
        events: &events,
    };
    let make = |prompt| CheckedAppend::new(prompt, FEW, pages.hold(prompt)?);
    let prompt = part.host_ahead("tokens", &prompts, make, &updates)?;

    let mut work = CheckedAppend::new(prompt, STEPS, pages.hold(prompt)?)?;
    let (prompts, updates) = (LAYERS, STEPS * LAYERS);
    let elements = (prompts * prompt + 2 * updates) * WIDTH;
    let plan = Plan::new().launches(prompts + 2 * updates, elements);
    let variants = variants! { work: CheckedAppend, differ in Streams;
        ("host-sync", "host sync per append"), both => host_sync(work), waits 2 * updates, also Waits;
        "one-stream", [attention] => one_stream(work);
        ("events", "events per layer"), both => events(work), also Events;
    };
    let alone =
        [piece([attention], |work: &mut CheckedAppend| attention_alone(&work.of, attention))];
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
