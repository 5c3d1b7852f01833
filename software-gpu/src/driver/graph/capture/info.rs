//! Asking about a capture, and changing what its next node comes after.

use std::ffi::c_uint;

use super::calls::ACTIVE;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUgraph, CUgraphNode, CUstream, Out};
use crate::driver::graph::arrays;
use crate::driver::graph::params::EdgeData;
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::streams::stream::NullStream;

/// `CUstreamUpdateCaptureDependencies_flags`.
const ADD: c_uint = 0;
const SET: c_uint = 1;

type Nodes = *const CUgraphNode;

/// What the versions of `cuStreamGetCaptureInfo` return.
struct Info {
    status: Out<c_uint>,
    id: Out<u64>,
    graph: Option<Out<CUgraph>>,
    dependencies: Option<Out<Nodes>>,
    edges: Option<Out<*const EdgeData>>,
    count: Option<Out<usize>>,
}

entry_points! {
    fn cuStreamGetCaptureInfo | cuStreamGetCaptureInfo_ptsz as null (
        stream: CUstream, status: Out<c_uint>, id: Out<u64>,
    ) {
        info(null, stream, Info::short(status, id))
    }

    fn cuStreamGetCaptureInfo_v2 | cuStreamGetCaptureInfo_v2_ptsz as null (
        stream: CUstream, status: Out<c_uint>, id: Out<u64>, graph: Out<CUgraph>, nodes: Out<Nodes>,
        count: Out<usize>,
    ) {
        info(null, stream, Info::long(status, id, graph, nodes, count))
    }

    fn cuStreamGetCaptureInfo_v3 | cuStreamGetCaptureInfo_v3_ptsz as null (
        stream: CUstream, status: Out<c_uint>, id: Out<u64>, graph: Out<CUgraph>, nodes: Out<Nodes>,
        edges: Out<*const EdgeData>, count: Out<usize>,
    ) {
        let edges = Some(edges);
        info(null, stream, Info { edges, ..Info::long(status, id, graph, nodes, count) })
    }

    fn cuStreamUpdateCaptureDependencies | cuStreamUpdateCaptureDependencies_ptsz as null (
        stream: CUstream, nodes: Nodes, count: usize, flags: c_uint,
    ) {
        // SAFETY: the caller passes null or as many nodes as it says.
        unsafe { update(null, stream, nodes, count, flags) }
    }

    fn cuStreamUpdateCaptureDependencies_v2 | cuStreamUpdateCaptureDependencies_v2_ptsz as null (
        stream: CUstream, nodes: Nodes, data: *const EdgeData, count: usize, flags: c_uint,
    ) {
        // SAFETY: as above.
        unsafe {
            arrays::full_edges("cuStreamUpdateCaptureDependencies", data, count)?;
            update(null, stream, nodes, count, flags)
        }
    }
}

impl Info {
    fn short(status: Out<c_uint>, id: Out<u64>) -> Self {
        Self {
            status,
            id,
            graph: None,
            dependencies: None,
            edges: None,
            count: None,
        }
    }

    fn long(
        status: Out<c_uint>,
        id: Out<u64>,
        graph: Out<CUgraph>,
        dependencies: Out<Nodes>,
        count: Out<usize>,
    ) -> Self {
        Self {
            graph: Some(graph),
            dependencies: Some(dependencies),
            count: Some(count),
            ..Self::short(status, id)
        }
    }
}

/// Without a valid capture, only the status means anything: the rest is zero. The arrays are valid until the stream's
/// next call.
fn info(null: NullStream, stream: CUstream, info: Info) -> Result<(), CudaError> {
    let status = info.status.required()?;
    call(Cost::Free, |call| {
        let stream = call.stream(stream, null)?;
        let number = call.capture_status(stream)?;
        status.set(number)?;
        let captures = &mut call.captures;
        let found = captures.of_stream(stream).filter(|_| number == ACTIVE);
        let (id, graph) = found.map_or((0, CUgraph(0)), |(id, sequence)| (id, sequence.graph));
        info.id.set_if_wanted(id);
        let state = captures.streams.get_mut(&stream);
        let (nodes, edges, count) = match state.filter(|_| number == ACTIVE) {
            None => (std::ptr::null(), std::ptr::null(), 0),
            Some(state) => {
                state.edges = vec![EdgeData::default(); state.dependencies.len()];
                let nodes = &state.dependencies;
                (nodes.as_ptr(), state.edges.as_ptr(), nodes.len())
            }
        };
        if let Some(out) = info.graph {
            out.set_if_wanted(graph);
        }
        if let Some(out) = info.dependencies {
            out.set_if_wanted(nodes);
        }
        if let Some(out) = info.edges {
            out.set_if_wanted(edges);
        }
        if let Some(out) = info.count {
            out.set_if_wanted(count);
        }
        Ok(())
    })
}

/// # Safety
/// `nodes` is null or has `count` elements.
unsafe fn update(
    null: NullStream,
    stream: CUstream,
    nodes: Nodes,
    count: usize,
    flags: c_uint,
) -> Result<(), CudaError> {
    // SAFETY: the caller's promise.
    let nodes = unsafe { arrays::input(nodes, count) }?;
    call(Cost::Other, |call| {
        let stream = call.stream(stream, null)?;
        if flags != ADD && flags != SET {
            return Err(CudaError::InvalidValue);
        }
        let (_, sequence) = call
            .captures
            .of_stream(stream)
            .ok_or(CudaError::IllegalState)?;
        let graph = sequence.graph;
        call.captured_validly(stream)?;
        call.graphs.check_dependencies(graph, nodes)?;
        if let Some(state) = call.captures.streams.get_mut(&stream) {
            if flags == SET {
                state.dependencies.clear();
            }
            state.join(nodes);
        }
        Ok(())
    })
}
