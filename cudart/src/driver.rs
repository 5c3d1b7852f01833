//! The driver: `libcuda.so.1`, loaded at the first call, and its functions.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::error::{Error, Result, SUCCESS};

/// An object of the driver: a context, a stream, an event, a graph, a kernel.
pub(crate) type Handle = *mut c_void;
/// `CUdeviceptr`.
pub(crate) type Address = u64;

const FILE: &str = "libcuda.so.1";

static LIBRARY: OnceLock<std::result::Result<Library, String>> = OnceLock::new();

/// The driver's library, which is never unloaded.
fn library() -> Result<&'static Library> {
    // SAFETY: the initialisers of a CUDA driver have no preconditions.
    let load = || unsafe { Library::new(FILE) }.map_err(|error| error.to_string());
    let report = || {
        load().inspect_err(|error| crate::call::say(&format!("{FILE} cannot be loaded: {error}")))
    };
    LIBRARY
        .get_or_init(report)
        .as_ref()
        .map_err(|_| Error::INSUFFICIENT_DRIVER)
}

/// The address of a function, which the driver may lack.
fn symbol(name: &'static str) -> Result<usize> {
    // SAFETY: the symbol is a function, and only its address is taken here.
    let found = unsafe { library()?.get::<*const c_void>(name) };
    found.map(|address| *address as usize).map_err(|_| {
        crate::call::say(&format!(
            "{name} is missing in {FILE}: a newer driver has it"
        ));
        Error::NOT_SUPPORTED
    })
}

fn check(result: u32) -> Result {
    if result == SUCCESS {
        Ok(())
    } else {
        Err(Error(result))
    }
}

macro_rules! functions {
    ($(fn $name:ident($($parameter:ident: $type:ty),*);)*) => { $(
        #[allow(dead_code, reason = "some serve one version of the runtime")]
        /// The driver's function of this name.
        ///
        /// # Safety
        /// As the driver API's reference says.
        pub(crate) unsafe fn $name($($parameter: $type),*) -> Result {
            static FUNCTION: OnceLock<Result<usize>> = OnceLock::new();
            let address = (*FUNCTION.get_or_init(|| symbol(stringify!($name))))?;
            // SAFETY: the signature is that of cuda.h.
            let function: unsafe extern "C" fn($($type),*) -> u32 = unsafe { std::mem::transmute(address) };
            // SAFETY: the caller keeps the function's contract.
            check(unsafe { function($($parameter),*) })
        }
    )* };
}

/// `CUDA_MEMCPY2D` and one of its sides.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Side2D {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) kind: u32,
    pub(crate) host: usize,
    pub(crate) device: Address,
    pub(crate) array: usize,
    pub(crate) pitch: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Memcpy2D {
    pub(crate) from: Side2D,
    pub(crate) to: Side2D,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// One side of `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Side3D {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) z: usize,
    pub(crate) level: usize,
    pub(crate) kind: u32,
    pub(crate) host: usize,
    pub(crate) device: Address,
    pub(crate) array: usize,
    pub(crate) reserved: usize,
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Memcpy3D {
    pub(crate) from: Side3D,
    pub(crate) to: Side3D,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Array3DDescriptor {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) format: u32,
    pub(crate) channels: u32,
    pub(crate) flags: u32,
}

/// `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct ResourceDesc {
    pub(crate) kind: u32,
    /// A union: an array, or an address, format and channels in one word, and sizes.
    pub(crate) resource: [u64; 16],
    pub(crate) flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct TextureDesc {
    pub(crate) address_modes: [u32; 3],
    pub(crate) filter: u32,
    pub(crate) flags: u32,
    pub(crate) max_anisotropy: u32,
    pub(crate) mipmap_filter: u32,
    pub(crate) mipmap_bias: f32,
    pub(crate) min_level: f32,
    pub(crate) max_level: f32,
    pub(crate) border: [f32; 4],
    pub(crate) reserved: [u32; 12],
}

/// `CUmemorytype`: the driver finds out from the address.
pub(crate) const UNIFIED: u32 = 4;

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchConfig {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) stream: Handle,
    pub(crate) attributes: *const c_void,
    pub(crate) attribute_count: u32,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelNodeParams {
    pub(crate) function: Handle,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) parameters: *mut *mut c_void,
    pub(crate) extra: *mut *mut c_void,
    pub(crate) kernel: Handle,
    pub(crate) context: Handle,
}

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct MemLocation {
    pub(crate) kind: u32,
    pub(crate) id: i32,
}

