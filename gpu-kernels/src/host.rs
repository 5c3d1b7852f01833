//! What the host sees of the kernels.

pub use crate::baseline::affine::{
    affine, affine_rounds, affine_rounds_x4, affine_strided_x4, affine_x4,
};
pub use crate::baseline::chain::fma_chain;
pub use crate::baseline::elementwise::{fill, iota, saxpy, scale};
pub use crate::baseline::gelu::{bias_gelu, bias_residual};
pub use crate::baseline::kv_cache::{
    PAGED_ATTENTION_THREADS, append_kv, kv_offset, kv_page_len, paged_attention,
};
pub use crate::baseline::matmul::{
    THREADS as MATMUL_THREADS, TILE as MATMUL_TILE, matmul, matmul_transposed,
};
pub use crate::baseline::reduce::{dot, sum};
pub use crate::baseline::softmax::softmax_rows;
pub use crate::baseline::spin::{HELD_REGISTERS, hold, hold_registers, spin};
pub use crate::baseline::stencil::jacobi;
pub use crate::baseline::vision::{
    IMAGE_PATCHES, PATCH_FEATURES, PATCH_PIXELS, PATCH_TOKENS, VISION_THREADS, allocate_tokens,
    emit_tokens, patch_relevance, texture_features,
};
pub use crate::cluster_product::kernels::{product_dsmem, product_global, product_multicast};
pub use crate::kv_prefetch::kernels::{attention_direct, attention_prefetched, attention_staged};
pub use crate::steps::dependent::relax_dependent;
pub use crate::steps::plain::{FLAG_WORDS, relax, relax_persistent};
pub use crate::tiles::bulk::fma_tiles_bulk;
pub use crate::tiles::cp_async::fma_tiles_cp_async;
pub use crate::tiles::plain::{fma_tiles_named_barriers, fma_tiles_unspecialised};
pub use cuda_std::signature::Signature;

/// The baseline module: PTX that every GPU since Volta and every driver since CUDA 9 loads.
pub static SM_70: &str = include_str!("../ptx/sm_70.ptx");

/// The kernels that need Ampere or later, and a driver of CUDA 11.1 or later: `cp.async` and mbarriers.
pub static SM_80: &str = include_str!("../ptx/sm_80.ptx");

/// The kernels that need Hopper or later, and a driver of CUDA 12 or later: bulk copies that complete on mbarriers; and
/// those of [`SM_80`] once more, whose warps sleep while they wait for an mbarrier, where before Hopper they ask over and
/// over.
pub static SM_90: &str = include_str!("../ptx/sm_90.ptx");

/// The names of the kernels in [`SM_70`].
pub const SM_70_KERNELS: &[&str] = &[
    affine::NAME,
    affine_rounds::NAME,
    affine_rounds_x4::NAME,
    affine_strided_x4::NAME,
    affine_x4::NAME,
    allocate_tokens::NAME,
    append_kv::NAME,
    bias_gelu::NAME,
    bias_residual::NAME,
    dot::NAME,
    emit_tokens::NAME,
    fill::NAME,
    fma_chain::NAME,
    fma_tiles_named_barriers::NAME,
    fma_tiles_unspecialised::NAME,
    hold::NAME,
    hold_registers::NAME,
    iota::NAME,
    jacobi::NAME,
    matmul::NAME,
    matmul_transposed::NAME,
    paged_attention::NAME,
    patch_relevance::NAME,
    relax::NAME,
    relax_persistent::NAME,
    saxpy::NAME,
    scale::NAME,
    softmax_rows::NAME,
    spin::NAME,
    sum::NAME,
    texture_features::NAME,
];

/// The names of the kernels in [`SM_80`].
pub const SM_80_KERNELS: &[&str] = &[fma_tiles_cp_async::NAME];

/// The names of the kernels in [`SM_90`].
pub const SM_90_KERNELS: &[&str] = &[
    attention_direct::NAME,
    attention_prefetched::NAME,
    attention_staged::NAME,
    fma_tiles_bulk::NAME,
    fma_tiles_cp_async::NAME,
    product_dsmem::NAME,
    product_global::NAME,
    product_multicast::NAME,
    relax_dependent::NAME,
];
