//! Stream capture: what becomes of captured work. What capture prohibits is the family `capture_limits`.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, holds, ok, rule, same};

const FAMILY: &str = "capture";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        captured_work_is_not_done,
        "cuStreamBeginCapture",
        "Work enqueued in a capturing stream is not executed; the captured graph executes it."
    ),
    rule!(
        status_tells_capturing,
        "cuStreamIsCapturing",
        "A stream is capturing from the begin to the end of its capture."
    ),
    rule!(
        empty_capture_gives_an_empty_graph,
        "cuStreamEndCapture",
        "A capture without work gives a graph without nodes."
    ),
    rule!(
        one_node_per_operation,
        "cuStreamBeginCapture",
        "A memset, a kernel, a copy and a host function become four nodes in a chain."
    ),
    rule!(
        graph_does_what_the_stream_would,
        "cuStreamEndCapture",
        "Each launch of the captured graph gives the same result as the stream would have."
    ),
    rule!(
        arguments_are_taken_at_the_call,
        "cuStreamBeginCapture",
        "Arguments are those at the captured launch."
    ),
    rule!(
        waiting_stream_joins_the_capture,
        "cuStreamWaitEvent",
        "A stream that waits for an event recorded in a capturing stream captures too."
    ),
    rule!(
        fork_and_join_become_edges,
        "CUDA programming guide, cross-stream dependencies and events",
        "Events become edges: a fork and a join of one kernel each way make a diamond."
    ),
    rule!(
        forked_work_is_ordered,
        "CUDA programming guide, cross-stream dependencies and events",
        "In the graph, work of a forked stream runs between the fork and the join."
    ),
    rule!(
        joined_stream_is_free_at_the_end,
        "cuStreamEndCapture",
        "When the capture ends, streams that had joined it are not capturing any more."
    ),
    rule!(
        other_streams_work_meanwhile,
        "cuStreamBeginCapture",
        "A stream that is no part of the capture does its work."
    ),
    rule!(
        info_names_the_sequence,
        "cuStreamGetCaptureInfo",
        "Two captures have different identifiers."
    ),
    rule!(
        mode_is_exchanged,
        "cuThreadExchangeStreamCaptureMode",
        "A thread starts in global mode, and the exchange returns the previous mode."
    ),
    rule!(
        host_function_is_called_at_the_launch,
        "cuLaunchHostFunc",
        "A captured host function is called when the graph executes its node, not during capture."
    ),
    rule!(
        non_blocking_capture_leaves_legacy_free,
        "CU_STREAM_NON_BLOCKING",
        "While a non-blocking stream captures, the legacy stream works."
    ),
];

/// `CU_STREAM_CAPTURE_MODE_*`.
const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;
/// `CU_STREAM_CAPTURE_STATUS_*`.
const NONE: u32 = 0;
const ACTIVE: u32 = 1;

fn status(stream: Handle) -> Outcome<u32> {
    out(|status| cu!(cuStreamIsCapturing(stream, status)))
}

fn begin(stream: Handle) -> Outcome {
    ok!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    Ok(())
}

fn end(stream: Handle) -> Outcome<Handle> {
    out(|graph| cu!(cuStreamEndCapture(stream, graph)))
}

