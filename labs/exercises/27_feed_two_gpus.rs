//! Every layer of a model goes to both GPUs, and each GPU unpacks it. The host reads a layer into page-locked memory and waits for
//! every copy: one link is idle while the other works, and both are idle while the host reads. Let both copies of a layer run at
//! once, while the host reads the next layer into a second buffer. It fills a buffer again only when both GPUs have what was in it.
//!
//! ```text
//! host  |read 0|read 1|read 2|
//! GPU 0 |      |HHHK  |HHHK  |
//! GPU 1 |      |HHHK  |HHHK  |
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::context::{Context, CurrentContext};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;

kernels! { use gpu_kernels::affine; } // stands for unpacking: data[i] = a data[i] + b

const LAYERS: usize = 6;
const LAYER: usize = 1 << 19; // elements: 2 MiB
const THREADS: u32 = 256;
const BLOCKS: u32 = LAYER as u32 / THREADS;

struct Gpu<'a> {
    context: &'a Context,
    kernels: Kernels,
    layers: DeviceBuffer<f32>,
    stream: Stream, // TODO: an event behind the copy out of each buffer
}

impl<'a> Gpu<'a> {
    fn new(number: usize, context: &'a Context) -> Result<Self> {
        CurrentContext::set_current(context)?;
        let gpu = Self {
            context,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            layers: DeviceBuffer::zeroed(LAYERS * LAYER)?,
            stream: stream::non_blocking()?.named(&format!("GPU {number}")),
        };
        CurrentContext::synchronize()?;
        Ok(gpu)
    }

    /// Copies a layer from a buffer of the host, and unpacks it.
    fn load(&self, layer: usize, staged: &[f32]) -> Result<()> {
        let mut data = self.layers.index(layer * LAYER..(layer + 1) * LAYER);
        CurrentContext::set_current(self.context)?;
        // SAFETY: the host waits for the stream before any of this memory is freed.
        unsafe {
            data.async_copy_from(staged, &self.stream)?;
            launch!(self.kernels.affine<<<BLOCKS, THREADS, 0, self.stream>>>(&mut data, 2.0, 1.0))?;
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let contexts = labs::two_gpus()?; // one of each GPU
    let mut output = LockedBuffer::new(&0f32, 2 * LAYERS * LAYER)?;
    let mut staging = LockedBuffer::new(&0f32, LAYER)?; // TODO: two of them, filled in turn
    let gpus = [Gpu::new(0, &contexts[0])?, Gpu::new(1, &contexts[1])?];

    for layer in 0..LAYERS {
        labs::fill(&mut staging, layer); // the host reads it
        for gpu in &gpus {
            gpu.load(layer, &staging)?;
            gpu.stream.synchronize()?; // TODO: wait for both copies before the buffer is filled again
        }
    }
    for (gpu, result) in gpus.iter().zip(output.chunks_mut(LAYERS * LAYER)) {
        CurrentContext::set_current(gpu.context)?;
        // SAFETY: the host waits for the stream.
        unsafe { gpu.layers.async_copy_to(result, &gpu.stream)? };
        gpu.stream.synchronize()?;
    }
    labs::hand_in(&output)
}
