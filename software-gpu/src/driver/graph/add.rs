//! Adding nodes of each type: `cuGraphAdd…Node`.

use super::actions;
use super::arrays;
use super::node::Action;
use super::params::{HostParams, KernelParams, KernelParamsV1, SetParams};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUgraph, CUgraphNode, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::memory::copy_params::CUmemcpy3D;

entry_points! {
    fn cuGraphAddKernelNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
        params: *const KernelParamsV1,
    ) {
        // SAFETY: the caller passes null or parameters and dependencies as the call asks for them.
        unsafe {
            let params = arrays::parameters(params)?.widened();
            add(node, graph, dependencies, count, |call| actions::kernel(call, &params))
        }
    }

    fn cuGraphAddKernelNode_v2(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
        params: *const KernelParams,
    ) {
        // SAFETY: as above.
        unsafe {
            let params = arrays::parameters(params)?;
            add(node, graph, dependencies, count, |call| actions::kernel(call, &params))
        }
    }

    fn cuGraphAddMemcpyNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
        params: *const CUmemcpy3D, context: CUcontext,
    ) {
        // SAFETY: as above.
        unsafe {
            let params = arrays::parameters(params)?;
            add(node, graph, dependencies, count, |call| actions::copy(call, &params, context))
        }
    }

    fn cuGraphAddMemsetNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
        params: *const SetParams, context: CUcontext,
    ) {
        // SAFETY: as above.
        unsafe {
            let params = arrays::parameters(params)?;
            add(node, graph, dependencies, count, |call| actions::set(call, &params, context))
        }
    }

    fn cuGraphAddHostNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
        params: *const HostParams,
    ) {
        // SAFETY: as above.
        unsafe {
            let params = arrays::parameters(params)?;
            add(node, graph, dependencies, count, |_| actions::host(&params))
        }
    }

    fn cuGraphAddEmptyNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
    ) {
        // SAFETY: as above.
        unsafe { add(node, graph, dependencies, count, |_| Ok(Action::Empty)) }
    }

    fn cuGraphAddEventRecordNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize, event: CUevent,
    ) {
        let record = |call: &mut Call| actions::event(call, event).map(Action::Record);
        // SAFETY: as above.
        unsafe { add(node, graph, dependencies, count, record) }
    }

    fn cuGraphAddEventWaitNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize, event: CUevent,
    ) {
        let wait = |call: &mut Call| actions::event(call, event).map(Action::Wait);
        // SAFETY: as above.
        unsafe { add(node, graph, dependencies, count, wait) }
    }

    /// The node gets a copy of the graph.
    fn cuGraphAddChildGraphNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize, child: CUgraph,
    ) {
        let embed = |call: &mut Call| call.graphs.clone_graph(child).map(Action::Child);
        // SAFETY: as above.
        unsafe { add(node, graph, dependencies, count, embed) }
    }
}

/// Adds the node that `make` makes. Everything else is checked before.
///
/// # Safety
/// `dependencies` is null or has `count` elements.
pub(super) unsafe fn add(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    make: impl FnOnce(&mut Call) -> Result<Action, CudaError>,
) -> Result<(), CudaError> {
    let node = node.required()?;
    // SAFETY: the caller's promise.
    let dependencies = unsafe { arrays::input(dependencies, count) }?;
    call(Cost::Other, |call| {
        call.graphs.check_dependencies(graph, dependencies)?;
        let action = make(call)?;
        node.set(call.graphs.add(graph, dependencies, action)?)
    })
}
