//! Graphs as data: nodes, and which of them come before which.

use std::collections::{BTreeMap, BTreeSet};

use super::executable::Executable;
use super::memory::GraphMemory;
use super::node::{Action, Node};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::handles::Table;
use crate::driver::c_abi::types::{CUgraph, CUgraphExec, CUgraphNode, CUstream};

/// Nodes of a graph that can be cloned or embedded; fewer where an input may take ten seconds at most.
const MOST_CLONED: usize = if cfg!(fuzzing) { 1 << 12 } else { 1 << 17 };
/// Graphs, one in the other, that can be cloned or embedded.
const DEEPEST_CLONED: usize = 64;

/// All graphs of the process. They belong to no context.
pub(in crate::driver) struct Graphs {
    graphs: Table<CUgraph, Graph>,
    nodes: Table<CUgraphNode, Node>,
    executables: Table<CUgraphExec, Executable>,
    pub(in crate::driver) memory: GraphMemory,
    /// Streams of executable graphs that are no more.
    pub(super) spare_streams: Vec<CUstream>,
}

/// One graph.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// In the order of their creation.
    pub(super) nodes: Vec<CUgraphNode>,
    /// The node that this graph is embedded in: `cuGraphAddChildGraphNode`.
    pub(super) embedded_in: Option<CUgraphNode>,
    /// For a clone: the original's nodes, and which node is the clone of each.
    pub(super) clone_of: BTreeMap<CUgraphNode, CUgraphNode>,
}

impl Default for Graphs {
    fn default() -> Self {
        Self {
            graphs: Table::new(),
            nodes: Table::new(),
            executables: Table::new(),
            memory: GraphMemory::default(),
            spare_streams: Vec::new(),
        }
    }
}

/// Graph calls name a handle that means nothing as an invalid value.
fn invalid(_: CudaError) -> CudaError {
    CudaError::InvalidValue
}

impl Graphs {
    pub(super) fn create(&mut self) -> CUgraph {
        self.graphs.insert(Graph::default())
    }

    /// The graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an unknown handle; so all lookups here.
    pub(super) fn graph(&self, graph: CUgraph) -> Result<&Graph, CudaError> {
        self.graphs.get(graph).map_err(invalid)
    }

    pub(super) fn graph_mut(&mut self, graph: CUgraph) -> Result<&mut Graph, CudaError> {
        self.graphs.get_mut(graph).map_err(invalid)
    }

    pub(super) fn node(&self, node: CUgraphNode) -> Result<&Node, CudaError> {
        self.nodes.get(node).map_err(invalid)
    }

    pub(super) fn node_mut(&mut self, node: CUgraphNode) -> Result<&mut Node, CudaError> {
        self.nodes.get_mut(node).map_err(invalid)
    }

    pub(super) fn executable(&self, exec: CUgraphExec) -> Result<&Executable, CudaError> {
        self.executables.get(exec).map_err(invalid)
    }

    pub(super) fn executable_mut(
        &mut self,
        exec: CUgraphExec,
    ) -> Result<&mut Executable, CudaError> {
        self.executables.get_mut(exec).map_err(invalid)
    }

    pub(super) fn add_executable(&mut self, executable: Executable) -> CUgraphExec {
        for address in executable.allocations() {
            self.memory.hold(address);
        }
        self.executables.insert(executable)
    }

    pub(super) fn remove_executable(&mut self, exec: CUgraphExec) -> Result<Executable, CudaError> {
        let executable = self.executables.remove(exec).map_err(invalid)?;
        self.spare_streams.extend(executable.streams.values());
        for address in executable.allocations() {
            self.memory.release(address);
        }
        Ok(executable)
    }

    /// Adds a node that comes after `dependencies`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a dependency that is named twice or is of another graph.
    pub(super) fn add(
        &mut self,
        graph: CUgraph,
        dependencies: &[CUgraphNode],
        action: Action,
    ) -> Result<CUgraphNode, CudaError> {
        self.check_dependencies(graph, dependencies)?;
        let node = self.nodes.insert(Node::new(graph, action));
        if let Action::Child(child) = self.node(node)?.action {
            self.graph_mut(child)?.embedded_in = Some(node);
        }
        self.graph_mut(graph)?.nodes.push(node);
        for dependency in dependencies {
            self.connect(*dependency, node)?;
        }
        Ok(node)
    }

    /// Refuses dependencies that a new node of `graph` cannot have.
    pub(super) fn check_dependencies(
        &self,
        graph: CUgraph,
        dependencies: &[CUgraphNode],
    ) -> Result<(), CudaError> {
        self.graph(graph)?;
        let mut seen = BTreeSet::new();
        for dependency in dependencies {
            let foreign = self.node(*dependency)?.graph != graph;
            if foreign || !seen.insert(*dependency) {
                return Err(CudaError::InvalidValue);
            }
        }
        Ok(())
    }

    /// Makes `to` come after `from`. Both are there and not connected.
    pub(super) fn connect(&mut self, from: CUgraphNode, to: CUgraphNode) -> Result<(), CudaError> {
        self.node_mut(from)?.dependents.push(to);
        self.node_mut(to)?.dependencies.push(from);
        Ok(())
    }

