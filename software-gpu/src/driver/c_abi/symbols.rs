//! The table of entry points: symbol names as in `cuda.h`, and where the functions are.

use std::ffi::c_void;

use super::unsupported;
use super::version;
use crate::driver::devices::context;
use crate::driver::devices::device;
use crate::driver::devices::without_effect;
use crate::driver::graph;
use crate::driver::launch::cluster;
use crate::driver::launch::kernel;
use crate::driver::launch::occupancy;
use crate::driver::launch::prepared;
use crate::driver::memory::allocation;
use crate::driver::memory::copy;
use crate::driver::memory::copy_box;
use crate::driver::memory::managed::{
    advice, allocation as managed_allocation, attributes as range_attributes, prefetch,
};
use crate::driver::memory::memset;
use crate::driver::memory::peer;
use crate::driver::memory::pointer;
use crate::driver::memory::pools::{management, stream_ordered};
use crate::driver::memory::tensor_map;
use crate::driver::modules::function;
use crate::driver::modules::library;
use crate::driver::modules::link;
use crate::driver::modules::module;
use crate::driver::streams::attributes;
use crate::driver::streams::event;
use crate::driver::streams::host_function;
use crate::driver::streams::memory_values;
use crate::driver::streams::stream;
use crate::driver::textures::{array, array_copies, objects};

/// The address of a function with the C ABI.
struct FunctionAddress(*const c_void);

// SAFETY: the address of a function; calling it is what needs care.
unsafe impl Sync for FunctionAddress {}

macro_rules! table {
    ($($module:ident: $($name:ident)*;)*) => {
        static TABLE: &[(&str, FunctionAddress)] = &[
            $($((stringify!($name), FunctionAddress($module::$name as *const c_void)),)*)*
        ];
        const NAMES: &[&str] = &[$($(stringify!($name),)*)*];

        #[cfg(target_family = "wasm")]
        static EXPORTS: &[(&str, &super::forward::Export)] = &[
            $($((stringify!($name), &$module::$name::EXPORT),)*)*
        ];
    };
}

