//! images: what do images gain that overlap?
//!
//! For each image, one after the other: its pixels come in; a kernel computes four features of each patch, another one its relevance to
//! the query, which says how many tokens it gets, from 64 to 400; a third one adds up where each patch's tokens begin; a fourth writes
//! them; counts and tokens go out. Within an image nothing can overlap. Between images everything can:
//!
//! ```text
//! serial         |IKKKKOIKKKKOIKKKKO|     I: pixels come in   K: the four kernels   O: tokens go out
//! three streams  in      |IIIIII    |
//!                kernels | KKKKKK   |
//!                out     |  OOOOOO  |
//! ```
//!
//! A stream for each stage and a ring of buffers: an event says that an image has come, another one that its tokens are there, a third
//! one that they are out and the buffers free. Small operations cost their starts: several images at once, a batch, cost one start
//! instead of several, and fill and drain the pipeline in larger steps.
//!
//! The critical path is the longest stage. A wrong count in any patch, tokens of another image, or a time below the critical path
//! would prove this wrong.

mod work;

use crate::patches::{PATCHES, PIXELS, ROOM};
use anyhow::{Context, Result};
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::AsyncCopyDestination;
use cust::stream::Stream;
use examples_host::alone::{each, together};
use examples_host::prelude::*;
use gpu_kernels::VISION_THREADS;
use work::{Images, Slot};

kernels! { use gpu_kernels::{allocate_tokens, emit_tokens, patch_relevance, texture_features}; }

const FEW: &str = "the few images that a model is given do not make up for filling and draining";
/// Images in one operation, in the variant with batches.
const BATCH: usize = 4;
/// Batches under way: one comes in, one is worked on, one goes out.
const SLOTS: usize = 3;
/// The streams of copies in, kernels and copies out.
type Roles<'s> = [&'s Stream; 3];

impl Images {
    /// One stream: each image after the one before.
    fn serial(&mut self, stream: &Stream) -> Result<()> {
        for image in 0..self.expected.len() {
            self.copy_in::<1>(image, stream)?;
            self.compute::<1>(image, stream)?;
            self.copy_out::<1>(image, stream)?;
        }
        Ok(())
    }

    /// A stream for each stage. Events hand every batch on, and give its slot back.
    fn three_streams<const IMAGES: usize>(
        &mut self,
        [copy_in, compute, copy_out]: Roles,
    ) -> Result<()> {
        for batch in 0..self.expected.len() / IMAGES {
            let slot = batch % SLOTS;
            copy_in.wait(&self.slots[slot].out)?; // the kernels that read these pixels are done, too
            self.copy_in::<IMAGES>(batch, copy_in)?;
            self.slots[slot].come.record(copy_in)?;

            compute.wait(&self.slots[slot].come)?;
            self.compute::<IMAGES>(batch, compute)?;
            self.slots[slot].computed.record(compute)?;

            copy_out.wait(&self.slots[slot].computed)?;
            self.copy_out::<IMAGES>(batch, copy_out)?;
            self.slots[slot].out.record(copy_out)?;
        }
        Ok(())
    }

    /// Batch `batch` comes into its slot.
    fn copy_in<const IMAGES: usize>(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        let len = IMAGES * PATCHES * PIXELS;
        let mut pixels = self.slots[batch % SLOTS].pixels.index(..len);
        // SAFETY: the pixels are page-locked and outlive the pass; the variants order the uses of each slot.
        unsafe { pixels.async_copy_from(&self.pixels[batch * len..][..len], stream)? };
        Ok(())
    }

    /// From pixels to tokens.
    fn compute<const IMAGES: usize>(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        let Kernels { texture_features, patch_relevance, allocate_tokens, emit_tokens } =
            &self.kernels;
        let Slot { pixels, features, counts, offsets, tokens, .. } = &mut self.slots[batch % SLOTS];
        let (threads, patches) = (VISION_THREADS, (IMAGES * PATCHES) as u32);
        let (warps, blocks) = (patches * 32 / threads, patches / threads);
        // SAFETY: the slot has room for the batch and outlives the pass.
        unsafe {
            launch!(texture_features<<<warps, threads, 0, stream>>>(&*pixels, patches, &mut *features))?;
            launch!(patch_relevance<<<blocks, threads, 0, stream>>>(&*features, &self.weights, patches, &mut *counts))?;
            launch!(allocate_tokens<<<IMAGES as u32, PATCHES as u32, 0, stream>>>(&*counts, &mut *offsets))?;
            launch!(emit_tokens<<<patches, threads, 0, stream>>>(&*pixels, &*counts, &*offsets, tokens))?;
        }
        Ok(())
    }

