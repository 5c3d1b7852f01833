//! Node parameters as C lays them out in `cuda.h`.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver::c_abi::types::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUgraph, HostFunction,
};
use crate::driver::memory::copy_params::CUmemcpy3D;
use crate::driver::memory::pools::abi::{CUmemAccessDesc, CUmemPoolProps};

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct KernelParamsV1 {
    pub(super) function: CUfunction,
    pub(super) grid: [c_uint; 3],
    pub(super) block: [c_uint; 3],
    pub(super) dynamic_shared_bytes: c_uint,
    pub(super) parameters: *mut *mut c_void,
    pub(super) extra: *mut *mut c_void,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`; `_v3` is laid out likewise.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct KernelParams {
    pub(super) common: KernelParamsV1,
    /// `CUkernel`, used when the function is null.
    pub(super) kernel: usize,
    /// The kernel's context, used in the same case.
    pub(super) context: CUcontext,
}

/// `CUDA_MEMCPY_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct CopyNodeParams {
    pub(super) flags: c_int,
    pub(super) reserved: c_int,
    pub(super) context: CUcontext,
    pub(super) copy: CUmemcpy3D,
}

/// `CUDA_MEMSET_NODE_PARAMS_v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(in crate::driver) struct SetParams {
    pub(super) to: CUdeviceptr,
    pub(super) pitch: usize,
    pub(super) value: c_uint,
    pub(super) element_bytes: c_uint,
    /// Elements of a row.
    pub(super) width: usize,
    pub(super) height: usize,
}

/// `CUDA_MEMSET_NODE_PARAMS_v2`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct SetNodeParams {
    pub(super) set: SetParams,
    pub(super) context: CUcontext,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct HostParams {
    pub(super) function: Option<HostFunction>,
    pub(super) data: *mut c_void,
}

/// `CUDA_CHILD_GRAPH_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct ChildParams {
    pub(super) graph: CUgraph,
    /// `CUgraphChildGraphNodeOwnership`.
    pub(super) ownership: c_uint,
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS_v1` and `_v2`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct AllocationParams {
    pub(super) properties: CUmemPoolProps,
    pub(super) access: *const CUmemAccessDesc,
    pub(super) access_count: usize,
    pub(super) bytes: usize,
    /// Returned.
    pub(super) address: CUdeviceptr,
}

/// The union in `CUgraphNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::driver) union AnyParams {
    pub(super) padding: [i64; 29],
    pub(super) kernel: KernelParams,
    pub(super) copy: CopyNodeParams,
    pub(super) set: SetNodeParams,
    pub(super) host: HostParams,
    pub(super) child: ChildParams,
    pub(super) event: CUevent,
    pub(super) allocation: AllocationParams,
    /// The parameters of a free node.
    pub(super) address: CUdeviceptr,
}

/// `CUgraphNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::driver) struct NodeParams {
    /// `CUgraphNodeType`.
    pub(super) node_type: c_uint,
    pub(super) reserved: [c_int; 3],
    pub(super) any: AnyParams,
    pub(super) reserved_2: i64,
}

/// `CUgraphEdgeData`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(in crate::driver) struct EdgeData {
    pub(super) from_port: u8,
    pub(super) to_port: u8,
    pub(super) dependency_type: u8,
    pub(super) reserved: [u8; 5],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_c() {
        assert_eq!(size_of::<KernelParamsV1>(), 56);
        assert_eq!(size_of::<KernelParams>(), 72);
        assert_eq!(size_of::<CUmemcpy3D>(), 200);
        assert_eq!(size_of::<CopyNodeParams>(), 216);
        assert_eq!(size_of::<SetParams>(), 40);
        assert_eq!(size_of::<AllocationParams>(), 120);
        assert_eq!(size_of::<AnyParams>(), 232);
        assert_eq!(size_of::<NodeParams>(), 256);
        assert_eq!(size_of::<EdgeData>(), 8);
    }
}
