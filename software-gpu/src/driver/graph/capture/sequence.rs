//! Capture sequences: which streams and events take part in which, and what they have captured.

use std::collections::{BTreeMap, BTreeSet};

use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{
    CUcontext, CUdeviceptr, CUevent, CUgraph, CUgraphNode, CUstream,
};
use crate::driver::graph::node::Action;
use crate::driver::graph::params::EdgeData;
use crate::driver::reasons::Caller;
use crate::driver::simulation::operation::Effect;
use crate::driver::simulation::simulator::Simulator;

/// One capture sequence, by the number that `cuStreamGetCaptureInfo` returns.
pub(super) type CaptureId = u64;

/// The capture sequences of the process.
#[derive(Debug, Default)]
pub(in crate::driver) struct Captures {
    pub(super) given: CaptureId,
    /// The streams that are capturing.
    pub(super) streams: BTreeMap<CUstream, CapturingStream>,
    /// The events that were last recorded in a capturing stream.
    pub(super) events: BTreeMap<CUevent, CapturedEvent>,
    /// The sequences that have begun and not ended.
    pub(super) sequences: BTreeMap<CaptureId, Sequence>,
}

/// `CUstreamCaptureMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaptureMode {
    Global,
    ThreadLocal,
    Relaxed,
}

/// From the begin of a capture to its end.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) graph: CUgraph,
    /// The graph is the program's: `cuStreamBeginCaptureToGraph`.
    pub(super) into_given: bool,
    /// The stream in which the capture began and has to end.
    pub(super) origin: CUstream,
    pub(super) context: CUcontext,
    pub(super) mode: CaptureMode,
    /// Who began it.
    pub(super) began: Caller,
    /// A prohibited call has spoiled it.
    pub(super) invalidated: Option<Caller>,
    /// What destroyed streams of the capture have left behind.
    pub(super) abandoned: Vec<CUgraphNode>,
}

/// A stream that takes part in a capture.
#[derive(Debug)]
pub(super) struct CapturingStream {
    pub(super) capture: CaptureId,
    /// What the stream's next node comes after.
    pub(super) dependencies: Vec<CUgraphNode>,
    /// The data of these edges, for `cuStreamGetCaptureInfo`.
    pub(super) edges: Vec<EdgeData>,
}

/// An event that stands for nodes.
#[derive(Debug)]
pub(super) struct CapturedEvent {
    pub(super) capture: CaptureId,
    pub(super) nodes: Vec<CUgraphNode>,
}

/// A capture in an error's sentence.
pub(in crate::driver) struct Capture<'a> {
    pub(in crate::driver) origin: CUstream,
    pub(in crate::driver) began: &'a Caller,
    pub(in crate::driver) mode: &'static str,
}

impl Sequence {
    pub(super) fn in_a_sentence(&self) -> Capture<'_> {
        Capture {
            origin: self.origin,
            began: &self.began,
            mode: match self.mode {
                CaptureMode::Global => "global",
                CaptureMode::ThreadLocal => "thread-local",
                CaptureMode::Relaxed => "relaxed",
            },
        }
    }
}

impl CapturingStream {
    pub(super) fn new(capture: CaptureId, dependencies: Vec<CUgraphNode>) -> Self {
        Self {
            capture,
            dependencies,
            edges: Vec::new(),
        }
    }

    /// The stream's next node also comes after `nodes`.
    pub(super) fn join(&mut self, nodes: &[CUgraphNode]) {
        for node in nodes {
            if !self.dependencies.contains(node) {
                self.dependencies.push(*node);
            }
        }
    }
}

impl Captures {
    /// The event was recorded outside of captures, or destroyed.
    pub(in crate::driver) fn forget_event(&mut self, event: CUevent) {
        self.events.remove(&event);
    }

    /// The capture that an event was recorded in, if it continues and is valid.
    pub(super) fn live(&self, capture: CaptureId) -> bool {
        let sequence = self.sequences.get(&capture);
        sequence.is_some_and(|sequence| sequence.invalidated.is_none())
    }

    /// The sequence of a capturing stream.
    pub(super) fn of_stream(&self, stream: CUstream) -> Option<(CaptureId, &Sequence)> {
        let capture = self.streams.get(&stream)?.capture;
        self.sequences.get(&capture).map(|found| (capture, found))
    }

    pub(super) fn invalidate(&mut self, spoiled: impl Fn(CaptureId, &Sequence) -> bool) {
        for (id, sequence) in &mut self.sequences {
            if spoiled(*id, sequence) {
                sequence.invalidated.get_or_insert_with(Caller::here);
            }
        }
    }

    /// Ends a sequence: its streams are streams again.
    pub(super) fn end(&mut self, capture: CaptureId) -> Option<Sequence> {
        self.streams.retain(|_, stream| stream.capture != capture);
        self.sequences.remove(&capture)
    }
}

impl Simulator {
    /// Whether work given to the stream becomes nodes of a graph.
    pub(in crate::driver) fn is_capturing(&self, stream: CUstream) -> bool {
        self.captures.streams.contains_key(&stream)
    }

