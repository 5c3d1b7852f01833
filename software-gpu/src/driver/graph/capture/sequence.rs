//! Capture sequences: which streams and events take part in which.

use std::collections::BTreeMap;

use crate::driver::abi::{
    CUdeviceptr, CUevent, CUgraph, CUgraphExec, CUgraphNode, CUmemoryPool, CUstream,
};
use crate::driver::errors::CudaError;
use crate::driver::graph::node::Action;
use crate::driver::operation::Effect;
use crate::driver::simulator::Simulator;

/// One capture sequence, by the number that `cuStreamGetCaptureInfo` returns.
pub(super) type CaptureId = u64;

/// The capture sequences of the process.
#[derive(Debug, Default)]
pub(in crate::driver) struct Captures {
    /// The streams that are capturing.
    pub(super) streams: BTreeMap<CUstream, CapturingStream>,
    /// The events that were last recorded in a capturing stream.
    pub(super) events: BTreeMap<CUevent, CapturedEvent>,
    pub(super) sequences: BTreeMap<CaptureId, Sequence>,
}

#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) graph: CUgraph,
}

/// A stream that takes part in a capture.
#[derive(Debug)]
pub(super) struct CapturingStream {
    pub(super) capture: CaptureId,
    /// What the stream's next node comes after.
    pub(super) dependencies: Vec<CUgraphNode>,
}

/// An event that stands for nodes.
#[derive(Debug)]
pub(super) struct CapturedEvent {
    pub(super) capture: CaptureId,
    pub(super) nodes: Vec<CUgraphNode>,
}

impl Captures {
    /// The event was recorded outside of captures, or destroyed.
    pub(in crate::driver) fn forget_event(&mut self, event: CUevent) {
        self.events.remove(&event);
    }
}

impl Simulator {
    /// Whether work given to the stream becomes nodes of a graph.
    pub(in crate::driver) fn is_capturing(&self, stream: CUstream) -> bool {
        self.captures.streams.contains_key(&stream)
    }

    /// Whether a wait of the stream for the event has to do with a capture.
    pub(in crate::driver) fn is_captured(&self, stream: CUstream, event: CUevent) -> bool {
        self.is_capturing(stream) || self.captures.events.contains_key(&event)
    }

    /// Work given to a capturing stream becomes a node.
    pub(in crate::driver) fn capture(
        &mut self,
        stream: CUstream,
        effect: Effect,
    ) -> Result<(), CudaError> {
        let context = self.streams.get(stream)?.context;
        let action = Action::from_effect(effect, context)?;
        self.capture_node(stream, action)
    }

    /// `cuMemAllocAsync` in a capturing stream.
    pub(in crate::driver) fn capture_allocation(
        &mut self,
        _pool: CUmemoryPool,
        _bytes: usize,
        _stream: CUstream,
    ) -> Result<CUdeviceptr, CudaError> {
        eprintln!("software GPU: cuMemAllocAsync: capturing allocations is not supported");
        Err(CudaError::NotSupported)
    }

    /// Appends a node to what the stream has captured.
    pub(super) fn capture_node(
        &mut self,
        stream: CUstream,
        action: Action,
    ) -> Result<(), CudaError> {
        let Captures {
            streams, sequences, ..
        } = &mut self.captures;
        let state = streams.get_mut(&stream).ok_or(CudaError::IllegalState)?;
        let sequence = sequences
            .get(&state.capture)
            .ok_or(CudaError::StreamCaptureInvalidated)?;
        let node = self
            .graphs
            .add(sequence.graph, &state.dependencies, action)?;
        state.dependencies = vec![node];
        Ok(())
    }

    pub(in crate::driver) fn capture_record(
        &mut self,
        _stream: CUstream,
        _event: CUevent,
        _flags: u32,
    ) -> Result<(), CudaError> {
        Err(CudaError::StreamCaptureUnsupported)
    }

    pub(in crate::driver) fn capture_wait(
        &mut self,
        _stream: CUstream,
        _event: CUevent,
        _flags: u32,
    ) -> Result<(), CudaError> {
        Err(CudaError::StreamCaptureUnsupported)
    }

    pub(in crate::driver) fn capture_launch(
        &mut self,
        _stream: CUstream,
        _exec: CUgraphExec,
    ) -> Result<(), CudaError> {
        Err(CudaError::StreamCaptureUnsupported)
    }
}
