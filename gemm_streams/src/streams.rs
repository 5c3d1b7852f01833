//! streams: what do streams gain when the operands come and go?
//!
//! For each product its operands come in, a kernel multiplies them on tensor cores, and the result goes out. The products have nothing to
//! do with each other. One stream keeps all of it in order. Several streams take turns, each product whole in one of them: no event is
//! needed. And all products can be one copy in, one launch and one copy out, the fewest operations of all:
//!
//! ```text
//! one stream    |IIKOIIKOIIKOIIKO|    I: A and B come in   K: the kernel   O: C goes out
//! two streams   |IIKOIIKO       |
//!               |  IIKOIIKO     |
//! batched       |IIIIIIIIKOOOO   |    a short kernel: but nothing overlaps
//! ```
//!
//! A product of n x n x n needs 2 n^3 operations and 6 n^2 bytes: at n = 1024 the link takes ten times as long as the tensor cores. So no
//! kernel helps, and the bound is the link's: both directions together, or the kernel, whichever is longer. As the kernel's time counts the
//! one launch of all products, the least that the kernels can take.
//!
//! A wrong element, a time below the bound, streams that gain nothing, or a batched launch that beats them would prove this wrong.

use crate::shape::GemmShape;
use anyhow::Result;
use cuda_host::prelude::*;
use gpu_kernels::{GEMM_MMA_SHARED_BYTES as SHARED, GEMM_MMA_THREADS as THREADS};

kernels! { use gpu_kernels::gemm_mma_sync; }

/// Operands and results, page-locked and on the device.
pub struct Products {
    kernels: Kernels,
    shape: GemmShape,
    host_a: LockedBuffer<u16>,
    host_b: LockedBuffer<u16>,
    pub host_c: LockedBuffer<u16>,
    a: DeviceBuffer<u16>,
    b: DeviceBuffer<u16>,
    pub c: DeviceBuffer<u16>,
}

impl Products {
    pub fn new(shape: GemmShape, a: &[u16], b: &[u16]) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_80)?;
        kernels.gemm_mma_sync.allow_dynamic_shared_bytes(SHARED)?; // 48 KiB need no asking
        let host_a = LockedBuffer::from_slice(a)?;
        let host_b = LockedBuffer::from_slice(b)?;
        let host_c = LockedBuffer::new(&0, shape.products * shape.elements()[2])?;
        let a = DeviceBuffer::zeroed(host_a.len())?;
        let b = DeviceBuffer::zeroed(host_b.len())?;
        let c = DeviceBuffer::zeroed(host_c.len())?;
        Ok(Self { kernels, shape, host_a, host_b, host_c, a, b, c })
    }

    /// Each product whole in the next of the streams: a block for each of its tiles.
    pub fn in_turn(&mut self, streams: &[Stream]) -> CudaResult<()> {
        let (GemmShape { products, m, n, k }, blocks) = (self.shape, self.shape.tiles());
        for (product, stream) in (0..products).zip(streams.iter().cycle()) {
            let [in_a, in_b, in_c] = self.shape.places(product);
            let (mut a, mut b) = (self.a.index(in_a.clone()), self.b.index(in_b.clone()));
            let mut c = self.c.index(in_c.clone());
            // SAFETY: all memory outlives the pass, and each product has a place of its own.
            unsafe {
                a.async_copy_from(&self.host_a[in_a], stream)?;
                b.async_copy_from(&self.host_b[in_b], stream)?;
                launch!(self.kernels.gemm_mma_sync<<<blocks, THREADS, SHARED, stream>>>(&a, &b, &mut c, m, n, k))?;
                c.async_copy_to(&mut self.host_c[in_c], stream)?;
            }
        }
        Ok(())
    }

    /// All products at once.
    pub fn batched(&mut self, stream: &Stream) -> CudaResult<()> {
        self.copy_in(stream)?;
        self.multiply(stream)?;
        self.copy_out(stream)
    }

    /// A and B of all products come to the device.
    pub fn copy_in(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe {
            self.a.async_copy_from(&self.host_a, stream)?;
            self.b.async_copy_from(&self.host_b, stream)
        }
    }

    /// All products in one launch.
    pub fn multiply(&mut self, stream: &Stream) -> CudaResult<()> {
        let GemmShape { products, m, n, k } = self.shape;
        let blocks = self.shape.tiles() * products as u32;
        // SAFETY: as above.
        unsafe {
            launch!(self.kernels.gemm_mma_sync<<<blocks, THREADS, SHARED, stream>>>(&self.a, &self.b, &mut self.c, m, n, k))
        }
    }

    /// C of all products goes to the host.
    pub fn copy_out(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: as above.
        unsafe { self.c.async_copy_to(&mut self.host_c, stream) }
    }
}