functions! {
    fn cuArray3DCreate_v2(p_handle: *mut Handle, p_allocate_array: *const Array3DDescriptor);
    fn cuArray3DGetDescriptor_v2(p_array_descriptor: *mut Array3DDescriptor, h_array: Handle);
    fn cuArrayDestroy(h_array: Handle);
    fn cuCtxDisablePeerAccess(peer_context: Handle);
    fn cuCtxEnablePeerAccess(peer_context: Handle, flags: u32);
    fn cuCtxGetCacheConfig(pconfig: *mut u32);
    fn cuCtxGetCurrent(pctx: *mut Handle);
    fn cuCtxGetDevice(device: *mut i32);
    fn cuCtxGetLimit(pvalue: *mut usize, limit: u32);
    fn cuCtxGetStreamPriorityRange(least_priority: *mut i32, greatest_priority: *mut i32);
    fn cuCtxResetPersistingL2Cache();
    fn cuCtxSetCacheConfig(config: u32);
    fn cuCtxSetCurrent(ctx: Handle);
    fn cuCtxSetLimit(limit: u32, value: usize);
    fn cuCtxSynchronize();
    fn cuDeviceCanAccessPeer(can_access_peer: *mut i32, dev: i32, peer_dev: i32);
    fn cuDeviceGetAttribute(pi: *mut i32, attrib: u32, dev: i32);
    fn cuDeviceGetByPCIBusId(dev: *mut i32, pci_bus_id: *const c_char);
    fn cuDeviceGetCount(count: *mut i32);
    fn cuDeviceGetDefaultMemPool(pool_out: *mut Handle, dev: i32);
    fn cuDeviceGetGraphMemAttribute(device: i32, attr: u32, value: *mut c_void);
    fn cuDeviceGetMemPool(pool: *mut Handle, dev: i32);
    fn cuDeviceGetName(name: *mut c_char, len: i32, dev: i32);
    fn cuDeviceGetP2PAttribute(value: *mut i32, attrib: u32, src_device: i32, dst_device: i32);
    fn cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: i32, dev: i32);
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], dev: i32);
    fn cuDeviceGraphMemTrim(device: i32);
    fn cuDevicePrimaryCtxGetState(dev: i32, flags: *mut u32, active: *mut i32);
    fn cuDevicePrimaryCtxReset_v2(dev: i32);
    fn cuDevicePrimaryCtxRetain(pctx: *mut Handle, dev: i32);
    fn cuDevicePrimaryCtxSetFlags_v2(dev: i32, flags: u32);
    fn cuDeviceSetGraphMemAttribute(device: i32, attr: u32, value: *mut c_void);
    fn cuDeviceSetMemPool(dev: i32, pool: Handle);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: i32);
    fn cuDriverGetVersion(driver_version: *mut i32);
    fn cuEventCreate(ph_event: *mut Handle, flags: u32);
    fn cuEventDestroy_v2(h_event: Handle);
    fn cuEventElapsedTime(p_milliseconds: *mut f32, h_start: Handle, h_end: Handle);
    fn cuEventQuery(h_event: Handle);
    fn cuEventRecord(h_event: Handle, h_stream: Handle);
    fn cuEventRecordWithFlags(h_event: Handle, h_stream: Handle, flags: u32);
    fn cuEventSynchronize(h_event: Handle);
    fn cuFuncGetAttribute(pi: *mut i32, attrib: u32, hfunc: Handle);
    fn cuFuncGetName(name: *mut *const c_char, hfunc: Handle);
    fn cuFuncGetParamInfo(func: Handle, param_index: usize, param_offset: *mut usize, param_size: *mut usize);
    fn cuFuncSetAttribute(hfunc: Handle, attrib: u32, value: i32);
    fn cuFuncSetCacheConfig(hfunc: Handle, config: u32);
    fn cuGetProcAddress_v2(symbol: *const c_char, pfn: *mut *mut c_void, cuda_version: i32, flags: u64, symbol_status: *mut u32);
    fn cuGraphAddChildGraphNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, child_graph: Handle);
    fn cuGraphAddDependencies_v2(h_graph: Handle, from: *const Handle, to: *const Handle, edge_data: *const c_void, num_dependencies: usize);
    fn cuGraphAddEmptyNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize);
    fn cuGraphAddEventRecordNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, event: Handle);
    fn cuGraphAddEventWaitNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, event: Handle);
    fn cuGraphAddHostNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, node_params: *const c_void);
    fn cuGraphAddKernelNode_v2(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, node_params: *const KernelNodeParams);
    fn cuGraphAddMemAllocNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, node_params: *mut c_void);
    fn cuGraphAddMemFreeNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, dptr: Address);
    fn cuGraphAddMemcpyNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, copy_params: *const Memcpy3D, ctx: Handle);
    fn cuGraphAddMemsetNode(ph_graph_node: *mut Handle, h_graph: Handle, dependencies: *const Handle, num_dependencies: usize, memset_params: *const c_void, ctx: Handle);
    fn cuGraphAddNode_v2(node: *mut Handle, graph: Handle, dependencies: *const Handle, edge_data: *const c_void, num_dependencies: usize, params: *mut c_void);
    fn cuGraphChildGraphNodeGetGraph(h_node: Handle, ph_graph: *mut Handle);
    fn cuGraphClone(ph_graph_clone: *mut Handle, original_graph: Handle);
    fn cuGraphCreate(ph_graph: *mut Handle, flags: u32);
    fn cuGraphDebugDotPrint(graph: Handle, path: *const c_char, flags: u32);
    fn cuGraphDestroy(h_graph: Handle);
    fn cuGraphDestroyNode(h_node: Handle);
    fn cuGraphEventRecordNodeGetEvent(h_node: Handle, event_out: *mut Handle);
    fn cuGraphEventRecordNodeSetEvent(h_node: Handle, event: Handle);
    fn cuGraphEventWaitNodeGetEvent(h_node: Handle, event_out: *mut Handle);
    fn cuGraphEventWaitNodeSetEvent(h_node: Handle, event: Handle);
    fn cuGraphExecChildGraphNodeSetParams(h_graph_exec: Handle, h_node: Handle, child_graph: Handle);
    fn cuGraphExecDestroy(h_graph_exec: Handle);
    fn cuGraphExecEventRecordNodeSetEvent(h_graph_exec: Handle, h_node: Handle, event: Handle);
    fn cuGraphExecEventWaitNodeSetEvent(h_graph_exec: Handle, h_node: Handle, event: Handle);
    fn cuGraphExecGetFlags(h_graph_exec: Handle, flags: *mut u64);
    fn cuGraphExecHostNodeSetParams(h_graph_exec: Handle, h_node: Handle, node_params: *const c_void);
    fn cuGraphExecKernelNodeSetParams_v2(h_graph_exec: Handle, h_node: Handle, node_params: *const KernelNodeParams);
    fn cuGraphExecMemcpyNodeSetParams(h_graph_exec: Handle, h_node: Handle, copy_params: *const Memcpy3D, ctx: Handle);
    fn cuGraphExecMemsetNodeSetParams(h_graph_exec: Handle, h_node: Handle, memset_params: *const c_void, ctx: Handle);
    fn cuGraphExecUpdate_v2(h_graph_exec: Handle, h_graph: Handle, result_info: *mut c_void);
    fn cuGraphGetEdges_v2(h_graph: Handle, from: *mut Handle, to: *mut Handle, edge_data: *mut c_void, num_edges: *mut usize);
    fn cuGraphGetNodes(h_graph: Handle, nodes: *mut Handle, num_nodes: *mut usize);
    fn cuGraphGetRootNodes(h_graph: Handle, root_nodes: *mut Handle, num_root_nodes: *mut usize);
    fn cuGraphHostNodeGetParams(h_node: Handle, node_params: *mut c_void);
    fn cuGraphHostNodeSetParams(h_node: Handle, node_params: *const c_void);
    fn cuGraphInstantiateWithFlags(ph_graph_exec: *mut Handle, h_graph: Handle, flags: u64);
    fn cuGraphInstantiateWithParams(ph_graph_exec: *mut Handle, h_graph: Handle, instantiate_params: *mut c_void);
    fn cuGraphKernelNodeGetParams_v2(h_node: Handle, node_params: *mut KernelNodeParams);
    fn cuGraphKernelNodeSetParams_v2(h_node: Handle, node_params: *const KernelNodeParams);
    fn cuGraphLaunch(h_graph_exec: Handle, h_stream: Handle);
    fn cuGraphMemAllocNodeGetParams(h_node: Handle, params_out: *mut c_void);
    fn cuGraphMemFreeNodeGetParams(h_node: Handle, dptr_out: *mut Address);
    fn cuGraphMemcpyNodeSetParams(h_node: Handle, node_params: *const Memcpy3D);
    fn cuGraphMemsetNodeGetParams(h_node: Handle, node_params: *mut c_void);
    fn cuGraphMemsetNodeSetParams(h_node: Handle, node_params: *const c_void);
    fn cuGraphNodeFindInClone(ph_node: *mut Handle, h_original_node: Handle, h_cloned_graph: Handle);
    fn cuGraphNodeGetDependencies_v2(h_node: Handle, dependencies: *mut Handle, edge_data: *mut c_void, num_dependencies: *mut usize);
    fn cuGraphNodeGetDependentNodes_v2(h_node: Handle, dependent_nodes: *mut Handle, edge_data: *mut c_void, num_dependent_nodes: *mut usize);
    fn cuGraphNodeGetEnabled(h_graph_exec: Handle, h_node: Handle, is_enabled: *mut u32);
    fn cuGraphNodeGetType(h_node: Handle, kind: *mut u32);
    fn cuGraphNodeSetEnabled(h_graph_exec: Handle, h_node: Handle, is_enabled: u32);
    fn cuGraphRemoveDependencies_v2(h_graph: Handle, from: *const Handle, to: *const Handle, edge_data: *const c_void, num_dependencies: usize);
    fn cuGraphUpload(h_graph_exec: Handle, h_stream: Handle);
    fn cuInit(flags: u32);
    fn cuKernelGetFunction(p_func: *mut Handle, kernel: Handle);
    fn cuKernelSetAttribute(attrib: u32, val: i32, kernel: Handle, dev: i32);
    fn cuLaunchCooperativeKernel(f: Handle, grid_dim_x: u32, grid_dim_y: u32, grid_dim_z: u32, block_dim_x: u32, block_dim_y: u32, block_dim_z: u32, shared_mem_bytes: u32, h_stream: Handle, kernel_params: *mut *mut c_void);
    fn cuLaunchHostFunc(h_stream: Handle, function: *const c_void, user_data: *mut c_void);
    fn cuLaunchKernel(f: Handle, grid_dim_x: u32, grid_dim_y: u32, grid_dim_z: u32, block_dim_x: u32, block_dim_y: u32, block_dim_z: u32, shared_mem_bytes: u32, h_stream: Handle, kernel_params: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuLaunchKernelEx(config: *const LaunchConfig, f: Handle, kernel_params: *mut *mut c_void, extra: *mut *mut c_void);
    fn cuLibraryEnumerateKernels(kernels: *mut Handle, num_kernels: u32, lib: Handle);
    fn cuLibraryGetGlobal(dptr: *mut Address, bytes: *mut usize, library: Handle, name: *const c_char);
    fn cuLibraryGetManaged(dptr: *mut Address, bytes: *mut usize, library: Handle, name: *const c_char);
    fn cuLibraryGetKernel(p_kernel: *mut Handle, library: Handle, name: *const c_char);
    fn cuLibraryGetKernelCount(count: *mut u32, lib: Handle);
    fn cuLibraryLoadData(library: *mut Handle, code: *const c_void, jit_options: *mut u32, jit_options_values: *mut *mut c_void, num_jit_options: u32, library_options: *mut u32, library_option_values: *mut *mut c_void, num_library_options: u32);
    fn cuLibraryLoadFromFile(library: *mut Handle, file_name: *const c_char, jit_options: *mut u32, jit_options_values: *mut *mut c_void, num_jit_options: u32, library_options: *mut u32, library_option_values: *mut *mut c_void, num_library_options: u32);
    fn cuLibraryUnload(library: Handle);
    fn cuMemAdvise_v2(dptr: Address, count: usize, advice: u32, location: MemLocation);
    fn cuMemAllocAsync(dptr: *mut Address, bytesize: usize, h_stream: Handle);
    fn cuMemAllocFromPoolAsync(dptr: *mut Address, bytesize: usize, pool: Handle, h_stream: Handle);
    fn cuMemAllocManaged(dptr: *mut Address, bytesize: usize, flags: u32);
    fn cuMemAllocPitch_v2(dptr: *mut Address, p_pitch: *mut usize, width_in_bytes: usize, height: usize, element_size_bytes: u32);
    fn cuMemAlloc_v2(dptr: *mut Address, bytesize: usize);
    fn cuMemFreeAsync(dptr: Address, h_stream: Handle);
    fn cuMemFreeHost(p: *mut c_void);
    fn cuMemFree_v2(dptr: Address);
    fn cuMemGetAddressRange_v2(pbase: *mut Address, psize: *mut usize, dptr: Address);
    fn cuMemGetDefaultMemPool(pool_out: *mut Handle, location: *const c_void, kind: u32);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemGetMemPool(pool: *mut Handle, location: *const c_void, kind: u32);
    fn cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, flags: u32);
    fn cuMemHostGetDevicePointer_v2(pdptr: *mut Address, p: *mut c_void, flags: u32);
    fn cuMemHostGetFlags(p_flags: *mut u32, p: *mut c_void);
    fn cuMemHostRegister_v2(p: *mut c_void, bytesize: usize, flags: u32);
    fn cuMemHostUnregister(p: *mut c_void);
    fn cuMemPoolCreate(pool: *mut Handle, pool_props: *const c_void);
    fn cuMemPoolDestroy(pool: Handle);
    fn cuMemPoolGetAccess(flags: *mut u32, mem_pool: Handle, location: *mut c_void);
    fn cuMemPoolGetAttribute(pool: Handle, attr: u32, value: *mut c_void);
    fn cuMemPoolSetAccess(pool: Handle, map: *const c_void, count: usize);
    fn cuMemPoolSetAttribute(pool: Handle, attr: u32, value: *mut c_void);
    fn cuMemPoolTrimTo(pool: Handle, min_bytes_to_keep: usize);
    fn cuMemPrefetchAsync_v2(dptr: Address, count: usize, location: MemLocation, flags: u32, h_stream: Handle);
    fn cuMemSetMemPool(location: *const c_void, kind: u32, pool: Handle);
    fn cuMemcpy(dst: Address, src: Address, byte_count: usize);
    fn cuMemcpy2DAsync_v2(p_copy: *const Memcpy2D, h_stream: Handle);
    fn cuMemcpy2DUnaligned_v2(p_copy: *const Memcpy2D);
    fn cuMemcpy2DUnaligned_v2_ptds(p_copy: *const Memcpy2D);
    fn cuMemcpy3DAsync_v2(p_copy: *const Memcpy3D, h_stream: Handle);
    fn cuMemcpy3D_v2(p_copy: *const Memcpy3D);
    fn cuMemcpy3D_v2_ptds(p_copy: *const Memcpy3D);
    fn cuMemcpyAsync(dst: Address, src: Address, byte_count: usize, h_stream: Handle);
    fn cuMemcpyDtoDAsync_v2(dst_device: Address, src_device: Address, byte_count: usize, h_stream: Handle);
    fn cuMemcpyDtoD_v2(dst_device: Address, src_device: Address, byte_count: usize);
    fn cuMemcpyDtoD_v2_ptds(dst_device: Address, src_device: Address, byte_count: usize);
    fn cuMemcpyDtoHAsync_v2(dst_host: *mut c_void, src_device: Address, byte_count: usize, h_stream: Handle);
    fn cuMemcpyDtoH_v2(dst_host: *mut c_void, src_device: Address, byte_count: usize);
    fn cuMemcpyDtoH_v2_ptds(dst_host: *mut c_void, src_device: Address, byte_count: usize);
    fn cuMemcpyHtoDAsync_v2(dst_device: Address, src_host: *const c_void, byte_count: usize, h_stream: Handle);
    fn cuMemcpyHtoD_v2(dst_device: Address, src_host: *const c_void, byte_count: usize);
    fn cuMemcpyHtoD_v2_ptds(dst_device: Address, src_host: *const c_void, byte_count: usize);
    fn cuMemcpyPeer(dst_device: Address, dst_context: Handle, src_device: Address, src_context: Handle, byte_count: usize);
    fn cuMemcpyPeerAsync(dst_device: Address, dst_context: Handle, src_device: Address, src_context: Handle, byte_count: usize, h_stream: Handle);
    fn cuMemcpy_ptds(dst: Address, src: Address, byte_count: usize);
    fn cuMemsetD2D8Async(dst_device: Address, dst_pitch: usize, uc: u8, width: usize, height: usize, h_stream: Handle);
    fn cuMemsetD2D8_v2(dst_device: Address, dst_pitch: usize, uc: u8, width: usize, height: usize);
    fn cuMemsetD2D8_v2_ptds(dst_device: Address, dst_pitch: usize, uc: u8, width: usize, height: usize);
    fn cuMemsetD8Async(dst_device: Address, uc: u8, n: usize, h_stream: Handle);
    fn cuMemsetD8_v2(dst_device: Address, uc: u8, n: usize);
    fn cuMemsetD8_v2_ptds(dst_device: Address, uc: u8, n: usize);
    fn cuOccupancyAvailableDynamicSMemPerBlock(dynamic_smem_size: *mut usize, func: Handle, num_blocks: i32, block_size: i32);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(num_blocks: *mut i32, func: Handle, block_size: i32, dynamic_smem_size: usize, flags: u32);
    fn cuOccupancyMaxActiveClusters(num_clusters: *mut i32, func: Handle, config: *const LaunchConfig);
    fn cuOccupancyMaxPotentialClusterSize(cluster_size: *mut i32, func: Handle, config: *const LaunchConfig);
    fn cuPointerGetAttributes(num_attributes: u32, attributes: *mut u32, data: *mut *mut c_void, ptr: Address);
    fn cuProfilerStart();
    fn cuProfilerStop();
    fn cuStreamAddCallback(h_stream: Handle, callback: *const c_void, user_data: *mut c_void, flags: u32);
    fn cuStreamAttachMemAsync(h_stream: Handle, dptr: Address, length: usize, flags: u32);
    fn cuStreamBeginCaptureToGraph(h_stream: Handle, h_graph: Handle, dependencies: *const Handle, dependency_data: *const c_void, num_dependencies: usize, mode: u32);
    fn cuStreamBeginCapture_v2(h_stream: Handle, mode: u32);
    fn cuStreamCopyAttributes(dst: Handle, src: Handle);
    fn cuStreamCreateWithPriority(ph_stream: *mut Handle, flags: u32, priority: i32);
    fn cuStreamDestroy_v2(h_stream: Handle);
    fn cuStreamEndCapture(h_stream: Handle, ph_graph: *mut Handle);
    fn cuStreamGetAttribute(h_stream: Handle, attr: u32, value_out: *mut c_void);
    fn cuStreamGetCaptureInfo_v2(h_stream: Handle, capture_status_out: *mut u32, id_out: *mut u64, graph_out: *mut Handle, dependencies_out: *mut *const Handle, num_dependencies_out: *mut usize);
    fn cuStreamGetDevice(h_stream: Handle, device: *mut i32);
    fn cuStreamGetFlags(h_stream: Handle, flags: *mut u32);
    fn cuStreamGetId(h_stream: Handle, stream_id: *mut u64);
    fn cuStreamGetPriority(h_stream: Handle, priority: *mut i32);
    fn cuStreamIsCapturing(h_stream: Handle, capture_status: *mut u32);
    fn cuStreamQuery(h_stream: Handle);
    fn cuStreamSetAttribute(h_stream: Handle, attr: u32, value: *const c_void);
    fn cuStreamSynchronize(h_stream: Handle);
    fn cuStreamUpdateCaptureDependencies_v2(h_stream: Handle, dependencies: *const Handle, edge_data: *const c_void, num_dependencies: usize, flags: u32);
    fn cuStreamWaitEvent(h_stream: Handle, h_event: Handle, flags: u32);
    fn cuSurfObjectCreate(p_surf_object: *mut u64, p_res_desc: *const ResourceDesc);
    fn cuSurfObjectDestroy(surf_object: u64);
    fn cuSurfObjectGetResourceDesc(p_res_desc: *mut ResourceDesc, surf_object: u64);
    fn cuTexObjectCreate(p_tex_object: *mut u64, p_res_desc: *const ResourceDesc, p_tex_desc: *const TextureDesc, p_res_view_desc: *const c_void);
    fn cuTexObjectDestroy(tex_object: u64);
    fn cuTexObjectGetResourceDesc(p_res_desc: *mut ResourceDesc, tex_object: u64);
    fn cuTexObjectGetTextureDesc(p_tex_desc: *mut TextureDesc, tex_object: u64);
    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32);
}
