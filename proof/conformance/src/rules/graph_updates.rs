//! How executable graphs are changed: node by node, and by another graph of the same shape.

use std::ptr::null;

use super::graph_launches::{add, copy_of, counting_graph, instantiate, new_graph, update};
use super::graph_nodes::{
    add_copy, add_host, add_set, bytes_of, counters, counts, end, set_of, two_rows,
};
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_pending};
use crate::{cu, gives, ok, rule, same};

const FAMILY: &str = "graph_updates";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(executable_set_can_be_changed, "cuGraphExecMemsetNodeSetParams",
        "Setting a memset node's value in the executable changes later launches, not the graph."),
    rule!(executable_copy_can_be_changed, "cuGraphExecMemcpyNodeSetParams",
        "Setting a copy node's target in the executable changes later launches."),
    rule!(executable_host_node_can_be_changed, "cuGraphExecHostNodeSetParams",
        "Setting a host node's data in the executable changes later launches."),
    rule!(executable_record_can_be_changed, "cuGraphExecEventRecordNodeSetEvent",
        "Setting a record node's event in the executable makes later launches record that one."),
    rule!(executable_child_can_be_changed, "cuGraphExecChildGraphNodeSetParams",
        "A child of the same shape replaces the child in the executable; one of another shape is refused."),
    rule!(executable_nodes_keep_their_kind, "cuGraphExecMemcpyNodeSetParams",
        "In an executable a memset keeps its number of dimensions, and a copy its direction."),
    rule!(empty_nodes_are_always_enabled, "cuGraphNodeSetEnabled", "Only kernels, copies and memsets can be disabled."),
    rule!(update_takes_another_memset, "cuGraphExecUpdate",
        "An update may change a memset's address, value, width and element size."),
    rule!(update_names_the_node, "CUgraphExecUpdateResultInfo",
        "A failed update says what differs and at which node of the new graph (seen on an H200)."),
    rule!(update_takes_another_kernel, "cuGraphExecUpdate", "A kernel node may get another kernel by an update."),
    rule!(pending_launch_keeps_its_parameters, "cuGraphExecKernelNodeSetParams",
        "Changing the executable does not change launches that are enqueued already."),
];

/// Launches in the legacy stream, and waits.
fn launch(executable: Handle) -> Outcome {
    ok!(cuGraphLaunch(executable, 0));
    ok!(cuStreamSynchronize(0));
    Ok(())
}

/// A memset and an empty node behind it.
fn set_and_empty(scene: &Scene, set: &MemsetNodeParams) -> Outcome<(Handle, [Handle; 2])> {
    let graph = new_graph()?;
    let first = add_set(scene, graph, set)?;
    let second = out(|node| cu!(cuGraphAddEmptyNode(node, graph, &first, 1)))?;
    Ok((graph, [first, second]))
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
    add(scene, children[1], &[], "count", &[&second])?;
    gives!(
        GRAPH_EXEC_UPDATE_FAILURE,
        cuGraphExecChildGraphNodeSetParams(executable, node, children[1])
    );
    ok!(cuGraphDestroy(children[0]));
    ok!(cuGraphDestroy(children[1]));
    end(executable, graph)
}

fn executable_nodes_keep_their_kind(scene: &mut Scene) -> Outcome {
    let (graph, address, pinned) = (new_graph()?, scene.device(256)?, scene.pinned(4)?);
    let good = bytes_of(address, 1, 16);
    let set = add_set(scene, graph, &good)?;
    let down = copy_of(address, pinned, 4);
    let up = Memcpy3D {
        from: down.to,
        to: down.from,
        ..down
    };
    let copy = add_copy(scene, graph, &down)?;
    let executable = instantiate(graph)?;
    for (node, other) in [
        (set, bytes_of(address, 1, 0)),
        (set, two_rows(good)),
        (copy, good),
    ] {
        gives!(
            INVALID_VALUE,
            cuGraphExecMemsetNodeSetParams(executable, node, &other, scene.context)
        );
    }
    gives!(
        INVALID_VALUE,
        cuGraphExecMemcpyNodeSetParams(executable, copy, &up, scene.context)
    );
    end(executable, graph)
}

fn empty_nodes_are_always_enabled(_: &mut Scene) -> Outcome {
    let (graph, mut enabled) = (new_graph()?, 9);
    let node: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, graph, null(), 0)))?;
    let executable = instantiate(graph)?;
    gives!(INVALID_VALUE, cuGraphNodeSetEnabled(executable, node, 0));
    gives!(
        INVALID_VALUE,
        cuGraphNodeGetEnabled(executable, node, &mut enabled)
    );
    end(executable, graph)
}

fn update_takes_another_memset(scene: &mut Scene) -> Outcome {
    let address = scene.device(64)?;
    let (graph, _) = set_and_empty(scene, &bytes_of(address, 1, 16))?;
    let executable = instantiate(graph)?;
    for (set, expected) in [
        (
            bytes_of(address + 8, 2, 32),
            [vec![0; 8], vec![2; 32], vec![0; 24]].concat(),
        ),
        (set_of(address, 3), [vec![3, 0, 0, 0], vec![0; 60]].concat()),
    ] {
        let (other, _) = set_and_empty(scene, &set)?;
        let (code, info) = update(executable, other);
        same!((code, info.result, info.error_node), (SUCCESS, 0, 0));
        ok!(cuMemsetD8_v2(address, 0, 64));
        launch(executable)?;
        same!(scene.bytes(address, 64)?, expected);
        ok!(cuGraphDestroy(other));
    }
    end(executable, graph)
}

fn update_names_the_node(scene: &mut Scene) -> Outcome {
    /// `CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED`, `_NODE_TYPE_CHANGED` and `_PARAMETERS_CHANGED`.
    const TOPOLOGY: u32 = 2;
    const TYPE: u32 = 3;
    const PARAMETERS: u32 = 5;
    let set = bytes_of(scene.device(256)?, 1, 16);
    let (graph, _) = set_and_empty(scene, &set)?;
    let executable = instantiate(graph)?;
    let (more, _) = set_and_empty(scene, &set)?;
    let _: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, more, null(), 0)))?;
    let (fewer, [_, second]) = set_and_empty(scene, &set)?;
    ok!(cuGraphDestroyNode(second));
    let other_type = new_graph()?;
    let empty: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, other_type, null(), 0)))?;
    let _: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, other_type, &empty, 1)))?;
    let (rows, [of_rows, _]) = set_and_empty(scene, &two_rows(set))?;
    for (name, other, result, node) in [
        ("a node more", more, TOPOLOGY, 0),
        ("a node less", fewer, TOPOLOGY, 0),
        ("another type", other_type, TYPE, empty),
        ("a row more", rows, PARAMETERS, of_rows),
    ] {
        let (code, info) = update(executable, other);
        same!(
            (
                name,
                code,
                info.result,
                info.error_node,
                info.error_from_node
            ),
            (name, GRAPH_EXEC_UPDATE_FAILURE, result, node, 0)
        );
        ok!(cuGraphDestroy(other));
    }
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
