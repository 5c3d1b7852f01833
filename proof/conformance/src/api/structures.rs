//! Structures that calls take by pointer, laid out as in `cuda.h`.

use std::ffi::c_void;

use super::{Address, Handle, HostFunction};

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Where the kernel runs.
    pub stream: Handle,
    /// `attribute_count` attributes.
    pub attributes: *const LaunchAttribute,
    /// How many attributes there are.
    pub attribute_count: u32,
}

/// `CUlaunchAttribute`.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct LaunchAttribute {
    /// `CUlaunchAttributeID`.
    pub id: u32,
    /// Padding of the structure.
    pub pad: u32,
    /// `CUlaunchAttributeValue`: a union of 64 bytes.
    pub value: [u32; 16],
}

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemLocation {
    /// `CUmemLocationType`; 1 is a device.
    pub kind: u32,
    /// The device's number.
    pub id: i32,
}

/// `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemPoolProps {
    /// `CUmemAllocationType`; 1 is `CU_MEM_ALLOCATION_TYPE_PINNED`, the only one.
    pub allocation_type: u32,
    /// `CUmemAllocationHandleType` bits.
    pub handle_types: u32,
    /// Where the memory is.
    pub location: MemLocation,
    /// Null outside of Windows.
    pub security_attributes: usize,
    /// In bytes; 0 for the system's own limit.
    pub max_size: usize,
    /// `CUmemPoolUsage` bits.
    pub usage: u16,
    /// Zeros.
    pub reserved: [u8; 54],
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemAccessDesc {
    /// Who may access.
    pub location: MemLocation,
    /// `CUmemAccess_flags`; 3 is reading and writing.
    pub flags: u32,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelNodeParams {
    /// The kernel.
    pub function: Handle,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Pointers to the arguments.
    pub parameters: *mut *mut c_void,
    /// The other form of passing arguments.
    pub extra: *mut *mut c_void,
    /// `CUkernel`, if `function` is null.
    pub kernel: Handle,
    /// The context of `kernel`.
    pub context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemsetNodeParams {
    /// Where the first row starts.
    pub to: Address,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// The result of each element.
    pub value: u32,
    /// 1, 2 or 4 bytes.
    pub element_bytes: u32,
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HostNodeParams {
    /// What is called.
    pub function: HostFunction,
    /// What it gets.
    pub data: *mut c_void,
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GraphExecUpdateResultInfo {
    /// `CUgraphExecUpdateResult`; 0 is success.
    pub result: u32,
    /// The node that cannot be updated.
    pub error_node: Handle,
    /// The start of the edge that differs.
    pub error_from_node: Handle,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GraphInstantiateParams {
    /// `CUgraphInstantiate_flags`.
    pub flags: u64,
    /// Where the graph is uploaded, if a flag says so.
    pub upload_stream: Handle,
    /// The node that cannot be instantiated.
    pub error_node: Handle,
    /// `CUgraphInstantiateResult`; 0 is success.
    pub result: u32,
}

/// `CUgraphNodeParams`: the type in the first four bytes, the parameters from byte 16 on.
pub type GraphNodeParams = [u64; 32];

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Array3D {
    /// Elements of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices or layers.
    pub depth: usize,
    /// `CUarray_format`.
    pub format: u32,
    /// Channels of an element.
    pub channels: u32,
    /// `CUDA_ARRAY3D_LAYERED` and its kin.
    pub flags: u32,
}

/// `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceDesc {
    /// `CUresourcetype`.
    pub kind: u32,
    /// A union: an array, or an address, format and channels in one word, and sizes.
    pub resource: [u64; 16],
    /// Reserved.
    pub flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TextureDesc {
    /// `CUaddress_mode` for x, y and z.
    pub address_modes: [u32; 3],
    /// `CUfilter_mode`.
    pub filter: u32,
    /// `CU_TRSF_READ_AS_INTEGER` and its kin.
    pub flags: u32,
    /// For anisotropic filters and mipmapped arrays.
    pub levels: [u32; 5],
    /// The colour outside.
    pub border: [f32; 4],
    /// Reserved.
    pub reserved: [u32; 12],
}

/// One side of `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Side2D {
    /// Bytes from the start of a row.
    pub x: usize,
    /// Rows from the start.
    pub y: usize,
    /// `CUmemorytype`: 1 host, 2 device, 4 unified.
    pub kind: u32,
    /// Where host memory starts.
    pub host: usize,
    /// Where device memory starts.
    pub device: Address,
    /// An array: null.
    pub array: Handle,
    /// Bytes from one row to the next.
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Memcpy2D {
    /// Where the bytes come from.
    pub from: Side2D,
    /// Where they go.
    pub to: Side2D,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// One side of `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Side3D {
    /// Bytes from the start of a row.
    pub x: usize,
    /// Rows from the start of a slice.
    pub y: usize,
    /// Slices from the start.
    pub z: usize,
    /// Level of detail: 0.
    pub level: usize,
    /// `CUmemorytype`: 1 host, 2 device, 4 unified.
    pub kind: u32,
    /// Where host memory starts.
    pub host: usize,
    /// Where device memory starts.
    pub device: Address,
    /// An array: null.
    pub array: Handle,
    /// Null.
    pub reserved: usize,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Rows from one slice to the next.
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Memcpy3D {
    /// Where the bytes come from.
    pub from: Side3D,
    /// Where they go.
    pub to: Side3D,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a slice.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemAllocNodeParams {
    /// Where the memory is.
    pub properties: MemPoolProps,
    /// The other devices that may access it.
    pub access: *const MemAccessDesc,
    /// How many of them there are.
    pub access_count: usize,
    /// How much, in bytes.
    pub bytes: usize,
    /// Where the memory will be: set by the call.
    pub address: Address,
}

/// `CUstreamBatchMemOpParams`: a union of 48 bytes, of which the operations on values use this much.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchMemOp {
    /// `CUstreamBatchMemOpType`.
    pub operation: u32,
    /// Where the value is.
    pub address: Address,
    /// The value; the low word for operations of 32 bits.
    pub value: u64,
    /// `CUstreamWaitValue_flags` or `CUstreamWriteValue_flags`.
    pub flags: u32,
    /// The rest of the union.
    pub rest: [u64; 2],
}

/// `CUstreamAttrValue`: a union of 64 bytes.
pub type AttributeValue = [u64; 8];