/// Launches the graph, waits, and destroys it.
fn run(graph: Handle, stream: Handle) -> Outcome {
    let executable: Handle =
        out(|executable| cu!(cuGraphInstantiateWithFlags(executable, graph, 0)))?;
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

/// Nodes and edges.
fn counts(graph: Handle) -> Outcome<(usize, usize)> {
    let (mut nodes, mut edges) = (0, 0);
    ok!(cuGraphGetNodes(graph, null_mut(), &mut nodes));
    ok!(cuGraphGetEdges_v2(
        graph,
        null_mut(),
        null_mut(),
        null_mut(),
        &mut edges
    ));
    Ok((nodes, edges))
}

fn captured_work_is_not_done(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    scene.module()?;
    begin(stream)?;
    scene.store(address, 51, stream)?;
    let graph = end(stream)?;
    same!(scene.word(address)?, 0);
    run(graph, stream)?;
    same!(scene.word(address)?, 51);
    Ok(())
}

fn status_tells_capturing(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    same!(status(stream)?, NONE);
    begin(stream)?;
    same!(status(stream)?, ACTIVE);
    let graph = end(stream)?;
    same!(status(stream)?, NONE);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn empty_capture_gives_an_empty_graph(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    begin(stream)?;
    let graph = end(stream)?;
    holds!(graph != 0);
    same!(counts(graph)?, (0, 0));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the rules pass a leaked counter.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
}

fn counter() -> &'static AtomicU32 {
    Box::leak(Box::new(AtomicU32::new(0)))
}

fn data_of(counter: &'static AtomicU32) -> *mut c_void {
    std::ptr::from_ref(counter).cast_mut().cast()
}

fn one_node_per_operation(scene: &mut Scene) -> Outcome {
    let (stream, address, pinned) = (scene.stream()?, scene.device(4)?, scene.pinned(4)?);
    scene.module()?;
    begin(stream)?;
    ok!(cuMemsetD8Async(address, 1, 4, stream));
    scene.launch("count", stream, &[&address])?;
    ok!(cuMemcpyDtoHAsync_v2(pinned.pointer(), address, 4, stream));
    ok!(cuLaunchHostFunc(stream, Some(count), data_of(counter())));
    let graph = end(stream)?;
    same!(counts(graph)?, (4, 3));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn graph_does_what_the_stream_would(scene: &mut Scene) -> Outcome {
    let (stream, address, pinned) = (scene.stream()?, scene.device(4)?, scene.pinned(4)?);
    scene.module()?;
    begin(stream)?;
    ok!(cuMemsetD8Async(address, 1, 4, stream));
    scene.launch("count", stream, &[&address])?;
    scene.launch("count", stream, &[&address])?;
    ok!(cuMemcpyDtoHAsync_v2(pinned.pointer(), address, 4, stream));
    let graph = end(stream)?;
    let executable: Handle =
        out(|executable| cu!(cuGraphInstantiateWithFlags(executable, graph, 0)))?;
    for _ in 0..3 {
        pinned.fill(0);
        ok!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
        same!(pinned.word(), 0x0101_0103);
    }
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn arguments_are_taken_at_the_call(scene: &mut Scene) -> Outcome {
    let (stream, address, mut value) = (scene.stream()?, scene.device(4)?, 52_u32);
    scene.module()?;
    begin(stream)?;
    scene.launch("store", stream, &[&address, &value])?;
    value += 1;
    run(end(stream)?, stream)?;
    same!((scene.word(address)?, value), (52, 53));
    Ok(())
}

/// Forks from `first` to `second`, lets `body` give both work, and joins.
fn forked(
    scene: &mut Scene,
    first: Handle,
    second: Handle,
    body: impl FnOnce(&mut Scene) -> Outcome,
) -> Outcome {
    let fork = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, fork, 0));
    body(scene)?;
    let join = scene.recorded(second)?;
    ok!(cuStreamWaitEvent(first, join, 0));
    Ok(())
}

fn waiting_stream_joins_the_capture(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    begin(first)?;
    let mut joined = NONE;
    forked(scene, first, second, |_| {
        joined = status(second)?;
        Ok(())
    })?;
    ok!(cuGraphDestroy(end(first)?));
    same!(joined, ACTIVE);
    Ok(())
}

fn fork_and_join_become_edges(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    scene.module()?;
    begin(first)?;
    scene.launch("nothing", first, &[])?;
    forked(scene, first, second, |scene| {
        scene.launch("nothing", first, &[])?;
        scene.launch("nothing", second, &[])
    })?;
    scene.launch("nothing", first, &[])?;
    let graph = end(first)?;
    same!(counts(graph)?, (4, 4));
    let (mut nodes, mut count) = ([0; 4], 4);
    ok!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
    let mut neighbours = Vec::new();
    for node in nodes {
        let (mut before, mut behind) = (0, 0);
        ok!(cuGraphNodeGetDependencies_v2(
            node,
            null_mut(),
            null_mut(),
            &mut before
        ));
        ok!(cuGraphNodeGetDependentNodes_v2(
            node,
            null_mut(),
            null_mut(),
            &mut behind
        ));
        neighbours.push((before, behind));
    }
    neighbours.sort_unstable();
    same!(neighbours, vec![(0, 2), (1, 1), (1, 1), (2, 0)]);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn forked_work_is_ordered(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    let words = [scene.device(4)?, scene.device(4)?, scene.device(4)?];
    scene.module()?;
    begin(first)?;
    scene.slow_store(words[0], 54, first)?;
    forked(scene, first, second, |scene| {
        scene.move_word(words[1], words[0], second)
    })?;
    scene.move_word(words[2], words[1], first)?;
    run(end(first)?, first)?;
    same!(scene.word(words[2])?, 54);
    Ok(())
}

fn joined_stream_is_free_at_the_end(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    begin(first)?;
    forked(scene, first, second, |_| Ok(()))?;
    ok!(cuGraphDestroy(end(first)?));
    same!(status(second)?, NONE);
    ok!(cuStreamSynchronize(second));
    Ok(())
}

fn other_streams_work_meanwhile(scene: &mut Scene) -> Outcome {
    let (capturing, working, pinned) = (scene.stream()?, scene.non_blocking()?, scene.pinned(4)?);
    scene.module()?;
    ok!(cuStreamBeginCapture_v2(capturing, RELAXED));
    scene.store(pinned.address(), 55, working)?;
    ok!(cuStreamSynchronize(working));
    let stored = pinned.word();
    ok!(cuGraphDestroy(end(capturing)?));
    same!(stored, 55);
    Ok(())
}

fn sequence(stream: Handle) -> Outcome<(u32, u64)> {
    let (mut status, mut id) = (9, 0);
    ok!(cuStreamGetCaptureInfo_v2(
        stream,
        &mut status,
        &mut id,
        null_mut(),
        null_mut(),
        null_mut(),
    ));
    Ok((status, id))
}

fn info_names_the_sequence(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    same!(sequence(first)?.0, NONE);
    begin(first)?;
    begin(second)?;
    let infos = [sequence(first)?, sequence(second)?];
    ok!(cuGraphDestroy(end(first)?));
    ok!(cuGraphDestroy(end(second)?));
    same!((infos[0].0, infos[1].0), (ACTIVE, ACTIVE));
    holds!(infos[0].1 != infos[1].1);
    Ok(())
}

fn mode_is_exchanged(_: &mut Scene) -> Outcome {
    let mut mode = RELAXED;
    ok!(cuThreadExchangeStreamCaptureMode(&mut mode));
    same!(mode, GLOBAL);
    mode = THREAD_LOCAL;
    ok!(cuThreadExchangeStreamCaptureMode(&mut mode));
    same!(mode, RELAXED);
    Ok(())
}

fn host_function_is_called_at_the_launch(scene: &mut Scene) -> Outcome {
    let (stream, calls) = (scene.stream()?, counter());
    begin(stream)?;
    ok!(cuLaunchHostFunc(stream, Some(count), data_of(calls)));
    let graph = end(stream)?;
    ok!(cuCtxSynchronize());
    same!(calls.load(Ordering::SeqCst), 0);
    run(graph, stream)?;
    same!(calls.load(Ordering::SeqCst), 1);
    Ok(())
}

fn non_blocking_capture_leaves_legacy_free(scene: &mut Scene) -> Outcome {
    let (stream, pinned) = (scene.non_blocking()?, scene.pinned(4)?);
    scene.module()?;
    ok!(cuStreamBeginCapture_v2(stream, RELAXED));
    let launched = scene.store(pinned.address(), 56, 0);
    ok!(cuGraphDestroy(end(stream)?));
    launched?;
    ok!(cuCtxSynchronize());
    same!(pinned.word(), 56);
    Ok(())
}
