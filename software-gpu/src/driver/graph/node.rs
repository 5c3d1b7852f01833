//! A node of a graph, and what it does when the graph runs.

use std::ffi::{c_uint, c_void};

use super::memory::Allocation;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUcontext, CUevent, CUgraph, CUgraphNode};
use crate::driver::launch::kernel::Launch;
use crate::driver::memory::pools::StreamOrdered;
use crate::driver::simulation::operation::{Callback, Copy, Effect, Set};

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) graph: CUgraph,
    pub(super) action: Action,
    /// The nodes that this one comes after, in the order in which the edges were added.
    pub(super) dependencies: Vec<CUgraphNode>,
    /// The nodes that come after this one, likewise.
    pub(super) dependents: Vec<CUgraphNode>,
}

impl Node {
    pub(super) fn new(graph: CUgraph, action: Action) -> Self {
        Self {
            graph,
            action,
            dependencies: Vec::new(),
            dependents: Vec::new(),
        }
    }
}

/// The action of a node.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Kernel(Box<KernelNode>),
    /// A copy, in a context.
    Copy(CUcontext, Box<Copy>),
    /// A memset, in a context.
    Set(CUcontext, Set),
    Host(Callback),
    /// The event is recorded when the node's turn comes.
    Record(CUevent),
    /// The node waits for what the event stands for when the graph is launched.
    Wait(CUevent),
    Empty,
    Allocate(Allocation),
    Free(Allocation),
    /// The graph embedded in the node, which owns it.
    Child(CUgraph),
}

/// The node types of `CUgraphNodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum NodeType {
    Kernel = 0,
    Memcpy = 1,
    Memset = 2,
    Host = 3,
    Graph = 4,
    Empty = 5,
    WaitEvent = 6,
    EventRecord = 7,
    MemAlloc = 10,
    MemFree = 11,
}

impl NodeType {
    pub(super) fn number(self) -> c_uint {
        self as c_uint
    }
}

impl Action {
    pub(super) fn node_type(&self) -> NodeType {
        match self {
            Self::Kernel(_) => NodeType::Kernel,
            Self::Copy(..) => NodeType::Memcpy,
            Self::Set(..) => NodeType::Memset,
            Self::Host(_) => NodeType::Host,
            Self::Child(_) => NodeType::Graph,
            Self::Empty => NodeType::Empty,
            Self::Wait(_) => NodeType::WaitEvent,
            Self::Record(_) => NodeType::EventRecord,
            Self::Allocate(_) => NodeType::MemAlloc,
            Self::Free(_) => NodeType::MemFree,
        }
    }

    /// The context that the node runs in, if it needs one of its own.
    pub(super) fn context(&self) -> Option<CUcontext> {
        match self {
            Self::Kernel(kernel) => Some(kernel.context),
            Self::Copy(context, _) | Self::Set(context, _) => Some(*context),
            _ => None,
        }
    }

    /// What a stream is given at each launch of the graph.
    pub(super) fn effect(&self) -> Effect {
        match self {
            Self::Kernel(kernel) => Effect::Kernel(Box::new(kernel.launch.clone())),
            Self::Copy(_, copy) => Effect::Copy((**copy).clone()),
            Self::Set(_, set) => Effect::Set(set.clone()),
            Self::Host(callback) => Effect::HostFunction(*callback),
            Self::Record(event) => Effect::Record(*event),
            Self::Allocate(memory) => Effect::Allocate((*memory).into()),
            Self::Free(memory) => Effect::Free((*memory).into()),
            Self::Wait(_) | Self::Empty | Self::Child(_) => Effect::Wait,
        }
    }

    /// The node that stands for work given to a capturing stream of `context`.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for work that no node can stand for.
    pub(super) fn from_effect(effect: Effect, context: CUcontext) -> Result<Self, CudaError> {
        use crate::driver::simulation::operation::CallbackFunction;
        match effect {
            Effect::Kernel(launch) => Ok(Self::Kernel(Box::new(KernelNode::new(context, *launch)))),
            Effect::Copy(copy) => Ok(Self::Copy(context, Box::new(copy))),
            Effect::Set(set) => Ok(Self::Set(context, set)),
            Effect::HostFunction(callback) => match callback.function {
                CallbackFunction::Host(_) => Ok(Self::Host(callback)),
                CallbackFunction::Stream(..) => Err(CudaError::StreamCaptureUnsupported),
            },
            _ => Err(CudaError::StreamCaptureUnsupported),
        }
    }
}

impl From<Allocation> for StreamOrdered {
    fn from(memory: Allocation) -> Self {
        Self {
            address: memory.address,
            bytes: memory.bytes,
            pool: None,
        }
    }
}

/// A kernel and its arguments.
#[derive(Clone)]
pub(super) struct KernelNode {
    pub(super) context: CUcontext,
    pub(super) launch: Launch,
    /// For `cuGraphKernelNodeGetParams`: addresses inside the launch's parameters.
    pointers: Pointers,
}

/// The addresses of arguments, which belong to the node.
struct Pointers(Vec<*mut c_void>);

// SAFETY: the pointers lead into memory of the node that holds them; only the program reads through them.
unsafe impl Send for Pointers {}

impl Clone for Pointers {
    /// The clone's arguments are elsewhere: its pointers are made on demand.
    fn clone(&self) -> Self {
        Self(Vec::new())
    }
}

impl KernelNode {
    pub(super) fn new(context: CUcontext, launch: Launch) -> Self {
        let pointers = Pointers(Vec::new());
        Self {
            context,
            launch,
            pointers,
        }
    }

    /// What `cuGraphKernelNodeGetParams` returns as `kernelParams`: valid until the node is changed.
    pub(super) fn argument_pointers(&mut self) -> *mut *mut c_void {
        if self.pointers.0.is_empty() {
            let start = self.launch.parameters.as_mut_ptr();
            let parameters = self.launch.kernel().parameters().iter();
            self.pointers.0 = parameters
                .map(|parameter| start.wrapping_add(parameter.offset as usize).cast())
                .collect();
        }
        if self.pointers.0.is_empty() {
            std::ptr::null_mut()
        } else {
            self.pointers.0.as_mut_ptr()
        }
    }
}

impl std::fmt::Debug for KernelNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "kernel {}", self.launch.name())
    }
}
