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

use crate::patches::{self, FEATURES, PATCHES, PIXELS, ROOM, WEIGHTS};
use anyhow::{Context, Result};
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::alone::each;
use examples_host::prelude::*;
use gpu_kernels::VISION_THREADS;

kernels! { use gpu_kernels::{allocate_tokens, emit_tokens, patch_relevance, texture_features}; }

const FEW: &str = "the few images that a model is given do not make up for filling and draining";
/// Images in one operation, in the variant with batches.
const BATCH: usize = 4;
/// Batches under way: one comes in, one is worked on, one goes out.
const SLOTS: usize = 3;

/// The images on the host, and what has become of them.
struct Images {
    kernels: Kernels,
    weights: DeviceBuffer<f32>,
    pixels: LockedBuffer<f32>,
    counts: LockedBuffer<u32>,
    tokens: LockedBuffer<f32>,
    slots: Vec<Slot>,
    expected: Vec<(Vec<u32>, Vec<f32>)>,
}

/// A batch on the device, with an event for the end of each stage.
struct Slot {
    pixels: DeviceBuffer<f32>,
    features: DeviceBuffer<f32>,
    counts: DeviceBuffer<u32>,
    offsets: DeviceBuffer<u32>,
    tokens: DeviceBuffer<f32>,
    come: Event,
    computed: Event,
    out: Event,
}

impl Slot {
    fn new() -> Result<Self> {
        Ok(Self {
            pixels: DeviceBuffer::zeroed(BATCH * PATCHES * PIXELS)?,
            features: DeviceBuffer::zeroed(BATCH * PATCHES * FEATURES)?,
            counts: DeviceBuffer::zeroed(BATCH * PATCHES)?,
            offsets: DeviceBuffer::zeroed(BATCH * PATCHES)?,
            tokens: DeviceBuffer::zeroed(BATCH * ROOM)?,
            come: Event::new(EventFlags::DISABLE_TIMING)?,
            computed: Event::new(EventFlags::DISABLE_TIMING)?,
            out: Event::new(EventFlags::DISABLE_TIMING)?,
        })
    }
}

impl Images {
    fn new(images: usize) -> Result<Self> {
        let of_image = |image| {
            (0..PATCHES * PIXELS).map(move |at| patches::pixel(image, at / PIXELS, at % PIXELS))
        };
        let pixels: Vec<f32> = (0..images).flat_map(of_image).collect();
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            weights: DeviceBuffer::from_slice(&WEIGHTS)?,
            pixels: LockedBuffer::from_slice(&pixels)?,
            counts: LockedBuffer::new(&0, images * PATCHES)?,
            tokens: LockedBuffer::new(&0.0, images * ROOM)?,
            slots: (0..SLOTS).map(|_| Slot::new()).collect::<Result<_>>()?,
            expected: (0..images).map(patches::tokens).collect(),
        })
    }

    /// Batch `batch` of so many images comes into its slot.
    fn copy_in(&mut self, batch: usize, images: usize, stream: &Stream) -> Result<()> {
        let len = images * PATCHES * PIXELS;
        let mut pixels = self.slots[batch % SLOTS].pixels.index(..len);
        // SAFETY: the pixels are page-locked and outlive the pass; the variants order the uses of each slot.
        unsafe { pixels.async_copy_from(&self.pixels[batch * len..][..len], stream)? };
        Ok(())
    }

    /// From pixels to tokens.
    fn compute(&mut self, batch: usize, images: usize, stream: &Stream) -> Result<()> {
        let Kernels { texture_features, patch_relevance, allocate_tokens, emit_tokens } =
            &self.kernels;
        let Slot { pixels, features, counts, offsets, tokens, .. } = &mut self.slots[batch % SLOTS];
        let (threads, patches) = (VISION_THREADS, (images * PATCHES) as u32);
        let (warps, blocks) = (patches * 32 / threads, patches / threads);
        // SAFETY: the slot has room for the batch and outlives the pass.
        unsafe {
            launch!(texture_features<<<warps, threads, 0, stream>>>(&*pixels, patches, &mut *features))?;
            launch!(patch_relevance<<<blocks, threads, 0, stream>>>(&*features, &self.weights, patches, &mut *counts))?;
            launch!(allocate_tokens<<<images as u32, PATCHES as u32, 0, stream>>>(&*counts, &mut *offsets))?;
            launch!(emit_tokens<<<patches, threads, 0, stream>>>(&*pixels, &*counts, &*offsets, tokens))?;
        }
        Ok(())
    }

    /// How many tokens there are is not known to the host: it takes the room for all.
    fn copy_out(&mut self, batch: usize, images: usize, stream: &Stream) -> Result<()> {
        let slot = &self.slots[batch % SLOTS];
        let (patches, room) = (images * PATCHES, images * ROOM);
        // SAFETY: the results are page-locked, outlive the pass, and are read behind it.
        unsafe {
            let counts = &mut self.counts[batch * patches..][..patches];
            slot.counts.index(..patches).async_copy_to(counts, stream)?;
            let tokens = &mut self.tokens[batch * room..][..room];
            slot.tokens.index(..room).async_copy_to(tokens, stream)?;
        }
        Ok(())
    }

    /// One stream: each image after the one before.
    fn serial(&mut self, stream: &Stream) -> Result<()> {
        for image in 0..self.expected.len() {
            self.copy_in(image, 1, stream)?;
            self.compute(image, 1, stream)?;
            self.copy_out(image, 1, stream)?;
        }
        Ok(())
    }

    /// A stream for each stage. Events hand every batch on, and give its slot back.
    fn three_streams(
        &mut self,
        images: usize,
        [copy_in, compute, copy_out]: [&Stream; 3],
    ) -> Result<()> {
        for batch in 0..self.expected.len() / images {
            let slot = batch % SLOTS;
            copy_in.wait(&self.slots[slot].out)?; // the kernels that read these pixels are done, too
            self.copy_in(batch, images, copy_in)?;
            self.slots[slot].come.record(copy_in)?;

            compute.wait(&self.slots[slot].come)?;
            self.compute(batch, images, compute)?;
            self.slots[slot].computed.record(compute)?;

            copy_out.wait(&self.slots[slot].computed)?;
            self.copy_out(batch, images, copy_out)?;
            self.slots[slot].out.record(copy_out)?;
        }
        Ok(())
    }

    /// Both directions at once and nothing else: no schedule is faster.
    fn copies(&mut self, [copy_in, copy_out]: [&Stream; 2]) -> Result<()> {
        for batch in 0..self.expected.len() / BATCH {
            self.copy_in(batch, BATCH, copy_in)?;
            self.copy_out(batch, BATCH, copy_out)?;
        }
        Ok(())
    }
}

