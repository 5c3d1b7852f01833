//! Changing an executable graph: one node, or all of them.
//!
//! Launches that are under way are not disturbed: they have taken what they need.

use std::ffi::c_uint;

use super::actions;
use super::arrays;
use super::executable::{Executable, GraphStep, Role, flatten};
use super::node::{Action, NodeType};
use super::params::{HostParams, KernelParams, KernelParamsV1, SetParams};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUgraph, CUgraphExec, CUgraphNode, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::memory::copy_params::CUmemcpy3D;

/// `CUgraphExecUpdateResult`.
const SUCCESS: c_uint = 0;
const TOPOLOGY_CHANGED: c_uint = 2;
const NODE_TYPE_CHANGED: c_uint = 3;
const PARAMETERS_CHANGED: c_uint = 5;

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct UpdateResult {
    result: c_uint,
    error_node: CUgraphNode,
    error_from_node: CUgraphNode,
}

entry_points! {
    fn cuGraphExecKernelNodeSetParams(exec: CUgraphExec, node: CUgraphNode, params: *const KernelParamsV1) {
        // SAFETY: the caller passes null or parameters as the kernel declares them.
        unsafe {
            let params = arrays::parameters(params)?.widened();
            set(exec, node, |call| actions::kernel(call, &params))
        }
    }

    fn cuGraphExecKernelNodeSetParams_v2(exec: CUgraphExec, node: CUgraphNode, params: *const KernelParams) {
        // SAFETY: as above.
        unsafe {
            let params = arrays::parameters(params)?;
            set(exec, node, |call| actions::kernel(call, &params))
        }
    }

    fn cuGraphExecMemcpyNodeSetParams(
        exec: CUgraphExec, node: CUgraphNode, params: *const CUmemcpy3D, context: CUcontext,
    ) {
        // SAFETY: as above.
        let params = unsafe { arrays::parameters(params) }?;
        set(exec, node, |call| actions::copy(call, &params, context))
    }

    fn cuGraphExecMemsetNodeSetParams(
        exec: CUgraphExec, node: CUgraphNode, params: *const SetParams, context: CUcontext,
    ) {
        // SAFETY: as above.
        let params = unsafe { arrays::parameters(params) }?;
        set(exec, node, |call| actions::set(call, &params, context))
    }

    fn cuGraphExecHostNodeSetParams(exec: CUgraphExec, node: CUgraphNode, params: *const HostParams) {
        // SAFETY: as above.
        let params = unsafe { arrays::parameters(params) }?;
        set(exec, node, |_| actions::host(&params))
    }

    fn cuGraphExecEventRecordNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent) {
        set(exec, node, |call| actions::event(call, event).map(Action::Record))
    }

    fn cuGraphExecEventWaitNodeSetEvent(exec: CUgraphExec, node: CUgraphNode, event: CUevent) {
        set(exec, node, |call| actions::event(call, event).map(Action::Wait))
    }

    fn cuGraphExecChildGraphNodeSetParams(exec: CUgraphExec, node: CUgraphNode, child: CUgraph) {
        set_child(exec, node, child)
    }

    fn cuGraphExecUpdate(exec: CUgraphExec, graph: CUgraph, error_node: Out<CUgraphNode>, result: Out<c_uint>) {
        update(exec, graph, |found| {
            error_node.set_if_wanted(found.error_node);
            result.set_if_wanted(found.result);
        })
    }

    fn cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, result: Out<UpdateResult>) {
        update(exec, graph, |found| result.set_if_wanted(found))
    }

    /// Only kernels, copies and memsets can be left out.
    fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: c_uint) {
        call(Cost::Other, |call| {
            let executable = call.graphs.executable_mut(exec)?;
            executable.optional_step(node)?.enabled = enabled != 0;
            executable.changed = true;
            Ok(())
        })
    }

    fn cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: Out<c_uint>) {
        let enabled = enabled.required()?;
        call(Cost::Free, |call| {
            let step = call.graphs.executable_mut(exec)?.optional_step(node)?;
            enabled.set(c_uint::from(step.enabled))
        })
    }
}

/// Makes one node of the executable graph do what `make` makes.
pub(super) fn set(
    exec: CUgraphExec,
    node: CUgraphNode,
    make: impl FnOnce(&mut Call) -> Result<Action, CudaError>,
) -> Result<(), CudaError> {
    call(Cost::GraphSetNode, |call| {
        call.graphs.executable_mut(exec)?.step_mut(node)?;
        let action = make(call)?;
        let executable = call.graphs.executable_mut(exec)?;
        match &mut executable.step_mut(node)?.role {
            Role::Node(old) if can_become(old, &action) => *old = action,
            _ => return Err(CudaError::InvalidValue),
        }
        executable.changed = true;
        Ok(())
    })
}

