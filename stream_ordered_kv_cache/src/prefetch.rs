//! prefetch: a cache that lies in host memory comes to the device layer by layer, while the layer before is read.
//!
//! Page-locked memory of the host holds the keys and values of a long prompt, which several sequences continue. The
//! device has room for two layers. Attention must wait for the copy of its layer; the copy into a buffer must wait for
//! the attention that read it last. In one stream nothing else can happen. A copy stream and two events per buffer keep
//! exactly these two orders:
//!
//! ```text
//! one stream |HHHKKKKKhhhkkkkkHHHKKKKK  |
//! copies     |HHHhhh  HHH     hhh       |
//! attention  |   KKKKKkkkkkKKKKK        |
//! ```
//!
//! As long as attention takes longer than a copy, what remains of the copies is the first, and the short gaps between
//! kernels. Copies during which no kernel runs for longer would prove this wrong.

mod work;

use crate::model::{LAYERS, WIDTH, in_order};
use crate::size::{self, Pages};
use cuda_host::prelude::*;
use cust::memory::AsyncCopyDestination;
use cust::stream::Stream;
use examples_host::exposed::{exposed, exposed_after_first};
use examples_host::intervals::Interval;
use examples_host::part_option::PartOption::{Chunks, Size};
use examples_host::prelude::*;
use std::time::Duration;
use work::Work;

/// Decode steps; each reads all layers.
const STEPS: usize = 4;
/// Tokens in the cache, where the command line says nothing else: kernels long enough that the gaps between them count little.
const TOKENS: usize = 1024;
/// Buffers on the device: one is read while the next is filled.
const BUFFERS: usize = 2;
/// Attention must take this many times a copy, so that starting the copy is hidden too.
const LONGER: f64 = 2.0;

impl Work {
    /// One stream keeps everything in order.
    fn one_stream(&self, stream: &Stream) -> anyhow::Result<()> {
        for (step, layer) in in_order(STEPS) {
            self.copy_in(layer, stream)?;
            self.attend(step, layer, stream)?;
        }
        Ok(())
    }

    /// The next layer comes while this one is read: an event says that a slot is filled, another that it was read.
    fn prefetch(&self, copies: &Stream, attention: &Stream) -> anyhow::Result<()> {
        for (step, layer) in in_order(STEPS) {
            let slot = &self.slots[layer % BUFFERS];
            copies.wait(&slot.read)?;
            self.copy_in(layer, copies)?;
            slot.filled.record(copies)?;

            attention.wait(&slot.filled)?;
            self.attend(step, layer, attention)?;
            slot.read.record(attention)?;
        }
        Ok(())
    }

    /// Copies a layer into its slot.
    fn copy_in(&self, layer: usize, stream: &Stream) -> anyhow::Result<()> {
        let mut pages = self.slots[layer % BUFFERS].pages.index(..);
        // SAFETY: the host's memory is page-locked and outlives the copy.
        unsafe { pages.async_copy_from(&self.on_host[layer], stream)? };
        Ok(())
    }

    /// Attention of all sequences, one after the other, over the layer in its slot.
    fn attend(&self, step: usize, layer: usize, stream: &Stream) -> anyhow::Result<()> {
        let table = &self.slots[layer % BUFFERS].table;
        for sequence in 0..self.sequences.count {
            let (query, mut output) = self.sequences.at(step, layer, sequence);
            self.kernels.attend(table, self.tokens, &query, &mut output, stream)?;
        }
        Ok(())
    }

    /// The copies without attention.
    fn copies_alone(&self, copies: &Stream) -> anyhow::Result<()> {
        in_order(STEPS).try_for_each(|(_, layer)| self.copy_in(layer, copies))
    }

    /// Attention without the copies.
    fn attention_alone(&self, attention: &Stream) -> anyhow::Result<()> {
        in_order(STEPS).try_for_each(|(step, layer)| self.attend(step, layer, attention))
    }
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
        let copy = piece([copies], |work: &mut Work| work.copies_alone(copies));
        // Attention finds in the cache what a copy has left there.
        let copied = |work: &mut Work| {
            work.copies_alone(copies)?;
            Ok(copies.synchronize()?)
        };
        let read = piece([attention], |work: &mut Work| work.attention_alone(attention));
        [copy, read.after(copied)]
    };
    let mut work = Work::new(tokens, page_tokens, 1)?;
    let [copy_in, one] = part.alone_in_turn(&mut work, pieces())?.least();
    let sequences = (LONGER * copy_in.div_duration_f64(one)).ceil() as usize;
    let mut work = Work::new(tokens, page_tokens, sequences.clamp(1, 64))?;
    let mut alone = part.alone_in_turn(&mut work, pieces())?;
    let stages = stages(alone.least());
    let (layer_bytes, per_layer) = (size_of_val(&work.on_host[0][..]), (STEPS * LAYERS) as u32);
    part.predict(format!(
        "{LAYERS} layers of {} in page-locked memory, room for two on the device. Per layer: copy {},\n\
         attention of one sequence {}. {} sequences share the prompt, so that attention takes longer\n\
         than the copy: {}. One stream takes the sum of both, {}; a copy stream the longer,\n\
         {}, and the first copy.",
        units::bytes(layer_bytes as u64),
        units::time(copy_in / per_layer),
        units::time(one / per_layer),
        work.sequences.count,
        units::time(stages.kernel / per_layer),
        units::time(stages.bound(Overlap::None)),
        units::time(stages.bound(Overlap::Duplex)),
    ));

    let launches = STEPS * LAYERS * work.sequences.count;
    let plan =
        Plan::new().bytes_in(STEPS * LAYERS * layer_bytes).launches(launches, launches * WIDTH);
    let variants = variants! { work: Work;
        "one-stream", [attention] => work.one_stream(attention);
        ("prefetch", "prefetch in a copy stream"), [copies, attention] => work.prefetch(copies, attention);
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
