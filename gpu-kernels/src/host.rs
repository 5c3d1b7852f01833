//! What the host sees of the kernels.

pub use crate::baseline::kv_cache::{PAGED_ATTENTION_THREADS, kv_offset, kv_page_len};
pub use crate::baseline::matmul::{THREADS as MATMUL_THREADS, TILE as MATMUL_TILE};
pub use crate::baseline::spin::HELD_REGISTERS;
pub use crate::baseline::vision::{
    IMAGE_PATCHES, PATCH_FEATURES, PATCH_PIXELS, PATCH_TOKENS, VISION_THREADS,
};
pub use cuda_std::signature::Signature;

/// The baseline module: PTX that every GPU since Volta and every driver since CUDA 9 loads.
pub static SM_70: &str = include_str!("../ptx/sm_70.ptx");

/// The kernels that need Ampere or later, and a driver of CUDA 11.1 or later: `cp.async` and mbarriers.
pub static SM_80: &str = include_str!("../ptx/sm_80.ptx");

/// The kernels that need Hopper or later, and a driver of CUDA 12 or later: bulk copies that complete on mbarriers; and
/// those of [`SM_80`] once more, whose warps sleep while they wait for an mbarrier, where before Hopper they ask over and
/// over.
pub static SM_90: &str = include_str!("../ptx/sm_90.ptx");

/// The kernels that need Hopper and no other, and a driver of CUDA 12.3 or later: `wgmma`.
pub static SM_90A: &str = include_str!("../ptx/sm_90a.ptx");

/// A kernel's name, and its parameters' types as Rust writes them.
pub type Declaration = (&'static str, fn() -> &'static str);

/// The kernels of each module, by their files: the host sees them and lists their names.
macro_rules! kernels {
    ($($(#[$doc:meta])* $list:ident {
        $($($file:ident)::+: $($kernel:ident)+;)*
    } and those of others { $($again:ident)* })*) => {
        $($(pub use crate::$($file)::+::{$($kernel),+};)*)*

        $(
            $(#[$doc])*
            pub const $list: &[&str] = &[$($($kernel::NAME,)+)* $($again::NAME,)*];
        )*

        /// All kernels with their parameters.
        pub const DECLARATIONS: &[Declaration] = &[$($($(
            ($kernel::NAME, core::any::type_name::<<$kernel as Signature>::Parameters>),
        )+)*)*];
    };
}

kernels! {
    /// The names of the kernels in [`SM_70`].
    SM_70_KERNELS {
        baseline::affine: affine affine_rounds affine_rounds_x4 affine_strided_x4 affine_x4;
        baseline::chain: fma_chain;
        baseline::columns: column_sums;
        baseline::elementwise: fill iota saxpy scale;
        baseline::gelu: bias_gelu bias_residual;
        baseline::kv_cache: append_kv paged_attention;
        baseline::matmul: matmul matmul_transposed;
        baseline::reduce: dot sum;
        baseline::softmax: softmax_rows;
        baseline::spin: hold hold_registers spin;
        baseline::stencil: jacobi;
        baseline::vision: allocate_tokens emit_tokens patch_relevance texture_features;
        steps::plain: relax relax_persistent;
        steps::queue: serve_queue;
        tiles::plain: fma_tiles_named_barriers fma_tiles_unspecialised;
    } and those of others {}

    /// The names of the kernels in [`SM_80`].
    SM_80_KERNELS {
        gemm::mma_sync: gemm_mma_sync;
        gemm::mma_sync_wide: gemm_mma_sync_wide;
        tiles::cp_async: fma_tiles_cp_async;
    } and those of others {}

    /// The names of the kernels in [`SM_90`].
    SM_90_KERNELS {
        cluster_product::kernels: product_dsmem product_global product_multicast;
        kv_prefetch::kernels: attention_direct attention_prefetched attention_staged;
        steps::dependent: relax_dependent;
        tiles::bulk: fma_tiles_bulk;
    } and those of others { fma_tiles_cp_async }

    /// The names of the kernels in [`SM_90A`].
    SM_90A_KERNELS {
        gemm::wgmma: gemm_wgmma;
    } and those of others {}
}
