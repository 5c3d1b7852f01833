//! size: how many blocks should share?
//!
//! The larger the cluster, the less is fetched: a tile of B once for 1, 2, 4 or 8 blocks. But all blocks of a cluster wait for the
//! slowest, need room at the same time, and must lie in one GPU processing cluster (GPC), whose multiprocessors they may not divide
//! evenly:
//!
//! ```text
//! fetched  |########|####|##|#|
//! blocks    1        2    4  8     each step saves half of what is left, and makes more blocks wait for each other
//! ```
//!
//! Every device with clusters takes 8 blocks. More need a kernel that is not portable and says so
//! (`CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`): without it a launch of 16 is refused. A cluster that fetches more than
//! its share, or a launch of 16 that is accepted, would prove this wrong.

use crate::shape::Shape;
use anyhow::Result;
use cuda_host::launch_attributes::Attribute;
use cuda_host::prelude::*;
use gpu_kernels::PRODUCT_THREADS as THREADS;

kernels! { use gpu_kernels::{product_global, product_multicast}; }

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
        kernels.product_global.allow_dynamic_shared_bytes(shape.shared_bytes)?; // cuFuncSetAttribute(…)
        kernels.product_multicast.allow_dynamic_shared_bytes(shape.shared_bytes)?;
        let b = DeviceBuffer::from_slice(b)?;
        let a = DeviceBuffer::from_slice(a)?;
        let c = DeviceBuffer::zeroed(shape.rows() * shape.columns())?;
        let fetched = DeviceBuffer::zeroed(shape.blocks())?;
        Ok(Self { kernels, shape, a, b, c, fetched })
    }

    /// One block shares with no other: it fetches every tile itself.
    pub fn alone(&mut self, stream: &Stream) -> CudaResult<()> {
        let (kernel, alone) = (&self.kernels.product_global, [Attribute::cluster([1, 1, 1])]);
        let Shape { grid, terms, shared_bytes } = self.shape;
        // SAFETY: the buffers have the shape's elements and outlive the run.
        unsafe {
            launch!(kernel<<<grid, THREADS, shared_bytes, stream, alone>>>(&self.a, &self.b, &mut self.c, &mut self.fetched, terms))
        }
    }

    /// This many blocks share each tile: each fetches a part of it for all of them, by multicast.
    pub fn shared(&mut self, blocks: u32, stream: &Stream) -> CudaResult<()> {
        let (kernel, cluster) =
            (&self.kernels.product_multicast, [Attribute::cluster([blocks, 1, 1])]);
        let Shape { grid, terms, shared_bytes } = self.shape;
        // SAFETY: as above.
        unsafe {
            launch!(kernel<<<grid, THREADS, shared_bytes, stream, cluster>>>(&self.a, &self.b, &mut self.c, &mut self.fetched, terms))
        }
    }
}
