//! What launches of graphs do.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Argument, BUSY, Pinned, Scene, is_busy, is_pending};
use crate::{cu, holds, ok, rule, same};

const FAMILY: &str = "graph_launches";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(empty_graph_launches, "cuGraphLaunch", "A graph without nodes launches and ends."),
    rule!(nodes_wait_for_their_dependencies, "cuGraphAddKernelNode", "A node starts when those it depends on have ended."),
    rule!(set_kernel_and_copy, "cuGraphLaunch",
        "A memset, a kernel and a copy to the host, as a chain of nodes, give the same result as in a stream."),
    rule!(launch_does_not_wait, "cuGraphLaunch", "Launching a graph returns at once."),
    rule!(graph_waits_for_the_stream, "cuGraphLaunch", "A graph starts when earlier work of its stream has ended."),
    rule!(stream_waits_for_the_graph, "cuGraphLaunch", "Later work of the stream starts when all nodes have ended."),
    rule!(launches_are_repeatable, "cuGraphLaunch", "An executable graph is launched many times."),
    rule!(launches_of_one_executable_are_ordered, "cuGraphLaunch",
        "Launches of one executable graph in two streams run one after the other."),
    rule!(arguments_are_taken_when_added, "cuGraphAddKernelNode",
        "A kernel node copies its arguments: changing the variables afterwards has no effect."),
    rule!(executable_stays_as_instantiated, "cuGraphInstantiate",
        "Changing the graph after instantiation does not change the executable."),
    rule!(executable_outlives_its_graph, "cuGraphDestroy", "An executable graph works when its graph is destroyed."),
    rule!(executable_may_be_destroyed_while_it_runs, "cuGraphExecDestroy",
        "Destroying an executable graph that runs does not stop it."),
    rule!(host_node_is_called_each_time, "cuGraphAddHostNode",
        "A host node's function is called once for each launch, after the nodes it depends on."),
    rule!(record_node_records, "cuGraphAddEventRecordNode", "A record node records its event when the graph executes the node."),
    rule!(wait_node_waits, "cuGraphAddEventWaitNode",
        "A wait node waits for the last record of its event at the time of the launch."),
    rule!(child_graph_runs, "cuGraphAddChildGraphNode",
        "The nodes of a child graph run before the nodes that depend on the child."),
    rule!(executable_kernel_can_be_changed, "cuGraphExecKernelNodeSetParams",
        "Setting a kernel node's parameters in the executable changes later launches."),
    rule!(update_takes_over_parameters, "cuGraphExecUpdate", "Updating from a graph of the same shape changes later launches."),
    rule!(update_needs_the_same_shape, "cuGraphExecUpdate",
        "Updating from a graph of another shape fails and leaves the executable graph unchanged."),
    rule!(disabled_node_does_nothing, "cuGraphNodeSetEnabled", "A disabled kernel node is skipped until it is enabled."),
    rule!(upload_is_no_launch, "cuGraphUpload", "Uploading an executable graph executes nothing."),
];

pub(super) fn new_graph() -> Outcome<Handle> {
    out(|graph| cu!(cuGraphCreate(graph, 0)))
}

pub(super) fn instantiate(graph: Handle) -> Outcome<Handle> {
    out(|executable| cu!(cuGraphInstantiateWithFlags(executable, graph, 0)))
}

/// Pointers to arguments, as a kernel node wants them.
pub(super) fn pointers(arguments: &[&dyn Argument]) -> Vec<*mut c_void> {
    arguments
        .iter()
        .map(|argument| (**argument).pointer())
        .collect()
}

/// Parameters of a node for one thread of a kernel; `arguments` must outlive them.
pub(super) fn one_thread(function: Handle, arguments: &mut [*mut c_void]) -> KernelNodeParams {
    KernelNodeParams {
        function,
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        parameters: arguments.as_mut_ptr(),
        extra: null_mut(),
        kernel: 0,
        context: 0,
    }
}

pub(super) fn add(
    scene: &mut Scene,
    graph: Handle,
    after: &[Handle],
    kernel: &str,
    arguments: &[&dyn Argument],
) -> Outcome<Handle> {
    let mut pointers = pointers(arguments);
    let parameters = one_thread(scene.kernel(kernel)?, &mut pointers);
    out(|node| {
        cu!(cuGraphAddKernelNode_v2(
            node,
            graph,
            after.as_ptr(),
            after.len(),
            &parameters
        ))
    })
}

