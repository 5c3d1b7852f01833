//! The functions that this library lacks. A call says so once and returns `cudaErrorNotSupported`.
//!
//! The parameters do not matter: with the C calling convention it is the caller that passes and removes them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::call::{call_without_device, say};
use crate::error::Error;

static SAID: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

fn refuse(name: &'static str) -> u32 {
    if SAID
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(name)
    {
        say(&format!(
            "{name} is not supported: the call returns cudaErrorNotSupported ({})",
            Error::NOT_SUPPORTED.0
        ));
    }
    call_without_device(|| Err(Error::NOT_SUPPORTED))
}

macro_rules! refuse {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> u32 {
            refuse(stringify!($name))
        }
    )* };
}

refuse! {
    __cudaRegisterHostVar __cudaRegisterUnifiedTable cudaArrayGetMemoryRequirements cudaArrayGetPlane
    cudaArrayGetSparseProperties cudaDestroyExternalMemory cudaDestroyExternalSemaphore
    cudaDeviceFlushGPUDirectRDMAWrites cudaDeviceGetNvSciSyncAttributes cudaDeviceGetTexture1DLinearMaxWidth
    cudaDeviceRegisterAsyncNotification cudaDeviceUnregisterAsyncNotification cudaEGLStreamConsumerAcquireFrame
    cudaEGLStreamConsumerConnect cudaEGLStreamConsumerConnectWithFlags cudaEGLStreamConsumerDisconnect
    cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect cudaEGLStreamProducerDisconnect
    cudaEGLStreamProducerPresentFrame cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync
    cudaExternalMemoryGetMappedBuffer cudaExternalMemoryGetMappedMipmappedArray cudaFreeMipmappedArray cudaGLGetDevices
    cudaGLMapBufferObject cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject cudaGLSetBufferObjectMapFlags
    cudaGLSetGLDevice cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject
    cudaGetExportTable cudaGetMipmappedArrayLevel cudaGetTextureObjectResourceViewDesc
    cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode cudaGraphAddNode
    cudaGraphConditionalHandleCreate cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExecMemcpyNodeSetParamsFromSymbol
    cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecNodeSetParams cudaGraphExternalSemaphoresSignalNodeGetParams
    cudaGraphExternalSemaphoresSignalNodeSetParams cudaGraphExternalSemaphoresWaitNodeGetParams
    cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphKernelNodeCopyAttributes cudaGraphKernelNodeGetAttribute
    cudaGraphKernelNodeSetAttribute cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParamsFromSymbol
    cudaGraphMemcpyNodeSetParamsToSymbol cudaGraphNodeSetParams cudaGraphReleaseUserObject cudaGraphRetainUserObject
    cudaGraphicsEGLRegisterImage cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage cudaGraphicsMapResources
    cudaGraphicsResourceGetMappedEglFrame cudaGraphicsResourceGetMappedMipmappedArray
    cudaGraphicsResourceGetMappedPointer cudaGraphicsResourceSetMapFlags cudaGraphicsSubResourceGetMappedArray
    cudaGraphicsUnmapResources cudaGraphicsUnregisterResource cudaGraphicsVDPAURegisterOutputSurface
    cudaGraphicsVDPAURegisterVideoSurface cudaImportExternalMemory cudaImportExternalSemaphore cudaIpcCloseMemHandle
    cudaIpcGetEventHandle cudaIpcGetMemHandle cudaIpcOpenEventHandle cudaIpcOpenMemHandle cudaLibraryGetManaged
    cudaLibraryGetUnifiedFunction cudaMallocMipmappedArray cudaMemPoolExportPointer cudaMemPoolExportToShareableHandle
    cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer cudaMemRangeGetAttribute cudaMemRangeGetAttributes
    cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DPeer cudaMemcpy3DPeerAsync
    cudaMemcpy3DPeerAsync_ptsz cudaMemcpy3DPeer_ptds cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds
    cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMipmappedArrayGetMemoryRequirements
    cudaMipmappedArrayGetSparseProperties cudaSetValidDevices cudaSignalExternalSemaphoresAsync
    cudaSignalExternalSemaphoresAsync_ptsz cudaUserObjectCreate cudaUserObjectRelease cudaUserObjectRetain
    cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz
}

// The three without a suffix have the parameters of CUDA 11: its headers alone call them.
#[cfg(feature = "cuda-12")]
refuse! {
    cudaGetDeviceProperties cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz
    cudaGraphAddNode_v2 cudaLaunchCooperativeKernelMultiDevice cudaSetDoubleForDevice cudaSetDoubleForHost
    cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz cudaThreadExit
    cudaThreadGetCacheConfig cudaThreadGetLimit cudaThreadSetCacheConfig cudaThreadSetLimit cudaThreadSynchronize
    cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz
}

#[cfg(not(feature = "cuda-12"))]
refuse! {
    __cudaGetProcAddress cudaDeviceGetHostAtomicCapabilities cudaDeviceGetP2PAtomicCapabilities cudaLogsCurrent
    cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback cudaLogsUnregisterCallback
    cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz cudaMemDiscardBatchAsync
    cudaMemDiscardBatchAsync_ptsz cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz
}