    /// How many tokens there are is not known to the host: it takes the room for all.
    fn copy_out<const IMAGES: usize>(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        let slot = &self.slots[batch % SLOTS];
        let (patches, room) = (IMAGES * PATCHES, IMAGES * ROOM);
        // SAFETY: the results are page-locked, outlive the pass, and are read behind it.
        unsafe {
            let counts = &mut self.counts[batch * patches..][..patches];
            slot.counts.index(..patches).async_copy_to(counts, stream)?;
            let tokens = &mut self.tokens[batch * room..][..room];
            slot.tokens.index(..room).async_copy_to(tokens, stream)?;
        }
        Ok(())
    }
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let [copy_in, compute, copy_out] =
        &stream::non_blocking_named(["copy in", "kernels", "copy out"])?;
    let images = part.by_times(64, 8);
    let mut work = Images::new(images)?;
    let batches = images / BATCH;
    let stages = [
        each(batches, copy_in, Images::copy_in::<BATCH>),
        each(batches, compute, Images::compute::<BATCH>),
        each(batches, copy_out, Images::copy_out::<BATCH>),
        together(
            batches,
            [copy_in, copy_out],
            [Images::copy_in::<BATCH>, Images::copy_out::<BATCH>],
        ),
    ];
    let mut alone = part.alone_in_turn(&mut work, stages)?;
    let stages = alone.stages();
    part.predict(prediction(&work, &stages)?);

    let bytes_in = images * PATCHES * PIXELS * size_of::<f32>();
    let bytes_out = images * (PATCHES + ROOM) * size_of::<f32>();
    let plan = Plan::new().bytes_in(bytes_in).bytes_out(bytes_out);
    let plan = plan.launches(4 * batches, images * PATCHES).launches_differ();
    let all = [copy_in, compute, copy_out];
    let variants = variants! { work: Images;
        "serial", [copy_in] => work.serial(copy_in);
        ("three-streams", "three streams"), all => work.three_streams::<1>(all);
        ("batches", "three streams, batches"), all => work.three_streams::<BATCH>(all);
    };
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut alone, variants)?;
    let stages = alone.stages();
    part.show_bounded(&outcomes, &stages, alone.disturbed_link());
    let [serial, streams, batches] = &outcomes;
    part.chart(&streams.name, &streams.recording, Rows::Engines);
    let rate = |outcome: &Outcome| {
        let rate = images as f64 / outcome.median().as_secs_f64();
        format!("{}: {:.0} images a second", outcome.name, rate)
    };
    part.say(outcomes.iter().map(rate).collect::<Vec<_>>().join("\n"));

    let best = if streams.times.min() < batches.times.min() { streams } else { batches };
    expect! { part;
        "faster/three-streams", "three streams are faster than one" => streams.speedup_over(serial).at_least(1.3);
        "faster/batches", "and in batches, too" => batches.speedup_over(serial).at_least(1.3);
        "near-bound", "the better of the two comes near the critical path" =>
            best.reached(&stages).at_least(0.9).not_of_the_model(FEW);
    }
    part.take_away(
        "Images that do not depend on each other take the longest stage, not the sum of all.",
    );
    Ok(())
}

/// How many tokens the images become, and what the stages take alone.
fn prediction(work: &Images, stages: &Stages) -> Result<String> {
    let images = work.expected.len();
    let counts = || work.expected.iter().flat_map(|(counts, _)| counts.iter().copied());
    let (least, most) = (counts().min(), counts().max());
    Ok(format!(
        "{images} images of {PATCHES} patches, which get {} to {} tokens each, {} in all. In batches of {BATCH}: pixels in {},\n\
         kernels {}, tokens out {}, both directions together {}. The critical path is {}; serial takes more\n\
         than the sum of the stages, {}.",
        least.context("no patch")?,
        most.context("no patch")?,
        counts().map(u64::from).sum::<u64>(),
        units::time(stages.copy_in),
        units::time(stages.kernel),
        units::time(stages.copy_out),
        units::time(stages.both_copies),
        units::time(stages.bound(Overlap::Duplex)),
        units::time(stages.bound(Overlap::None)),
    ))
}