table! {
    version: cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString cuGetProcAddress cuGetProcAddress_v2
        cuGetProcAddress_v2_ptsz;
    device: cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetUuid cuDeviceGetUuid_v2 cuDeviceGetLuid
        cuDeviceTotalMem_v2 cuDeviceGetAttribute cuDeviceComputeCapability cuDeviceGetPCIBusId
        cuDeviceGetByPCIBusId;
    context: cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset
        cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2
        cuDevicePrimaryCtxGetState cuCtxCreate_v2 cuCtxCreate_v3 cuCtxCreate_v4
        cuCtxDestroy_v2 cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuCtxSetCurrent cuCtxGetCurrent cuCtxGetDevice
        cuCtxGetId cuCtxGetApiVersion cuCtxGetFlags cuCtxSetFlags cuCtxGetLimit cuCtxSetLimit cuCtxGetCacheConfig
        cuCtxSetCacheConfig cuCtxGetSharedMemConfig cuCtxSetSharedMemConfig cuCtxGetStreamPriorityRange
        cuCtxSynchronize cuCtxGetDevice_v2 cuCtxSynchronize_v2;
    module: cuModuleLoad cuModuleLoadFatBinary cuModuleLoadData cuModuleLoadDataEx cuModuleUnload cuModuleGetFunction
        cuModuleGetFunctionCount cuModuleEnumerateFunctions cuModuleGetGlobal_v2 cuModuleGetLoadingMode;
    link: cuLinkCreate cuLinkCreate_v2 cuLinkAddData cuLinkAddData_v2 cuLinkAddFile cuLinkAddFile_v2 cuLinkComplete
        cuLinkDestroy;
    library: cuLibraryLoadData cuLibraryLoadFromFile cuLibraryUnload cuLibraryGetKernel cuLibraryGetKernelCount
        cuLibraryEnumerateKernels cuLibraryGetModule cuLibraryGetGlobal cuLibraryGetManaged cuKernelGetFunction cuKernelGetLibrary
        cuKernelGetName cuKernelGetParamInfo cuKernelGetAttribute cuKernelSetAttribute cuKernelSetCacheConfig;
    function: cuFuncGetName cuFuncLoad cuFuncIsLoaded cuFuncGetAttribute cuFuncSetAttribute cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuFuncGetModule
        cuFuncGetParamInfo;
    occupancy: cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
        cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags
        cuOccupancyAvailableDynamicSMemPerBlock;
    allocation: cuMemAlloc_v2 cuMemAllocPitch_v2 cuMemFree_v2 cuMemGetInfo_v2 cuMemGetAddressRange_v2
        cuMemAllocHost_v2 cuMemHostAlloc cuMemFreeHost cuMemHostGetFlags cuMemHostGetDevicePointer_v2
        cuMemHostRegister cuMemHostRegister_v2 cuMemHostUnregister;
    management: cuMemPoolCreate cuMemPoolDestroy cuMemPoolTrimTo cuMemPoolSetAttribute cuMemPoolGetAttribute
        cuMemPoolSetAccess cuMemPoolGetAccess cuDeviceGetDefaultMemPool cuDeviceGetMemPool cuDeviceSetMemPool
        cuMemGetDefaultMemPool cuMemGetMemPool cuMemSetMemPool cuMemPoolExportToShareableHandle
        cuMemPoolImportFromShareableHandle cuMemPoolExportPointer cuMemPoolImportPointer;
    stream_ordered: cuMemAllocAsync cuMemAllocAsync_ptsz cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz
        cuMemFreeAsync cuMemFreeAsync_ptsz;
    pointer: cuPointerGetAttribute cuPointerGetAttributes;
    tensor_map: cuTensorMapEncodeTiled cuTensorMapReplaceAddress;
    copy: cuMemcpy cuMemcpy_ptds cuMemcpyAsync cuMemcpyAsync_ptsz cuMemcpyHtoD_v2 cuMemcpyHtoD_v2_ptds
        cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2_ptsz cuMemcpyDtoH_v2 cuMemcpyDtoH_v2_ptds cuMemcpyDtoHAsync_v2
        cuMemcpyDtoHAsync_v2_ptsz cuMemcpyDtoD_v2 cuMemcpyDtoD_v2_ptds cuMemcpyDtoDAsync_v2
        cuMemcpyDtoDAsync_v2_ptsz;
    copy_box: cuMemcpy2D_v2 cuMemcpy2D_v2_ptds cuMemcpy2DUnaligned_v2 cuMemcpy2DUnaligned_v2_ptds
        cuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2_ptsz cuMemcpy3D_v2 cuMemcpy3D_v2_ptds cuMemcpy3DAsync_v2
        cuMemcpy3DAsync_v2_ptsz;
    peer: cuDeviceCanAccessPeer cuDeviceGetP2PAttribute cuCtxEnablePeerAccess cuCtxDisablePeerAccess cuMemcpyPeer
        cuMemcpyPeer_ptds cuMemcpyPeerAsync cuMemcpyPeerAsync_ptsz cuMemcpy3DPeer cuMemcpy3DPeer_ptds
        cuMemcpy3DPeerAsync cuMemcpy3DPeerAsync_ptsz;
    unsupported: cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel cuArrayGetMemoryRequirements cuArrayGetPlane
        cuArrayGetSparseProperties cuMipmappedArrayGetMemoryRequirements cuMipmappedArrayGetSparseProperties
        cuDeviceGetTexture1DLinearMaxWidth cuPointerSetAttribute cuFlushGPUDirectRDMAWrites
        cuDeviceGetHostAtomicCapabilities cuDeviceGetP2PAtomicCapabilities cuDeviceGetNvSciSyncAttributes
        cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz
        cuMemcpyBatchAsync_v2 cuMemcpyBatchAsync_v2_ptsz cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz
        cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz
        cuMemPrefetchBatchAsync cuMemPrefetchBatchAsync_ptsz cuMemDiscardBatchAsync cuMemDiscardBatchAsync_ptsz
        cuMemDiscardAndPrefetchBatchAsync cuMemDiscardAndPrefetchBatchAsync_ptsz;
    managed_allocation: cuMemAllocManaged cuStreamAttachMemAsync cuStreamAttachMemAsync_ptsz;
    prefetch: cuMemPrefetchAsync cuMemPrefetchAsync_ptsz cuMemPrefetchAsync_v2 cuMemPrefetchAsync_v2_ptsz;
    advice: cuMemAdvise cuMemAdvise_v2;
    range_attributes: cuMemRangeGetAttribute cuMemRangeGetAttributes;
    array: cuArrayCreate_v2 cuArray3DCreate_v2 cuArrayDestroy cuArrayGetDescriptor_v2 cuArray3DGetDescriptor_v2;
    array_copies: cuMemcpyDtoA_v2 cuMemcpyDtoA_v2_ptds cuMemcpyAtoD_v2 cuMemcpyAtoD_v2_ptds cuMemcpyHtoA_v2
        cuMemcpyHtoA_v2_ptds cuMemcpyAtoH_v2 cuMemcpyAtoH_v2_ptds cuMemcpyAtoA_v2 cuMemcpyAtoA_v2_ptds
        cuMemcpyHtoAAsync_v2 cuMemcpyHtoAAsync_v2_ptsz cuMemcpyAtoHAsync_v2 cuMemcpyAtoHAsync_v2_ptsz;
    objects: cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc cuTexObjectGetTextureDesc
        cuSurfObjectCreate cuSurfObjectDestroy cuSurfObjectGetResourceDesc;
    memset: cuMemsetD8_v2 cuMemsetD8_v2_ptds cuMemsetD8Async cuMemsetD8Async_ptsz cuMemsetD2D8_v2
        cuMemsetD2D8_v2_ptds cuMemsetD2D8Async cuMemsetD2D8Async_ptsz cuMemsetD16_v2 cuMemsetD16_v2_ptds
        cuMemsetD16Async cuMemsetD16Async_ptsz cuMemsetD2D16_v2 cuMemsetD2D16_v2_ptds cuMemsetD2D16Async
        cuMemsetD2D16Async_ptsz cuMemsetD32_v2 cuMemsetD32_v2_ptds cuMemsetD32Async cuMemsetD32Async_ptsz
        cuMemsetD2D32_v2 cuMemsetD2D32_v2_ptds cuMemsetD2D32Async cuMemsetD2D32Async_ptsz;
    stream: cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamSynchronize
        cuStreamSynchronize_ptsz cuStreamQuery cuStreamQuery_ptsz cuStreamWaitEvent cuStreamWaitEvent_ptsz
        cuStreamGetPriority cuStreamGetPriority_ptsz cuStreamGetFlags cuStreamGetFlags_ptsz cuStreamGetCtx
        cuStreamGetCtx_ptsz cuStreamGetCtx_v2 cuStreamGetCtx_v2_ptsz cuStreamGetId cuStreamGetId_ptsz
        cuStreamGetDevice cuStreamGetDevice_ptsz;
    memory_values: cuStreamWaitValue32_v2 cuStreamWaitValue32_v2_ptsz cuStreamWaitValue64_v2
        cuStreamWaitValue64_v2_ptsz cuStreamWriteValue32_v2 cuStreamWriteValue32_v2_ptsz cuStreamWriteValue64_v2
        cuStreamWriteValue64_v2_ptsz cuStreamBatchMemOp_v2 cuStreamBatchMemOp_v2_ptsz cuStreamWaitValue32
        cuStreamWaitValue32_ptsz cuStreamWaitValue64 cuStreamWaitValue64_ptsz cuStreamWriteValue32
        cuStreamWriteValue32_ptsz cuStreamWriteValue64 cuStreamWriteValue64_ptsz cuStreamBatchMemOp
        cuStreamBatchMemOp_ptsz;
    event: cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventRecord_ptsz cuEventRecordWithFlags
        cuEventRecordWithFlags_ptsz cuEventQuery cuEventSynchronize cuEventElapsedTime cuEventElapsedTime_v2;
    kernel: cuLaunchKernel cuLaunchKernel_ptsz cuLaunchKernelEx cuLaunchKernelEx_ptsz cuLaunchCooperativeKernel
        cuLaunchCooperativeKernel_ptsz;
    prepared: cuFuncSetBlockShape cuFuncSetSharedSize cuLaunch cuLaunchGrid cuLaunchGridAsync
        cuParamSetSize cuParamSetf cuParamSeti cuParamSetv;
    cluster: cuOccupancyMaxActiveClusters cuOccupancyMaxPotentialClusterSize;
    graph: cuGraphCreate cuGraphDestroy cuGraphClone cuGraphNodeFindInClone cuGraphDestroyNode cuGraphInstantiate
        cuGraphInstantiate_v2 cuGraphInstantiateWithFlags cuGraphInstantiateWithParams
        cuGraphInstantiateWithParams_ptsz cuGraphExecGetFlags cuGraphExecDestroy cuGraphAddKernelNode
        cuGraphAddKernelNode_v2 cuGraphAddMemcpyNode cuGraphAddMemsetNode cuGraphAddHostNode cuGraphAddEmptyNode
        cuGraphAddEventRecordNode cuGraphAddEventWaitNode cuGraphAddChildGraphNode cuGraphGetNodes
        cuGraphGetRootNodes cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2 cuGraphNodeGetDependentNodes
        cuGraphNodeGetDependentNodes_v2 cuGraphGetEdges cuGraphGetEdges_v2 cuGraphAddDependencies
        cuGraphAddDependencies_v2 cuGraphRemoveDependencies cuGraphRemoveDependencies_v2 cuGraphNodeGetType
        cuGraphLaunch cuGraphLaunch_ptsz cuGraphUpload cuGraphUpload_ptsz cuStreamBeginCapture
        cuStreamBeginCapture_ptsz cuStreamBeginCapture_v2 cuStreamBeginCapture_v2_ptsz cuStreamBeginCaptureToGraph
        cuStreamBeginCaptureToGraph_ptsz cuStreamEndCapture cuStreamEndCapture_ptsz cuStreamIsCapturing
        cuStreamIsCapturing_ptsz cuStreamGetCaptureInfo cuStreamGetCaptureInfo_ptsz cuStreamGetCaptureInfo_v2
        cuStreamGetCaptureInfo_v2_ptsz cuStreamGetCaptureInfo_v3 cuStreamGetCaptureInfo_v3_ptsz
        cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_ptsz
        cuStreamUpdateCaptureDependencies_v2 cuStreamUpdateCaptureDependencies_v2_ptsz
        cuThreadExchangeStreamCaptureMode cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2
        cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2 cuGraphMemcpyNodeGetParams
        cuGraphMemcpyNodeSetParams cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams cuGraphHostNodeGetParams
        cuGraphHostNodeSetParams cuGraphChildGraphNodeGetGraph cuGraphEventRecordNodeGetEvent
        cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeGetEvent cuGraphEventWaitNodeSetEvent
        cuGraphExecKernelNodeSetParams cuGraphExecKernelNodeSetParams_v2 cuGraphExecMemcpyNodeSetParams
        cuGraphExecMemsetNodeSetParams cuGraphExecHostNodeSetParams cuGraphExecEventRecordNodeSetEvent
        cuGraphExecEventWaitNodeSetEvent cuGraphExecChildGraphNodeSetParams cuGraphExecUpdate cuGraphExecUpdate_v2
        cuGraphNodeSetEnabled cuGraphNodeGetEnabled cuGraphAddNode cuGraphAddNode_v2 cuGraphNodeSetParams
        cuGraphExecNodeSetParams cuGraphDebugDotPrint cuGraphAddMemAllocNode cuGraphMemAllocNodeGetParams
        cuGraphAddMemFreeNode cuGraphMemFreeNodeGetParams cuDeviceGraphMemTrim cuDeviceGetGraphMemAttribute
        cuDeviceSetGraphMemAttribute;
    attributes: cuStreamGetAttribute cuStreamGetAttribute_ptsz cuStreamSetAttribute cuStreamSetAttribute_ptsz
        cuStreamCopyAttributes cuStreamCopyAttributes_ptsz;
    without_effect: cuProfilerStart cuProfilerStop cuDeviceGetExecAffinitySupport cuCtxGetExecAffinity
        cuCtxResetPersistingL2Cache;
    unsupported: cuCtxFromGreenCtx cuCtxGetDevResource cuDevResourceGenerateDesc cuDevSmResourceSplitByCount
        cuDeviceGetDevResource cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource cuGreenCtxGetId
        cuGreenCtxRecordEvent cuGreenCtxStreamCreate cuGreenCtxWaitEvent cuStreamGetGreenCtx cuMemAddressFree
        cuMemAddressReserve cuMemCreate cuMemExportToShareableHandle cuMemGetAccess cuMemGetAllocationGranularity
        cuMemGetAllocationPropertiesFromHandle cuMemGetHandleForAddressRange cuMemImportFromShareableHandle cuMemMap
        cuMemMapArrayAsync cuMemMapArrayAsync_ptsz cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess
        cuMemUnmap cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle cuIpcOpenMemHandle
        cuIpcOpenMemHandle_v2 cuMulticastAddDevice cuMulticastBindAddr cuMulticastBindMem cuMulticastCreate
        cuMulticastGetGranularity cuMulticastUnbind cuModuleGetSurfRef cuModuleGetTexRef cuParamSetTexRef
        cuSurfRefGetArray cuSurfRefSetArray cuTexObjectGetResourceViewDesc cuTexRefCreate cuTexRefDestroy cuTexRefGetAddress cuTexRefGetAddressMode
        cuTexRefGetAddress_v2 cuTexRefGetArray cuTexRefGetBorderColor cuTexRefGetFilterMode cuTexRefGetFlags
        cuTexRefGetFormat cuTexRefGetMaxAnisotropy cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias
        cuTexRefGetMipmapLevelClamp cuTexRefGetMipmappedArray cuTexRefSetAddress cuTexRefSetAddress2D
        cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode cuTexRefSetAddress_v2
        cuTexRefSetArray cuTexRefSetBorderColor cuTexRefSetFilterMode cuTexRefSetFlags cuTexRefSetFormat
        cuTexRefSetMaxAnisotropy cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias cuTexRefSetMipmapLevelClamp
        cuTexRefSetMipmappedArray cuDestroyExternalMemory cuDestroyExternalSemaphore cuExternalMemoryGetMappedBuffer
        cuExternalMemoryGetMappedMipmappedArray cuImportExternalMemory cuImportExternalSemaphore
        cuSignalExternalSemaphoresAsync cuSignalExternalSemaphoresAsync_ptsz cuWaitExternalSemaphoresAsync
        cuWaitExternalSemaphoresAsync_ptsz cuGraphicsMapResources cuGraphicsMapResources_ptsz
        cuGraphicsResourceGetMappedMipmappedArray cuGraphicsResourceGetMappedPointer
        cuGraphicsResourceGetMappedPointer_v2 cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2
        cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources cuGraphicsUnmapResources_ptsz
        cuGraphicsUnregisterResource cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide
        cuGetExportTable cuCheckpointProcessCheckpoint
        cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState cuCheckpointProcessLock
        cuCheckpointProcessRestore cuCheckpointProcessUnlock cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
        cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal cuDeviceRegisterAsyncNotification
        cuDeviceUnregisterAsyncNotification cuLaunchCooperativeKernelMultiDevice
        cuLibraryGetUnifiedFunction cuMemBatchDecompressAsync cuMemBatchDecompressAsync_ptsz
        cuCtxRecordEvent cuCtxWaitEvent cuLogsCurrent cuLogsDumpToFile cuLogsDumpToMemory
        cuLogsRegisterCallback cuLogsUnregisterCallback cuProfilerInitialize
        cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode
        cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresSignalNodeSetParams
        cuGraphExternalSemaphoresWaitNodeGetParams cuGraphExternalSemaphoresWaitNodeSetParams
        cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
        cuGraphAddBatchMemOpNode cuGraphBatchMemOpNodeGetParams cuGraphBatchMemOpNodeSetParams
        cuGraphExecBatchMemOpNodeSetParams cuGraphConditionalHandleCreate cuUserObjectCreate cuUserObjectRetain
        cuUserObjectRelease cuGraphRetainUserObject cuGraphReleaseUserObject cuGraphKernelNodeGetAttribute
        cuGraphKernelNodeSetAttribute cuGraphKernelNodeCopyAttributes;
    host_function: cuLaunchHostFunc cuLaunchHostFunc_ptsz cuStreamAddCallback cuStreamAddCallback_ptsz;
}

/// The function that implements the symbol `name` of `cuda.h`, such as `cuMemAlloc_v2`, with the C ABI.
///
/// `None` for a symbol that the software GPU does not implement.
pub fn entry_point(name: &str) -> Option<*const c_void> {
    TABLE
        .iter()
        .find(|(candidate, _)| *candidate == name)
        .map(|(_, address)| address.0)
}

/// The symbol `name` as WebAssembly exports it.
///
/// `None` for a symbol that the software GPU does not implement.
#[cfg(target_family = "wasm")]
pub fn export(name: &str) -> Option<&'static super::forward::Export> {
    let mut exports = EXPORTS.iter();
    exports.find_map(|(candidate, export)| (*candidate == name).then_some(*export))
}

/// The names of all symbols of [`entry_point`].
pub fn entry_points() -> &'static [&'static str] {
    NAMES
}