    /// Removes an edge, if it is there.
    pub(super) fn disconnect(
        &mut self,
        from: CUgraphNode,
        to: CUgraphNode,
    ) -> Result<(), CudaError> {
        self.node_mut(from)?.dependents.retain(|node| *node != to);
        self.node_mut(to)?.dependencies.retain(|node| *node != from);
        Ok(())
    }

    /// Removes a node, its edges and the graph embedded in it.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` in a graph with allocation or free nodes.
    pub(super) fn destroy_node(&mut self, handle: CUgraphNode) -> Result<(), CudaError> {
        self.without_memory(self.node(handle)?.graph)?;
        let node = self.nodes.remove(handle).map_err(invalid)?;
        for dependency in &node.dependencies {
            self.node_mut(*dependency)?
                .dependents
                .retain(|node| *node != handle);
        }
        for dependent in &node.dependents {
            self.node_mut(*dependent)?
                .dependencies
                .retain(|node| *node != handle);
        }
        self.graph_mut(node.graph)?
            .nodes
            .retain(|node| *node != handle);
        match node.action {
            Action::Child(child) => self.destroy(child),
            _ => Ok(()),
        }
    }

    /// Removes a graph and its nodes.
    pub(super) fn destroy(&mut self, handle: CUgraph) -> Result<(), CudaError> {
        let graph = self.graphs.remove(handle).map_err(invalid)?;
        for node in graph.nodes {
            let node = self.nodes.remove(node).map_err(invalid)?;
            match node.action {
                Action::Child(child) => self.destroy(child)?,
                Action::Allocate(memory) => self.memory.release(memory.address),
                _ => {}
            }
        }
        Ok(())
    }

    /// How many nodes a graph has, with those of the graphs embedded in it, which may be `depth` deep.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` if they are deeper.
    fn size(&self, graph: CUgraph, depth: usize) -> Result<usize, CudaError> {
        let mut size = 0;
        for node in &self.graph(graph)?.nodes {
            size += 1;
            if let Action::Child(child) = self.node(*node)?.action {
                let deeper = depth.checked_sub(1).ok_or(CudaError::OutOfMemory)?;
                size += self.size(child, deeper)?;
            }
        }
        Ok(size)
    }

    /// Copies a graph, with the graphs embedded in it.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` for a graph with allocation or free nodes; `CUDA_ERROR_OUT_OF_MEMORY` for one of more
    /// than [`MOST_CLONED`] nodes, which a few embeddings of a graph into itself make, or with more than
    /// [`DEEPEST_CLONED`] graphs one in the other.
    pub(super) fn clone_graph(&mut self, original: CUgraph) -> Result<CUgraph, CudaError> {
        self.without_memory(original)?;
        if self.size(original, DEEPEST_CLONED)? > MOST_CLONED {
            return Err(CudaError::OutOfMemory);
        }
        self.clone_nodes(original)
    }

    fn clone_nodes(&mut self, original: CUgraph) -> Result<CUgraph, CudaError> {
        let originals = self.graph(original)?.nodes.clone();
        let copy = self.create();
        let mut pairs = BTreeMap::new();
        for node in &originals {
            let action = match self.node(*node)?.action.clone() {
                Action::Child(child) => Action::Child(self.clone_nodes(child)?),
                action => action,
            };
            pairs.insert(*node, self.add(copy, &[], action)?);
        }
        let clone_of = |node: CUgraphNode| pairs.get(&node).copied().ok_or(CudaError::InvalidValue);
        for (node, clone) in &pairs {
            let Node {
                dependencies,
                dependents,
                ..
            } = self.node(*node)?;
            let dependencies: Result<_, _> = dependencies.iter().copied().map(clone_of).collect();
            let dependents: Result<_, _> = dependents.iter().copied().map(clone_of).collect();
            let clone = self.node_mut(*clone)?;
            (clone.dependencies, clone.dependents) = (dependencies?, dependents?);
        }
        self.graph_mut(copy)?.clone_of = pairs;
        Ok(copy)
    }

    /// The graph's nodes, each after its dependencies; among those that could be next, the one created first.
    /// `None` if there is a cycle.
    pub(super) fn topological(
        &self,
        graph: CUgraph,
    ) -> Result<Option<Vec<CUgraphNode>>, CudaError> {
        let nodes = &self.graph(graph)?.nodes;
        let mut missing = BTreeMap::new();
        for node in nodes {
            missing.insert(*node, self.node(*node)?.dependencies.len());
        }
        let ready = missing.iter().filter(|(_, missing)| **missing == 0);
        let mut ready: BTreeSet<_> = ready.map(|(node, _)| *node).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(node) = ready.pop_first() {
            order.push(node);
            for dependent in &self.node(node)?.dependents {
                if let Some(missing) = missing.get_mut(dependent) {
                    *missing -= 1;
                    if *missing == 0 {
                        ready.insert(*dependent);
                    }
                }
            }
        }
        Ok((order.len() == nodes.len()).then_some(order))
    }
}
