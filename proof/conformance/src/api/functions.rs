//! The functions that rules call, with the symbol names of `cuda.h`.

use std::ffi::{c_char, c_void};

use super::structures::*;
use super::{Address, Code, Handle, HostFunction, StreamCallback};

macro_rules! functions {
    ($($(#[$meta:meta])* fn $name:ident($($parameter:ident: $type:ty),* $(,)?);)*) => {
        #[allow(missing_docs, reason = "documented in the CUDA driver API reference")]
        mod declared {
            use super::*;

            unsafe extern "C" {
                $($(#[$meta])* pub fn $name($($parameter: $type),*) -> Code;)*
            }
        }
        pub use declared::*;
    };
}

functions! {
    fn cuInit(flags: u32);
    fn cuDriverGetVersion(driver_version: *mut i32);
    fn cuGetErrorName(error: u32, p_str: *mut *const c_char);
    fn cuGetErrorString(error: u32, p_str: *mut *const c_char);
    fn cuGetProcAddress_v2(
        symbol: *const c_char, pfn: *mut *mut c_void, cuda_version: i32, flags: u64, symbol_status: *mut u32
    );
    fn cuDeviceGetCount(count: *mut i32);
    fn cuDeviceGet(device: *mut i32, ordinal: i32);
    fn cuDeviceGetName(name: *mut c_char, len: i32, dev: i32);
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], dev: i32);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: i32);
    fn cuDeviceGetAttribute(pi: *mut i32, attrib: u32, dev: i32);
    fn cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: i32, dev: i32);
    fn cuDeviceGetByPCIBusId(dev: *mut i32, pci_bus_id: *const c_char);
    fn cuDevicePrimaryCtxRetain(pctx: *mut Handle, dev: i32);
    fn cuDevicePrimaryCtxRelease_v2(dev: i32);
    fn cuDevicePrimaryCtxReset_v2(dev: i32);
    fn cuDevicePrimaryCtxSetFlags_v2(dev: i32, flags: u32);
    fn cuDevicePrimaryCtxGetState(dev: i32, flags: *mut u32, active: *mut i32);
    fn cuCtxCreate_v2(pctx: *mut Handle, flags: u32, dev: i32);
    fn cuCtxDestroy_v2(ctx: Handle);
    fn cuCtxPushCurrent_v2(ctx: Handle);
    fn cuCtxPopCurrent_v2(pctx: *mut Handle);
    fn cuCtxSetCurrent(ctx: Handle);
    fn cuCtxGetCurrent(pctx: *mut Handle);
    fn cuCtxGetDevice(device: *mut i32);
    fn cuCtxGetId(ctx: Handle, ctx_id: *mut u64);
    fn cuCtxGetApiVersion(ctx: Handle, version: *mut u32);
    fn cuCtxGetFlags(flags: *mut u32);
    fn cuCtxGetLimit(pvalue: *mut usize, limit: u32);
    fn cuCtxSetLimit(limit: u32, value: usize);
    fn cuCtxGetCacheConfig(pconfig: *mut u32);
    fn cuCtxSetCacheConfig(config: u32);
    fn cuCtxGetStreamPriorityRange(least_priority: *mut i32, greatest_priority: *mut i32);
    fn cuCtxSynchronize();
    fn cuModuleLoad(module: *mut Handle, fname: *const c_char);
    fn cuModuleLoadData(module: *mut Handle, image: *const c_void);
    fn cuModuleLoadFatBinary(module: *mut Handle, fat_cubin: *const c_void);
    fn cuModuleLoadDataEx(
        module: *mut Handle, image: *const c_void, num_options: u32, options: *mut u32, option_values: *mut
        *mut c_void
    );
    fn cuModuleUnload(hmod: Handle);
    fn cuModuleGetFunction(hfunc: *mut Handle, hmod: Handle, name: *const c_char);
    fn cuModuleGetFunctionCount(count: *mut u32, module: Handle);
    fn cuModuleGetGlobal_v2(dptr: *mut Address, bytes: *mut usize, hmod: Handle, name: *const c_char);
    fn cuFuncGetAttribute(pi: *mut i32, attrib: u32, hfunc: Handle);
    fn cuFuncSetAttribute(hfunc: Handle, attrib: u32, value: i32);
    fn cuFuncSetCacheConfig(hfunc: Handle, config: u32);
    fn cuFuncGetModule(hmod: *mut Handle, hfunc: Handle);
    fn cuFuncGetParamInfo(func: Handle, param_index: usize, param_offset: *mut usize, param_size: *mut usize);
    fn cuFuncGetName(name: *mut *const c_char, hfunc: Handle);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        num_blocks: *mut i32, func: Handle, block_size: i32, dynamic_smem_size: usize
    );
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        num_blocks: *mut i32, func: Handle, block_size: i32, dynamic_smem_size: usize, flags: u32
    );
    fn cuOccupancyMaxPotentialBlockSize(
        min_grid_size: *mut i32, block_size: *mut i32, func: Handle, block_size_to_dynamic_smem_size: usize,
        dynamic_smem_size: usize, block_size_limit: i32
    );
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        dynamic_smem_size: *mut usize, func: Handle, num_blocks: i32, block_size: i32
    );
    fn cuMemAlloc_v2(dptr: *mut Address, bytesize: usize);
    fn cuMemAllocPitch_v2(
        dptr: *mut Address, p_pitch: *mut usize, width_in_bytes: usize, height: usize, element_size_bytes: u32
    );
    fn cuMemFree_v2(dptr: Address);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemGetAddressRange_v2(pbase: *mut Address, psize: *mut usize, dptr: Address);
    fn cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize);
    fn cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, flags: u32);
    fn cuMemFreeHost(p: *mut c_void);
    fn cuMemHostGetFlags(p_flags: *mut u32, p: *mut c_void);
    fn cuMemHostGetDevicePointer_v2(pdptr: *mut Address, p: *mut c_void, flags: u32);
    fn cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, flags: u32);
    fn cuMemHostUnregister(p: *mut c_void);
    fn cuPointerGetAttribute(data: *mut c_void, attribute: u32, ptr: Address);
    fn cuPointerGetAttributes(num_attributes: u32, attributes: *mut u32, data: *mut *mut c_void, ptr: Address);
    fn cuTensorMapEncodeTiled(
        tensor_map: *mut c_void, tensor_data_type: u32, tensor_rank: u32, global_address: Address, global_dim: *const u64,
        global_strides: *const u64, box_dim: *const u32, element_strides: *const u32, interleave: u32, swizzle: u32,
        l2_promotion: u32, oob_fill: u32
    );
    fn cuTensorMapReplaceAddress(tensor_map: *mut c_void, global_address: Address);
    fn cuMemcpy(dst: Address, src: Address, byte_count: usize);
    fn cuMemcpyAsync(dst: Address, src: Address, byte_count: usize, h_stream: Handle);
    fn cuMemcpyHtoD_v2(dst_device: Address, src_host: *const c_void, byte_count: usize);
    fn cuMemcpyHtoDAsync_v2(dst_device: Address, src_host: *const c_void, byte_count: usize, h_stream: Handle);
    fn cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: Address, byte_count: usize);
    fn cuMemcpyDtoHAsync_v2(dst_host: *mut c_void, src_device: Address, byte_count: usize, h_stream: Handle);
    fn cuMemcpyDtoD_v2(dst_device: Address, src_device: Address, byte_count: usize);
    fn cuMemcpyDtoDAsync_v2(dst_device: Address, src_device: Address, byte_count: usize, h_stream: Handle);
    fn cuMemsetD8_v2(dst_device: Address, uc: u8, n: usize);
    fn cuMemsetD8Async(dst_device: Address, uc: u8, n: usize, h_stream: Handle);
    fn cuMemsetD8Async_ptsz(dst_device: Address, uc: u8, n: usize, h_stream: Handle);
    fn cuMemsetD2D8_v2(dst_device: Address, dst_pitch: usize, uc: u8, width: usize, height: usize);
    fn cuMemsetD2D8Async(
        dst_device: Address, dst_pitch: usize, uc: u8, width: usize, height: usize, h_stream: Handle
    );
    fn cuMemsetD16_v2(dst_device: Address, us: u16, n: usize);
    fn cuMemsetD16Async(dst_device: Address, us: u16, n: usize, h_stream: Handle);
    fn cuMemsetD32_v2(dst_device: Address, ui: u32, n: usize);
    fn cuMemsetD32Async(dst_device: Address, ui: u32, n: usize, h_stream: Handle);
    fn cuMemsetD2D32_v2(dst_device: Address, dst_pitch: usize, ui: u32, width: usize, height: usize);
    fn cuMemsetD2D16_v2(dst_device: Address, dst_pitch: usize, us: u16, width: usize, height: usize);
    fn cuStreamCreate(ph_stream: *mut Handle, flags: u32);
    fn cuStreamCreateWithPriority(ph_stream: *mut Handle, flags: u32, priority: i32);
    fn cuStreamDestroy_v2(h_stream: Handle);
    fn cuStreamSynchronize(h_stream: Handle);
    fn cuStreamQuery(h_stream: Handle);
    fn cuStreamWaitEvent(h_stream: Handle, h_event: Handle, flags: u32);
    fn cuStreamGetPriority(h_stream: Handle, priority: *mut i32);
    fn cuStreamGetFlags(h_stream: Handle, flags: *mut u32);
    fn cuStreamGetCtx(h_stream: Handle, pctx: *mut Handle);
    fn cuStreamGetId(h_stream: Handle, stream_id: *mut u64);
    fn cuStreamGetId_ptsz(h_stream: Handle, stream_id: *mut u64);
    fn cuEventCreate(ph_event: *mut Handle, flags: u32);
    fn cuEventDestroy_v2(h_event: Handle);
    fn cuEventRecord(h_event: Handle, h_stream: Handle);
    fn cuEventRecordWithFlags(h_event: Handle, h_stream: Handle, flags: u32);
    fn cuEventQuery(h_event: Handle);
    fn cuEventSynchronize(h_event: Handle);
    fn cuEventElapsedTime_v2(p_milliseconds: *mut f32, h_start: Handle, h_end: Handle);
    fn cuEventElapsedTime(p_milliseconds: *mut f32, h_start: Handle, h_end: Handle);
    fn cuLaunchKernel(
        f: Handle, grid_dim_x: u32, grid_dim_y: u32, grid_dim_z: u32, block_dim_x: u32, block_dim_y: u32,
        block_dim_z: u32, shared_mem_bytes: u32, h_stream: Handle, kernel_params: *mut *mut c_void, extra:
        *mut *mut c_void
    );
    fn cuLaunchKernelEx(
        config: *const LaunchConfig, f: Handle, kernel_params: *mut *mut c_void, extra: *mut *mut c_void
    );
    fn cuStreamWaitValue32_v2(stream: Handle, addr: Address, value: u32, flags: u32);
    fn cuStreamWriteValue32_v2(stream: Handle, addr: Address, value: u32, flags: u32);
    fn cuStreamWaitValue64_v2(stream: Handle, addr: Address, value: u64, flags: u32);
    fn cuStreamWriteValue64_v2(stream: Handle, addr: Address, value: u64, flags: u32);
    fn cuStreamBatchMemOp_v2(stream: Handle, count: u32, operations: *const BatchMemOp, flags: u32);
    fn cuLaunchHostFunc(h_stream: Handle, function: HostFunction, user_data: *mut c_void);
    fn cuStreamAddCallback(h_stream: Handle, callback: StreamCallback, user_data: *mut c_void, flags: u32);
    fn cuMemAllocAsync(dptr: *mut Address, bytesize: usize, h_stream: Handle);
    fn cuMemAllocFromPoolAsync(dptr: *mut Address, bytesize: usize, pool: Handle, h_stream: Handle);
    fn cuMemFreeAsync(dptr: Address, h_stream: Handle);
    fn cuMemPoolCreate(pool: *mut Handle, pool_props: *const MemPoolProps);
    fn cuMemPoolDestroy(pool: Handle);
    fn cuMemPoolTrimTo(pool: Handle, min_bytes_to_keep: usize);
    fn cuMemPoolSetAttribute(pool: Handle, attr: u32, value: *mut c_void);
    fn cuMemPoolGetAttribute(pool: Handle, attr: u32, value: *mut c_void);
    fn cuMemPoolSetAccess(pool: Handle, map: *const MemAccessDesc, count: usize);
    fn cuMemPoolGetAccess(flags: *mut u32, mem_pool: Handle, location: *mut MemLocation);
    fn cuMemGetDefaultMemPool(pool_out: *mut Handle, location: *const MemLocation, kind: u32);
    fn cuMemGetMemPool(pool: *mut Handle, location: *const MemLocation, kind: u32);
    fn cuMemSetMemPool(location: *const MemLocation, kind: u32, pool: Handle);
    fn cuDeviceGetDefaultMemPool(pool_out: *mut Handle, dev: i32);
    fn cuDeviceGetMemPool(pool: *mut Handle, dev: i32);
    fn cuDeviceSetMemPool(dev: i32, pool: Handle);
    fn cuStreamBeginCapture_v2(h_stream: Handle, mode: u32);
    fn cuStreamEndCapture(h_stream: Handle, ph_graph: *mut Handle);
    fn cuStreamIsCapturing(h_stream: Handle, capture_status: *mut u32);
    fn cuStreamGetCaptureInfo_v2(
        h_stream: Handle, capture_status_out: *mut u32, id_out: *mut u64, graph_out: *mut Handle,
        dependencies_out: *mut *const Handle, num_dependencies_out: *mut usize
    );
    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32);
    fn cuGraphCreate(ph_graph: *mut Handle, flags: u32);
    fn cuGraphDestroy(h_graph: Handle);
    fn cuGraphExecDestroy(h_graph_exec: Handle);
    fn cuGraphLaunch(h_graph_exec: Handle, h_stream: Handle);
    fn cuGraphGetNodes(h_graph: Handle, nodes: *mut Handle, num_nodes: *mut usize);
    fn cuGraphGetRootNodes(h_graph: Handle, root_nodes: *mut Handle, num_root_nodes: *mut usize);
    fn cuGraphNodeGetType(h_node: Handle, kind: *mut u32);
    fn cuGraphAddEmptyNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize
    );
    fn cuGraphAddKernelNode_v2(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        node_params: *const KernelNodeParams
    );
    fn cuGraphAddMemsetNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        memset_params: *const MemsetNodeParams, ctx: Handle
    );
    fn cuGraphAddMemcpyNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        copy_params: *const Memcpy3D, ctx: Handle
    );
    fn cuGraphAddHostNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        node_params: *const HostNodeParams
    );
    fn cuGraphAddEventRecordNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        event: Handle
    );
    fn cuGraphAddEventWaitNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        event: Handle
    );
    fn cuGraphAddChildGraphNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        child_graph: Handle
    );
    fn cuGraphAddMemFreeNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        dptr: Address
    );
    fn cuGraphDestroyNode(h_node: Handle);
    fn cuGraphClone(ph_graph_clone: *mut Handle, original_graph: Handle);
    fn cuGraphNodeFindInClone(ph_node: *mut Handle, h_original_node: Handle, h_cloned_graph: Handle);
    fn cuGraphExecKernelNodeSetParams_v2(
        h_graph_exec: Handle, h_node: Handle, node_params: *const KernelNodeParams
    );
    fn cuGraphKernelNodeGetParams_v2(h_node: Handle, node_params: *mut KernelNodeParams);
    fn cuGraphKernelNodeSetParams_v2(h_node: Handle, node_params: *const KernelNodeParams);
    fn cuGraphExecUpdate_v2(h_graph_exec: Handle, h_graph: Handle, result_info: *mut GraphExecUpdateResultInfo);
    fn cuGraphUpload(h_graph_exec: Handle, h_stream: Handle);
    fn cuGraphNodeSetEnabled(h_graph_exec: Handle, h_node: Handle, is_enabled: u32);
    fn cuGraphNodeGetEnabled(h_graph_exec: Handle, h_node: Handle, is_enabled: *mut u32);
    fn cuArray3DCreate_v2(p_handle: *mut Handle, p_allocate_array: *const Array3D);
    fn cuTexObjectCreate(
        p_tex_object: *mut u64, p_res_desc: *const ResourceDesc, p_tex_desc: *const TextureDesc, p_res_view_desc: *const c_void
    );
    fn cuSurfObjectCreate(p_surf_object: *mut u64, p_res_desc: *const ResourceDesc);
    fn cuMemcpy2D_v2(p_copy: *const Memcpy2D);
    fn cuMemcpy2DAsync_v2(p_copy: *const Memcpy2D, h_stream: Handle);
    fn cuMemcpy2DUnaligned_v2(p_copy: *const Memcpy2D);
    fn cuMemcpy3D_v2(p_copy: *const Memcpy3D);
    fn cuMemcpy3DAsync_v2(p_copy: *const Memcpy3D, h_stream: Handle);
    fn cuLaunchCooperativeKernel(
        f: Handle, grid_dim_x: u32, grid_dim_y: u32, grid_dim_z: u32, block_dim_x: u32, block_dim_y: u32,
        block_dim_z: u32, shared_mem_bytes: u32, h_stream: Handle, kernel_params: *mut *mut c_void
    );
    fn cuOccupancyMaxActiveClusters(num_clusters: *mut i32, func: Handle, config: *const LaunchConfig);
    fn cuOccupancyMaxPotentialClusterSize(cluster_size: *mut i32, func: Handle, config: *const LaunchConfig);
    fn cuDeviceCanAccessPeer(can_access_peer: *mut i32, dev: i32, peer_dev: i32);
    fn cuCtxEnablePeerAccess(peer_context: Handle, flags: u32);
    fn cuCtxDisablePeerAccess(peer_context: Handle);
    fn cuDeviceGetP2PAttribute(value: *mut i32, attrib: u32, src_device: i32, dst_device: i32);
    fn cuMemcpyPeer(
        dst_device: Address, dst_context: Handle, src_device: Address, src_context: Handle, byte_count: usize
    );
    fn cuMemcpyPeerAsync(
        dst_device: Address, dst_context: Handle, src_device: Address, src_context: Handle, byte_count:
        usize, h_stream: Handle
    );
    /// Where a side of `Memcpy3D` has `reserved`, the structure of this function has the side's context.
    fn cuMemcpy3DPeer(p_copy: *const Memcpy3D);
    fn cuGraphInstantiateWithFlags(ph_graph_exec: *mut Handle, h_graph: Handle, flags: u64);
    fn cuGraphGetEdges_v2(
        h_graph: Handle, from: *mut Handle, to: *mut Handle, edge_data: *mut c_void, num_edges: *mut usize
    );
    fn cuGraphNodeGetDependencies_v2(
        h_node: Handle, dependencies: *mut Handle, edge_data: *mut c_void, num_dependencies: *mut usize
    );
    fn cuGraphNodeGetDependentNodes_v2(
        h_node: Handle, dependent_nodes: *mut Handle, edge_data: *mut c_void, num_dependent_nodes: *mut usize
    );
    fn cuGraphAddDependencies_v2(
        h_graph: Handle, from: *const Handle, to: *const Handle, edge_data: *const c_void, num_dependencies: usize
    );
    fn cuGraphRemoveDependencies_v2(
        h_graph: Handle, from: *const Handle, to: *const Handle, edge_data: *const c_void, num_dependencies: usize
    );
    fn cuGraphChildGraphNodeGetGraph(h_node: Handle, ph_graph: *mut Handle);
    fn cuLibraryLoadData(
        library: *mut Handle, code: *const c_void, jit_options: *mut u32, jit_options_values: *mut *mut c_void,
        num_jit_options: u32, library_options: *mut u32, library_option_values: *mut *mut c_void, num_library_options: u32
    );
    fn cuLibraryLoadFromFile(
        library: *mut Handle, file_name: *const c_char, jit_options: *mut u32, jit_options_values: *mut *mut c_void,
        num_jit_options: u32, library_options: *mut u32, library_option_values: *mut *mut c_void, num_library_options: u32
    );
    fn cuLibraryUnload(library: Handle);
    fn cuLibraryGetKernel(p_kernel: *mut Handle, library: Handle, name: *const c_char);
    fn cuLibraryGetKernelCount(count: *mut u32, lib: Handle);
    fn cuLibraryEnumerateKernels(kernels: *mut Handle, num_kernels: u32, lib: Handle);
    fn cuLibraryGetModule(p_mod: *mut Handle, library: Handle);
    fn cuLibraryGetGlobal(dptr: *mut Address, bytes: *mut usize, library: Handle, name: *const c_char);
    fn cuKernelGetFunction(p_func: *mut Handle, kernel: Handle);
    fn cuKernelGetLibrary(p_lib: *mut Handle, kernel: Handle);
    fn cuKernelGetName(name: *mut *const c_char, hfunc: Handle);
    fn cuKernelGetAttribute(pi: *mut i32, attrib: u32, kernel: Handle, dev: i32);
    fn cuKernelGetParamInfo(kernel: Handle, param_index: usize, param_offset: *mut usize, param_size: *mut usize);
    fn cuKernelSetAttribute(attrib: u32, val: i32, kernel: Handle, dev: i32);
    fn cuLinkCreate_v2(num_options: u32, options: *mut u32, option_values: *mut *mut c_void, state_out: *mut Handle);
    fn cuLinkAddData_v2(
        state: Handle, kind: u32, data: *mut c_void, size: usize, name: *const c_char, num_options: u32,
        options: *mut u32, option_values: *mut *mut c_void
    );
    fn cuLinkAddFile_v2(
        state: Handle, kind: u32, path: *const c_char, num_options: u32, options: *mut u32, option_values: *mut *mut c_void
    );
    fn cuLinkComplete(state: Handle, cubin_out: *mut *mut c_void, size_out: *mut usize);
    fn cuLinkDestroy(state: Handle);
    fn cuGraphAddMemAllocNode(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize,
        node_params: *mut MemAllocNodeParams
    );
    fn cuGraphMemAllocNodeGetParams(h_node: Handle, params_out: *mut MemAllocNodeParams);
    fn cuGraphMemFreeNodeGetParams(h_node: Handle, dptr_out: *mut Address);
    fn cuDeviceGetGraphMemAttribute(device: i32, attr: u32, value: *mut c_void);
    fn cuDeviceSetGraphMemAttribute(device: i32, attr: u32, value: *mut c_void);
    fn cuDeviceGraphMemTrim(device: i32);
    fn cuGraphAddNode_v2(
        ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, dependency_data: *const c_void,
        num_dependencies: usize, node_params: *mut GraphNodeParams
    );
    fn cuGraphInstantiateWithParams(
        ph_graph_exec: *mut Handle, h_graph: Handle, instantiate_params: *mut GraphInstantiateParams
    );
    fn cuGraphMemsetNodeGetParams(h_node: Handle, node_params: *mut MemsetNodeParams);
    fn cuGraphMemsetNodeSetParams(h_node: Handle, node_params: *const MemsetNodeParams);
    fn cuGraphMemcpyNodeGetParams(h_node: Handle, node_params: *mut Memcpy3D);
    fn cuGraphMemcpyNodeSetParams(h_node: Handle, node_params: *const Memcpy3D);
    fn cuGraphHostNodeGetParams(h_node: Handle, node_params: *mut HostNodeParams);
    fn cuGraphHostNodeSetParams(h_node: Handle, node_params: *const HostNodeParams);
    fn cuGraphEventRecordNodeGetEvent(h_node: Handle, event_out: *mut Handle);
    fn cuGraphEventRecordNodeSetEvent(h_node: Handle, event: Handle);
    fn cuGraphEventWaitNodeGetEvent(h_node: Handle, event_out: *mut Handle);
    fn cuGraphEventWaitNodeSetEvent(h_node: Handle, event: Handle);
    fn cuGraphExecMemsetNodeSetParams(
        h_graph_exec: Handle, h_node: Handle, memset_params: *const MemsetNodeParams, ctx: Handle
    );
    fn cuGraphExecMemcpyNodeSetParams(
        h_graph_exec: Handle, h_node: Handle, copy_params: *const Memcpy3D, ctx: Handle
    );
    fn cuGraphExecHostNodeSetParams(h_graph_exec: Handle, h_node: Handle, node_params: *const HostNodeParams);
    fn cuGraphExecEventRecordNodeSetEvent(h_graph_exec: Handle, h_node: Handle, event: Handle);
    fn cuGraphExecEventWaitNodeSetEvent(h_graph_exec: Handle, h_node: Handle, event: Handle);
    fn cuGraphExecChildGraphNodeSetParams(h_graph_exec: Handle, h_node: Handle, child_graph: Handle);
    fn cuGraphExecGetFlags(h_graph_exec: Handle, flags: *mut u64);
    fn cuStreamBeginCaptureToGraph(
        h_stream: Handle, h_graph: Handle, dependencies: *const Handle, dependency_data: *const c_void,
        num_dependencies: usize, mode: u32
    );
    fn cuStreamGetAttribute(h_stream: Handle, attr: u32, value_out: *mut AttributeValue);
    fn cuStreamSetAttribute(h_stream: Handle, attr: u32, value: *const AttributeValue);
    fn cuStreamCopyAttributes(dst: Handle, src: Handle);
    fn cuStreamGetDevice(h_stream: Handle, device: *mut i32);
    fn cuMemPoolExportToShareableHandle(handle_out: *mut c_void, pool: Handle, handle_type: u32, flags: u64);
    fn cuMemPoolExportPointer(share_data_out: *mut c_void, ptr: Address);
    fn cuModuleGetLoadingMode(mode: *mut u32);
    fn cuModuleEnumerateFunctions(functions: *mut Handle, num_functions: u32, module: Handle);
    fn cuFuncLoad(function: Handle);
    fn cuFuncIsLoaded(state: *mut u32, function: Handle);
    fn cuCtxSetFlags(flags: u32);
    fn cuCtxGetDevice_v2(device: *mut i32, ctx: Handle);
    fn cuCtxSynchronize_v2(ctx: Handle);
    fn cuCtxResetPersistingL2Cache();
    fn cuProfilerStart();
    fn cuProfilerStop();
    fn cuMemsetD2D16Async(
        dst_device: Address, dst_pitch: usize, us: u16, width: usize, height: usize, h_stream: Handle
    );
    fn cuMemsetD2D32Async(
        dst_device: Address, dst_pitch: usize, ui: u32, width: usize, height: usize, h_stream: Handle
    );
}