    /// Work given to a capturing stream becomes a node.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED` for work that no node can stand for, which also spoils the capture;
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` in a capture that was spoiled before.
    pub(in crate::driver) fn capture(
        &mut self,
        stream: CUstream,
        mut effect: Effect,
    ) -> Result<(), CudaError> {
        let context = self.streams.get(stream)?.context;
        if let Effect::Copy(copy) = &mut effect {
            copy.node = Some(self.node_origin());
        }
        match Action::from_effect(effect, context) {
            Ok(action) => self.capture_node(stream, action).map(|_| ()),
            Err(error) => Err(self.spoil(stream, error)),
        }
    }

    /// Appends a node to what the stream has captured.
    pub(super) fn capture_node(
        &mut self,
        stream: CUstream,
        action: Action,
    ) -> Result<CUgraphNode, CudaError> {
        self.captured_validly(stream)?;
        let (_, sequence) = self
            .captures
            .of_stream(stream)
            .ok_or(CudaError::IllegalState)?;
        let graph = sequence.graph;
        let state = self.captures.streams.get_mut(&stream);
        let state = state.ok_or(CudaError::IllegalState)?;
        let node = self.graphs.add(graph, &state.dependencies, action)?;
        state.dependencies = vec![node];
        Ok(node)
    }

    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` for a stream whose capture was spoiled.
    pub(super) fn captured_validly(&self, stream: CUstream) -> Result<(), CudaError> {
        let sequence = self
            .captures
            .of_stream(stream)
            .map(|(_, sequence)| sequence);
        let broken =
            sequence.and_then(|sequence| Some((sequence.origin, sequence.invalidated.as_ref()?)));
        broken.map_or(Ok(()), |(origin, by)| {
            Err(self.because_invalidated(origin, by))
        })
    }

    /// Spoils the capture of a stream and returns the error that says why; or that it was spoiled before.
    pub(super) fn spoil(&mut self, stream: CUstream, error: CudaError) -> CudaError {
        let Some((capture, sequence)) = self.captures.of_stream(stream) else {
            return error;
        };
        if let Some(by) = &sequence.invalidated {
            return self.because_invalidated(sequence.origin, by);
        }
        self.captures.invalidate(|id, _| id == capture);
        error
    }

    /// `cuGraphLaunch` and `cuGraphUpload` in a capturing stream.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`: an executable graph cannot become a node.
    pub(in crate::driver) fn refuse_in_capture(
        &mut self,
        stream: CUstream,
    ) -> Result<(), CudaError> {
        if self.is_capturing(stream) {
            let error = self.spoil(stream, CudaError::StreamCaptureUnsupported);
            return Err(match error {
                CudaError::StreamCaptureUnsupported => self.because_no_node_can(
                    stream,
                    "an executable graph cannot become a node of another graph",
                ),
                error => error,
            });
        }
        Ok(())
    }

    /// `cuMemAllocAsync` in a capturing stream.
    pub(in crate::driver) fn capture_allocation(
        &mut self,
        device: usize,
        bytes: usize,
        stream: CUstream,
    ) -> Result<CUdeviceptr, CudaError> {
        self.captured_validly(stream)?;
        let (_, sequence) = self
            .captures
            .of_stream(stream)
            .ok_or(CudaError::IllegalState)?;
        let action = self.reserve_for_graph(sequence.graph, device, bytes)?;
        let address = match &action {
            Action::Allocate(memory) => memory.address,
            _ => return Err(CudaError::IllegalState),
        };
        self.capture_node(stream, action).map(|_| address)
    }

    /// `cuMemFreeAsync` in a capturing stream.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for memory that does not belong to a graph; the capture stays valid.
    pub(in crate::driver) fn capture_free(
        &mut self,
        address: CUdeviceptr,
        stream: CUstream,
    ) -> Result<(), CudaError> {
        self.captured_validly(stream)?;
        let (_, sequence) = self
            .captures
            .of_stream(stream)
            .ok_or(CudaError::IllegalState)?;
        let graph = sequence.graph;
        let action = self.graphs.memory.add_free(graph, address)?;
        self.capture_node(stream, action).map(|_| ())
    }

    /// A stream is destroyed: with the stream that it began in, a capture is lost; another stream leaves work behind that must have been
    /// joined.
    pub(in crate::driver) fn capture_stream_destroyed(&mut self, stream: CUstream) {
        let Some(state) = self.captures.streams.remove(&stream) else {
            return;
        };
        let Some(sequence) = self.captures.sequences.get_mut(&state.capture) else {
            return;
        };
        if sequence.origin != stream {
            sequence.abandoned.extend(state.dependencies);
        } else if let Some(lost) = self.captures.end(state.capture)
            && !lost.into_given
        {
            // The program may have destroyed the graph already.
            let _ = self.graphs.destroy(lost.graph);
        }
    }

    /// A context is destroyed, and its streams with it.
    pub(in crate::driver) fn end_captures_of(&mut self, context: CUcontext) {
        let sequences = self.captures.sequences.iter();
        let of_context = sequences.filter(|(_, sequence)| sequence.context == context);
        let origins: Vec<_> = of_context.map(|(_, sequence)| sequence.origin).collect();
        for origin in origins {
            self.capture_stream_destroyed(origin);
        }
    }

    /// The streams that have captured something that does not come before what `origin` has captured; `None` for those that
    /// are destroyed.
    pub(super) fn unjoined_work(&self, capture: CaptureId) -> Vec<Option<CUstream>> {
        let Some(sequence) = self.captures.sequences.get(&capture) else {
            return Vec::new();
        };
        let mut joined = BTreeSet::new();
        let origin = self.captures.streams.get(&sequence.origin);
        let mut open: Vec<_> = origin.map_or(Vec::new(), |state| state.dependencies.clone());
        while let Some(node) = open.pop() {
            if joined.insert(node)
                && let Ok(node) = self.graphs.node(node)
            {
                open.extend(&node.dependencies);
            }
        }
        let forked = self.captures.streams.iter();
        let forked = forked
            .filter(|(handle, state)| state.capture == capture && **handle != sequence.origin);
        let is_left = |nodes: &[CUgraphNode]| nodes.iter().any(|node| !joined.contains(node));
        let left = forked.filter(|(_, state)| is_left(&state.dependencies));
        let left = left.map(|(handle, _)| Some(*handle));
        left.chain(is_left(&sequence.abandoned).then_some(None))
            .collect()
    }
}
