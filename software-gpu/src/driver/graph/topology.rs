//! Asking for and changing the nodes and edges of a graph.

use std::collections::BTreeSet;
use std::ffi::c_uint;

use super::arrays;
use super::graph::Graphs;
use super::params::EdgeData;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUgraph, CUgraphNode, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;

/// In the places that an answer does not fill.
const NO_NODE: CUgraphNode = CUgraphNode(0);

type Nodes = *const CUgraphNode;

entry_points! {
    fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) {
        let all = |call: &mut Call| call.graphs.graph(graph).map(|graph| graph.nodes.clone());
        // SAFETY: the caller passes null or as many places as it says.
        unsafe { answer(nodes, count, all) }
    }

    fn cuGraphGetRootNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) {
        // SAFETY: as above.
        unsafe { answer(nodes, count, |call| call.graphs.roots(graph)) }
    }

    fn cuGraphNodeGetDependencies(node: CUgraphNode, nodes: *mut CUgraphNode, count: *mut usize) {
        let dependencies = |call: &mut Call| call.graphs.node(node).map(|node| node.dependencies.clone());
        // SAFETY: as above.
        unsafe { answer(nodes, count, dependencies) }
    }

    fn cuGraphNodeGetDependencies_v2(
        node: CUgraphNode, nodes: *mut CUgraphNode, data: *mut EdgeData, count: *mut usize,
    ) {
        let dependencies = |call: &mut Call| call.graphs.node(node).map(|node| node.dependencies.clone());
        // SAFETY: as above.
        unsafe { answer_with_edges(nodes, data, count, dependencies) }
    }

    fn cuGraphNodeGetDependentNodes(node: CUgraphNode, nodes: *mut CUgraphNode, count: *mut usize) {
        let dependents = |call: &mut Call| call.graphs.node(node).map(|node| node.dependents.clone());
        // SAFETY: as above.
        unsafe { answer(nodes, count, dependents) }
    }

    fn cuGraphNodeGetDependentNodes_v2(
        node: CUgraphNode, nodes: *mut CUgraphNode, data: *mut EdgeData, count: *mut usize,
    ) {
        let dependents = |call: &mut Call| call.graphs.node(node).map(|node| node.dependents.clone());
        // SAFETY: as above.
        unsafe { answer_with_edges(nodes, data, count, dependents) }
    }

    fn cuGraphGetEdges(graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, count: *mut usize) {
        // SAFETY: as above.
        unsafe { edges(graph, from, to, std::ptr::null_mut(), count) }
    }

    fn cuGraphGetEdges_v2(
        graph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, data: *mut EdgeData, count: *mut usize,
    ) {
        // SAFETY: as above.
        unsafe { edges(graph, from, to, data, count) }
    }

    fn cuGraphAddDependencies(graph: CUgraph, from: Nodes, to: Nodes, count: usize) {
        // SAFETY: the caller passes null or as many nodes as it says.
        unsafe { change(graph, from, to, count, Graphs::add_edges) }
    }

    fn cuGraphAddDependencies_v2(graph: CUgraph, from: Nodes, to: Nodes, data: *const EdgeData, count: usize) {
        // SAFETY: as above.
        unsafe {
            arrays::full_edges("cuGraphAddDependencies", data, count)?;
            change(graph, from, to, count, Graphs::add_edges)
        }
    }

    fn cuGraphRemoveDependencies(graph: CUgraph, from: Nodes, to: Nodes, count: usize) {
        // SAFETY: as above.
        unsafe { change(graph, from, to, count, Graphs::remove_edges) }
    }

    fn cuGraphRemoveDependencies_v2(graph: CUgraph, from: Nodes, to: Nodes, data: *const EdgeData, count: usize) {
        // SAFETY: as above.
        unsafe {
            arrays::full_edges("cuGraphRemoveDependencies", data, count)?;
            change(graph, from, to, count, Graphs::remove_edges)
        }
    }

    fn cuGraphNodeGetType(node: CUgraphNode, node_type: Out<c_uint>) {
        let node_type = node_type.required()?;
        call(Cost::Free, |call| node_type.set(call.graphs.node(node)?.action.node_type().number()))
    }
}

/// # Safety
/// `nodes` is null or has as many places as `count` says.
unsafe fn answer(
    nodes: *mut CUgraphNode,
    count: *mut usize,
    ask: impl FnOnce(&mut Call) -> Result<Vec<CUgraphNode>, CudaError>,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let values = ask(call)?;
        // SAFETY: the caller's promise.
        unsafe { arrays::output(&values, NO_NODE, nodes, count) }
    })
}

/// All edges mean "after the end of", so that an answer without their data loses nothing.
///
/// # Safety
/// `nodes` and `data` are null or have as many places as `count` says.
unsafe fn answer_with_edges(
    nodes: *mut CUgraphNode,
    data: *mut EdgeData,
    count: *mut usize,
    ask: impl FnOnce(&mut Call) -> Result<Vec<CUgraphNode>, CudaError>,
) -> Result<(), CudaError> {
    if nodes.is_null() && !data.is_null() {
        return Err(CudaError::InvalidValue);
    }
    call(Cost::Free, |call| {
        let values = ask(call)?;
        // SAFETY: the caller's promise, for each array by itself.
        unsafe {
            if !data.is_null() {
                let mut room = count.as_ref().copied().ok_or(CudaError::InvalidValue)?;
                let plain = vec![EdgeData::default(); values.len()];
                arrays::output(&plain, EdgeData::default(), data, &mut room)?;
            }
            arrays::output(&values, NO_NODE, nodes, count)
        }
    })
}

