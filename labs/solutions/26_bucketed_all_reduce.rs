//! The backward pass makes the gradients of sixteen layers, one layer after the other, on each of two GPUs. Both need the sums:
//! each sends its gradients to the other and adds what arrives. All of it comes behind the pass, in the same stream. Give the
//! sums a stream of their own, and sum up a bucket of two layers as soon as the pass has made it.
//!
//! ```text
//! pass |LLLLLLLLLLLLLLLL      |
//! sums |    C A C A C A   C A |
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, peer, prelude::*};
use cust::context::{Context, CurrentContext};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;

// Stands for a layer: x = a x + b, `rounds` times. And y[i] = a x[i] + y[i].
kernels! { use gpu_kernels::{affine_rounds_x4, saxpy}; }

const LAYERS: usize = 16;
const LAYER: usize = 1 << 15; // gradients
const BUCKET: usize = 2; // layers
const THREADS: u32 = 256;
const ROUNDS: u32 = 8192;

fn named(gpu: usize, name: &str) -> Result<Stream> {
    Ok(stream::non_blocking()?.named(&format!("GPU {gpu} {name}")))
}

struct Gpu<'a> {
    context: &'a Context,
    kernels: Kernels,
    gradients: DeviceBuffer<f32>,
    arrived: DeviceBuffer<f32>,
    pass: Stream,
    sums: Stream,
    made: Event,
    sent: Event,
}

impl<'a> Gpu<'a> {
    fn new(gpu: usize, context: &'a Context, given: &[f32]) -> Result<Self> {
        CurrentContext::set_current(context)?;
        let gpu = Self {
            context,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            gradients: DeviceBuffer::from_slice(given)?,
            arrived: DeviceBuffer::zeroed(LAYERS * LAYER)?,
            pass: named(gpu, "pass")?,
            sums: named(gpu, "sums")?,
            made: Event::new(EventFlags::DISABLE_TIMING)?,
            sent: Event::new(EventFlags::DISABLE_TIMING)?,
        };
        CurrentContext::synchronize()?;
        Ok(gpu)
    }

    /// Makes the gradients of a layer.
    fn backward(&self, layer: usize, stream: &Stream) -> Result<()> {
        let mut gradients = self.gradients.index(layer * LAYER..(layer + 1) * LAYER);
        let kernel = &self.kernels.affine_rounds_x4;
        CurrentContext::set_current(self.context)?;
        // SAFETY: the host waits for the stream before the memory is freed.
        unsafe {
            launch!(kernel<<<LAYER as u32 / 4 / THREADS, THREADS, 0, stream>>>(&mut gradients, 1.0, 0.125, ROUNDS))?
        };
        Ok(())
    }

    /// Copies the gradients of a bucket to the other GPU.
    fn send(&self, bucket: usize, other: &Gpu, stream: &Stream) -> Result<()> {
        let bucket = bucket * BUCKET * LAYER..(bucket + 1) * BUCKET * LAYER;
        let (from, mut to) = (self.gradients.index(bucket.clone()), other.arrived.index(bucket));
        // SAFETY: as above; the other GPU waits for `sent` before it reads.
        unsafe { peer::copy_async((&mut to, other.context), (&from, self.context), stream)? };
        self.sent.record(stream)?;
        Ok(())
    }

    /// Adds what has arrived from the other GPU to the gradients of a bucket, which have been sent before in this stream.
    fn add(&self, bucket: usize, other: &Gpu, stream: &Stream) -> Result<()> {
        CurrentContext::set_current(self.context)?;
        stream.wait(&other.sent)?;
        for layer in bucket * BUCKET..(bucket + 1) * BUCKET {
            let layer = layer * LAYER..(layer + 1) * LAYER;
            let (arrived, mut gradients) =
                (self.arrived.index(layer.clone()), self.gradients.index(layer));
            // SAFETY: as above.
            unsafe {
                launch!(self.kernels.saxpy<<<LAYER as u32 / THREADS, THREADS, 0, stream>>>(1.0, &arrived, &mut gradients))?
            };
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let contexts = labs::two_gpus()?; // one of each GPU
    let mut output = LockedBuffer::new(&0f32, 2 * LAYERS * LAYER)?;
    let mut gpus = Vec::new();
    for (number, (context, given)) in
        contexts.iter().zip(output.chunks_mut(LAYERS * LAYER)).enumerate()
    {
        labs::fill(given, number);
        gpus.push(Gpu::new(number, context, given)?);
    }

    for bucket in 0..LAYERS / BUCKET {
        for gpu in &gpus {
            for layer in bucket * BUCKET..(bucket + 1) * BUCKET {
                gpu.backward(layer, &gpu.pass)?;
            }
            gpu.made.record(&gpu.pass)?;
        }
        for (gpu, other) in [(&gpus[0], &gpus[1]), (&gpus[1], &gpus[0])] {
            gpu.sums.wait(&gpu.made)?;
            gpu.send(bucket, other, &gpu.sums)?;
        }
        for (gpu, other) in [(&gpus[0], &gpus[1]), (&gpus[1], &gpus[0])] {
            gpu.add(bucket, other, &gpu.sums)?;
        }
    }
    for (gpu, result) in gpus.iter().zip(output.chunks_mut(LAYERS * LAYER)) {
        CurrentContext::set_current(gpu.context)?;
        CurrentContext::synchronize()?;
        // SAFETY: the host waits for the stream.
        unsafe { gpu.gradients.async_copy_to(result, &gpu.pass)? };
        gpu.pass.synchronize()?;
    }
    labs::hand_in(&output)
}
