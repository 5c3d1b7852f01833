//! Capturing what is enqueued in streams into a graph, and launching it as often as one likes.

use crate::kernel::{Kernel, KernelArguments, Signature};
use crate::result::ToResult;
use cust::error::{CudaError, CudaResult};
use cust::function::{BlockSize, GridSize};
use cust::stream::Stream;
use cust::sys::{self, CUgraph, CUgraphExec, CUgraphNode, CUstreamCaptureMode};
use std::ptr::{null, null_mut};

/// Begins to capture (`cuStreamBeginCapture`, thread-local mode): what is enqueued in `stream` from now on, and in streams that
/// wait for it, becomes nodes of a graph and does not run.
pub fn begin(stream: &Stream) -> CudaResult<()> {
    begin_in(stream, CaptureMode::ThreadLocal)
}

/// As [`begin`], in another mode.
pub fn begin_in(stream: &Stream, mode: CaptureMode) -> CudaResult<()> {
    // SAFETY: the handle lives.
    unsafe { sys::cuStreamBeginCapture_v2(stream.as_inner(), mode.raw()) }.to_result()
}

/// Which calls are refused while a stream captures (`CUstreamCaptureMode`). It is about calls that may disturb a capture, such as
/// an allocation: the driver refuses them, and the capture is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// The calls of every thread.
    Global,
    /// The calls of the thread that began the capture.
    ThreadLocal,
    /// None of them.
    Relaxed,
}

impl CaptureMode {
    fn raw(self) -> CUstreamCaptureMode {
        match self {
            Self::Global => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            Self::ThreadLocal => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            Self::Relaxed => CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }
}

/// Ends the capture that [`begin`] began (`cuStreamEndCapture`). Streams that were drawn in must have been joined.
pub fn end(stream: &Stream) -> CudaResult<Graph> {
    let mut graph = null_mut();
    // SAFETY: the handle lives, and `graph` outlives the call.
    unsafe { sys::cuStreamEndCapture(stream.as_inner(), &mut graph) }.to_result()?;
    Ok(Graph(graph))
}

/// The node that was captured last in `stream` (`cuStreamGetCaptureInfo`): the one that its next operation will wait for.
///
/// # Errors
/// [`CudaError::InvalidValue`] when nothing is being captured, or when the next operation will wait for several nodes or none.
pub fn latest_node(stream: &Stream) -> CudaResult<Node> {
    let (mut status, mut id, mut graph) = (
        sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
        0,
        null_mut(),
    );
    let (mut nodes, mut count) = (null(), 0);
    // SAFETY: the handle lives, and the places outlive the call. A stream that does not capture leaves `count` at 0.
    unsafe {
        sys::cuStreamGetCaptureInfo_v2(
            stream.as_inner(),
            &mut status,
            &mut id,
            &mut graph,
            &mut nodes,
            &mut count,
        )
    }
    .to_result()?;
    if count != 1 || nodes.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: the driver has stored the address of `count` nodes, which live as long as the capture continues.
    Ok(Node(unsafe { *nodes }))
}

/// An operation of a graph. It means something as long as its graph lives, and in calls about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node(CUgraphNode);

/// A graph of operations.
#[derive(Debug)]
pub struct Graph(CUgraph);

impl Graph {
    /// Makes the graph ready to launch (`cuGraphInstantiate`).
    pub fn instantiate(&self) -> CudaResult<GraphExec> {
        let mut exec = null_mut();
        // SAFETY: the graph lives; without a log there are no nodes to name.
        unsafe { sys::cuGraphInstantiate_v2(&mut exec, self.0, null_mut(), null_mut(), 0) }
            .to_result()?;
        Ok(GraphExec(exec))
    }

    /// The number of nodes (`cuGraphGetNodes`).
    pub fn nodes(&self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the graph lives; a null array asks for the count.
        unsafe { sys::cuGraphGetNodes(self.0, null_mut(), &mut count) }.to_result()?;
        Ok(count)
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUgraph {
        self.0
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: this value owns the graph; an instance of it lives on.
        unsafe { sys::cuGraphDestroy(self.0) };
    }
}

/// A graph that can be launched.
#[derive(Debug)]
pub struct GraphExec(CUgraphExec);

impl GraphExec {
    /// Enqueues the whole graph in a stream (`cuGraphLaunch`).
    ///
    /// # Safety
    /// What the graph's operations touch lives, and is accessed by nothing else, until the stream has executed it.
    pub unsafe fn launch(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both handles live; the rest is the caller's promise.
        unsafe { sys::cuGraphLaunch(self.0, stream.as_inner()) }.to_result()
    }

    /// Sets the instance's parameters to those of `graph`, which has the same nodes and edges (`cuGraphExecUpdate`). Launches that
    /// were enqueued before keep theirs.
    pub fn update(&self, graph: &Graph) -> CudaResult<()> {
        let (mut node, mut result) = (
            null_mut(),
            sys::CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS,
        );
        // SAFETY: both handles live, and the places outlive the call.
        unsafe { sys::cuGraphExecUpdate(self.0, graph.0, &mut node, &mut result) }.to_result()
    }

    /// Gives a kernel's node other extents and arguments in this instance (`cuGraphExecKernelNodeSetParams`). Launches that
    /// were enqueued before keep theirs.
    ///
    /// # Errors
    /// The node is not a kernel node of the graph that this is an instance of.
    ///
    /// # Safety
    /// The graph of the node lives. The arguments meet the demands of [`Kernel::launch`], for each later launch of the graph.
    pub unsafe fn set_kernel<S: Signature, A: KernelArguments<S::Parameters>>(
        &self,
        node: Node,
        kernel: &Kernel<S>,
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        shared_bytes: u32,
        arguments: A,
    ) -> CudaResult<()> {
        let (grid, block) = (grid.into(), block.into());
        arguments.with_pointers(|pointers| {
            let parameters = sys::CUDA_KERNEL_NODE_PARAMS {
                func: kernel.raw(),
                gridDimX: grid.x,
                gridDimY: grid.y,
                gridDimZ: grid.z,
                blockDimX: block.x,
                blockDimY: block.y,
                blockDimZ: block.z,
                sharedMemBytes: shared_bytes,
                kernelParams: pointers.as_ptr().cast_mut(),
                extra: null_mut(),
            };
            // SAFETY: the handles live; a pointer for each parameter, which the driver copies; the rest is the caller's.
            unsafe { sys::cuGraphExecKernelNodeSetParams(self.0, node.0, &parameters) }.to_result()
        })
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUgraphExec {
        self.0
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: this value owns the instance; the driver lets launches finish.
        unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}