/// # Safety
/// The arrays are null or have as many places as `count` says.
unsafe fn edges(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    data: *mut EdgeData,
    count: *mut usize,
) -> Result<(), CudaError> {
    if from.is_null() != to.is_null() {
        return Err(CudaError::InvalidValue);
    }
    call(Cost::Free, |call| {
        let edges = call.graphs.edges(graph)?;
        let (sources, targets): (Vec<_>, Vec<_>) = edges.into_iter().unzip();
        // SAFETY: the caller passes null or a number.
        let mut room = unsafe { count.as_ref() }
            .copied()
            .ok_or(CudaError::InvalidValue)?;
        // SAFETY: the caller's promise.
        unsafe { arrays::output(&targets, NO_NODE, to, &mut room)? };
        // SAFETY: as above.
        unsafe { answer_edges(&sources, from, data, count) }
    })
}

/// # Safety
/// As [`edges`].
unsafe fn answer_edges(
    sources: &[CUgraphNode],
    from: *mut CUgraphNode,
    data: *mut EdgeData,
    count: *mut usize,
) -> Result<(), CudaError> {
    if !data.is_null() {
        if from.is_null() {
            return Err(CudaError::InvalidValue);
        }
        let plain = vec![EdgeData::default(); sources.len()];
        // SAFETY: the caller passes null or a number.
        let mut room = unsafe { count.as_ref() }
            .copied()
            .ok_or(CudaError::InvalidValue)?;
        // SAFETY: the caller's promise.
        unsafe { arrays::output(&plain, EdgeData::default(), data, &mut room)? };
    }
    // SAFETY: the caller's promise.
    unsafe { arrays::output(sources, NO_NODE, from, count) }
}

/// # Safety
/// The arrays are null or have `count` elements.
unsafe fn change(
    graph: CUgraph,
    from: Nodes,
    to: Nodes,
    count: usize,
    body: impl FnOnce(&mut Graphs, CUgraph, &[(CUgraphNode, CUgraphNode)]) -> Result<(), CudaError>,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise.
    let (from, to) = unsafe { (arrays::input(from, count)?, arrays::input(to, count)?) };
    let edges: Vec<_> = from.iter().copied().zip(to.iter().copied()).collect();
    call(Cost::Other, |call| body(&mut call.graphs, graph, &edges))
}

impl Graphs {
    fn roots(&self, graph: CUgraph) -> Result<Vec<CUgraphNode>, CudaError> {
        let mut roots = Vec::new();
        for node in &self.graph(graph)?.nodes {
            if self.node(*node)?.dependencies.is_empty() {
                roots.push(*node);
            }
        }
        Ok(roots)
    }

    /// All edges: node by node, as those that come after it were added.
    pub(super) fn edges(
        &self,
        graph: CUgraph,
    ) -> Result<Vec<(CUgraphNode, CUgraphNode)>, CudaError> {
        let mut edges = Vec::new();
        for node in &self.graph(graph)?.nodes {
            let dependents = &self.node(*node)?.dependents;
            edges.extend(dependents.iter().map(|dependent| (*node, *dependent)));
        }
        Ok(edges)
    }

    fn are_of(
        &self,
        graph: CUgraph,
        edges: &[(CUgraphNode, CUgraphNode)],
    ) -> Result<(), CudaError> {
        self.graph(graph)?;
        for (from, to) in edges {
            if from == to || self.node(*from)?.graph != graph || self.node(*to)?.graph != graph {
                return Err(CudaError::InvalidValue);
            }
        }
        Ok(())
    }

    /// Adds edges, or none: one that is there already, or named twice, is an error. A cycle is found when the graph is
    /// instantiated.
    fn add_edges(
        &mut self,
        graph: CUgraph,
        edges: &[(CUgraphNode, CUgraphNode)],
    ) -> Result<(), CudaError> {
        self.are_of(graph, edges)?;
        let mut seen = BTreeSet::new();
        for (from, to) in edges {
            if self.node(*from)?.dependents.contains(to) || !seen.insert((*from, *to)) {
                return Err(CudaError::InvalidValue);
            }
        }
        for (from, to) in edges {
            self.connect(*from, *to)?;
        }
        Ok(())
    }

    /// Removes edges, or none: one that is not there is an error.
    fn remove_edges(
        &mut self,
        graph: CUgraph,
        edges: &[(CUgraphNode, CUgraphNode)],
    ) -> Result<(), CudaError> {
        self.are_of(graph, edges)?;
        self.without_memory(graph)?;
        for (from, to) in edges {
            if !self.node(*from)?.dependents.contains(to) {
                return Err(CudaError::InvalidValue);
            }
        }
        for (from, to) in edges {
            self.disconnect(*from, *to)?;
        }
        Ok(())
    }
}