fn busy_ns() -> u64 {
    u64::try_from(BUSY.as_nanos()).unwrap_or(u64::MAX)
}

/// A node that stores a word after a while.
pub(super) fn add_slow(
    scene: &mut Scene,
    graph: Handle,
    after: &[Handle],
    to: Address,
    value: u32,
) -> Outcome<Handle> {
    add(
        scene,
        graph,
        after,
        "slow_store",
        &[&to, &value, &busy_ns()],
    )
}

/// Launches in a new stream, waits, and destroys.
pub(super) fn run(scene: &Scene, graph: Handle) -> Outcome {
    let (stream, executable) = (scene.stream()?, instantiate(graph)?);
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn empty_graph_launches(scene: &mut Scene) -> Outcome {
    run(scene, new_graph()?)
}

fn nodes_wait_for_their_dependencies(scene: &mut Scene) -> Outcome {
    let (graph, from, to) = (new_graph()?, scene.device(4)?, scene.device(4)?);
    let slow = add_slow(scene, graph, &[], from, 31)?;
    add(scene, graph, &[slow], "move_word", &[&to, &from])?;
    run(scene, graph)?;
    same!(scene.word(to)?, 31);
    Ok(())
}

fn set_kernel_and_copy(scene: &mut Scene) -> Outcome {
    let (graph, address, pinned) = (new_graph()?, scene.device(8)?, scene.pinned(8)?);
    let context = scene.context;
    let set = MemsetNodeParams {
        to: address,
        pitch: 0,
        value: 7,
        element_bytes: 1,
        width: 8,
        height: 1,
    };
    let set: Handle = out(|node| cu!(cuGraphAddMemsetNode(node, graph, null(), 0, &set, context)))?;
    let kernel = add(scene, graph, &[set], "count", &[&address])?;
    let copy = copy_of(address, pinned, 8);
    let _: Handle = out(|node| {
        cu!(cuGraphAddMemcpyNode(
            node, graph, &kernel, 1, &copy, context
        ))
    })?;
    run(scene, graph)?;
    same!(pinned.bytes(), vec![8, 7, 7, 7, 7, 7, 7, 7]);
    Ok(())
}

/// A copy of this many bytes from the device to page-locked memory.
pub fn copy_of(from: Address, to: Pinned, bytes: usize) -> Memcpy3D {
    Memcpy3D {
        from: Side3D {
            kind: 2,
            device: from,
            pitch: bytes,
            height: 1,
            ..Side3D::default()
        },
        to: Side3D {
            kind: 1,
            host: to.pointer() as usize,
            pitch: bytes,
            height: 1,
            ..Side3D::default()
        },
        width: bytes,
        height: 1,
        depth: 1,
    }
}

/// An executable graph of one slow store.
fn slow_graph(scene: &mut Scene, to: Address, value: u32) -> Outcome<Handle> {
    let graph = new_graph()?;
    add_slow(scene, graph, &[], to, value)?;
    let executable = instantiate(graph)?;
    ok!(cuGraphDestroy(graph));
    Ok(executable)
}

fn launch_does_not_wait(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let executable = slow_graph(scene, address, 1)?;
    ok!(cuGraphLaunch(executable, stream));
    holds!(is_busy(stream)?);
    ok!(cuStreamSynchronize(stream));
    ok!(cuGraphExecDestroy(executable));
    Ok(())
}

fn graph_waits_for_the_stream(scene: &mut Scene) -> Outcome {
    let (stream, from, to) = (scene.stream()?, scene.device(4)?, scene.device(4)?);
    let graph = new_graph()?;
    add(scene, graph, &[], "move_word", &[&to, &from])?;
    let executable = instantiate(graph)?;
    scene.slow_store(from, 32, stream)?;
    ok!(cuGraphLaunch(executable, stream));
    same!(scene.word(to)?, 32);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn stream_waits_for_the_graph(scene: &mut Scene) -> Outcome {
    let (stream, from, to) = (scene.stream()?, scene.device(4)?, scene.device(4)?);
    let executable = slow_graph(scene, from, 33)?;
    ok!(cuGraphLaunch(executable, stream));
    scene.move_word(to, from, stream)?;
    same!(scene.word(to)?, 33);
    ok!(cuGraphExecDestroy(executable));
    Ok(())
}

/// An executable graph that adds one to a word.
pub(super) fn counting_graph(scene: &mut Scene, to: Address) -> Outcome<(Handle, Handle, Handle)> {
    let graph = new_graph()?;
    let node = add(scene, graph, &[], "count", &[&to])?;
    Ok((graph, node, instantiate(graph)?))
}

fn launches_are_repeatable(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let (graph, _, executable) = counting_graph(scene, address)?;
    for _ in 0..20 {
        ok!(cuGraphLaunch(executable, stream));
    }
    same!(scene.word(address)?, 20);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn launches_of_one_executable_are_ordered(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    let address = scene.device(4)?;
    let executable = slow_graph(scene, address, 34)?;
    ok!(cuGraphLaunch(executable, first));
    ok!(cuGraphLaunch(executable, second));
    ok!(cuStreamSynchronize(second));
    holds!(!is_busy(first)?);
    ok!(cuGraphExecDestroy(executable));
    Ok(())
}

fn arguments_are_taken_when_added(scene: &mut Scene) -> Outcome {
    let (graph, address, mut value) = (new_graph()?, scene.device(4)?, 35_u32);
    add(scene, graph, &[], "store", &[&address, &value])?;
    value += 1;
    run(scene, graph)?;
    same!((scene.word(address)?, value), (35, 36));
    Ok(())
}

fn executable_stays_as_instantiated(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let (graph, _, executable) = counting_graph(scene, address)?;
    add(scene, graph, &[], "count", &[&address])?;
    ok!(cuGraphLaunch(executable, stream));
    same!(scene.word(address)?, 1);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn executable_outlives_its_graph(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let (graph, _, executable) = counting_graph(scene, address)?;
    ok!(cuGraphDestroy(graph));
    ok!(cuGraphLaunch(executable, stream));
    same!(scene.word(address)?, 1);
    ok!(cuGraphExecDestroy(executable));
    Ok(())
}

fn executable_may_be_destroyed_while_it_runs(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let executable = slow_graph(scene, address, 37)?;
    ok!(cuGraphLaunch(executable, stream));
    ok!(cuGraphExecDestroy(executable));
    same!(scene.word(address)?, 37);
    Ok(())
}

/// What a host node's function sees: how often it was called, and what a word held.
struct Seen {
    calls: AtomicU32,
    word: AtomicU32,
    pinned: *const u32,
}

unsafe extern "C" fn look(data: *mut c_void) {
    // SAFETY: the rule passes a leaked `Seen` whose word lives as long as the context.
    let seen = unsafe { &*data.cast::<Seen>() };
    // SAFETY: as above; the graph's order keeps the kernel from writing now.
    seen.word
        .store(unsafe { seen.pinned.read_volatile() }, Ordering::SeqCst);
    seen.calls.fetch_add(1, Ordering::SeqCst);
}

fn host_node_is_called_each_time(scene: &mut Scene) -> Outcome {
    let (stream, graph, pinned) = (scene.stream()?, new_graph()?, scene.pinned(4)?);
    let seen: &'static Seen = Box::leak(Box::new(Seen {
        calls: AtomicU32::new(0),
        word: AtomicU32::new(0),
        pinned: pinned.pointer().cast_const().cast(),
    }));
    let slow = add_slow(scene, graph, &[], pinned.address(), 38)?;
    let host = HostNodeParams {
        function: Some(look),
        data: std::ptr::from_ref(seen).cast_mut().cast(),
    };
    let _: Handle = out(|node| cu!(cuGraphAddHostNode(node, graph, &slow, 1, &host)))?;
    let executable = instantiate(graph)?;
    for _ in 0..2 {
        ok!(cuGraphLaunch(executable, stream));
    }
    ok!(cuStreamSynchronize(stream));
    same!(
        (
            seen.calls.load(Ordering::SeqCst),
            seen.word.load(Ordering::SeqCst)
        ),
        (2, 38)
    );
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn record_node_records(scene: &mut Scene) -> Outcome {
    let (stream, graph, event, pinned) = (
        scene.stream()?,
        new_graph()?,
        scene.event()?,
        scene.pinned(4)?,
    );
    let slow = add_slow(scene, graph, &[], pinned.address(), 39)?;
    let _: Handle = out(|node| cu!(cuGraphAddEventRecordNode(node, graph, &slow, 1, event)))?;
    let executable = instantiate(graph)?;
    ok!(cuGraphLaunch(executable, stream));
    holds!(is_pending(event)?);
    ok!(cuEventSynchronize(event));
    same!(pinned.word(), 39);
    ok!(cuStreamSynchronize(stream));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn wait_node_waits(scene: &mut Scene) -> Outcome {
    let (first, second, graph) = (scene.non_blocking()?, scene.non_blocking()?, new_graph()?);
    let (event, from, to) = (scene.event()?, scene.device(4)?, scene.device(4)?);
    let wait: Handle = out(|node| cu!(cuGraphAddEventWaitNode(node, graph, null(), 0, event)))?;
    add(scene, graph, &[wait], "move_word", &[&to, &from])?;
    let executable = instantiate(graph)?;
    scene.slow_store(from, 40, first)?;
    ok!(cuEventRecord(event, first));
    ok!(cuGraphLaunch(executable, second));
    same!(scene.word(to)?, 40);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn child_graph_runs(scene: &mut Scene) -> Outcome {
    let (graph, child, from, to) = (
        new_graph()?,
        new_graph()?,
        scene.device(4)?,
        scene.device(4)?,
    );
    add_slow(scene, child, &[], from, 41)?;
    let node: Handle = out(|node| cu!(cuGraphAddChildGraphNode(node, graph, null(), 0, child)))?;
    add(scene, graph, &[node], "move_word", &[&to, &from])?;
    run(scene, graph)?;
    ok!(cuGraphDestroy(child));
    same!(scene.word(to)?, 41);
    Ok(())
}

fn executable_kernel_can_be_changed(scene: &mut Scene) -> Outcome {
    let (stream, first, second) = (scene.stream()?, scene.device(4)?, scene.device(4)?);
    let (graph, node, executable) = counting_graph(scene, first)?;
    let mut pointers = pointers(&[&second]);
    let parameters = one_thread(scene.kernel("count")?, &mut pointers);
    ok!(cuGraphExecKernelNodeSetParams_v2(
        executable,
        node,
        &parameters
    ));
    ok!(cuGraphLaunch(executable, stream));
    same!((scene.word(first)?, scene.word(second)?), (0, 1));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

pub(super) fn update(executable: Handle, graph: Handle) -> (Code, GraphExecUpdateResultInfo) {
    let mut info = GraphExecUpdateResultInfo {
        result: 99,
        error_node: 0,
        error_from_node: 0,
    };
    (
        cu!(cuGraphExecUpdate_v2(executable, graph, &mut info)),
        info,
    )
}

fn update_takes_over_parameters(scene: &mut Scene) -> Outcome {
    let (stream, first, second) = (scene.stream()?, scene.device(4)?, scene.device(4)?);
    let (graph, _, executable) = counting_graph(scene, first)?;
    let other = new_graph()?;
    add(scene, other, &[], "count", &[&second])?;
    let (code, info) = update(executable, other);
    same!((code, info.result), (SUCCESS, 0));
    ok!(cuGraphLaunch(executable, stream));
    same!((scene.word(first)?, scene.word(second)?), (0, 1));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    ok!(cuGraphDestroy(other));
    Ok(())
}

fn update_needs_the_same_shape(scene: &mut Scene) -> Outcome {
    let (stream, first, second) = (scene.stream()?, scene.device(4)?, scene.device(4)?);
    let (graph, _, executable) = counting_graph(scene, first)?;
    let other = new_graph()?;
    let node = add(scene, other, &[], "count", &[&second])?;
    add(scene, other, &[node], "count", &[&second])?;
    let (code, info) = update(executable, other);
    same!(code, GRAPH_EXEC_UPDATE_FAILURE);
    holds!(info.result != 0);
    ok!(cuGraphLaunch(executable, stream));
    same!((scene.word(first)?, scene.word(second)?), (1, 0));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    ok!(cuGraphDestroy(other));
    Ok(())
}

fn disabled_node_does_nothing(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let (graph, node, executable) = counting_graph(scene, address)?;
    ok!(cuGraphNodeSetEnabled(executable, node, 0));
    same!(
        out(|enabled| cu!(cuGraphNodeGetEnabled(executable, node, enabled)))?,
        0
    );
    ok!(cuGraphLaunch(executable, stream));
    same!(scene.word(address)?, 0);
    ok!(cuGraphNodeSetEnabled(executable, node, 1));
    ok!(cuGraphLaunch(executable, stream));
    same!(scene.word(address)?, 1);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn upload_is_no_launch(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let (graph, _, executable) = counting_graph(scene, address)?;
    ok!(cuGraphUpload(executable, stream));
    same!(scene.word(address)?, 0);
    ok!(cuGraphLaunch(executable, stream));
    same!(scene.word(address)?, 1);
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}
