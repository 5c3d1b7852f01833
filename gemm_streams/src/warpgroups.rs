//! warpgroups: what do Hopper's instructions gain?
//!
//! `mma.sync` multiplies what is in a warp's registers: every operand is copied into shared memory, from there into registers, and only then
//! multiplied, and the same warps do all of it. `wgmma` multiplies what lies in shared memory, for four warps at once, and while it does
//! they need not wait. One thread of another warp has the tiles brought by copies with tensor maps, which compute addresses and
//! swizzle. Blocks of both are persistent, so that the tiles of the next part of C come while this one is stored. In clusters of two,
//! blocks share what they need both:
//!
//! ```text
//! mma.sync   warps    |cLLMMcLLMMcLLMM|    c: issue copies   L: load fragments   M: multiply
//! wgmma      copies   |CCCCCCCCCCCCCCC|    C: copies with tensor maps
//!            warps    | MMMMMMMMMMMMMM|    M: multiply from shared memory
//! ```
//!
//! A wrong element, `wgmma` that is not faster, or a rate above the data sheet's would prove this wrong.

use crate::shape::GemmShape;
use anyhow::Result;
use cuda_host::launch_attributes::Attribute;
use cuda_host::prelude::*;
use cuda_host::tensor_map::{Element::Bf16, Swizzle::Bytes128, TensorMap, encode_tiled};
use gpu_kernels::{
    GEMM_MMA_WIDE_SHARED_BYTES as WIDE_SHARED, GEMM_MMA_WIDE_THREADS as WIDE_THREADS,
    GEMM_WGMMA_BOX as BOX, GEMM_WGMMA_OUTPUT_BOX as OUTPUT_BOX, GEMM_WGMMA_SHARED_BYTES as SHARED,
    GEMM_WGMMA_THREADS as THREADS,
};

kernels! { struct Ampere; use gpu_kernels::gemm_mma_sync_wide; }
kernels! { struct Hopper; use gpu_kernels::gemm_wgmma; }

/// Operands and results, on the device, and what the copies have to know of them.
pub struct WarpgroupProducts {
    ampere: Ampere,
    hopper: Hopper,
    shape: GemmShape,
    a: DeviceBuffer<u16>,
    b: DeviceBuffer<u16>,
    pub c: DeviceBuffer<u16>,
    maps: DeviceBuffer<TensorMap>,
    blocks: u32,
}

impl WarpgroupProducts {
    /// The blocks stay: there are as many as run at the same time.
    pub fn new(shape: GemmShape, blocks: u32, a: &[u16], b: &[u16]) -> Result<Self> {
        let ampere = Ampere::load(gpu_kernels::SM_80)?;
        ampere.gemm_mma_sync_wide.allow_dynamic_shared_bytes(WIDE_SHARED)?; // cuFuncSetAttribute(…)
        let hopper = Hopper::load(gpu_kernels::SM_90A)?;
        hopper.gemm_wgmma.allow_dynamic_shared_bytes(SHARED)?; // cuFuncSetAttribute(…)
        let a = DeviceBuffer::from_slice(a)?;
        let b = DeviceBuffer::from_slice(b)?;
        let c = DeviceBuffer::zeroed(shape.products * shape.elements()[2])?;
        let maps = DeviceBuffer::from_slice(&maps(shape, [&a, &b, &c])?)?;
        Ok(Self { ampere, hopper, shape, a, b, c, maps, blocks })
    }

    /// All products by `mma.sync`, by persistent blocks with large tiles.
    pub fn mma_sync(&mut self, stream: &Stream) -> CudaResult<()> {
        let GemmShape { products, m, n, k } = self.shape;
        let (gemm, grid) = (&self.ampere.gemm_mma_sync_wide, (self.blocks, products as u32));
        // SAFETY: the operands are of this shape and outlive the pass.
        unsafe {
            launch!(gemm<<<grid, WIDE_THREADS, WIDE_SHARED, stream>>>(&self.a, &self.b, &mut self.c, m, n, k))
        }
    }

    /// All products by persistent blocks, in clusters of this many (`cuLaunchKernelEx`).
    pub fn wgmma(&mut self, cluster: u32, stream: &Stream) -> CudaResult<()> {
        let GemmShape { products, m, n, k } = self.shape;
        let (gemm, grid) = (&self.hopper.gemm_wgmma, self.blocks / cluster * cluster);
        let clusters = [Attribute::cluster([cluster, 1, 1])];
        // SAFETY: the maps are those of the operands, which outlive the pass.
        unsafe {
            launch!(gemm<<<grid, THREADS, SHARED, stream, clusters>>>(&self.maps, m, n, k, products as u32))
        }
    }
}

/// What a copy has to know of A, B and C: address, shape, the part that it brings, and how that lies in shared memory.
fn maps(shape: GemmShape, [a, b, c]: [&DeviceBuffer<u16>; 3]) -> CudaResult<[TensorMap; 3]> {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|len| len as usize);
    let [operand, result] = [BOX, OUTPUT_BOX].map(|[x, y]| [x, y, 1]);
    Ok([
        encode_tiled(a, Bf16, [k, m, shape.products], operand, Bytes128)?, // cuTensorMapEncodeTiled(…)
        encode_tiled(b, Bf16, [k, n, shape.products], operand, Bytes128)?,
        encode_tiled(c, Bf16, [n, m, shape.products], result, Bytes128)?,
    ])
}
