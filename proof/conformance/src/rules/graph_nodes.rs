//! What the nodes of a graph hold, and how it is changed before and after instantiation.

use std::ffi::c_void;
use std::ptr::null;
use std::sync::atomic::{AtomicU32, Ordering};

use super::graph_launches::{add, copy_of, counting_graph, instantiate, new_graph, run, update};
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_pending};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "graph_nodes";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        set_node_gives_back_its_parameters,
        "cuGraphMemsetNodeGetParams",
        "A memset node's parameters can be asked for."
    ),
    rule!(
        set_node_can_be_changed,
        "cuGraphMemsetNodeSetParams",
        "Parameters set in a memset node hold for graphs instantiated afterwards."
    ),
    rule!(
        copy_node_gives_back_its_parameters,
        "cuGraphMemcpyNodeGetParams",
        "A copy node's sides and extents can be asked for."
    ),
    rule!(
        copy_node_can_be_changed,
        "cuGraphMemcpyNodeSetParams",
        "Parameters set in a copy node hold for graphs instantiated afterwards."
    ),
    rule!(
        host_node_gives_back_its_parameters,
        "cuGraphHostNodeGetParams",
        "A host node's function and data can be asked for."
    ),
    rule!(
        host_node_can_be_changed,
        "cuGraphHostNodeSetParams",
        "Parameters set in a host node hold for graphs instantiated afterwards."
    ),
    rule!(
        event_nodes_give_back_their_events,
        "cuGraphEventRecordNodeGetEvent",
        "Record and wait nodes name their events, and take others."
    ),
    rule!(
        parameters_are_of_the_nodes_type,
        "cuGraphMemsetNodeGetParams",
        "Asking a node of another type for memset parameters is refused."
    ),
    rule!(
        executable_set_can_be_changed,
        "cuGraphExecMemsetNodeSetParams",
        "Setting a memset node's value in the executable changes later launches, not the graph."
    ),
    rule!(
        executable_copy_can_be_changed,
        "cuGraphExecMemcpyNodeSetParams",
        "Setting a copy node's target in the executable changes later launches."
    ),
    rule!(
        executable_host_node_can_be_changed,
        "cuGraphExecHostNodeSetParams",
        "Setting a host node's data in the executable changes later launches."
    ),
    rule!(
        executable_record_can_be_changed,
        "cuGraphExecEventRecordNodeSetEvent",
        "Setting a record node's event in the executable makes later launches record that one."
    ),
    rule!(
        executable_child_can_be_changed,
        "cuGraphExecChildGraphNodeSetParams",
        "A child of the same shape replaces the child in the executable."
    ),
    rule!(
        priorities_are_not_reported,
        "cuGraphExecGetFlags",
        "An executable graph does not report that it uses the priorities of its nodes (seen on an H200)."
    ),
    rule!(
        device_launch_excludes_automatic_frees,
        "cuGraphInstantiate",
        "A graph cannot be instantiated for the device with automatic frees."
    ),
    rule!(
        unknown_instantiation_flags_are_refused,
        "cuGraphInstantiate",
        "Flags that do not exist are refused."
    ),
    rule!(
        update_names_a_changed_type,
        "CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED",
        "Updating from a graph whose node has another type fails, and says that the type changed."
    ),
    rule!(
        update_names_a_changed_topology,
        "CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED",
        "Updating from a graph with a node more fails, and says that the topology changed."
    ),
    rule!(
        update_takes_another_kernel,
        "cuGraphExecUpdate",
        "A kernel node may get another kernel by an update."
    ),
    rule!(
        pending_launch_keeps_its_parameters,
        "cuGraphExecKernelNodeSetParams",
        "Changing the executable does not change launches that are enqueued already."
    ),
    rule!(
        clone_of_a_destroyed_original_runs,
        "cuGraphClone",
        "A clone is launched when its original is destroyed."
    ),
    rule!(
        original_is_not_found_in_another_graph,
        "cuGraphNodeFindInClone",
        "A node is not found in a graph that is not a clone of the node's graph."
    ),
];

fn set_of(to: Address, value: u32) -> MemsetNodeParams {
    MemsetNodeParams {
        to,
        pitch: 0,
        value,
        element_bytes: 4,
        width: 1,
        height: 1,
    }
}

fn add_set(scene: &Scene, graph: Handle, set: &MemsetNodeParams) -> Outcome<Handle> {
    out(|node| {
        cu!(cuGraphAddMemsetNode(
            node,
            graph,
            null(),
            0,
            set,
            scene.context
        ))
    })
}

