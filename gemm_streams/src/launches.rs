//! launches: what do streams gain when everything is on the device?
//!
//! A product has so few tiles that most multiprocessors have nothing to do. In one stream its kernel runs alone, and the next begins when
//! its last tile is done. In several streams kernels share the device: the tiles of one fill what those of another leave free. One launch of
//! all products has all tiles from the beginning, in one grid: no number of streams can do better, and so it is the honest bound.
//!
//! ```text
//! one stream   |KKKK KKKK KKKK KKKK|    few multiprocessors are busy
//! 4 streams    |KKKK|
//!              |KKKK|
//!              |KKKK|
//!              |KKKK|
//! batched      |KKK|                    the same tiles, one launch
//! ```
//!
//! A wrong element, streams that gain nothing, or streams that beat the one launch would prove this wrong.

use crate::shape::GemmShape;
use anyhow::Result;
use cuda_host::prelude::*;
use gpu_kernels::{GEMM_MMA_SHARED_BYTES as SHARED, GEMM_MMA_THREADS as THREADS};

kernels! { use gpu_kernels::gemm_mma_sync; }

/// Operands and results, on the device.
pub struct Products {
    kernels: Kernels,
    shape: GemmShape,
    a: DeviceBuffer<u16>,
    b: DeviceBuffer<u16>,
    pub c: DeviceBuffer<u16>,
}

impl Products {
    pub fn new(shape: GemmShape, a: &[u16], b: &[u16]) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_80)?;
        kernels.gemm_mma_sync.allow_dynamic_shared_bytes(SHARED)?; // cuFuncSetAttribute(…)
        let a = DeviceBuffer::from_slice(a)?;
        let b = DeviceBuffer::from_slice(b)?;
        let c = DeviceBuffer::zeroed(shape.products * shape.elements()[2])?;
        Ok(Self { kernels, shape, a, b, c })
    }

    /// A launch for each product, in the streams in turn: a block for each of its tiles.
    pub fn each(&mut self, streams: &[Stream]) -> CudaResult<()> {
        let (GemmShape { products, m, n, k }, tiles) = (self.shape, self.shape.tiles());
        for (product, stream) in (0..products).zip(streams.iter().cycle()) {
            let [a, b, c] = self.shape.places(product);
            let (gemm, a, b) = (&self.kernels.gemm_mma_sync, self.a.index(a), self.b.index(b));
            let mut c = self.c.index(c);
            // SAFETY: the operands are of this shape and outlive the pass; each product has a place of its own.
            unsafe { launch!(gemm<<<tiles, THREADS, SHARED, stream>>>(&a, &b, &mut c, m, n, k))? };
        }
        Ok(())
    }

    /// One launch for all products: a block for each tile of each.
    pub fn batched(&mut self, stream: &Stream) -> CudaResult<()> {
        let Self { kernels: Kernels { gemm_mma_sync: gemm }, shape, a, b, c } = self;
        let (blocks, GemmShape { m, n, k, .. }) = (shape.tiles() * shape.products as u32, *shape);
        // SAFETY: as above.
        unsafe { launch!(gemm<<<blocks, THREADS, SHARED, stream>>>(&*a, &*b, c, m, n, k)) }
    }
}
