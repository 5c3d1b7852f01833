//! What single operations become in a captured graph, and captures into a graph that exists.

use std::ptr::null;

use super::graph_launches::instantiate;
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, ok, rule, same};

const FAMILY: &str = "capture_nodes";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        operations_have_their_types,
        "cuStreamBeginCapture",
        "A kernel, a copy, a memset and a host function become nodes of these types, in this order."
    ),
    rule!(
        event_records_become_no_nodes,
        "cuEventRecord",
        "Recording an event and waiting for it in a capture leaves no node, only edges."
    ),
    rule!(
        kernel_node_keeps_the_shape,
        "cuGraphKernelNodeGetParams",
        "A captured launch keeps its grid, its block and its kernel."
    ),
    rule!(
        captures_into_a_graph,
        "cuStreamBeginCaptureToGraph",
        "A capture into a graph adds its nodes behind those named."
    ),
    rule!(
        captured_into_graph_is_given_back,
        "cuStreamBeginCaptureToGraph",
        "Ending a capture into a graph gives that graph."
    ),
    rule!(
        rectangles_are_captured,
        "cuMemcpy2DAsync",
        "A captured rectangle becomes a copy node that copies it at the launch."
    ),
    rule!(
        graph_launches_are_not_captured,
        "cuGraphLaunch",
        "Launching a graph into a capturing stream is refused and invalidates the capture; into another one it is not."
    ),
    rule!(
        captured_copies_read_at_the_launch,
        "cuMemcpyHtoDAsync",
        "A captured copy reads its page-locked source at the launch, not at the capture."
    ),
    rule!(
        captured_pageable_copies_read_at_each_launch,
        "cuMemcpyHtoDAsync",
        "A captured copy reads its pageable source at each launch (seen on an H200)."
    ),
];

/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
const THREAD_LOCAL: u32 = 1;
/// `CU_GRAPH_NODE_TYPE_*`.
const KERNEL: u32 = 0;
const MEMCPY: u32 = 1;
const MEMSET: u32 = 2;
const HOST: u32 = 3;

unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}

fn captured(
    scene: &mut Scene,
    work: impl FnOnce(&mut Scene, Handle) -> Outcome,
) -> Outcome<Handle> {
    let stream = scene.non_blocking()?;
    scene.module()?;
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    work(scene, stream)?;
    out(|graph| cu!(cuStreamEndCapture(stream, graph)))
}

fn nodes(graph: Handle) -> Outcome<Vec<Handle>> {
    let (mut nodes, mut count) = (vec![0; 16], 16);
    ok!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
    nodes.truncate(count);
    Ok(nodes)
}

/// The nodes' types, sorted.
fn types(graph: Handle) -> Outcome<Vec<u32>> {
    let mut types = nodes(graph)?
        .into_iter()
        .map(|node| out(|kind| cu!(cuGraphNodeGetType(node, kind))))
        .collect::<Outcome<Vec<_>>>()?;
    types.sort_unstable();
    Ok(types)
}