impl Workload for Images {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.counts);
        check::poison(&mut self.tokens);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let mut checked = Checked::default();
        for (image, (counts, tokens)) in self.expected.iter().enumerate() {
            let found = &self.counts[image * PATCHES..][..PATCHES];
            let right = check::equal("the counts", 0, found, |patch| counts[patch])?;
            let found = &self.tokens[image * ROOM..][..tokens.len()];
            let place = image * ROOM;
            let more = check::equal("the tokens", place, found, |at| tokens[at - place])?;
            checked = checked.and(right).and(more);
        }
        Ok(checked)
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
        each(batches, copy_in, |work: &mut Images, batch, stream: &Stream| {
            work.copy_in(batch, BATCH, stream)
        }),
        each(batches, compute, |work: &mut Images, batch, stream: &Stream| {
            work.compute(batch, BATCH, stream)
        }),
        each(batches, copy_out, |work: &mut Images, batch, stream: &Stream| {
            work.copy_out(batch, BATCH, stream)
        }),
        piece([copy_in, copy_out], |work: &mut Images| work.copies([copy_in, copy_out])),
    ];
    let mut alone = part.alone_in_turn(&mut work, stages)?;
    let stages = alone.stages();
    let counts = || work.expected.iter().flat_map(|(counts, _)| counts.iter().copied());
    let (least, most) = (counts().min(), counts().max());
    part.predict(format!(
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
    ));

    let bytes_in = images * PATCHES * PIXELS * size_of::<f32>();
    let bytes_out = images * (PATCHES + ROOM) * size_of::<f32>();
    let plan = Plan::new().bytes_in(bytes_in).bytes_out(bytes_out);
    let plan = plan.launches(4 * batches, images * PATCHES).launches_differ();
    let all = [copy_in, compute, copy_out];
    let variants = [
        variant("serial", [copy_in], |work: &mut Images| work.serial(copy_in)),
        variant(("three-streams", "three streams"), all, |work: &mut Images| {
            work.three_streams(1, all)
        }),
        variant(("batches", "three streams, batches"), all, |work: &mut Images| {
            work.three_streams(BATCH, all)
        }),
    ];
    let outcomes = part.compare_bounded("variants", plan, &mut work, &mut alone, variants)?;
    let stages = alone.stages();
    part.show_bounded(&outcomes, &stages);
    let [serial, streams, batches] = &outcomes;
    part.chart(&streams.name, &streams.recording, Rows::Engines);
    let rate = |outcome: &Outcome| {
        let rate = images as f64 / outcome.median().as_secs_f64();
        format!("{}: {:.0} images a second", outcome.name, rate)
    };
    part.say(outcomes.iter().map(rate).collect::<Vec<_>>().join("\n"));

    let gain = |from: &Outcome, to: &Outcome| ratio(from.median().div_duration_f64(to.median()));
    let faster = gain(serial, streams).at_least(1.3);
    part.expect("faster/three-streams", "three streams are faster than one", faster);
    let faster = gain(serial, batches).at_least(1.3);
    part.expect("faster/batches", "and in batches, too", faster);
    let best = streams.times.min().min(batches.times.min());
    let near = share(stages.reached(Overlap::Duplex, best)).at_least(0.9).not_of_the_model(FEW);
    part.expect("near-bound", "the better of the two comes near the critical path", near);
    part.take_away(
        "Images that do not depend on each other take the longest stage, not the sum of all.",
    );
    Ok(())
}
