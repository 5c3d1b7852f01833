//! The images and their stages, and the expected results.

use crate::images::Images;
use crate::slot::{BATCH, PATCHES, PIXELS, ROOM};
use crate::verdicts::patches::{self, WEIGHTS};
use anyhow::{Context, Result};
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// The images, and the counts and tokens that each must become.
pub struct CheckedImages {
    pub images: Images,
    expected: Vec<(Vec<u32>, Vec<f32>)>,
}

impl CheckedImages {
    pub fn new(images: usize) -> Result<Self> {
        let of_image = |image| {
            (0..PATCHES * PIXELS).map(move |at| patches::pixel(image, at / PIXELS, at % PIXELS))
        };
        let pixels: Vec<f32> = (0..images).flat_map(of_image).collect();
        let expected = (0..images).map(patches::tokens).collect();
        Ok(Self { images: Images::new(&WEIGHTS, &pixels)?, expected })
    }

    /// The stages of a batch, each without the others.
    pub fn copy_in(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        self.images.copy_in(BATCH, batch, stream)
    }

    pub fn compute(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        self.images.launch(BATCH, batch, stream)
    }

    pub fn copy_out(&mut self, batch: usize, stream: &Stream) -> Result<()> {
        self.images.copy_out(BATCH, batch, stream)
    }
}

impl Workload for CheckedImages {
    fn poison(&mut self) -> Result<()> {
        check::poison(&mut self.images.counts);
        check::poison(&mut self.images.tokens);
        Ok(())
    }

    fn check(&mut self) -> Result<Checked> {
        let mut checked = Checked::default();
        for (image, (counts, tokens)) in self.expected.iter().enumerate() {
            let found = &self.images.counts[image * PATCHES..][..PATCHES];
            let right = check::equal("the counts", 0, found, |patch| counts[patch])?;
            let found = &self.images.tokens[image * ROOM..][..tokens.len()];
            let place = image * ROOM;
            let more = check::equal("the tokens", place, found, |at| tokens[at - place])?;
            checked = checked.and(right).and(more);
        }
        Ok(checked)
    }
}

/// How many tokens the images become, and what the stages take alone.
pub fn prediction(known: &CheckedImages, stages: &Stages) -> Result<String> {
    let images = known.expected.len();
    let counts = || known.expected.iter().flat_map(|(counts, _)| counts.iter().copied());
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