fn run(graph: Handle) -> Outcome {
    let executable = instantiate(graph)?;
    ok!(cuGraphLaunch(executable, 0));
    ok!(cuStreamSynchronize(0));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn operations_have_their_types(scene: &mut Scene) -> Outcome {
    let (address, pinned) = (scene.device(4)?, scene.pinned(4)?);
    let graph = captured(scene, |scene, stream| {
        scene.launch("count", stream, &[&address])?;
        ok!(cuMemcpyDtoHAsync_v2(pinned.pointer(), address, 4, stream));
        ok!(cuMemsetD32Async(address, 0, 1, stream));
        ok!(cuLaunchHostFunc(
            stream,
            Some(nothing),
            std::ptr::null_mut()
        ));
        Ok(())
    })?;
    same!(types(graph)?, vec![KERNEL, MEMCPY, MEMSET, HOST]);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn event_records_become_no_nodes(scene: &mut Scene) -> Outcome {
    let (event, second) = (scene.event()?, scene.non_blocking()?);
    let graph = captured(scene, |scene, stream| {
        ok!(cuEventRecord(event, stream));
        ok!(cuStreamWaitEvent(second, event, 0));
        scene.launch("nothing", second, &[])?;
        ok!(cuEventRecord(event, second));
        ok!(cuStreamWaitEvent(stream, event, 0));
        Ok(())
    })?;
    same!(types(graph)?, vec![KERNEL]);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn kernel_node_keeps_the_shape(scene: &mut Scene) -> Outcome {
    let (address, function) = (scene.device(24)?, scene.kernel("shape")?);
    let graph = captured(scene, |scene, stream| {
        same!(
            scene.try_shaped(function, [2, 3, 4], [5, 6, 7], 0, stream, &[&address]),
            SUCCESS
        );
        Ok(())
    })?;
    let mut kept = KernelNodeParams {
        function: 0,
        grid: [0; 3],
        block: [0; 3],
        shared_bytes: 9,
        parameters: std::ptr::null_mut(),
        extra: std::ptr::null_mut(),
        kernel: 0,
        context: 0,
    };
    let node = nodes(graph)?.first().copied().unwrap_or_default();
    ok!(cuGraphKernelNodeGetParams_v2(node, &mut kept));
    same!(
        (kept.grid, kept.block, kept.shared_bytes),
        ([2, 3, 4], [5, 6, 7], 0)
    );
    same!(kept.function, function);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

/// A graph of one empty node, into which a kernel is captured behind it; and what the end of the capture gave.
fn captured_into(scene: &mut Scene) -> Outcome<(Handle, Handle)> {
    let (stream, graph) = (
        scene.non_blocking()?,
        out(|graph| cu!(cuGraphCreate(graph, 0)))?,
    );
    scene.module()?;
    let first: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, graph, null(), 0)))?;
    ok!(cuStreamBeginCaptureToGraph(
        stream,
        graph,
        &first,
        null(),
        1,
        THREAD_LOCAL
    ));
    scene.launch("nothing", stream, &[])?;
    Ok((graph, out(|graph| cu!(cuStreamEndCapture(stream, graph)))?))
}

fn captures_into_a_graph(scene: &mut Scene) -> Outcome {
    let (graph, _) = captured_into(scene)?;
    let mut edges = 0;
    ok!(cuGraphGetEdges_v2(
        graph,
        std::ptr::null_mut(),
        std::ptr::null_mut(),
        std::ptr::null_mut(),
        &mut edges
    ));
    same!((nodes(graph)?.len(), edges), (2, 1));
    run(graph)
}

fn captured_into_graph_is_given_back(scene: &mut Scene) -> Outcome {
    let (graph, ended) = captured_into(scene)?;
    same!(ended, graph);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn rectangles_are_captured(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.device(64)?, scene.device(64)?);
    let side = |device| Side2D {
        kind: 2,
        device,
        pitch: 16,
        ..Side2D::default()
    };
    let copy = Memcpy2D {
        from: side(from),
        to: side(to),
        width: 4,
        height: 4,
    };
    let graph = captured(scene, |_, stream| {
        ok!(cuMemcpy2DAsync_v2(&copy, stream));
        Ok(())
    })?;
    same!(types(graph)?, vec![MEMCPY]);
    ok!(cuMemsetD8_v2(from, 5, 64));
    run(graph)?;
    let row = [5, 5, 5, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    same!(scene.bytes(to, 64)?, row.repeat(4));
    Ok(())
}

fn graph_launches_are_not_captured(scene: &mut Scene) -> Outcome {
    let inner: Handle = out(|graph| cu!(cuGraphCreate(graph, 0)))?;
    let _: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, inner, null(), 0)))?;
    let executable = instantiate(inner)?;
    let (stream, mut graph) = (scene.non_blocking()?, 0);
    let other = scene.non_blocking()?;
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    ok!(cuGraphLaunch(executable, other));
    gives!(
        STREAM_CAPTURE_UNSUPPORTED,
        cuGraphLaunch(executable, stream)
    );
    gives!(
        STREAM_CAPTURE_INVALIDATED,
        cuStreamEndCapture(stream, &mut graph)
    );
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(inner));
    Ok(())
}

fn captured_copies_read_at_the_launch(scene: &mut Scene) -> Outcome {
    let (address, pinned) = (scene.device(4)?, scene.pinned(4)?);
    let graph = captured(scene, |_, stream| {
        ok!(cuMemcpyHtoDAsync_v2(address, pinned.pointer(), 4, stream));
        Ok(())
    })?;
    pinned.fill(3);
    run(graph)?;
    same!(scene.word(address)?, 0x0303_0303);
    Ok(())
}

fn captured_pageable_copies_read_at_each_launch(scene: &mut Scene) -> Outcome {
    let (address, mut source) = (scene.device(64)?, [1_u8; 64]);
    let graph = captured(scene, |_, stream| {
        ok!(cuMemcpyHtoDAsync_v2(
            address,
            source.as_ptr().cast(),
            64,
            stream
        ));
        Ok(())
    })?;
    let executable = instantiate(graph)?;
    for value in [2, 3] {
        source.fill(value);
        ok!(cuGraphLaunch(executable, 0));
        same!(scene.bytes(address, 64)?, vec![value; 64]);
    }
    Ok(())
}
