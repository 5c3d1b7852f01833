//! Entry points that are not supported. They exist so that a program that calls one learns from a message why it fails.

use super::entry_point::guarded;
use super::errors::CudaError;
use super::types::CUresult;

/// Defines entry points that return `CUDA_ERROR_NOT_SUPPORTED` for all arguments. Their parameters do not
/// matter: with the C calling convention it is the caller that passes and removes them.
macro_rules! refuse {
    ($($what:literal: $($name:ident)*;)*) => {
        $($(
            #[allow(non_snake_case, reason = "the name of cuda.h")]
            pub(in crate::driver) unsafe extern "C" fn $name() -> CUresult {
                refused(stringify!($name), $what)
            }

            #[cfg(target_family = "wasm")]
            super::forward::no_export! { $name }
        )*)*
    };
}

refuse! {
    "a green context":
        cuCtxFromGreenCtx cuCtxGetDevResource cuDevResourceGenerateDesc cuDevSmResourceSplitByCount
        cuDeviceGetDevResource cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource cuGreenCtxGetId
        cuGreenCtxRecordEvent cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuStreamGetGreenCtx;
    "virtual memory management":
        cuMemAddressFree cuMemAddressReserve cuMemCreate cuMemExportToShareableHandle cuMemGetAccess
        cuMemGetAllocationGranularity cuMemGetAllocationPropertiesFromHandle cuMemGetHandleForAddressRange
        cuMemImportFromShareableHandle cuMemMap cuMemMapArrayAsync cuMemMapArrayAsync_ptsz cuMemRelease
        cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap;
    "sharing memory and events between processes":
        cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle cuIpcOpenMemHandle
        cuIpcOpenMemHandle_v2;
    "a multicast object":
        cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindMem cuMulticastCreate cuMulticastGetGranularity
        cuMulticastUnbind;
    "a texture or surface reference":
        cuModuleGetSurfRef cuModuleGetTexRef cuParamSetTexRef cuSurfRefGetArray cuSurfRefSetArray cuTexRefCreate
        cuTexRefDestroy cuTexRefGetAddress cuTexRefGetAddressMode cuTexRefGetAddress_v2 cuTexRefGetArray
        cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags cuTexRefGetFormat cuTexRefGetMaxAnisotropy
        cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray
        cuTexRefSetAddress cuTexRefSetAddress2D cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode
        cuTexRefSetAddress_v2 cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags
        cuTexRefSetFormat cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias
        cuTexRefSetMipmapLevelClamp cuTexRefSetMipmappedArray;
    "a view of a texture's resource":
        cuTexObjectGetResourceViewDesc;
    "external memory or an external semaphore":
        cuDestroyExternalMemory cuDestroyExternalSemaphore cuExternalMemoryGetMappedBuffer
        cuExternalMemoryGetMappedMipmappedArray cuImportExternalMemory cuImportExternalSemaphore
        cuSignalExternalSemaphoresAsync cuSignalExternalSemaphoresAsync_ptsz cuWaitExternalSemaphoresAsync
        cuWaitExternalSemaphoresAsync_ptsz;
    "graphics interoperability":
        cuGraphicsMapResources cuGraphicsMapResources_ptsz cuGraphicsResourceGetMappedMipmappedArray
        cuGraphicsResourceGetMappedPointer cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags
        cuGraphicsResourceSetMapFlags_v2 cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources
        cuGraphicsUnmapResources_ptsz cuGraphicsUnregisterResource;
    "a tensor map for im2col":
        cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide;
    "an export table of the driver":
        cuGetExportTable;
    "a checkpoint of a process":
        cuCheckpointProcessCheckpoint cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState
        cuCheckpointProcessLock cuCheckpointProcessRestore cuCheckpointProcessUnlock;
    "a core dump":
        cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal;
    "asynchronous notification":
        cuDeviceRegisterAsyncNotification cuDeviceUnregisterAsyncNotification;
    "a cooperative launch on several devices":
        cuLaunchCooperativeKernelMultiDevice;
    "a unified function of a library":
        cuLibraryGetUnifiedFunction;
    "decompression":
        cuMemBatchDecompressAsync cuMemBatchDecompressAsync_ptsz;
    "an event of all work of a context":
        cuCtxRecordEvent cuCtxWaitEvent;
    "the driver's log":
        cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory cuLogsRegisterCallback cuLogsUnregisterCallback;
    "setting up the driver's profiler":
        cuProfilerInitialize;
    "a mipmapped array, or the memory of an array":
        cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel cuArrayGetMemoryRequirements cuArrayGetPlane
        cuArrayGetSparseProperties cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties
        cuDeviceGetTexture1DLinearMaxWidth;
    "an attribute of a pointer that can be set":
        cuPointerSetAttribute;
    "GPUDirect RDMA":
        cuFlushGPUDirectRDMAWrites;
    "which atomic operations a device can perform elsewhere":
        cuDeviceGetHostAtomicCapabilities cuDeviceGetP2PAtomicCapabilities;
    "NvSciSync":
        cuDeviceGetNvSciSyncAttributes;
    "an external semaphore's node":
        cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode
        cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
        cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams
        cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams;
    "a batch memory operation node":
        cuGraphAddBatchMemOpNode cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams
        cuGraphExecBatchMemOpNodeSetParams;
    "a conditional node":
        cuGraphConditionalHandleCreate;
    "a user object":
        cuUserObjectCreate cuUserObjectRetain cuUserObjectRelease cuGraphRetainUserObject cuGraphReleaseUserObject;
    "an attribute of a kernel node":
        cuGraphKernelNodeGetAttribute cuGraphKernelNodeSetAttribute cuGraphKernelNodeCopyAttributes;
    "a batch of copies":
        cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz cuMemcpyBatchAsync_v2 cuMemcpyBatchAsync_v2_ptsz
        cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz;
    "a batch of prefetches, discarding managed memory":
        cuMemPrefetchBatchAsync cuMemPrefetchBatchAsync_ptsz cuMemDiscardBatchAsync cuMemDiscardBatchAsync_ptsz
        cuMemDiscardAndPrefetchBatchAsync cuMemDiscardAndPrefetchBatchAsync_ptsz;
}

fn refused(name: &'static str, what: &str) -> CUresult {
    guarded(name, || {
        crate::say!("software GPU: {name}: {what} is not supported");
        Err(CudaError::NotSupported)
    })
}
