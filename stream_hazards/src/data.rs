//! The data that all pairs work on: one batch in, the same transformed out.

use anyhow::bail;
use examples_host::options::UsageError;
use examples_host::prelude::*;
use gpu_kernels::SM_70;

kernels! {
    pub unsafe struct Kernels {
        fn affine_rounds_x4(data: &mut [f32], a: f32, b: f32, rounds: u32) = gpu_kernels::affine_rounds_x4;
        fn saxpy(a: f32, x: &[f32], y: &mut [f32]) = gpu_kernels::saxpy;
    }
}

const BATCH: Seed = Seed::new(11);
const A: f32 = 1.0;
const B: f32 = 0.125;
/// Makes the kernel long beside a copy of the same data.
const ROUNDS: u32 = 16;
/// Elements of a batch for each dependent step of a kernel that takes three times as long as the copy of the batch.
const ELEMENTS_PER_STEP: usize = 8;
/// Bytes of a batch.
const DEFAULT: ByteSize = ByteSize::mib(1);
/// Below, a copy is over before the next call comes, and most mistakes do no harm.
const LEAST: ByteSize = ByteSize::kib(512);
const MOST: ByteSize = ByteSize::mib(256);

/// An element of the batch.
pub fn given(index: usize) -> f32 {
    BATCH.f32(index)
}

/// What [`Kernels::transform`] makes of it.
pub fn transformed(index: usize) -> f32 {
    (0..ROUNDS).fold(given(index), |x, _| x.mul_add(A, B))
}

impl Kernels {
    /// Transforms every element, slowly.
    pub fn transform(&self, data: &mut DeviceBuffer<f32>) -> Result<()> {
        self.affine_rounds_x4(Grid::cover(data.len().div_ceil(4), 256), data, A, B, ROUNDS)
    }

    /// Keeps the buffer's stream busy for longer than a batch of so many elements takes to copy, and not much of the
    /// device.
    pub fn keep_busy(&self, any: &mut DeviceBuffer<f32>, batch: usize) -> Result<()> {
        let steps = u32::try_from(batch / ELEMENTS_PER_STEP).unwrap_or(u32::MAX);
        self.affine_rounds_x4(Grid::cover(1, 32), any, A, B, steps)
    }

    /// y = a x + y for every element.
    pub fn add_scaled(
        &self,
        a: f32,
        x: &DeviceBuffer<f32>,
        y: &mut DeviceBuffer<f32>,
    ) -> Result<()> {
        self.saxpy(Grid::cover(y.len(), 256), a, x, y)
    }
}

/// Two streams, the batch in page-locked memory, and room for the result.
pub struct Data {
    pub first: Stream,
    pub second: Stream,
    pub input: HostBuffer<f32>,
    pub output: HostBuffer<f32>,
    pub kernels: Kernels,
}

impl Data {
    /// The batch, and a poisoned result.
    pub fn new(part: &Part) -> anyhow::Result<Self> {
        let (device, elements) = (part.device(), part.elements::<f32>(DEFAULT)?);
        let size = part.size(DEFAULT);
        if !(LEAST..=MOST).contains(&size) {
            let sense = format!("--size {size}: the mistakes show with {LEAST} to {MOST}");
            bail!(UsageError(sense));
        }
        let mut input = HostBuffer::page_locked(device, elements)?;
        BATCH.fill_f32(0, input.write()?);
        let mut output = HostBuffer::page_locked(device, elements)?;
        output.poison()?;
        Ok(Self {
            first: Stream::non_blocking(device, "first")?,
            second: Stream::non_blocking(device, "second")?,
            input,
            output,
            kernels: Kernels::load(device, SM_70)?,
        })
    }

    /// Elements of the batch.
    pub fn len(&self) -> usize {
        self.input.len()
    }

    /// Poisoned device memory that belongs to `stream`; the host has waited for the poison.
    pub fn buffer(&self, stream: &Stream) -> Result<DeviceBuffer<f32>> {
        let mut buffer = DeviceBuffer::new(stream, self.len())?;
        buffer.poison()?;
        stream.synchronize()?;
        Ok(buffer)
    }
}
