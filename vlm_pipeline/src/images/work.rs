//! What the stages work on: the images on the host, the slots on the device that they pass through, and what must become of them.

use super::{BATCH, Kernels, SLOTS};
use crate::patches::{self, FEATURES, PATCHES, PIXELS, ROOM, WEIGHTS};
use anyhow::Result;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, LockedBuffer};
use examples_host::prelude::*;

/// The images on the host, and what has become of them.
pub struct Images {
    pub kernels: Kernels,
    pub weights: DeviceBuffer<f32>,
    pub pixels: LockedBuffer<f32>,
    pub counts: LockedBuffer<u32>,
    pub tokens: LockedBuffer<f32>,
    pub slots: Vec<Slot>,
    pub expected: Vec<(Vec<u32>, Vec<f32>)>,
}

/// A batch on the device, with an event for the end of each stage.
pub struct Slot {
    pub pixels: DeviceBuffer<f32>,
    pub features: DeviceBuffer<f32>,
    pub counts: DeviceBuffer<u32>,
    pub offsets: DeviceBuffer<u32>,
    pub tokens: DeviceBuffer<f32>,
    pub come: Event,
    pub computed: Event,
    pub out: Event,
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
    pub fn new(images: usize) -> Result<Self> {
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
