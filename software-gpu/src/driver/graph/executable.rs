//! Executable graphs: a graph as it was when it was instantiated, flattened into steps.

use std::collections::BTreeMap;

use super::branches::Branches;
use super::create::AUTO_FREE_ON_LAUNCH;
use super::graph::Graphs;
use super::node::{Action, NodeType};
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUdeviceptr, CUgraph, CUgraphNode, CUstream};
use crate::timeline::OpId;

/// One executable graph.
#[derive(Debug)]
pub(super) struct Executable {
    /// `CUgraphInstantiate_flags`.
    pub(super) flags: u64,
    /// Each step after those that it depends on.
    pub(super) steps: Vec<GraphStep>,
    /// The streams that its branches ran in, by number of the branch, priority and context.
    pub(super) streams: BTreeMap<(usize, i32, CUcontext), CUstream>,
    /// The end of the last launch: the next one comes after it.
    pub(super) last: Option<OpId>,
    /// Nodes were changed since then.
    pub(super) changed: bool,
}

/// The action at one point of an executable graph.
#[derive(Clone, Debug)]
pub(super) struct GraphStep {
    /// The node that this step is made from.
    pub(super) origin: CUgraphNode,
    pub(super) role: Role,
    /// The steps that come before, by position.
    pub(super) dependencies: Vec<usize>,
    /// Steps of one branch follow each other.
    pub(super) branch: usize,
    /// The context of the branch, if any of its steps needs one of its own.
    pub(super) context: Option<CUcontext>,
    /// Whether no other step comes after.
    pub(super) last: bool,
    /// `cuGraphNodeSetEnabled`.
    pub(super) enabled: bool,
}

/// A node, or one of the two ends of an embedded graph.
#[derive(Clone, Debug)]
pub(super) enum Role {
    Node(Action),
    /// Before all nodes of an embedded graph.
    ChildBegin,
    /// After all nodes of an embedded graph.
    ChildEnd,
}

impl Executable {
    /// Instantiates a graph.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` when there is no such graph, or it has a cycle.
    pub(super) fn new(graphs: &Graphs, graph: CUgraph, flags: u64) -> Result<Self, CudaError> {
        Ok(Self {
            flags,
            steps: flatten(graphs, graph)?,
            streams: BTreeMap::new(),
            last: None,
            changed: false,
        })
    }

    /// Whether a launch first frees what the last one has left.
    pub(super) fn frees_on_launch(&self) -> bool {
        self.flags & AUTO_FREE_ON_LAUNCH != 0
    }

    /// The addresses that its nodes allocate.
    pub(super) fn allocations(&self) -> Vec<CUdeviceptr> {
        let steps = self.steps.iter();
        let addresses = steps.filter_map(|step| match &step.role {
            Role::Node(Action::Allocate(memory)) => Some(memory.address),
            _ => None,
        });
        addresses.collect()
    }

    /// How many branches the steps are cut into.
    pub(super) fn branches(&self) -> usize {
        let last = self.steps.iter().map(|step| step.branch).max();
        last.map_or(0, |last| last + 1)
    }

    /// How many steps nothing comes after.
    pub(super) fn ends(&self) -> usize {
        self.steps.iter().filter(|step| step.last).count()
    }

    /// The step that is made from a node.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` when the node is not of the graph that was instantiated.
    pub(super) fn step_mut(&mut self, origin: CUgraphNode) -> Result<&mut GraphStep, CudaError> {
        self.steps
            .iter_mut()
            .find(|step| step.origin == origin)
            .ok_or(CudaError::InvalidValue)
    }
}

impl Role {
    pub(super) fn node_type(&self) -> NodeType {
        match self {
            Self::Node(action) => action.node_type(),
            Self::ChildBegin | Self::ChildEnd => NodeType::Graph,
        }
    }
}

/// The steps of a graph. Equal graphs give equal steps in the same order; handles play no part.
pub(super) fn flatten(graphs: &Graphs, graph: CUgraph) -> Result<Vec<GraphStep>, CudaError> {
    let mut steps = Vec::new();
    flatten_after(graphs, graph, &[], &mut steps)?;
    let mut branches = Branches::default();
    for step in &mut steps {
        let context = match &step.role {
            Role::Node(action) => action.context(),
            Role::ChildBegin | Role::ChildEnd => None,
        };
        step.branch = branches.choose(&step.dependencies, context);
    }
    for step in &mut steps {
        step.context = branches.context(step.branch);
    }
    Ok(steps)
}

/// Appends the steps of `graph`, of which the roots come after `before`, and returns those that nothing comes after.
fn flatten_after(
    graphs: &Graphs,
    graph: CUgraph,
    before: &[usize],
    steps: &mut Vec<GraphStep>,
) -> Result<Vec<usize>, CudaError> {
    let order = graphs.topological(graph)?.ok_or(CudaError::InvalidValue)?;
    let mut positions = BTreeMap::new();
    let mut leaves = Vec::new();
    for handle in order {
        let node = graphs.node(handle)?;
        let mut dependencies: Vec<_> = node
            .dependencies
            .iter()
            .filter_map(|dependency| positions.get(dependency).copied())
            .collect();
        if dependencies.is_empty() {
            dependencies = before.to_vec();
        }
        let role = match &node.action {
            Action::Child(child) => {
                let begin = push(steps, handle, Role::ChildBegin, dependencies);
                dependencies = flatten_after(graphs, *child, &[begin], steps)?;
                if dependencies.is_empty() {
                    dependencies.push(begin);
                }
                Role::ChildEnd
            }
            action => Role::Node(action.clone()),
        };
        let position = push(steps, handle, role, dependencies);
        positions.insert(handle, position);
        if node.dependents.is_empty() {
            leaves.push(position);
        }
    }
    Ok(leaves)
}

fn push(
    steps: &mut Vec<GraphStep>,
    origin: CUgraphNode,
    role: Role,
    dependencies: Vec<usize>,
) -> usize {
    for dependency in &dependencies {
        steps[*dependency].last = false;
    }
    steps.push(GraphStep {
        origin,
        role,
        dependencies,
        branch: 0,
        context: None,
        last: true,
        enabled: true,
    });
    steps.len() - 1
}
