//! The lives of graphs and executable graphs.

use std::ffi::{c_char, c_uint, c_ulonglong};

use super::executable::Executable;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUgraph, CUgraphExec, CUgraphNode, CUstream, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::streams::stream::NullStream;

/// `CUgraphInstantiate_flags`.
pub(super) const AUTO_FREE_ON_LAUNCH: u64 = 1;
const UPLOAD: u64 = 2;
const DEVICE_LAUNCH: u64 = 4;
const USE_NODE_PRIORITY: u64 = 8;

/// `CUgraphInstantiateResult`.
const SUCCESS: c_uint = 0;
const ERROR: c_uint = 1;
const INVALID_STRUCTURE: c_uint = 2;

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Debug)]
#[repr(C)]
pub(in crate::driver) struct InstantiateParams {
    flags: u64,
    upload_stream: CUstream,
    error_node: CUgraphNode,
    result: c_uint,
}

entry_points! {
    fn cuGraphCreate(graph: Out<CUgraph>, flags: c_uint) {
        let graph = graph.required()?;
        if flags != 0 {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Other, |call| graph.set(call.graphs.create()))
    }

    /// A graph that is embedded in a node lives as long as the node.
    fn cuGraphDestroy(graph: CUgraph) {
        call(Cost::Other, |call| {
            if call.graphs.graph(graph)?.embedded_in.is_some() {
                return Err(CudaError::InvalidValue);
            }
            call.graphs.destroy(graph)
        })
    }

    fn cuGraphClone(clone: Out<CUgraph>, original: CUgraph) {
        let clone = clone.required()?;
        call(Cost::Other, |call| clone.set(call.graphs.clone_graph(original)?))
    }

    fn cuGraphNodeFindInClone(found: Out<CUgraphNode>, original: CUgraphNode, clone: CUgraph) {
        let found = found.required()?;
        call(Cost::Other, |call| {
            let node = call.graphs.graph(clone)?.clone_of.get(&original).copied();
            let node = node.filter(|node| call.graphs.node(*node).is_ok());
            found.set(node.ok_or(CudaError::InvalidValue)?)
        })
    }

    fn cuGraphDestroyNode(node: CUgraphNode) {
        call(Cost::Other, |call| call.graphs.destroy_node(node))
    }

    fn cuGraphInstantiate | cuGraphInstantiate_v2 (
        exec: Out<CUgraphExec>, graph: CUgraph, error_node: Out<CUgraphNode>, log: *mut c_char, log_bytes: usize,
    ) {
        error_node.set_if_wanted(CUgraphNode(0));
        // SAFETY: the caller passes null or a buffer of that size.
        unsafe { empty_log(log, log_bytes) };
        instantiate(exec, graph, 0)
    }

    fn cuGraphInstantiateWithFlags(exec: Out<CUgraphExec>, graph: CUgraph, flags: c_ulonglong) {
        if flags & UPLOAD != 0 {
            return Err(CudaError::InvalidValue);
        }
        instantiate(exec, graph, flags)
    }

    fn cuGraphInstantiateWithParams | cuGraphInstantiateWithParams_ptsz as null (
        exec: Out<CUgraphExec>, graph: CUgraph, params: *mut InstantiateParams,
    ) {
        // SAFETY: the caller passes null or parameters.
        unsafe { instantiate_with(null, exec, graph, params) }
    }

    fn cuGraphExecGetFlags(exec: CUgraphExec, flags: Out<u64>) {
        let flags = flags.required()?;
        // As an H200 does, without what has no effect afterwards and without the priorities.
        call(Cost::Free, |call| flags.set(call.graphs.executable(exec)?.flags & AUTO_FREE_ON_LAUNCH))
    }

    /// Launches that are under way are not disturbed.
    fn cuGraphExecDestroy(exec: CUgraphExec) {
        call(Cost::GraphDestroy, |call| {
            call.graphs.executable(exec)?;
            call.unsafe_in_captures()?;
            call.graphs.remove_executable(exec)?;
            call.ordering.executable_destroyed(exec);
            Ok(())
        })
    }
}

/// # Safety
/// `log` is null or has `bytes` bytes.
unsafe fn empty_log(log: *mut c_char, bytes: usize) {
    if !log.is_null() && bytes > 0 {
        // SAFETY: the caller's promise.
        unsafe { log.write(0) };
    }
}

fn instantiate(exec: Out<CUgraphExec>, graph: CUgraph, flags: u64) -> Result<(), CudaError> {
    let exec = exec.required()?;
    call(Cost::Free, |call| exec.set(call.instantiate(graph, flags)?))
}

/// # Safety
/// `params` is null or points to parameters.
unsafe fn instantiate_with(
    null: NullStream,
    exec: Out<CUgraphExec>,
    graph: CUgraph,
    params: *mut InstantiateParams,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise.
    let params = unsafe { params.as_mut() }.ok_or(CudaError::InvalidValue)?;
    params.error_node = CUgraphNode(0);
    params.result = ERROR;
    let (flags, upload_stream) = (params.flags, params.upload_stream);
    let exec = exec.required()?;
    call(Cost::Free, |call| {
        if flags & UPLOAD != 0 {
            call.stream(upload_stream, null)?;
        }
        let cyclic = call.graphs.topological(graph)?.is_none();
        if cyclic {
            params.result = INVALID_STRUCTURE;
        }
        let created = call.instantiate(graph, flags)?;
        params.result = SUCCESS;
        exec.set(created)
    })
}

impl Call {
    fn instantiate(&mut self, graph: CUgraph, flags: u64) -> Result<CUgraphExec, CudaError> {
        // "This flag cannot be used in conjunction with CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH."
        if flags & DEVICE_LAUNCH != 0 && flags & AUTO_FREE_ON_LAUNCH != 0 {
            return Err(CudaError::InvalidValue);
        }
        if flags & DEVICE_LAUNCH != 0 {
            crate::say!(
                "software GPU: cuGraphInstantiate: launching graphs from the device is not supported"
            );
            return Err(CudaError::NotSupported);
        }
        if flags & !(AUTO_FREE_ON_LAUNCH | UPLOAD | USE_NODE_PRIORITY) != 0 {
            return Err(CudaError::InvalidValue);
        }
        self.unsafe_in_captures()?;
        let executable = Executable::new(&self.graphs, graph, flags)?;
        let allocates = executable.allocations();
        if allocates
            .iter()
            .any(|memory| self.graphs.memory.is_instantiated(*memory))
        {
            return Err(CudaError::NotSupported);
        }
        let (steps, branches) = (executable.steps.len(), executable.branches());
        self.spend(Cost::GraphInstantiate { steps, branches });
        Ok(self.graphs.add_executable(executable))
    }
}
