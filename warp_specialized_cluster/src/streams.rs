//! streams: what do two streams gain around a kernel with clusters?
//!
//! Batches of A come in, are multiplied with B, which stays on the device, and their products go out. One stream does this one after
//! the other; two streams take turns, and while the kernel of one runs, the copies of the other do:
//!
//! ```text
//! one stream   |iKKKoiKKKoiKKKoiKKKo|      i, o: copies in and out    K: the kernel
//! two streams  |iKKKoiKKKo          |
//!              | iKKKoiKKKo         |
//! ```
//!
//! The two gains are separate: sharing tiles makes K shorter, and streams hide what is around it. Where copies are the longest,
//! nothing that the kernel gains is seen with two streams. Each stream has buffers of its own, so no event is needed. A time below
//! its bound, or two streams that gain nothing, would prove this wrong.

use crate::shape::Shape;
use anyhow::Result;
use cuda_host::launch_attributes::Attribute;
use cuda_host::prelude::*;
use gpu_kernels::PRODUCT_THREADS as THREADS;

kernels! { use gpu_kernels::{product_dsmem, product_global, product_multicast}; }

const CLUSTER: [Attribute; 1] = [Attribute::cluster([4, 1, 1])];

/// What multiplies with one set of buffers.
pub type Multiply = fn(&mut Batches, usize, &Stream) -> CudaResult<()>;

/// All batches on the host, B on the device, and a set of buffers for each stream.
pub struct Batches {
    kernels: Kernels,
    shape: Shape,
    batches: usize,
    input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    b: DeviceBuffer<f32>,
    a: [DeviceBuffer<f32>; 2],
    c: [DeviceBuffer<f32>; 2],
    fetched: [DeviceBuffer<u32>; 2],
}

impl Batches {
    pub fn new(shape: Shape, batches: usize, a: &[f32], b: &[f32]) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_90)?;
        kernels.product_dsmem.allow_dynamic_shared_bytes(shape.shared_bytes)?; // cuFuncSetAttribute(…)
        kernels.product_global.allow_dynamic_shared_bytes(shape.shared_bytes)?; // cuFuncSetAttribute(…)
        kernels.product_multicast.allow_dynamic_shared_bytes(shape.shared_bytes)?; // cuFuncSetAttribute(…)
        let b = DeviceBuffer::from_slice(b)?;
        let (len, result) = (a.len() / batches, shape.rows() * shape.columns());
        let input = LockedBuffer::from_slice(a)?;
        let output = LockedBuffer::new(&0.0, batches * result)?;
        let a = [DeviceBuffer::zeroed(len)?, DeviceBuffer::zeroed(len)?];
        let c = [DeviceBuffer::zeroed(result)?, DeviceBuffer::zeroed(result)?];
        let blocks = shape.blocks();
        let fetched = [DeviceBuffer::zeroed(blocks)?, DeviceBuffer::zeroed(blocks)?];
        Ok(Self { kernels, shape, batches, input, output, b, a, c, fetched })
    }

    /// All batches, the streams in turn.
    pub fn pass(&mut self, multiply: Multiply, streams: &[&Stream]) -> CudaResult<()> {
        for batch in 0..self.batches {
            let (set, stream) = (batch % streams.len(), streams[batch % streams.len()]);
            self.copy_in(batch, set, stream)?;
            multiply(self, set, stream)?;
            self.copy_out(batch, set, stream)?;
        }
        Ok(())
    }

    /// A of this batch comes into a set of buffers.
    pub fn copy_in(&mut self, batch: usize, set: usize, stream: &Stream) -> CudaResult<()> {
        let len = self.a[set].len();
        // SAFETY: the input is page-locked and outlives the pass.
        unsafe { self.a[set].async_copy_from(&self.input[batch * len..][..len], stream) }
    }

    /// Every block fetches every tile from global memory.
    pub fn global(&mut self, set: usize, stream: &Stream) -> CudaResult<()> {
        let Shape { grid, terms, shared_bytes } = self.shape;
        // SAFETY: the buffers outlive the pass, and only this stream uses them.
        unsafe {
            launch!(self.kernels.product_global<<<grid, THREADS, shared_bytes, stream, CLUSTER>>>(&self.a[set], &self.b, &mut self.c[set], &mut self.fetched[set], terms))
        }
    }

    /// Every block fetches a share, and passes it on through distributed shared memory.
    pub fn dsmem(&mut self, set: usize, stream: &Stream) -> CudaResult<()> {
        let Shape { grid, terms, shared_bytes } = self.shape;
        // SAFETY: as above.
        unsafe {
            launch!(self.kernels.product_dsmem<<<grid, THREADS, shared_bytes, stream, CLUSTER>>>(&self.a[set], &self.b, &mut self.c[set], &mut self.fetched[set], terms))
        }
    }

    /// Every block fetches a share, and the copy writes it into the shared memory of all.
    pub fn multicast(&mut self, set: usize, stream: &Stream) -> CudaResult<()> {
        let Shape { grid, terms, shared_bytes } = self.shape;
        // SAFETY: as above.
        unsafe {
            launch!(self.kernels.product_multicast<<<grid, THREADS, shared_bytes, stream, CLUSTER>>>(&self.a[set], &self.b, &mut self.c[set], &mut self.fetched[set], terms))
        }
    }

    /// C of this batch goes to the host.
    pub fn copy_out(&mut self, batch: usize, set: usize, stream: &Stream) -> CudaResult<()> {
        let len = self.c[set].len();
        // SAFETY: the output is page-locked, outlives the pass, and is read behind it.
        unsafe { self.c[set].async_copy_to(&mut self.output[batch * len..][..len], stream) }
    }
}