/// Makes an embedded graph do what another graph of the same shape does.
///
/// # Errors
/// `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE` for a graph of another shape.
pub(super) fn set_child(
    exec: CUgraphExec,
    node: CUgraphNode,
    child: CUgraph,
) -> Result<(), CudaError> {
    call(Cost::GraphSetNode, |call| {
        let new = flatten(&call.graphs, child)?;
        let executable = call.graphs.executable_mut(exec)?;
        let range = executable.child_range(node)?;
        let first = range.start;
        let inner = &mut executable.steps[range];
        // Inside, the first steps depend on the begin of the embedded graph, which is the step before.
        let shape = |step: &GraphStep| {
            let inside = step.dependencies.iter().filter(|at| **at >= first);
            inside.map(|at| at - first).collect::<Vec<_>>()
        };
        let same = inner.len() == new.len()
            && inner.iter().zip(&new).all(|(old, new)| {
                shape(old) == new.dependencies && role_can_become(&old.role, &new.role)
            });
        if !same {
            return Err(CudaError::GraphExecUpdateFailure);
        }
        for (old, new) in inner.iter_mut().zip(new) {
            old.role = new.role;
        }
        executable.changed = true;
        Ok(())
    })
}

/// # Errors
/// `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE`, and `report` says why: nothing is changed then.
fn update(
    exec: CUgraphExec,
    graph: CUgraph,
    report: impl FnOnce(UpdateResult),
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let new = flatten(&call.graphs, graph)?;
        call.spend(Cost::GraphUpdate { steps: new.len() });
        let executable = call.graphs.executable_mut(exec)?;
        let found = compare(&executable.steps, &new);
        report(found);
        if found.result != SUCCESS {
            return Err(CudaError::GraphExecUpdateFailure);
        }
        executable.changed = true;
        for (old, new) in executable.steps.iter_mut().zip(new) {
            old.role = new.role;
        }
        Ok(())
    })
}

/// What keeps `new` from taking the place of `old`: first the shape counts, then the types, then the parameters.
fn compare(old: &[GraphStep], new: &[GraphStep]) -> UpdateResult {
    let result = |result, error_node| UpdateResult {
        result,
        error_node,
        error_from_node: CUgraphNode(0),
    };
    if old.len() != new.len() {
        return result(TOPOLOGY_CHANGED, CUgraphNode(0));
    }
    let (old_dependents, new_dependents) = (dependents(old), dependents(new));
    for (at, (old, new)) in old.iter().zip(new).enumerate() {
        let same = old.dependencies == new.dependencies && old_dependents[at] == new_dependents[at];
        if !same {
            return result(TOPOLOGY_CHANGED, new.origin);
        }
    }
    for (old, new) in old.iter().zip(new) {
        if old.role.node_type() != new.role.node_type() {
            return result(NODE_TYPE_CHANGED, new.origin);
        }
    }
    for (old, new) in old.iter().zip(new) {
        if !role_can_become(&old.role, &new.role) {
            return result(PARAMETERS_CHANGED, new.origin);
        }
    }
    result(SUCCESS, CUgraphNode(0))
}

/// How many steps come directly after each.
fn dependents(steps: &[GraphStep]) -> Vec<usize> {
    let mut counts = vec![0; steps.len()];
    for at in steps.iter().flat_map(|step| &step.dependencies) {
        counts[*at] += 1;
    }
    counts
}

fn role_can_become(old: &Role, new: &Role) -> bool {
    match (old, new) {
        (Role::Node(old), Role::Node(new)) => can_become(old, new),
        (Role::ChildBegin, Role::ChildBegin) | (Role::ChildEnd, Role::ChildEnd) => true,
        _ => false,
    }
}

/// Whether a node of an executable graph can be changed like this: its context stays, and so do the direction of a copy
/// and the rows of copies and memsets of more than one.
fn can_become(old: &Action, new: &Action) -> bool {
    if old.node_type() != new.node_type() || old.context() != new.context() {
        return false;
    }
    match (old, new) {
        (Action::Copy(_, old), Action::Copy(_, new)) => {
            let rows =
                |copy: &crate::driver::simulation::operation::Copy| (copy.from.rows, copy.to.rows);
            let flat = old.from.rows.is_flat() && new.from.rows.is_flat();
            let unchanged = (old.from, old.to) == (new.from, new.to) && rows(old) == rows(new);
            old.kind == new.kind && (flat || unchanged)
        }
        (Action::Set(_, old), Action::Set(_, new)) => {
            let flat = old.rows.is_flat() && new.rows.is_flat();
            flat || actions::set_params(old) == actions::set_params(new)
        }
        (Action::Allocate(old), Action::Allocate(new)) | (Action::Free(old), Action::Free(new)) => {
            old == new
        }
        _ => true,
    }
}

impl Executable {
    /// The step of a node that can be left out.
    fn optional_step(&mut self, node: CUgraphNode) -> Result<&mut GraphStep, CudaError> {
        let step = self.step_mut(node)?;
        match step.role.node_type() {
            NodeType::Kernel | NodeType::Memcpy | NodeType::Memset => Ok(step),
            _ => Err(CudaError::InvalidValue),
        }
    }

    /// The steps of the graph embedded in a node, without its two ends.
    fn child_range(&self, node: CUgraphNode) -> Result<std::ops::Range<usize>, CudaError> {
        let position = |role: fn(&Role) -> bool| {
            let found = self
                .steps
                .iter()
                .position(|step| step.origin == node && role(&step.role));
            found.ok_or(CudaError::InvalidValue)
        };
        let begin = position(|role| matches!(role, Role::ChildBegin))?;
        let end = position(|role| matches!(role, Role::ChildEnd))?;
        Ok(begin + 1..end)
    }
}
