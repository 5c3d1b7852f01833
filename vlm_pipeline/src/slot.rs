//! A batch of images on the device, with an event for the end of each stage.

use anyhow::Result;
use cuda_host::prelude::*;
use gpu_kernels::{IMAGE_PATCHES, PATCH_FEATURES, PATCH_PIXELS, PATCH_TOKENS};

/// Patches of an image.
pub const PATCHES: usize = IMAGE_PATCHES as usize;
/// Pixels of a patch.
pub const PIXELS: usize = PATCH_PIXELS as usize;
pub const FEATURES: usize = PATCH_FEATURES as usize;
/// The most tokens of an image.
pub const ROOM: usize = PATCHES * PATCH_TOKENS[1] as usize;
/// The most images in one operation.
pub const BATCH: usize = 4;
/// Batches under way: one comes in, one is worked on, one goes out.
pub const SLOTS: usize = 3;

pub struct Slot {
    pub pixels: DeviceBuffer<f32>,
    pub features: DeviceBuffer<f32>,
    pub counts: DeviceBuffer<u32>,
    pub offsets: DeviceBuffer<u32>,
    pub tokens: DeviceBuffer<f32>,
    pub come: Event,
    pub extracted: Event,
    pub scored: Event,
    pub computed: Event,
    pub out: Event,
}

impl Slot {
    pub fn new() -> Result<Self> {
        Ok(Self {
            pixels: DeviceBuffer::zeroed(BATCH * PATCHES * PIXELS)?,
            features: DeviceBuffer::zeroed(BATCH * PATCHES * FEATURES)?,
            counts: DeviceBuffer::zeroed(BATCH * PATCHES)?,
            offsets: DeviceBuffer::zeroed(BATCH * PATCHES)?,
            tokens: DeviceBuffer::zeroed(BATCH * ROOM)?,
            come: Event::new(EventFlags::DISABLE_TIMING)?,
            extracted: Event::new(EventFlags::DISABLE_TIMING)?,
            scored: Event::new(EventFlags::DISABLE_TIMING)?,
            computed: Event::new(EventFlags::DISABLE_TIMING)?,
            out: Event::new(EventFlags::DISABLE_TIMING)?,
        })
    }
}
