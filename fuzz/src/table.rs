//! The entry points that programs call, and what their parameters mean, in the order of `cuda.h`.
//!
//! Left out is what is refused whatever it gets, and what would only wait for real time.

use crate::arguments::*;
use crate::calls::{Caller, typed};
use crate::structures::*;
use crate::world::*;

macro_rules! calls {
    ($($name:ident($($argument:ty),* $(,)?);)*) => {
        /// Each entry point and how to call it.
        pub static CALLS: &[(&str, Caller)] =
            &[$((stringify!($name), |world, address| typed::<($($argument,)*)>(world, address)),)*];
    };
}

calls! {
    cuInit(Small);
    cuDriverGetVersion(Out);
    cuGetErrorName(Small, Out);
    cuGetErrorString(Small, Out);
    cuGetProcAddress(Name, Out, Signed, Small64);
    cuGetProcAddress_v2(Name, Out, Signed, Small64, Out);
    cuDeviceGetCount(Out);
    cuDeviceGet(Out, Device);
    cuDeviceGetName(Out, TextLen, Device);
    cuDeviceGetUuid(Out, Device);
    cuDeviceGetLuid(Out, Out, Device);
    cuDeviceTotalMem_v2(Out, Device);
    cuDeviceGetAttribute(Out, Signed, Device);
    cuDeviceComputeCapability(Out, Out, Device);
    cuDeviceGetPCIBusId(Out, TextLen, Device);
    cuDeviceGetByPCIBusId(Out, Name);
    cuDeviceCanAccessPeer(Out, Device, Device);
    cuDeviceGetP2PAttribute(Out, Small, Device, Device);
    cuDeviceGetExecAffinitySupport(Out, Small, Device);

    cuDevicePrimaryCtxRetain(New<CONTEXT>, Device);
    cuDevicePrimaryCtxRelease_v2(Device);
    cuDevicePrimaryCtxReset_v2(Device);
    cuDevicePrimaryCtxSetFlags_v2(Device, Small);
    cuDevicePrimaryCtxGetState(Device, Out, Out);
    cuCtxCreate_v2(New<CONTEXT>, Small, Device);
    cuCtxCreate_v3(New<CONTEXT>, Zeros, Signed, Small, Device);
    cuCtxCreate_v4(New<CONTEXT>, Zeros, Small, Device);
    cuCtxDestroy_v2(End<CONTEXT>);
    cuCtxPushCurrent_v2(Handle<CONTEXT>);
    cuCtxPopCurrent_v2(Out);
    cuCtxSetCurrent(Handle<CONTEXT>);
    cuCtxSetCurrent(Handle<CONTEXT>);
    cuCtxGetCurrent(Out);
    cuCtxGetDevice(Out);
    cuCtxGetDevice_v2(Out, Handle<CONTEXT>);
    cuCtxGetId(Handle<CONTEXT>, Out);
    cuCtxGetApiVersion(Handle<CONTEXT>, Out);
    cuCtxGetFlags(Out);
    cuCtxSetFlags(Small);
    cuCtxGetLimit(Out, Small);
    cuCtxSetLimit(Small, Bytes);
    cuCtxGetCacheConfig(Out);
    cuCtxSetCacheConfig(Small);
    cuCtxGetSharedMemConfig(Out);
    cuCtxSetSharedMemConfig(Small);
    cuCtxGetStreamPriorityRange(Out, Out);
    cuCtxGetExecAffinity(Out, Small);
    cuCtxResetPersistingL2Cache();
    cuCtxSynchronize();
    cuCtxSynchronize_v2(Handle<CONTEXT>);
    cuCtxEnablePeerAccess(Handle<CONTEXT>, Small);
    cuCtxDisablePeerAccess(Handle<CONTEXT>);

    cuModuleLoad(New<MODULE>, Name);
    cuModuleLoadData(New<MODULE>, Image);
    cuModuleLoadDataEx(New<MODULE>, Image, Elements32, JitOptions, JitValues);
    cuModuleUnload(End<MODULE>);
    cuModuleGetFunction(New<FUNCTION>, Handle<MODULE>, Name);
    cuModuleGetFunctionCount(Out, Handle<MODULE>);
    cuModuleEnumerateFunctions(Array<FUNCTION>, Few32, Handle<MODULE>);
    cuModuleGetGlobal_v2(NewAddress, Out, Handle<MODULE>, Name);
    cuModuleGetLoadingMode(Out);
    cuLibraryLoadData(New<LIBRARY>, Image, JitOptions, JitValues, Elements32, JitOptions, Places, Elements32);
    cuLibraryLoadFromFile(New<LIBRARY>, Name, JitOptions, JitValues, Elements32, JitOptions, Places, Elements32);
    cuLibraryUnload(End<LIBRARY>);
    cuLibraryGetKernel(New<KERNEL>, Handle<LIBRARY>, Name);
    cuLibraryGetKernelCount(Out, Handle<LIBRARY>);
    cuLibraryEnumerateKernels(Array<KERNEL>, Few32, Handle<LIBRARY>);
    cuLibraryGetModule(New<MODULE>, Handle<LIBRARY>);
    cuLibraryGetGlobal(NewAddress, Out, Handle<LIBRARY>, Name);
    cuKernelGetFunction(New<FUNCTION>, Handle<KERNEL>);
    cuKernelGetLibrary(Out, Handle<KERNEL>);
    cuKernelGetName(Out, Handle<KERNEL>);
    cuKernelGetParamInfo(Handle<KERNEL>, Few, Out, Out);
    cuKernelGetAttribute(Out, Small, Handle<KERNEL>, Device);
    cuKernelSetAttribute(Small, Signed, Handle<KERNEL>, Device);
    cuKernelSetCacheConfig(Handle<KERNEL>, Small, Device);
    cuFuncGetName(Out, Handle<FUNCTION>);
    cuFuncLoad(Handle<FUNCTION>);
    cuFuncIsLoaded(Out, Handle<FUNCTION>);
    cuFuncGetAttribute(Out, Small, Handle<FUNCTION>);
    cuFuncSetAttribute(Handle<FUNCTION>, Small, Signed);
    cuFuncSetCacheConfig(Handle<FUNCTION>, Small);
    cuFuncSetSharedMemConfig(Handle<FUNCTION>, Small);
    cuFuncGetModule(Out, Handle<FUNCTION>);
    cuFuncGetParamInfo(Handle<FUNCTION>, Few, Out, Out);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(Out, Handle<FUNCTION>, BlockSize, Bytes);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(Out, Handle<FUNCTION>, BlockSize, Bytes, Small);
    cuOccupancyMaxPotentialBlockSize(Out, Out, Handle<FUNCTION>, NoFunction, Bytes, BlockSize);
    cuOccupancyMaxPotentialBlockSizeWithFlags(Out, Out, Handle<FUNCTION>, NoFunction, Bytes, BlockSize, Small);
    cuOccupancyAvailableDynamicSMemPerBlock(Out, Handle<FUNCTION>, BlockSize, BlockSize);
    cuOccupancyMaxActiveClusters(Out, Handle<FUNCTION>, LaunchConfig);
    cuOccupancyMaxPotentialClusterSize(Out, Handle<FUNCTION>, LaunchConfig);

    cuMemAlloc_v2(NewAddress, Bytes);
    cuMemAlloc_v2(NewAddress, Bytes);
    cuMemAllocPitch_v2(NewAddress, Out, Bytes, Few, Small);
    cuMemFree_v2(Freed);
    cuMemGetInfo_v2(Out, Out);
    cuMemGetAddressRange_v2(Out, Out, Address);
    cuMemAllocHost_v2(NewPinned, Bytes);
    cuMemHostAlloc(NewPinned, Bytes, Small);
    cuMemFreeHost(FreedPinned);
    cuMemHostGetFlags(Out, Pinned);
    cuMemHostGetDevicePointer_v2(NewAddress, Pinned, Small);
    cuMemHostRegister_v2(Host, Bytes, Small);
    cuMemHostUnregister(Host);
    cuPointerGetAttribute(Out, Small, Address);
    cuPointerGetAttributes(Elements32, PointerAttributes, Places, Address);

    cuMemPoolCreate(New<POOL>, PoolProps);
    cuMemPoolDestroy(End<POOL>);
    cuMemPoolTrimTo(Handle<POOL>, Bytes);
    cuMemPoolSetAttribute(Handle<POOL>, Small, Value);
    cuMemPoolGetAttribute(Handle<POOL>, Small, Out);
    cuMemPoolSetAccess(Handle<POOL>, Access, Elements);
    cuMemPoolGetAccess(Out, Handle<POOL>, Location);
    cuDeviceGetDefaultMemPool(New<POOL>, Device);
    cuDeviceGetMemPool(New<POOL>, Device);
    cuDeviceSetMemPool(Device, Handle<POOL>);
    cuMemGetDefaultMemPool(New<POOL>, Location, Small);
    cuMemGetMemPool(New<POOL>, Location, Small);
    cuMemSetMemPool(Location, Small, Handle<POOL>);
    cuMemAllocAsync(NewAddress, Bytes, Handle<STREAM>);
    cuMemAllocAsync(NewAddress, Bytes, Handle<STREAM>);
    cuMemAllocFromPoolAsync(NewAddress, Bytes, Handle<POOL>, Handle<STREAM>);
    cuMemFreeAsync(Freed, Handle<STREAM>);
    cuMemFreeAsync(Freed, Handle<STREAM>);

    cuMemcpy(Unified, Unified, Bytes);
    cuMemcpyAsync(Unified, Unified, Bytes, Handle<STREAM>);
    cuMemcpyHtoD_v2(Address, Host, Bytes);
    cuMemcpyHtoDAsync_v2(Address, Host, Bytes, Handle<STREAM>);
    cuMemcpyDtoH_v2(Host, Address, Bytes);
    cuMemcpyDtoHAsync_v2(Host, Address, Bytes, Handle<STREAM>);
    cuMemcpyDtoD_v2(Address, Address, Bytes);
    cuMemcpyDtoDAsync_v2(Address, Address, Bytes, Handle<STREAM>);
    cuMemcpyPeer(Address, Handle<CONTEXT>, Address, Handle<CONTEXT>, Bytes);
    cuMemcpyPeerAsync(Address, Handle<CONTEXT>, Address, Handle<CONTEXT>, Bytes, Handle<STREAM>);
    cuMemcpy2D_v2(Copy2D);
    cuMemcpy2DUnaligned_v2(Copy2D);
    cuMemcpy2DAsync_v2(Copy2D, Handle<STREAM>);
    cuMemcpy3D_v2(Copy3D);
    cuMemcpy3DAsync_v2(Copy3D, Handle<STREAM>);
    cuMemcpy3DPeer(Copy3DPeer);
    cuMemcpy3DPeerAsync(Copy3DPeer, Handle<STREAM>);
    cuMemsetD8_v2(Address, Value8, Bytes);
    cuMemsetD8Async(Address, Value8, Bytes, Handle<STREAM>);
    cuMemsetD16_v2(Address, Value16, Bytes);
    cuMemsetD16Async(Address, Value16, Bytes, Handle<STREAM>);
    cuMemsetD32_v2(Address, Value32, Bytes);
    cuMemsetD32Async(Address, Value32, Bytes, Handle<STREAM>);
    cuMemsetD2D8_v2(Address, Bytes, Value8, Bytes, Few);
    cuMemsetD2D8Async(Address, Bytes, Value8, Bytes, Few, Handle<STREAM>);
    cuMemsetD2D16_v2(Address, Bytes, Value16, Bytes, Few);
    cuMemsetD2D16Async(Address, Bytes, Value16, Bytes, Few, Handle<STREAM>);
    cuMemsetD2D32_v2(Address, Bytes, Value32, Bytes, Few);
    cuMemsetD2D32Async(Address, Bytes, Value32, Bytes, Few, Handle<STREAM>);

    cuStreamCreate(New<STREAM>, Small);
    cuStreamCreateWithPriority(New<STREAM>, Small, Signed);
    cuStreamDestroy_v2(End<STREAM>);
    cuStreamSynchronize(Handle<STREAM>);
    cuStreamQuery(Handle<STREAM>);
    cuStreamWaitEvent(Handle<STREAM>, Handle<EVENT>, Small);
    cuStreamWaitEvent(Handle<STREAM>, Handle<EVENT>, Small);
    cuStreamGetPriority(Handle<STREAM>, Out);
    cuStreamGetFlags(Handle<STREAM>, Out);
    cuStreamGetCtx(Handle<STREAM>, New<CONTEXT>);
    cuStreamGetId(Handle<STREAM>, Out);
    cuStreamGetDevice(Handle<STREAM>, Out);
    cuStreamGetAttribute(Handle<STREAM>, Small, Out);
    cuStreamSetAttribute(Handle<STREAM>, Small, Value);
    cuStreamCopyAttributes(Handle<STREAM>, Handle<STREAM>);
    cuStreamWaitValue32_v2(Handle<STREAM>, Address, Value32, Small);
    cuStreamWaitValue64_v2(Handle<STREAM>, Address, Value64, Small);
    cuStreamWriteValue32_v2(Handle<STREAM>, Address, Value32, Small);
    cuStreamWriteValue64_v2(Handle<STREAM>, Address, Value64, Small);
    cuStreamBatchMemOp_v2(Handle<STREAM>, Elements32, BatchOperations, Small);
    cuEventCreate(New<EVENT>, Small);
    cuEventDestroy_v2(End<EVENT>);
    cuEventRecord(Handle<EVENT>, Handle<STREAM>);
    cuEventRecord(Handle<EVENT>, Handle<STREAM>);
    cuEventRecordWithFlags(Handle<EVENT>, Handle<STREAM>, Small);
    cuEventQuery(Handle<EVENT>);
    cuEventSynchronize(Handle<EVENT>);
    cuEventElapsedTime(Out, Handle<EVENT>, Handle<EVENT>);
    cuEventElapsedTime_v2(Out, Handle<EVENT>, Handle<EVENT>);

    cuLaunchKernel(
        Handle<FUNCTION>, Blocks, BlocksYz, BlocksYz, Threads, ThreadsYz, ThreadsYz, Shared, Handle<STREAM>,
        KernelArguments, NoExtra,
    );
    cuLaunchKernel(
        Handle<FUNCTION>, Blocks, BlocksYz, BlocksYz, Threads, ThreadsYz, ThreadsYz, Shared, Handle<STREAM>,
        NoExtra, Extra,
    );
    cuLaunchKernelEx(LaunchConfig, Handle<FUNCTION>, KernelArguments, NoExtra);
    cuLaunchCooperativeKernel(
        Handle<FUNCTION>, Blocks, BlocksYz, BlocksYz, Threads, ThreadsYz, ThreadsYz, Shared, Handle<STREAM>,
        KernelArguments,
    );
    cuLaunchHostFunc(Handle<STREAM>, HostFunction, NoFunction);
    cuStreamAddCallback(Handle<STREAM>, Callback, NoFunction, Small);

    cuStreamBeginCapture(Handle<STREAM>);
    cuStreamBeginCapture_v2(Handle<STREAM>, Small);
    cuStreamBeginCaptureToGraph(Handle<STREAM>, Handle<GRAPH>, Nodes, Edges, Elements, Small);
    cuStreamEndCapture(Handle<STREAM>, New<GRAPH>);
    cuStreamEndCapture(Handle<STREAM>, New<GRAPH>);
    cuStreamIsCapturing(Handle<STREAM>, Out);
    cuStreamGetCaptureInfo(Handle<STREAM>, Out, Out);
    cuStreamGetCaptureInfo_v2(Handle<STREAM>, Out, Out, New<GRAPH>, Out, Out);
    cuStreamGetCaptureInfo_v3(Handle<STREAM>, Out, Out, New<GRAPH>, Out, Out, Out);
    cuStreamUpdateCaptureDependencies(Handle<STREAM>, Nodes, Elements, Small);
    cuStreamUpdateCaptureDependencies_v2(Handle<STREAM>, Nodes, Edges, Elements, Small);
    cuThreadExchangeStreamCaptureMode(InOut);

    cuGraphCreate(New<GRAPH>, Small);
    cuGraphDestroy(End<GRAPH>);
    cuGraphClone(New<GRAPH>, Handle<GRAPH>);
    cuGraphNodeFindInClone(New<NODE>, Handle<NODE>, Handle<GRAPH>);
    cuGraphDestroyNode(End<NODE>);
    cuGraphInstantiate(New<EXECUTABLE>, Handle<GRAPH>, Out, Out, Few);
    cuGraphInstantiateWithFlags(New<EXECUTABLE>, Handle<GRAPH>, Small64);
    cuGraphInstantiateWithFlags(New<EXECUTABLE>, Handle<GRAPH>, Small64);
    cuGraphInstantiateWithParams(New<EXECUTABLE>, Handle<GRAPH>, InstantiateParams);
    cuGraphExecGetFlags(Handle<EXECUTABLE>, Out);
    cuGraphExecDestroy(End<EXECUTABLE>);
    cuGraphLaunch(Handle<EXECUTABLE>, Handle<STREAM>);
    cuGraphLaunch(Handle<EXECUTABLE>, Handle<STREAM>);
    cuGraphUpload(Handle<EXECUTABLE>, Handle<STREAM>);
    cuGraphAddKernelNode(New<NODE>, Handle<GRAPH>, Nodes, Elements, KernelParams);
    cuGraphAddKernelNode_v2(New<NODE>, Handle<GRAPH>, Nodes, Elements, KernelParams);
    cuGraphAddMemcpyNode(New<NODE>, Handle<GRAPH>, Nodes, Elements, Copy3D, Handle<CONTEXT>);
    cuGraphAddMemsetNode(New<NODE>, Handle<GRAPH>, Nodes, Elements, SetParams, Handle<CONTEXT>);
    cuGraphAddHostNode(New<NODE>, Handle<GRAPH>, Nodes, Elements, HostParams);
    cuGraphAddEmptyNode(New<NODE>, Handle<GRAPH>, Nodes, Elements);
    cuGraphAddEventRecordNode(New<NODE>, Handle<GRAPH>, Nodes, Elements, Handle<EVENT>);
    cuGraphAddEventWaitNode(New<NODE>, Handle<GRAPH>, Nodes, Elements, Handle<EVENT>);
    cuGraphAddChildGraphNode(New<NODE>, Handle<GRAPH>, Nodes, Elements, Handle<GRAPH>);
    cuGraphAddNode(New<NODE>, Handle<GRAPH>, Nodes, Elements, NodeParams);
    cuGraphAddNode_v2(New<NODE>, Handle<GRAPH>, Nodes, Edges, Elements, NodeParams);
    cuGraphNodeSetParams(Handle<NODE>, NodeParams);
    cuGraphExecNodeSetParams(Handle<EXECUTABLE>, Handle<NODE>, NodeParams);
    cuGraphGetNodes(Handle<GRAPH>, Array<NODE>, RoomCount);
    cuGraphGetRootNodes(Handle<GRAPH>, Array<NODE>, RoomCount);
    cuGraphNodeGetDependencies(Handle<NODE>, Array<NODE>, RoomCount);
    cuGraphNodeGetDependencies_v2(Handle<NODE>, Array<NODE>, Out, RoomCount);
    cuGraphNodeGetDependentNodes(Handle<NODE>, Array<NODE>, RoomCount);
    cuGraphNodeGetDependentNodes_v2(Handle<NODE>, Array<NODE>, Out, RoomCount);
    cuGraphGetEdges(Handle<GRAPH>, Array<NODE>, Array<NODE>, RoomCount);
    cuGraphGetEdges_v2(Handle<GRAPH>, Array<NODE>, Array<NODE>, Out, RoomCount);
    cuGraphAddDependencies(Handle<GRAPH>, Nodes, Nodes, Elements);
    cuGraphAddDependencies_v2(Handle<GRAPH>, Nodes, Nodes, Edges, Elements);
    cuGraphRemoveDependencies(Handle<GRAPH>, Nodes, Nodes, Elements);
    cuGraphRemoveDependencies_v2(Handle<GRAPH>, Nodes, Nodes, Edges, Elements);
    cuGraphNodeGetType(Handle<NODE>, Out);
    cuGraphKernelNodeGetParams(Handle<NODE>, Out);
    cuGraphKernelNodeGetParams_v2(Handle<NODE>, Out);
    cuGraphKernelNodeSetParams(Handle<NODE>, KernelParams);
    cuGraphKernelNodeSetParams_v2(Handle<NODE>, KernelParams);
    cuGraphMemcpyNodeGetParams(Handle<NODE>, Out);
    cuGraphMemcpyNodeSetParams(Handle<NODE>, Copy3D);
    cuGraphMemsetNodeGetParams(Handle<NODE>, Out);
    cuGraphMemsetNodeSetParams(Handle<NODE>, SetParams);
    cuGraphHostNodeGetParams(Handle<NODE>, Out);
    cuGraphHostNodeSetParams(Handle<NODE>, HostParams);
    cuGraphChildGraphNodeGetGraph(Handle<NODE>, New<GRAPH>);
    cuGraphEventRecordNodeGetEvent(Handle<NODE>, Out);
    cuGraphEventRecordNodeSetEvent(Handle<NODE>, Handle<EVENT>);
    cuGraphEventWaitNodeGetEvent(Handle<NODE>, Out);
    cuGraphEventWaitNodeSetEvent(Handle<NODE>, Handle<EVENT>);
    cuGraphExecKernelNodeSetParams(Handle<EXECUTABLE>, Handle<NODE>, KernelParams);
    cuGraphExecKernelNodeSetParams_v2(Handle<EXECUTABLE>, Handle<NODE>, KernelParams);
    cuGraphExecMemcpyNodeSetParams(Handle<EXECUTABLE>, Handle<NODE>, Copy3D, Handle<CONTEXT>);
    cuGraphExecMemsetNodeSetParams(Handle<EXECUTABLE>, Handle<NODE>, SetParams, Handle<CONTEXT>);
    cuGraphExecHostNodeSetParams(Handle<EXECUTABLE>, Handle<NODE>, HostParams);
    cuGraphExecEventRecordNodeSetEvent(Handle<EXECUTABLE>, Handle<NODE>, Handle<EVENT>);
    cuGraphExecEventWaitNodeSetEvent(Handle<EXECUTABLE>, Handle<NODE>, Handle<EVENT>);
    cuGraphExecChildGraphNodeSetParams(Handle<EXECUTABLE>, Handle<NODE>, Handle<GRAPH>);
    cuGraphExecUpdate(Handle<EXECUTABLE>, Handle<GRAPH>, Out, Out);
    cuGraphExecUpdate_v2(Handle<EXECUTABLE>, Handle<GRAPH>, Out);
    cuGraphNodeSetEnabled(Handle<EXECUTABLE>, Handle<NODE>, Small);
    cuGraphNodeGetEnabled(Handle<EXECUTABLE>, Handle<NODE>, Out);
}
