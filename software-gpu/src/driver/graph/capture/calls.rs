//! Beginning and ending a capture, and asking about it.

use std::ffi::c_uint;

use super::sequence::{CaptureId, CaptureMode, CapturingStream, Sequence};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUgraph, CUgraphNode, CUstream, Out};
use crate::driver::graph::arrays;
use crate::driver::graph::params::EdgeData;
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::host::threads::current;
use crate::driver::reasons::Caller;
use crate::driver::streams::stream::NullStream;

/// `CUstreamCaptureStatus`.
const NONE: c_uint = 0;
pub(super) const ACTIVE: c_uint = 1;
const INVALIDATED: c_uint = 2;

type Nodes = *const CUgraphNode;

entry_points! {
    fn cuStreamBeginCapture | cuStreamBeginCapture_ptsz as null (stream: CUstream) {
        begin(null, stream, 0, None)
    }

    fn cuStreamBeginCapture_v2 | cuStreamBeginCapture_v2_ptsz as null (stream: CUstream, mode: c_uint) {
        begin(null, stream, mode, None)
    }

    fn cuStreamBeginCaptureToGraph | cuStreamBeginCaptureToGraph_ptsz as null (
        stream: CUstream, graph: CUgraph, dependencies: Nodes, data: *const EdgeData, count: usize, mode: c_uint,
    ) {
        // SAFETY: the caller passes null or as many dependencies as it says.
        unsafe { begin_to_graph(null, stream, graph, dependencies, data, count, mode) }
    }

    fn cuStreamEndCapture | cuStreamEndCapture_ptsz as null (stream: CUstream, graph: Out<CUgraph>) {
        end(null, stream, graph)
    }

    fn cuStreamIsCapturing | cuStreamIsCapturing_ptsz as null (stream: CUstream, status: Out<c_uint>) {
        is_capturing(null, stream, status)
    }
}

/// The graph that a capture goes into, and what its first node comes after.
type Given = (CUgraph, Vec<CUgraphNode>);

fn begin(
    null: NullStream,
    stream: CUstream,
    mode: c_uint,
    given: Option<Given>,
) -> Result<(), CudaError> {
    call(Cost::Other, |call| {
        let stream = call.stream(stream, null)?;
        let mode = CaptureMode::from_number(mode)?;
        if let Some((_, sequence)) = call.captures.of_stream(stream) {
            return Err(call.because_capturing_already(&sequence.in_a_sentence()));
        }
        let context = call.streams.get(stream)?.context;
        call.implies_no_capture(stream)?;
        if stream == call.contexts.get(context)?.legacy {
            return Err(call.because_legacy());
        }
        let into_given = given.is_some();
        let (graph, dependencies) = match given {
            Some((graph, dependencies)) => {
                call.graphs.check_dependencies(graph, &dependencies)?;
                (graph, dependencies)
            }
            None => (call.graphs.create(), Vec::new()),
        };
        call.captures.given += 1;
        let capture = call.captures.given;
        let sequence = Sequence {
            graph,
            into_given,
            origin: stream,
            context,
            mode,
            began: Caller::here(),
            invalidated: None,
            abandoned: Vec::new(),
        };
        call.captures.sequences.insert(capture, sequence);
        let state = CapturingStream::new(capture, dependencies);
        call.captures.streams.insert(stream, state);
        Ok(())
    })
}

/// # Safety
/// The arrays are null or have `count` elements.
unsafe fn begin_to_graph(
    null: NullStream,
    stream: CUstream,
    graph: CUgraph,
    dependencies: Nodes,
    data: *const EdgeData,
    count: usize,
    mode: c_uint,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise.
    let dependencies = unsafe {
        arrays::full_edges("cuStreamBeginCaptureToGraph", data, count)?;
        arrays::input(dependencies, count)
    }?;
    begin(null, stream, mode, Some((graph, dependencies.to_vec())))
}

/// Ends the capture, whatever it returns; except that of another stream, which is spoiled.
fn end(null: NullStream, stream: CUstream, graph: Out<CUgraph>) -> Result<(), CudaError> {
    graph.set_if_wanted(CUgraph(0));
    call(Cost::Other, |call| {
        let stream = call.stream(stream, null)?;
        let Some((capture, sequence)) = call.captures.of_stream(stream) else {
            return Err(call.because_not_capturing(stream));
        };
        if sequence.origin != stream {
            let error = call.because_unmatched(stream, &sequence.in_a_sentence());
            return Err(call.spoil(stream, error));
        }
        let verdict = call.may_end(capture, sequence);
        let ended = call.captures.end(capture).ok_or(CudaError::IllegalState)?;
        if verdict.is_ok() {
            graph.set_if_wanted(ended.graph);
        } else if !ended.into_given {
            // The program may have destroyed the graph already.
            let _ = call.graphs.destroy(ended.graph);
        }
        verdict
    })
}

fn is_capturing(null: NullStream, stream: CUstream, status: Out<c_uint>) -> Result<(), CudaError> {
    let status = status.required()?;
    call(Cost::Free, |call| {
        let stream = call.stream(stream, null)?;
        status.set(call.capture_status(stream)?)
    })
}

impl Call {
    /// Whether the calling thread may end the capture, and the capture gives a graph.
    fn may_end(&self, capture: CaptureId, sequence: &Sequence) -> Result<(), CudaError> {
        let foreign =
            sequence.began.thread != current::serial() && sequence.mode != CaptureMode::Relaxed;
        if foreign {
            return Err(self.because_of_thread(&sequence.in_a_sentence()));
        }
        if let Some(by) = &sequence.invalidated {
            return Err(self.because_invalidated(sequence.origin, by));
        }
        match &self.unjoined_work(capture)[..] {
            [] => Ok(()),
            left => Err(self.because_unjoined(sequence.origin, left)),
        }
    }

    /// `CUstreamCaptureStatus` of a stream.
    ///
    /// # Errors
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT` for the legacy stream while a blocking stream is capturing; nothing is
    /// spoiled.
    pub(super) fn capture_status(&self, stream: CUstream) -> Result<c_uint, CudaError> {
        self.implies_no_capture(stream)?;
        Ok(match self.captures.of_stream(stream) {
            None => NONE,
            Some((_, sequence)) if sequence.invalidated.is_some() => INVALIDATED,
            Some(_) => ACTIVE,
        })
    }
}
