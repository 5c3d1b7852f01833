//! Capturing what is enqueued in streams into a graph, and launching it as often as one likes.

use crate::result::ToResult;
use cust::error::CudaResult;
use cust::stream::Stream;
use cust::sys::{self, CUgraph, CUgraphExec, CUstreamCaptureMode};
use std::ptr::null_mut;

/// Begins to capture (`cuStreamBeginCapture`, thread-local mode): what is enqueued in `stream` from now on, and in streams that
/// wait for it, becomes nodes of a graph and does not run.
pub fn begin(stream: &Stream) -> CudaResult<()> {
    let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    // SAFETY: the handle lives.
    unsafe { sys::cuStreamBeginCapture_v2(stream.as_inner(), mode) }.to_result()
}

/// Ends the capture that [`begin`] began (`cuStreamEndCapture`). Streams that were drawn in must have been joined.
pub fn end(stream: &Stream) -> CudaResult<Graph> {
    let mut graph = null_mut();
    // SAFETY: the handle lives, and `graph` outlives the call.
    unsafe { sys::cuStreamEndCapture(stream.as_inner(), &mut graph) }.to_result()?;
    Ok(Graph(graph))
}

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
        // SAFETY: nobody else has the graph; an instance of it lives on.
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
    /// What the graph's operations touch lives, and is touched by nothing else, until the stream has come past it.
    pub unsafe fn launch(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both handles live; the rest is the caller's promise.
        unsafe { sys::cuGraphLaunch(self.0, stream.as_inner()) }.to_result()
    }

    /// The driver's handle.
    pub fn raw(&self) -> CUgraphExec {
        self.0
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: nobody else has the instance; the driver lets launches finish.
        unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}
