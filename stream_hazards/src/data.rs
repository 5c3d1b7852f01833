//! What all pairs work on: a batch in page-locked memory, three streams, an event, and device memory full of NaNs.

use anyhow::bail;
use cuda_host::{kernels, prelude::*};
use cust::context::CurrentContext;
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::options::UsageError;
use examples_host::prelude::*;

kernels! {
    /// The kernels of all pairs.
    pub struct Kernels;
    use gpu_kernels::{affine_rounds_x4, saxpy};
}

const BATCH: Seed = Seed::new(11);
/// What the kernel makes of an element, over and over: `A x + B`.
pub const A: f32 = 1.0;
/// See [`A`].
pub const B: f32 = 0.125;
/// How often: the kernel is long beside a copy of the same data.
pub const ROUNDS: u32 = 16;
/// Threads of a block.
pub const THREADS: u32 = 256;

/// Bytes of a batch.
const DEFAULT: ByteSize = ByteSize::mib(1);
/// Below, a copy is over before the next call comes, and most mistakes do no harm.
const LEAST: ByteSize = ByteSize::kib(512);
const MOST: ByteSize = ByteSize::mib(256);

/// An element of the batch.
pub fn given(index: usize) -> f32 {
    BATCH.f32(index)
}

/// What the kernel makes of it.
pub fn transformed(index: usize) -> f32 {
    (0..ROUNDS).fold(given(index), |x, _| x.mul_add(A, B))
}

/// Three streams, an event, the batch, and room for what becomes of it.
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
    /// Of a launch with a thread for every four elements.
    pub blocks: u32,
    /// Rounds of a delay: one warp takes three times as long for them as a copy of the batch takes.
    pub delay: u32,
}

impl Data {
    /// Fresh data. The host has waited for all of it.
    pub fn new(part: &Part) -> anyhow::Result<Self> {
        let size = part.size(DEFAULT);
        if !(LEAST..=MOST).contains(&size) {
            let range = format!("--size {size}: the mistakes show with {LEAST} to {MOST}");
            bail!(UsageError(range));
        }
        let elements = part.elements::<f32>(DEFAULT)?;
        let mut input = LockedBuffer::new(&0.0, elements)?;
        BATCH.fill_f32(0, &mut input);
        let mut output = LockedBuffer::new(&0.0, elements)?;
        check::poison(&mut output);
        let [first, second, third] = stream::named(["first", "second", "third"])?;
        let data = Self {
            first,
            second,
            third,
            event: Event::new(EventFlags::DISABLE_TIMING)?,
            input,
            output,
            batch: poisoned(elements)?,
            other: poisoned(elements)?,
            scratch: poisoned(4)?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            blocks: elements.div_ceil(4 * THREADS as usize) as u32,
            delay: (elements / 8) as u32,
        };
        CurrentContext::synchronize()?;
        Ok(data)
    }
}

/// Device memory full of NaNs, once the host has waited.
fn poisoned(elements: usize) -> anyhow::Result<DeviceBuffer<f32>> {
    let mut buffer = DeviceBuffer::zeroed(elements)?;
    buffer.set_8(0xFF)?;
    Ok(buffer)
}
