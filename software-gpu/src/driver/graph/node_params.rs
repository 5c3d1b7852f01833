//! What a node does, asked for and changed: `cuGraph…NodeGetParams` and `…SetParams`.

use super::actions;
use super::arrays;
use super::graph::Graphs;
use super::node::Action;
use super::params::{HostParams, KernelParams, KernelParamsV1, SetParams};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUgraph, CUgraphNode, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::memory::copy_params::CUmemcpy3D;

entry_points! {
    fn cuGraphKernelNodeGetParams(node: CUgraphNode, params: Out<KernelParamsV1>) {
        let params = params.required()?;
        get_kernel(node, |found| params.set(found.common))
    }

    fn cuGraphKernelNodeGetParams_v2(node: CUgraphNode, params: Out<KernelParams>) {
        let params = params.required()?;
        get_kernel(node, |found| params.set(found))
    }

    fn cuGraphKernelNodeSetParams(node: CUgraphNode, params: *const KernelParamsV1) {
        // SAFETY: the caller passes null or parameters as the kernel declares them.
        unsafe {
            let params = arrays::parameters(params)?.widened();
            set(node, |call| actions::kernel(call, &params))
        }
    }

    fn cuGraphKernelNodeSetParams_v2(node: CUgraphNode, params: *const KernelParams) {
        // SAFETY: as above.
        unsafe {
            let params = arrays::parameters(params)?;
            set(node, |call| actions::kernel(call, &params))
        }
    }

    fn cuGraphMemcpyNodeGetParams(node: CUgraphNode, params: Out<CUmemcpy3D>) {
        let params = params.required()?;
        get(node, |call, action| match action {
            Action::Copy(_, copy) => Some(params.set(actions::copy_params(call, copy))),
            _ => None,
        })
    }

    /// The node stays in its context.
    fn cuGraphMemcpyNodeSetParams(node: CUgraphNode, params: *const CUmemcpy3D) {
        // SAFETY: as above.
        let params = unsafe { arrays::parameters(params) }?;
        set(node, |call| {
            let context = call.graphs.node(node)?.action.context().unwrap_or(CUcontext::NULL);
            actions::copy(call, &params, context)
        })
    }

    fn cuGraphMemsetNodeGetParams(node: CUgraphNode, params: Out<SetParams>) {
        let params = params.required()?;
        get(node, |_, action| match action {
            Action::Set(_, set) => Some(params.set(actions::set_params(set))),
            _ => None,
        })
    }

    /// The node stays in its context.
    fn cuGraphMemsetNodeSetParams(node: CUgraphNode, params: *const SetParams) {
        // SAFETY: as above.
        let params = unsafe { arrays::parameters(params) }?;
        set(node, |call| {
            let context = call.graphs.node(node)?.action.context().unwrap_or(CUcontext::NULL);
            actions::set(call, &params, context)
        })
    }

    fn cuGraphHostNodeGetParams(node: CUgraphNode, params: Out<HostParams>) {
        let params = params.required()?;
        get(node, |_, action| match action {
            Action::Host(callback) => Some(params.set(actions::host_params(callback))),
            _ => None,
        })
    }

    fn cuGraphHostNodeSetParams(node: CUgraphNode, params: *const HostParams) {
        // SAFETY: as above.
        let params = unsafe { arrays::parameters(params) }?;
        set(node, |_| actions::host(&params))
    }

    /// The graph is the node's own: changing it changes the node.
    fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, graph: Out<CUgraph>) {
        let graph = graph.required()?;
        get(node, |_, action| match action {
            Action::Child(child) => Some(graph.set(*child)),
            _ => None,
        })
    }

    fn cuGraphEventRecordNodeGetEvent(node: CUgraphNode, event: Out<CUevent>) {
        let event = event.required()?;
        get(node, |_, action| match action {
            Action::Record(found) => Some(event.set(*found)),
            _ => None,
        })
    }

    fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) {
        set(node, |call| actions::event(call, event).map(Action::Record))
    }

    fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, event: Out<CUevent>) {
        let event = event.required()?;
        get(node, |_, action| match action {
            Action::Wait(found) => Some(event.set(*found)),
            _ => None,
        })
    }

    fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) {
        set(node, |call| actions::event(call, event).map(Action::Wait))
    }
}

/// Answers from what the node does; `None` is a node of another type.
pub(super) fn get(
    node: CUgraphNode,
    answer: impl FnOnce(&Call, &Action) -> Option<Result<(), CudaError>>,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let action = &call.graphs.node(node)?.action;
        answer(call, action).unwrap_or(Err(CudaError::InvalidValue))
    })
}

fn get_kernel(
    node: CUgraphNode,
    answer: impl FnOnce(KernelParams) -> Result<(), CudaError>,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        match &mut call.graphs.node_mut(node)?.action {
            Action::Kernel(kernel) => answer(actions::kernel_params(kernel)),
            _ => Err(CudaError::InvalidValue),
        }
    })
}

/// Makes the node do what `make` makes, if that is of the same type.
pub(super) fn set(
    node: CUgraphNode,
    make: impl FnOnce(&mut Call) -> Result<Action, CudaError>,
) -> Result<(), CudaError> {
    call(Cost::Other, |call| {
        call.graphs.node(node)?;
        let action = make(call)?;
        call.graphs.replace(node, action)
    })
}

impl Graphs {
    fn replace(&mut self, node: CUgraphNode, action: Action) -> Result<(), CudaError> {
        let node = self.node_mut(node)?;
        if node.action.node_type() != action.node_type() {
            return Err(CudaError::InvalidValue);
        }
        node.action = action;
        Ok(())
    }
}
