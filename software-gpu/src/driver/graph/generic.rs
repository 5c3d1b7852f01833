//! `cuGraphAddNode` and its variants: one call for nodes of every type.

use std::ffi::c_uint;

use super::actions;
use super::add::add;
use super::arrays;
use super::memory_nodes;
use super::node::{Action, NodeType};
use super::node_params;
use super::params::{EdgeData, NodeParams};
use super::update;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUgraph, CUgraphExec, CUgraphNode, Out};
use crate::driver::host::call::Call;

entry_points! {
    fn cuGraphAddNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
        params: *mut NodeParams,
    ) {
        // SAFETY: the caller passes null or parameters and dependencies as the call asks for them.
        unsafe {
            add_any(node, graph, dependencies, count, params)
        }
    }

    fn cuGraphAddNode_v2(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, data: *const EdgeData,
        count: usize, params: *mut NodeParams,
    ) {
        // SAFETY: as above.
        unsafe {
            arrays::full_edges("cuGraphAddNode", data, count)?;
            add_any(node, graph, dependencies, count, params)
        }
    }

    /// A child graph node keeps its graph: change that instead.
    fn cuGraphNodeSetParams(node: CUgraphNode, params: *mut NodeParams) {
        // SAFETY: as above.
        unsafe {
            let params = checked("cuGraphNodeSetParams", params)?;
            if params.node_type == NodeType::Graph.number() {
                return Err(CudaError::InvalidValue);
            }
            node_params::set(node, |call| make(call, &params))
        }
    }

    fn cuGraphExecNodeSetParams(exec: CUgraphExec, node: CUgraphNode, params: *mut NodeParams) {
        // SAFETY: as above.
        unsafe {
            let params = checked("cuGraphExecNodeSetParams", params)?;
            if params.node_type == NodeType::Graph.number() {
                return update::set_child(exec, node, params.any.child.graph);
            }
            update::set(exec, node, |call| make(call, &params))
        }
    }
}

/// # Safety
/// The parameters and dependencies are null or as `cuGraphAddNode` asks for them.
unsafe fn add_any(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    params: *mut NodeParams,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut given = checked("cuGraphAddNode", params)?;
        let allocates = given.node_type == NodeType::MemAlloc.number();
        add(node, graph, dependencies, count, |call| {
            match given.node_type {
                // Only these belong to the graph that they are made for.
                _ if allocates => memory_nodes::allocation(call, graph, &mut given.any.allocation),
                number if number == NodeType::MemFree.number() => {
                    call.graphs.memory.add_free(graph, given.any.address)
                }
                _ => make(call, &given),
            }
        })?;
        if allocates {
            (*params).any.allocation.address = given.any.allocation.address;
        }
        Ok(())
    }
}

/// Node types that are left out, by number and name.
const REFUSED: [(c_uint, &str); 4] = [
    (8, "external semaphore signal nodes"),
    (9, "external semaphore wait nodes"),
    (12, "batch memory operation nodes"),
    (13, "conditional nodes"),
];

/// Reads parameters of whichever type.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for null, an unknown type and reserved fields that are not zero;
/// `CUDA_ERROR_NOT_SUPPORTED` for a type that is left out.
///
/// # Safety
/// `params` is null or points to parameters.
unsafe fn checked(call: &str, params: *const NodeParams) -> Result<NodeParams, CudaError> {
    // SAFETY: the caller's promise.
    let params = unsafe { arrays::parameters(params) }?;
    if params.reserved != [0; 3] || params.reserved_2 != 0 {
        return Err(CudaError::InvalidValue);
    }
    let refused = REFUSED
        .iter()
        .find(|(number, _)| *number == params.node_type);
    if let Some((_, name)) = refused {
        crate::say!("software GPU: {call}: {name} are not supported");
        return Err(CudaError::NotSupported);
    }
    Ok(params)
}

/// What the parameters say.
///
/// # Safety
/// The parameters are those of their type, and a kernel's are as the kernel declares them.
unsafe fn make(call: &mut Call, params: &NodeParams) -> Result<Action, CudaError> {
    let any = &params.any;
    // SAFETY: the type says which field of the union was written.
    unsafe {
        match params.node_type {
            0 => actions::kernel(call, &any.kernel),
            1 => actions::copy(call, &any.copy.copy, any.copy.context),
            2 => actions::set(call, &any.set.set, any.set.context),
            3 => actions::host(&any.host),
            4 => child(call, any.child.graph, any.child.ownership),
            5 => Ok(Action::Empty),
            6 => actions::event(call, any.event).map(Action::Wait),
            7 => actions::event(call, any.event).map(Action::Record),
            _ => Err(CudaError::InvalidValue),
        }
    }
}

fn child(call: &mut Call, graph: CUgraph, ownership: c_uint) -> Result<Action, CudaError> {
    /// `CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE` and `_MOVE`.
    const CLONE: c_uint = 0;
    const MOVE: c_uint = 1;
    match ownership {
        CLONE => call.graphs.clone_graph(graph).map(Action::Child),
        MOVE => {
            crate::say!(
                "software GPU: cuGraphAddNode: moving a graph into a node is not supported"
            );
            Err(CudaError::NotSupported)
        }
        _ => Err(CudaError::InvalidValue),
    }
}
