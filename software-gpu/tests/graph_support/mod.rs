//! Graph and capture calls on top of the driver's harness.

use std::ffi::{c_uint, c_void};
use std::ptr::null;

use software_gpu::driver::entry_point;

use crate::driver_support::*;

pub const GLOBAL: c_uint = 0;
pub const RELAXED: c_uint = 2;

/// `CUDA_KERNEL_NODE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KernelParams {
    pub function: Handle,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared_bytes: c_uint,
    pub parameters: *const *const c_void,
    pub extra: *const *const c_void,
    pub kernel: Handle,
    pub context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct SetParams {
    pub to: Address,
    pub pitch: usize,
    pub value: c_uint,
    pub element_bytes: c_uint,
    pub width: usize,
    pub height: usize,
}

impl SetParams {
    pub fn bytes(to: Address, value: u8, width: usize) -> Self {
        Self {
            to,
            pitch: 0,
            value: value.into(),
            element_bytes: 1,
            width,
            height: 1,
        }
    }
}

/// One side of `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct CopySide {
    pub offsets: [usize; 4],
    pub memory_type: c_uint,
    pub host: usize,
    pub device: Address,
    pub array: usize,
    pub reserved: usize,
    pub pitch: usize,
    pub height: usize,
}

impl CopySide {
    pub fn host(pointer: *const u8) -> Self {
        Self {
            memory_type: 1,
            host: pointer as usize,
            ..Self::default()
        }
    }

    pub fn device(address: Address) -> Self {
        Self {
            memory_type: 2,
            device: address,
            ..Self::default()
        }
    }
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct CopyParams {
    pub from: CopySide,
    pub to: CopySide,
    pub extent: [usize; 3],
}

impl CopyParams {
    pub fn row(to: CopySide, from: CopySide, bytes: usize) -> Self {
        Self {
            from,
            to,
            extent: [bytes, 1, 1],
        }
    }
}

pub fn graph() -> Handle {
    let mut graph = 0;
    cu!(cuGraphCreate(&mut graph => *mut Handle, 0 => c_uint)).expect("cuGraphCreate");
    graph
}

pub fn empty_node(graph: Handle, after: &[Handle]) -> Result<Handle, Error> {
    let mut node = 0;
    cu!(cuGraphAddEmptyNode(
        &mut node => *mut Handle, graph => Handle, after.as_ptr() => *const Handle, after.len() => usize,
    ))
    .map(|()| node)
}

pub fn set_node(graph: Handle, after: &[Handle], params: &SetParams) -> Result<Handle, Error> {
    let mut node = 0;
    cu!(cuGraphAddMemsetNode(
        &mut node => *mut Handle, graph => Handle, after.as_ptr() => *const Handle, after.len() => usize,
        params => *const SetParams, 0 => Handle,
    ))
    .map(|()| node)
}

pub fn copy_node(graph: Handle, after: &[Handle], params: &CopyParams) -> Result<Handle, Error> {
    let mut node = 0;
    cu!(cuGraphAddMemcpyNode(
        &mut node => *mut Handle, graph => Handle, after.as_ptr() => *const Handle, after.len() => usize,
        params => *const CopyParams, 0 => Handle,
    ))
    .map(|()| node)
}

pub fn kernel_params(function: Handle, pointers: &[*const c_void]) -> KernelParams {
    KernelParams {
        function,
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        parameters: pointers.as_ptr(),
        extra: null(),
        kernel: 0,
        context: 0,
    }
}

pub fn kernel_node(
    graph: Handle,
    after: &[Handle],
    function: Handle,
    arguments: &[&dyn LaunchArgument],
) -> Result<Handle, Error> {
    let pointers: Vec<_> = arguments
        .iter()
        .map(|argument| (**argument).pointer())
        .collect();
    let params = kernel_params(function, &pointers);
    let mut node = 0;
    cu!(cuGraphAddKernelNode_v2(
        &mut node => *mut Handle, graph => Handle, after.as_ptr() => *const Handle, after.len() => usize,
        &params => *const KernelParams,
    ))
    .map(|()| node)
}

pub fn child_node(graph: Handle, after: &[Handle], child: Handle) -> Result<Handle, Error> {
    let mut node = 0;
    cu!(cuGraphAddChildGraphNode(
        &mut node => *mut Handle, graph => Handle, after.as_ptr() => *const Handle, after.len() => usize,
        child => Handle,
    ))
    .map(|()| node)
}

pub fn event_record_node(graph: Handle, after: &[Handle], event: Handle) -> Result<Handle, Error> {
    let mut node = 0;
    cu!(cuGraphAddEventRecordNode(
        &mut node => *mut Handle, graph => Handle, after.as_ptr() => *const Handle, after.len() => usize,
        event => Handle,
    ))
    .map(|()| node)
}

pub fn event_wait_node(graph: Handle, after: &[Handle], event: Handle) -> Result<Handle, Error> {
    let mut node = 0;
    cu!(cuGraphAddEventWaitNode(
        &mut node => *mut Handle, graph => Handle, after.as_ptr() => *const Handle, after.len() => usize,
        event => Handle,
    ))
    .map(|()| node)
}

pub fn instantiate(graph: Handle) -> Result<Handle, Error> {
    let mut exec = 0;
    cu!(cuGraphInstantiateWithFlags(&mut exec => *mut Handle, graph => Handle, 0 => u64))
        .map(|()| exec)
}

pub fn launch_graph(exec: Handle, stream: Handle) -> Result<(), Error> {
    cu!(cuGraphLaunch(exec => Handle, stream => Handle))
}

/// The nodes that a query with room for 64 of them returns.
pub fn nodes(query: impl Fn(*mut Handle, *mut usize) -> Result<(), Error>) -> Vec<Handle> {
    let (mut nodes, mut count) = ([usize::MAX; 64], 64);
    query(nodes.as_mut_ptr(), &raw mut count).expect("a query of nodes");
    assert!(nodes[count..].iter().all(|node| *node == 0));
    nodes[..count].to_vec()
}

pub fn nodes_of(graph: Handle) -> Vec<Handle> {
    nodes(
        |nodes, count| cu!(cuGraphGetNodes(graph => Handle, nodes => *mut Handle, count => *mut usize)),
    )
}

pub fn begin(stream: Handle, mode: c_uint) -> Result<(), Error> {
    cu!(cuStreamBeginCapture_v2(stream => Handle, mode => c_uint))
}

/// The captured graph; a failed end returns none.
pub fn end(stream: Handle) -> Result<Handle, Error> {
    let mut graph = usize::MAX;
    let ended = cu!(cuStreamEndCapture(stream => Handle, &mut graph => *mut Handle));
    assert_eq!(ended.is_err(), graph == 0);
    ended.map(|()| graph)
}
