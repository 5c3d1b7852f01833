//! What is left out, refused by name: entry points that exist so that a program which asks for them is told why they
//! fail.

use super::errors::CudaError;

/// Defines entry points that return `CUDA_ERROR_NOT_SUPPORTED` whatever they are passed. Their parameters do not
/// matter: with the C calling convention it is the caller that passes and removes them.
macro_rules! refuse {
    ($($what:literal: $($name:ident)*;)*) => {
        $($(
            #[allow(non_snake_case, reason = "the name of cuda.h")]
            pub(super) unsafe extern "C" fn $name() -> $crate::driver::abi::CUresult {
                $crate::driver::boundary::guarded(stringify!($name), || refused(stringify!($name), $what))
            }
        )*)*
    };
}

refuse! {
    "a copy of CUDA arrays":
        cuMemcpyDtoA_v2 cuMemcpyDtoA_v2_ptds cuMemcpyAtoD_v2 cuMemcpyAtoD_v2_ptds cuMemcpyHtoA_v2 cuMemcpyHtoA_v2_ptds
        cuMemcpyAtoH_v2 cuMemcpyAtoH_v2_ptds cuMemcpyAtoA_v2 cuMemcpyAtoA_v2_ptds cuMemcpyHtoAAsync_v2
        cuMemcpyHtoAAsync_v2_ptsz cuMemcpyAtoHAsync_v2 cuMemcpyAtoHAsync_v2_ptsz;
    "a CUDA array":
        cuArrayCreate_v2 cuArray3DCreate_v2 cuArrayDestroy cuArrayGetDescriptor_v2 cuArray3DGetDescriptor_v2
        cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel;
    "a batch of copies":
        cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz cuMemcpyBatchAsync_v2 cuMemcpyBatchAsync_v2_ptsz
        cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz;
    "managed memory":
        cuMemAllocManaged cuMemPrefetchAsync cuMemPrefetchAsync_ptsz cuMemPrefetchAsync_v2 cuMemPrefetchAsync_v2_ptsz
        cuMemPrefetchBatchAsync cuMemPrefetchBatchAsync_ptsz cuMemDiscardBatchAsync cuMemDiscardBatchAsync_ptsz
        cuMemDiscardAndPrefetchBatchAsync cuMemDiscardAndPrefetchBatchAsync_ptsz cuMemAdvise cuMemAdvise_v2
        cuMemRangeGetAttribute cuMemRangeGetAttributes cuStreamAttachMemAsync cuStreamAttachMemAsync_ptsz;
}

fn refused(name: &str, what: &str) -> Result<(), CudaError> {
    eprintln!("software GPU: {name}: {what} is not supported");
    Err(CudaError::NotSupported)
}
