//! Measurements and claims of the part `prefetch`.

mod known;

use super::size::{self, Pages};
use crate::cache::{LAYERS, WIDTH, in_order};
use crate::prefetch::{BUFFERS, Decode, STEPS};
use cuda_host::prelude::*;
use examples_host::exposed::{exposed, exposed_after_first};
use examples_host::intervals::Interval;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use known::CheckedPrefetch;
use std::time::Duration;

/// Tokens in the cache, where the command line says nothing else: kernels long enough that the gaps between them count little.
const TOKENS: usize = 1024;
/// Attention must take this many times a copy, so that starting the copy is hidden too.
const LONGER: f64 = 2.0;

/// The copies without attention.
fn copies_alone(of: &Decode, copies: &Stream) -> anyhow::Result<()> {
    for (_, layer) in in_order(STEPS) {
        let mut pages = of.slots[layer % BUFFERS].pages.index(..);
        // SAFETY: the host's memory is page-locked and outlives the copy.
        unsafe { pages.async_copy_from(&of.on_host[layer], copies)? };
    }
    Ok(())
}

/// Attention without the copies.
fn attention_alone(of: &Decode, attention: &Stream) -> anyhow::Result<()> {
    let slot = |layer| &of.slots[layer % BUFFERS];
    in_order(STEPS).try_for_each(|at| of.launch_attention(slot(at.1), at, attention))
}

/// What bounds both programs: the copies to the device, and the kernels.
fn stages([copy_in, kernel]: [Duration; 2]) -> Stages {
    Stages { copy_in, kernel, copy_out: Duration::ZERO, both_copies: copy_in }
}

/// The part.
pub fn run(part: &mut Part) -> anyhow::Result<()> {
    let [copies, attention] = &stream::non_blocking_named(["copies", "attention"])?;
    let tokens = size::tokens(part)?.unwrap_or(TOKENS);
    let page_tokens = Pages::of(part).hold(tokens)?;

    let pieces = || {
        let copy = piece([copies], |work: &mut CheckedPrefetch| copies_alone(&work.of, copies));
        // Attention finds in the cache what a copy has left there.
        let copied = |work: &mut CheckedPrefetch| {
            copies_alone(&work.of, copies)?;
            Ok(copies.synchronize()?)
        };
        let read =
            piece([attention], |work: &mut CheckedPrefetch| attention_alone(&work.of, attention));
        [copy, read.after(copied)]
    };
    let mut work = CheckedPrefetch::new(tokens, page_tokens, 1)?;
    let [copy_in, one] = part.alone_in_turn(&mut work, pieces())?.least();
    let sequences = (LONGER * copy_in.div_duration_f64(one)).ceil() as usize;
    let mut work = CheckedPrefetch::new(tokens, page_tokens, sequences.clamp(1, 64))?;
    let mut alone = part.alone_in_turn(&mut work, pieces())?;
    let stages = stages(alone.least());
    let (layer_bytes, per_layer) = (size_of_val(&work.of.on_host[0][..]), (STEPS * LAYERS) as u32);
    part.predict(format!(
        "{LAYERS} layers of {} in page-locked memory, room for two on the device. Per layer: copy {},\n\
         attention of one sequence {}. {} sequences share the prompt, so that attention takes longer\n\
         than the copy: {}. One stream takes the sum of both, {}; a copy stream the longer,\n\
         {}, and the first copy.",
        units::bytes(layer_bytes as u64),
        units::time(copy_in / per_layer),
        units::time(one / per_layer),
        work.of.sequences.count,
        units::time(stages.kernel / per_layer),
        units::time(stages.bound(Overlap::None)),
        units::time(stages.bound(Overlap::Duplex)),
    ));

    let launches = STEPS * LAYERS * work.of.sequences.count;
    let plan =
        Plan::new().bytes_in(STEPS * LAYERS * layer_bytes).launches(launches, launches * WIDTH);
    let variants = variants! { work: CheckedPrefetch, differ in Streams, Events;
        "one-stream", [attention] => work.of.one_stream(attention);
        ("prefetch", "prefetch in a copy stream"), [copies, attention] => work.of.prefetch(copies, attention);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut alone, variants)?;
    let stages = self::stages(alone.least());
    part.show_exposed(&outcomes, &stages);
    let is_copy = |interval: &Interval| interval.engine == Engine::HostToDevice;
    part.chart_stretch("one step", &outcomes, is_copy, LAYERS..2 * LAYERS);

    let [one_stream, prefetch] = &outcomes;
    expect! { part;
        "exposed/one-stream", "one stream: copies are exposed" =>
            exposed(one_stream).at_least(0.95).for_any(&[Size, Chunks]);
        "exposed-after-first/prefetch", "prefetch: copies after the first are exposed" =>
            exposed_after_first(prefetch).at_most(0.15);
        "faster/prefetch", "prefetch is faster than one stream" => prefetch.speedup_over(one_stream).at_least(1.2);
        "near-bound/prefetch", "prefetch comes near the bound" => prefetch.reached(&stages).at_least(0.8);
    }
    part.take_away(
        "A copy stream and two events per buffer hide all copies but the first behind attention.",
    );
    Ok(())
}