fn add_copy(scene: &Scene, graph: Handle, copy: &Memcpy3D) -> Outcome<Handle> {
    out(|node| {
        cu!(cuGraphAddMemcpyNode(
            node,
            graph,
            null(),
            0,
            copy,
            scene.context
        ))
    })
}

unsafe extern "C" fn count_call(data: *mut c_void) {
    // SAFETY: the rules pass a leaked counter.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
}

/// Two host functions' parameters, and what they count.
fn counters() -> ([HostNodeParams; 2], [&'static AtomicU32; 2]) {
    let counters = [(); 2].map(|()| &*Box::leak(Box::new(AtomicU32::new(0))));
    let hosts = counters.map(|counter| HostNodeParams {
        function: Some(count_call),
        data: std::ptr::from_ref(counter).cast_mut().cast(),
    });
    (hosts, counters)
}

fn counts(counters: [&AtomicU32; 2]) -> [u32; 2] {
    counters.map(|counter| counter.load(Ordering::SeqCst))
}

fn add_host(graph: Handle, host: &HostNodeParams) -> Outcome<Handle> {
    out(|node| cu!(cuGraphAddHostNode(node, graph, null(), 0, host)))
}

/// Launches in the legacy stream, and waits.
fn launch(executable: Handle) -> Outcome {
    ok!(cuGraphLaunch(executable, 0));
    ok!(cuStreamSynchronize(0));
    Ok(())
}

fn end(executable: Handle, graph: Handle) -> Outcome {
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn set_node_gives_back_its_parameters(scene: &mut Scene) -> Outcome {
    let (graph, address) = (new_graph()?, scene.device(4)?);
    let node = add_set(scene, graph, &set_of(address, 71))?;
    let mut kept = set_of(0, 0);
    kept.width = 0;
    ok!(cuGraphMemsetNodeGetParams(node, &mut kept));
    same!(
        (
            kept.to,
            kept.value,
            kept.element_bytes,
            kept.width,
            kept.height
        ),
        (address, 71, 4, 1, 1)
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn set_node_can_be_changed(scene: &mut Scene) -> Outcome {
    let (graph, address) = (new_graph()?, scene.device(4)?);
    let node = add_set(scene, graph, &set_of(address, 71))?;
    ok!(cuGraphMemsetNodeSetParams(node, &set_of(address, 72)));
    run(scene, graph)?;
    same!(scene.word(address)?, 72);
    Ok(())
}

fn copy_node_gives_back_its_parameters(scene: &mut Scene) -> Outcome {
    let (graph, address, pinned) = (new_graph()?, scene.device(4)?, scene.pinned(4)?);
    let node = add_copy(scene, graph, &copy_of(address, pinned, 4))?;
    let mut kept = Memcpy3D::default();
    ok!(cuGraphMemcpyNodeGetParams(node, &mut kept));
    same!((kept.width, kept.height, kept.depth), (4, 1, 1));
    same!(
        (kept.from.device, kept.to.host),
        (address, pinned.pointer() as usize)
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn copy_node_can_be_changed(scene: &mut Scene) -> Outcome {
    let (graph, address) = (new_graph()?, scene.device(4)?);
    let (first, second) = (scene.pinned(4)?, scene.pinned(4)?);
    ok!(cuMemsetD32_v2(address, 73, 1));
    let node = add_copy(scene, graph, &copy_of(address, first, 4))?;
    ok!(cuGraphMemcpyNodeSetParams(
        node,
        &copy_of(address, second, 4)
    ));
    run(scene, graph)?;
    same!((first.word(), second.word()), (0, 73));
    Ok(())
}

fn host_node_gives_back_its_parameters(_: &mut Scene) -> Outcome {
    let (graph, ([host, other], _)) = (new_graph()?, counters());
    let node = add_host(graph, &host)?;
    let mut kept = other;
    ok!(cuGraphHostNodeGetParams(node, &mut kept));
    same!(kept.data, host.data);
    holds!(kept.function.is_some());
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn host_node_can_be_changed(scene: &mut Scene) -> Outcome {
    let (graph, ([first, second], called)) = (new_graph()?, counters());
    let node = add_host(graph, &first)?;
    ok!(cuGraphHostNodeSetParams(node, &second));
    run(scene, graph)?;
    same!(counts(called), [0, 1]);
    Ok(())
}

fn event_nodes_give_back_their_events(scene: &mut Scene) -> Outcome {
    let (graph, first, second) = (new_graph()?, scene.event()?, scene.event()?);
    let record: Handle = out(|node| cu!(cuGraphAddEventRecordNode(node, graph, null(), 0, first)))?;
    let wait: Handle = out(|node| cu!(cuGraphAddEventWaitNode(node, graph, null(), 0, second)))?;
    same!(
        out(|event| cu!(cuGraphEventRecordNodeGetEvent(record, event)))?,
        first
    );
    same!(
        out(|event| cu!(cuGraphEventWaitNodeGetEvent(wait, event)))?,
        second
    );
    ok!(cuGraphEventRecordNodeSetEvent(record, second));
    ok!(cuGraphEventWaitNodeSetEvent(wait, first));
    same!(
        out(|event| cu!(cuGraphEventRecordNodeGetEvent(record, event)))?,
        second
    );
    same!(
        out(|event| cu!(cuGraphEventWaitNodeGetEvent(wait, event)))?,
        first
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn parameters_are_of_the_nodes_type(_: &mut Scene) -> Outcome {
    let (graph, mut kept) = (new_graph()?, set_of(0, 0));
    let node: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, graph, null(), 0)))?;
    gives!(INVALID_VALUE, cuGraphMemsetNodeGetParams(node, &mut kept));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn executable_set_can_be_changed(scene: &mut Scene) -> Outcome {
    let (graph, address) = (new_graph()?, scene.device(4)?);
    let node = add_set(scene, graph, &set_of(address, 74))?;
    let executable = instantiate(graph)?;
    ok!(cuGraphExecMemsetNodeSetParams(
        executable,
        node,
        &set_of(address, 75),
        scene.context
    ));
    launch(executable)?;
    same!(scene.word(address)?, 75);
    let mut kept = set_of(0, 0);
    ok!(cuGraphMemsetNodeGetParams(node, &mut kept));
    same!(kept.value, 74);
    end(executable, graph)
}

fn executable_copy_can_be_changed(scene: &mut Scene) -> Outcome {
    let (graph, address) = (new_graph()?, scene.device(4)?);
    let (first, second) = (scene.pinned(4)?, scene.pinned(4)?);
    ok!(cuMemsetD32_v2(address, 76, 1));
    let node = add_copy(scene, graph, &copy_of(address, first, 4))?;
    let executable = instantiate(graph)?;
    ok!(cuGraphExecMemcpyNodeSetParams(
        executable,
        node,
        &copy_of(address, second, 4),
        scene.context
    ));
    launch(executable)?;
    same!((first.word(), second.word()), (0, 76));
    end(executable, graph)
}

fn executable_host_node_can_be_changed(_: &mut Scene) -> Outcome {
    let (graph, ([first, second], called)) = (new_graph()?, counters());
    let node = add_host(graph, &first)?;
    let executable = instantiate(graph)?;
    ok!(cuGraphExecHostNodeSetParams(executable, node, &second));
    launch(executable)?;
    same!(counts(called), [0, 1]);
    end(executable, graph)
}

fn executable_record_can_be_changed(scene: &mut Scene) -> Outcome {
    let (graph, first, second) = (new_graph()?, scene.event()?, scene.event()?);
    let node: Handle = out(|node| cu!(cuGraphAddEventRecordNode(node, graph, null(), 0, first)))?;
    let executable = instantiate(graph)?;
    ok!(cuGraphExecEventRecordNodeSetEvent(executable, node, second));
    scene.busy(0)?;
    ok!(cuGraphLaunch(executable, 0));
    // The first was never recorded, which counts as complete.
    same!((is_pending(first)?, is_pending(second)?), (false, true));
    ok!(cuStreamSynchronize(0));
    end(executable, graph)
}

fn executable_child_can_be_changed(scene: &mut Scene) -> Outcome {
    let (graph, first, second) = (new_graph()?, scene.device(4)?, scene.device(4)?);
    let children = [new_graph()?, new_graph()?];
    add(scene, children[0], &[], "count", &[&first])?;
    add(scene, children[1], &[], "count", &[&second])?;
    let node: Handle = out(|node| {
        cu!(cuGraphAddChildGraphNode(
            node,
            graph,
            null(),
            0,
            children[0]
        ))
    })?;
    let executable = instantiate(graph)?;
    ok!(cuGraphExecChildGraphNodeSetParams(
        executable,
        node,
        children[1]
    ));
    launch(executable)?;
    same!((scene.word(first)?, scene.word(second)?), (0, 1));
    ok!(cuGraphDestroy(children[0]));
    ok!(cuGraphDestroy(children[1]));
    end(executable, graph)
}

fn priorities_are_not_reported(_: &mut Scene) -> Outcome {
    /// `CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY`.
    const USE_NODE_PRIORITY: u64 = 8;
    for given in [0, USE_NODE_PRIORITY] {
        let graph = new_graph()?;
        let executable: Handle =
            out(|executable| cu!(cuGraphInstantiateWithFlags(executable, graph, given)))?;
        let flags: u64 = out(|flags| cu!(cuGraphExecGetFlags(executable, flags)))?;
        same!(flags, 0);
        end(executable, graph)?;
    }
    Ok(())
}

fn device_launch_excludes_automatic_frees(_: &mut Scene) -> Outcome {
    /// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` and `_DEVICE_LAUNCH`.
    const AUTO_FREE_ON_LAUNCH: u64 = 1;
    const DEVICE_LAUNCH: u64 = 4;
    let (graph, mut executable) = (new_graph()?, 0);
    gives!(
        INVALID_VALUE,
        cuGraphInstantiateWithFlags(&mut executable, graph, AUTO_FREE_ON_LAUNCH | DEVICE_LAUNCH)
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn unknown_instantiation_flags_are_refused(_: &mut Scene) -> Outcome {
    let (graph, mut executable) = (new_graph()?, 0);
    gives!(
        INVALID_VALUE,
        cuGraphInstantiateWithFlags(&mut executable, graph, 1 << 40)
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn update_names_a_changed_type(scene: &mut Scene) -> Outcome {
    let address = scene.device(4)?;
    let (graph, _, executable) = counting_graph(scene, address)?;
    let other = new_graph()?;
    add_set(scene, other, &set_of(address, 1))?;
    let (code, info) = update(executable, other);
    same!((code, info.result), (GRAPH_EXEC_UPDATE_FAILURE, 3));
    ok!(cuGraphDestroy(other));
    end(executable, graph)
}

fn update_names_a_changed_topology(scene: &mut Scene) -> Outcome {
    let address = scene.device(4)?;
    let (graph, _, executable) = counting_graph(scene, address)?;
    let other = new_graph()?;
    add(scene, other, &[], "count", &[&address])?;
    add(scene, other, &[], "count", &[&address])?;
    let (code, info) = update(executable, other);
    same!((code, info.result), (GRAPH_EXEC_UPDATE_FAILURE, 2));
    ok!(cuGraphDestroy(other));
    end(executable, graph)
}

fn update_takes_another_kernel(scene: &mut Scene) -> Outcome {
    let address = scene.device(4)?;
    let (graph, _, executable) = counting_graph(scene, address)?;
    let other = new_graph()?;
    add(scene, other, &[], "store", &[&address, &77_u32])?;
    let (code, info) = update(executable, other);
    same!((code, info.result), (SUCCESS, 0));
    launch(executable)?;
    same!(scene.word(address)?, 77);
    ok!(cuGraphDestroy(other));
    end(executable, graph)
}

fn pending_launch_keeps_its_parameters(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.device(4)?, scene.device(4)?);
    let (graph, _, executable) = counting_graph(scene, first)?;
    let other = new_graph()?;
    add(scene, other, &[], "count", &[&second])?;
    scene.busy(0)?;
    ok!(cuGraphLaunch(executable, 0));
    let (code, _) = update(executable, other);
    same!(code, SUCCESS);
    ok!(cuGraphLaunch(executable, 0));
    same!((scene.word(first)?, scene.word(second)?), (1, 1));
    ok!(cuGraphDestroy(other));
    end(executable, graph)
}

fn clone_of_a_destroyed_original_runs(scene: &mut Scene) -> Outcome {
    let (graph, address) = (new_graph()?, scene.device(4)?);
    add(scene, graph, &[], "count", &[&address])?;
    let clone: Handle = out(|clone| cu!(cuGraphClone(clone, graph)))?;
    ok!(cuGraphDestroy(graph));
    run(scene, clone)?;
    same!(scene.word(address)?, 1);
    Ok(())
}

fn original_is_not_found_in_another_graph(_: &mut Scene) -> Outcome {
    let (graph, other, mut found) = (new_graph()?, new_graph()?, 0);
    let node: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, graph, null(), 0)))?;
    gives!(
        INVALID_VALUE,
        cuGraphNodeFindInClone(&mut found, node, other)
    );
    ok!(cuGraphDestroy(graph));
    ok!(cuGraphDestroy(other));
    Ok(())
}
