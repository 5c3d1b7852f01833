//! tiles: what does sharing a tile gain over fetching it again?
//!
//! A block computes 4 rows and 512 columns of a matrix product. The blocks of a cluster lie along the rows, so all of them walk
//! down the same columns of B, tile by tile, through a ring of stages in shared memory: one thread fetches, four warps compute, and
//! mbarriers hand the stages to and fro. A tile of B comes to the four blocks of a cluster in one of three ways:
//!
//! ```text
//! global      block 0 |TTTT|      dsmem  block 0 |T>>>|      multicast  block 0 |T   |   T: a quarter of the tile from
//!             block 1 |TTTT|             block 1 |>T>>|                 block 1 | T  |      global memory (L2 cache)
//!             block 2 |TTTT|             block 2 |>>T>|                 block 2 |  T |   >: a quarter from a neighbour's
//!             block 3 |TTTT|             block 3 |>>>T|                 block 3 |   T|      shared memory
//! ```
//!
//! B stays in the L2 cache, whose bandwidth is what the first way needs most: the other two ask it for a quarter. A block that
//! writes into its neighbours' stages has to know that all of them have read what was there before: all computing warps of the
//! cluster arrive at the barrier of each block. Every block expects the bytes of the whole tile, from any sender. And no
//! block may exit before all have finished.
//!
//! What that gains in time is another question. On an H200 it gains nothing: the device merges neighbours' requests for the same line before they
//! reach the L2 cache. In the first variant the blocks request 63 million sectors, and Nsight Compute counts 23 to 30 million there. The software
//! GPU's model merges what blocks of a cluster ask for at the same time. Passing tiles on takes longer: between multiprocessors an H200 moves 15
//! bytes a clock for each of them, and the model 16.
//!
//! Results that differ in a bit, a shared tile that is fetched more than once, or a multicast that takes 15 % longer than
//! fetching everything, would prove this wrong.

use crate::shape::Shape;
use anyhow::Result;
use cuda_host::launch_attributes::Attribute;
use cuda_host::prelude::*;
use gpu_kernels::PRODUCT_THREADS as THREADS;

kernels! { use gpu_kernels::{product_dsmem, product_global, product_multicast}; }

const CLUSTER: [Attribute; 1] = [Attribute::cluster([4, 1, 1])];

/// The matrices, and how many bytes each block has fetched from global memory.
pub struct Product {
    kernels: Kernels,
    shape: Shape,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
    pub c: DeviceBuffer<f32>,
    pub fetched: DeviceBuffer<u32>,
}

impl Product {
    pub fn new(shape: Shape, a: &[f32], b: &[f32]) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_90)?;
        kernels.product_dsmem.allow_dynamic_shared_bytes(shape.shared_bytes)?; // cuFuncSetAttribute(…)
        kernels.product_global.allow_dynamic_shared_bytes(shape.shared_bytes)?;
        kernels.product_multicast.allow_dynamic_shared_bytes(shape.shared_bytes)?;
        let b = DeviceBuffer::from_slice(b)?;
        let a = DeviceBuffer::from_slice(a)?;
        let c = DeviceBuffer::zeroed(shape.rows() * shape.columns())?;
        let fetched = DeviceBuffer::zeroed(shape.blocks())?;
        Ok(Self { kernels, shape, a, b, c, fetched })
    }

    /// Every block fetches the whole tile from global memory.
    pub fn global(&mut self, stream: &Stream) -> CudaResult<()> {
        let Shape { grid, terms, shared_bytes } = self.shape;
        // SAFETY: the buffers have the shape's elements and outlive the run.
        unsafe {
            launch!(self.kernels.product_global<<<grid, THREADS, shared_bytes, stream, CLUSTER>>>(&self.a, &self.b, &mut self.c, &mut self.fetched, terms))
        }
    }

    /// Every block fetches a share, and passes it on through distributed shared memory.
    pub fn dsmem(&mut self, stream: &Stream) -> CudaResult<()> {
        let Shape { grid, terms, shared_bytes } = self.shape;
        // SAFETY: as above.
        unsafe {
            launch!(self.kernels.product_dsmem<<<grid, THREADS, shared_bytes, stream, CLUSTER>>>(&self.a, &self.b, &mut self.c, &mut self.fetched, terms))
        }
    }

    /// Every block fetches a share, and the copy writes it into the shared memory of all.
    pub fn multicast(&mut self, stream: &Stream) -> CudaResult<()> {
        let Shape { grid, terms, shared_bytes } = self.shape;
        // SAFETY: as above.
        unsafe {
            launch!(self.kernels.product_multicast<<<grid, THREADS, shared_bytes, stream, CLUSTER>>>(&self.a, &self.b, &mut self.c, &mut self.fetched, terms))
        }
    }
}
