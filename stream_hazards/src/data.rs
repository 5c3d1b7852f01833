//! What all pairs work on: a batch in page-locked memory, device memory full of NaNs, three streams and an event.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { pub struct Kernels; use gpu_kernels::{affine_rounds_x4, saxpy}; }

/// The kernel replaces each element by A x + B, so often that it is long beside a copy of the same data.
pub const A: f32 = 1.0;
pub const B: f32 = 0.125;
pub const ROUNDS: u32 = 16;
/// Threads of a block.
pub const THREADS: u32 = 256;

/// The two programs of a pair.
#[derive(Clone, Copy)]
pub enum Program {
    /// The one that lacks a dependency.
    Racy,
    /// The one that has it.
    Fixed,
}

/// The batch on the host and on the device, and what the programs order its uses with.
pub struct Data {
    pub first: Stream,
    pub second: Stream,
    pub third: Stream,
    /// Never recorded yet.
    pub event: Event,
    /// The batch, page-locked.
    pub input: LockedBuffer<f32>,
    /// Page-locked too, and full of NaNs until the result is copied there.
    pub output: LockedBuffer<f32>,
    /// Device memory for the batch, full of NaNs.
    pub batch: DeviceBuffer<f32>,
    /// The same for another batch.
    pub other: DeviceBuffer<f32>,
    /// A few elements: a kernel that works on them for long delays its stream and leaves the device to others.
    pub scratch: DeviceBuffer<f32>,
    pub kernels: Kernels,
    /// Blocks of a launch with a thread for every four elements.
    pub blocks: u32,
    /// Rounds of a delay: one warp takes three times as long for them as a copy of the batch takes.
    pub delay: u32,
}

impl Data {
    pub fn new(elements: usize) -> Result<Self> {
        let input = LockedBuffer::new(&0.0, elements)?;
        let output = LockedBuffer::new(&f32::NAN, elements)?;
        let [first, second, third] = stream::non_blocking_named(["first", "second", "third"])?;
        let data = Self {
            first,
            second,
            third,
            event: Event::new(EventFlags::DISABLE_TIMING)?,
            input,
            output,
            batch: nans(elements)?,
            other: nans(elements)?,
            scratch: nans(4)?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            blocks: elements.div_ceil(4 * THREADS as usize) as u32,
            delay: elements as u32 / 8,
        };
        CurrentContext::synchronize()?;
        Ok(data)
    }
}

/// Device memory full of NaNs, once the host has waited.
fn nans(elements: usize) -> Result<DeviceBuffer<f32>> {
    let mut buffer = DeviceBuffer::zeroed(elements)?;
    buffer.set_8(0xFF)?;
    Ok(buffer)
}
