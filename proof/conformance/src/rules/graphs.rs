//! Graphs as structures: nodes, edges, clones. What a launch does is the family `graph_launches`.

use std::ptr::{null, null_mut};

use super::graph_launches::{copy_of, instantiate, new_graph};
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "graphs";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        flags_must_be_zero,
        "cuGraphCreate",
        "Creating a graph takes no flags."
    ),
    rule!(
        new_graph_is_empty,
        "cuGraphGetNodes",
        "A new graph has no nodes, no roots and no edges."
    ),
    rule!(
        nodes_are_counted_without_a_buffer,
        "cuGraphGetNodes",
        "Without a buffer the call returns the number of nodes."
    ),
    rule!(
        a_small_buffer_is_filled,
        "cuGraphGetNodes",
        "A buffer smaller than needed gets as many nodes as it has room for."
    ),
    rule!(
        rest_of_a_large_buffer_is_null,
        "cuGraphGetNodes",
        "A buffer larger than needed is filled up with null, and the count is that of the nodes."
    ),
    rule!(
        nodes_know_their_type,
        "cuGraphNodeGetType",
        "A node has the type it was added as."
    ),
    rule!(
        nodes_without_dependencies_are_roots,
        "cuGraphGetRootNodes",
        "The roots are the nodes without dependencies."
    ),
    rule!(
        edges_are_pairs,
        "cuGraphGetEdges",
        "An edge goes from the node depended on to the node that depends."
    ),
    rule!(
        neighbours_are_named,
        "cuGraphNodeGetDependencies",
        "A node names the nodes it depends on, and those that depend on it."
    ),
    rule!(
        edges_can_be_added_and_removed,
        "cuGraphAddDependencies",
        "Edges are added and removed after the nodes were."
    ),
    rule!(
        an_edge_exists_once,
        "cuGraphAddDependencies",
        "Adding an edge that exists is refused."
    ),
    rule!(
        missing_edge_is_not_removed,
        "cuGraphRemoveDependencies",
        "Removing an edge that does not exist is refused."
    ),
    rule!(
        edges_join_two_nodes_of_the_graph,
        "cuGraphAddDependencies",
        "An edge from a node to itself, or to a node of another graph, is refused."
    ),
    rule!(
        a_cycle_is_refused,
        "cuGraphInstantiateWithParams",
        "A graph with edges in a circle is not instantiated, and the result says that its structure is invalid."
    ),
    rule!(
        dependencies_are_of_the_same_graph,
        "cuGraphAddEmptyNode",
        "A node cannot depend on a node of another graph."
    ),
    rule!(
        dependencies_are_listed_once,
        "cuGraphAddEmptyNode",
        "A list of dependencies with a node twice is refused."
    ),
    rule!(
        destroyed_node_takes_its_edges_along,
        "cuGraphDestroyNode",
        "A destroyed node is gone, and so are its edges."
    ),
    rule!(
        clone_has_nodes_of_its_own,
        "cuGraphClone",
        "A clone has as many nodes and edges, and each is found by the original's."
    ),
    rule!(
        clone_stays_as_it_was,
        "cuGraphClone",
        "Changing the original does not change a clone."
    ),
    rule!(
        child_graph_is_copied,
        "cuGraphAddChildGraphNode",
        "Changing a graph after it was added as a child does not change the child."
    ),
    rule!(
        kernel_parameters_are_kept,
        "cuGraphKernelNodeGetParams",
        "A kernel node's shape and kernel can be asked for."
    ),
];

/// `CU_GRAPH_NODE_TYPE_*`.
const KERNEL: u32 = 0;
const MEMCPY: u32 = 1;
const MEMSET: u32 = 2;
const HOST: u32 = 3;
const GRAPH: u32 = 4;
const EMPTY: u32 = 5;
const WAIT_EVENT: u32 = 6;
const EVENT_RECORD: u32 = 7;

fn add(graph: Handle, after: &[Handle]) -> Outcome<Handle> {
    out(|node| {
        cu!(cuGraphAddEmptyNode(
            node,
            graph,
            after.as_ptr(),
            after.len()
        ))
    })
}

/// Nodes, roots, edges.
fn counts(graph: Handle) -> Outcome<(usize, usize, usize)> {
    let (mut nodes, mut roots, mut edges) = (0, 0, 0);
    ok!(cuGraphGetNodes(graph, null_mut(), &mut nodes));
    ok!(cuGraphGetRootNodes(graph, null_mut(), &mut roots));
    ok!(cuGraphGetEdges_v2(
        graph,
        null_mut(),
        null_mut(),
        null_mut(),
        &mut edges
    ));
    Ok((nodes, roots, edges))
}

fn flags_must_be_zero(_: &mut Scene) -> Outcome {
    let mut graph = 0;
    gives!(INVALID_VALUE, cuGraphCreate(&mut graph, 1));
    Ok(())
}

fn new_graph_is_empty(_: &mut Scene) -> Outcome {
    let graph = new_graph()?;
    same!(counts(graph)?, (0, 0, 0));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn nodes_are_counted_without_a_buffer(_: &mut Scene) -> Outcome {
    let graph = new_graph()?;
    for _ in 0..3 {
        add(graph, &[])?;
    }
    same!(counts(graph)?, (3, 3, 0));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn a_small_buffer_is_filled(_: &mut Scene) -> Outcome {
    let (graph, mut found, mut count) = (new_graph()?, [9; 2], 1);
    let nodes = [add(graph, &[])?, add(graph, &[])?];
    ok!(cuGraphGetNodes(graph, found.as_mut_ptr(), &mut count));
    same!((count, found[1]), (1, 9));
    holds!(nodes.contains(&found[0]));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn rest_of_a_large_buffer_is_null(_: &mut Scene) -> Outcome {
    let graph = new_graph()?;
    let mut nodes = [add(graph, &[])?, add(graph, &[])?];
    let (mut found, mut count) = ([9; 4], 4);
    ok!(cuGraphGetNodes(graph, found.as_mut_ptr(), &mut count));
    same!(count, 2);
    found[..2].sort_unstable();
    nodes.sort_unstable();
    same!(found, [nodes[0], nodes[1], 0, 0]);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn kernel_parameters(scene: &mut Scene) -> Outcome<KernelNodeParams> {
    Ok(KernelNodeParams {
        function: scene.kernel("nothing")?,
        grid: [3, 2, 1],
        block: [32, 1, 1],
        shared_bytes: 0,
        parameters: null_mut(),
        extra: null_mut(),
        kernel: 0,
        context: 0,
    })
}

unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}

fn nodes_know_their_type(scene: &mut Scene) -> Outcome {
    let (graph, child) = (new_graph()?, new_graph()?);
    let (event, address) = (scene.event()?, scene.device(64)?);
    let kernel = kernel_parameters(scene)?;
    let set = MemsetNodeParams {
        to: address,
        pitch: 0,
        value: 1,
        element_bytes: 1,
        width: 64,
        height: 1,
    };
    let host = HostNodeParams {
        function: Some(nothing),
        data: null_mut(),
    };
    let copy = copy_of(address, scene.pinned(64)?, 64);
    let context = scene.context;
    let nodes: [(u32, Handle); 8] = [
        (EMPTY, add(graph, &[])?),
        (
            KERNEL,
            out(|node| cu!(cuGraphAddKernelNode_v2(node, graph, null(), 0, &kernel)))?,
        ),
        (
            MEMCPY,
            out(|node| cu!(cuGraphAddMemcpyNode(node, graph, null(), 0, &copy, context)))?,
        ),
        (
            MEMSET,
            out(|node| cu!(cuGraphAddMemsetNode(node, graph, null(), 0, &set, context)))?,
        ),
        (
            HOST,
            out(|node| cu!(cuGraphAddHostNode(node, graph, null(), 0, &host)))?,
        ),
        (
            GRAPH,
            out(|node| cu!(cuGraphAddChildGraphNode(node, graph, null(), 0, child)))?,
        ),
        (
            WAIT_EVENT,
            out(|node| cu!(cuGraphAddEventWaitNode(node, graph, null(), 0, event)))?,
        ),
        (
            EVENT_RECORD,
            out(|node| cu!(cuGraphAddEventRecordNode(node, graph, null(), 0, event)))?,
        ),
    ];
    for (expected, node) in nodes {
        let kind: u32 = out(|kind| cu!(cuGraphNodeGetType(node, kind)))?;
        same!(kind, expected);
    }
    ok!(cuGraphDestroy(graph));
    ok!(cuGraphDestroy(child));
    Ok(())
}

/// A diamond: one node, two that depend on it, one that depends on both.
fn diamond() -> Outcome<(Handle, [Handle; 4])> {
    let graph = new_graph()?;
    let top = add(graph, &[])?;
    let (left, right) = (add(graph, &[top])?, add(graph, &[top])?);
    let bottom = add(graph, &[left, right])?;
    Ok((graph, [top, left, right, bottom]))
}

fn nodes_without_dependencies_are_roots(_: &mut Scene) -> Outcome {
    let (graph, nodes) = diamond()?;
    let (mut root, mut count) = (0, 1);
    ok!(cuGraphGetRootNodes(graph, &mut root, &mut count));
    same!((root, count), (nodes[0], 1));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn edges_are_pairs(_: &mut Scene) -> Outcome {
    let (graph, [top, left, right, bottom]) = diamond()?;
    let (mut from, mut to, mut count) = ([0; 8], [0; 8], 8);
    ok!(cuGraphGetEdges_v2(
        graph,
        from.as_mut_ptr(),
        to.as_mut_ptr(),
        null_mut(),
        &mut count
    ));
    same!(count, 4);
    let mut edges: Vec<_> = from.into_iter().zip(to).take(count).collect();
    let mut expected = vec![(top, left), (top, right), (left, bottom), (right, bottom)];
    edges.sort_unstable();
    expected.sort_unstable();
    same!(edges, expected);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn neighbours_are_named(_: &mut Scene) -> Outcome {
    let (graph, [top, left, right, bottom]) = diamond()?;
    let (mut before, mut behind, mut count) = ([0; 2], [0; 2], 2);
    ok!(cuGraphNodeGetDependencies_v2(
        bottom,
        before.as_mut_ptr(),
        null_mut(),
        &mut count
    ));
    same!(count, 2);
    ok!(cuGraphNodeGetDependentNodes_v2(
        top,
        behind.as_mut_ptr(),
        null_mut(),
        &mut count
    ));
    same!(count, 2);
    let mut expected = [left, right];
    expected.sort_unstable();
    before.sort_unstable();
    behind.sort_unstable();
    same!((before, behind), (expected, expected));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

/// Two nodes without an edge.
fn pair() -> Outcome<(Handle, Handle, Handle)> {
    let graph = new_graph()?;
    Ok((graph, add(graph, &[])?, add(graph, &[])?))
}

fn connect(graph: Handle, from: Handle, to: Handle) -> Code {
    cu!(cuGraphAddDependencies_v2(graph, &from, &to, null(), 1))
}

fn disconnect(graph: Handle, from: Handle, to: Handle) -> Code {
    cu!(cuGraphRemoveDependencies_v2(graph, &from, &to, null(), 1))
}

fn edges_can_be_added_and_removed(_: &mut Scene) -> Outcome {
    let (graph, first, second) = pair()?;
    same!(connect(graph, first, second), SUCCESS);
    same!(counts(graph)?, (2, 1, 1));
    same!(disconnect(graph, first, second), SUCCESS);
    same!(counts(graph)?, (2, 2, 0));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn an_edge_exists_once(_: &mut Scene) -> Outcome {
    let (graph, first, second) = pair()?;
    same!(connect(graph, first, second), SUCCESS);
    same!(connect(graph, first, second), INVALID_VALUE);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn missing_edge_is_not_removed(_: &mut Scene) -> Outcome {
    let (graph, first, second) = pair()?;
    same!(disconnect(graph, first, second), INVALID_VALUE);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn a_cycle_is_refused(_: &mut Scene) -> Outcome {
    /// `CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE`.
    const INVALID_STRUCTURE: u32 = 2;
    let (graph, first, second) = pair()?;
    same!(connect(graph, first, second), SUCCESS);
    same!(connect(graph, second, first), SUCCESS);
    let mut executable = 0;
    gives!(
        INVALID_VALUE,
        cuGraphInstantiateWithFlags(&mut executable, graph, 0)
    );
    let mut parameters = GraphInstantiateParams {
        flags: 0,
        upload_stream: 0,
        error_node: 0,
        result: 77,
    };
    gives!(
        INVALID_VALUE,
        cuGraphInstantiateWithParams(&mut executable, graph, &mut parameters)
    );
    same!(parameters.result, INVALID_STRUCTURE);
    same!(disconnect(graph, second, first), SUCCESS);
    ok!(cuGraphExecDestroy(instantiate(graph)?));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn edges_join_two_nodes_of_the_graph(_: &mut Scene) -> Outcome {
    let ((graph, first, second), other) = (pair()?, new_graph()?);
    let foreign = add(other, &[])?;
    for (from, to) in [(first, first), (first, foreign), (foreign, second)] {
        same!(connect(graph, from, to), INVALID_VALUE);
    }
    same!(counts(graph)?, (2, 2, 0));
    ok!(cuGraphDestroy(graph));
    ok!(cuGraphDestroy(other));
    Ok(())
}

fn dependencies_are_of_the_same_graph(_: &mut Scene) -> Outcome {
    let (graph, other) = (new_graph()?, new_graph()?);
    let (foreign, mut node) = (add(other, &[])?, 0);
    gives!(
        INVALID_VALUE,
        cuGraphAddEmptyNode(&mut node, graph, &foreign, 1)
    );
    ok!(cuGraphDestroy(graph));
    ok!(cuGraphDestroy(other));
    Ok(())
}

fn dependencies_are_listed_once(_: &mut Scene) -> Outcome {
    let graph = new_graph()?;
    let (first, mut node) = (add(graph, &[])?, 0);
    gives!(
        INVALID_VALUE,
        cuGraphAddEmptyNode(&mut node, graph, [first, first].as_ptr(), 2)
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn destroyed_node_takes_its_edges_along(_: &mut Scene) -> Outcome {
    let (graph, [_, left, ..]) = diamond()?;
    ok!(cuGraphDestroyNode(left));
    same!(counts(graph)?, (3, 1, 2));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn clone_has_nodes_of_its_own(_: &mut Scene) -> Outcome {
    let (graph, nodes) = diamond()?;
    let clone: Handle = out(|clone| cu!(cuGraphClone(clone, graph)))?;
    same!(counts(clone)?, counts(graph)?);
    for original in nodes {
        let found: Handle = out(|node| cu!(cuGraphNodeFindInClone(node, original, clone)))?;
        holds!(found != 0 && found != original);
    }
    ok!(cuGraphDestroy(clone));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn clone_stays_as_it_was(_: &mut Scene) -> Outcome {
    let (graph, [_, left, ..]) = diamond()?;
    let clone: Handle = out(|clone| cu!(cuGraphClone(clone, graph)))?;
    ok!(cuGraphDestroyNode(left));
    add(graph, &[])?;
    add(graph, &[])?;
    same!(counts(clone)?, (4, 1, 4));
    ok!(cuGraphDestroy(graph));
    same!(counts(clone)?, (4, 1, 4));
    ok!(cuGraphDestroy(clone));
    Ok(())
}

fn child_graph_is_copied(_: &mut Scene) -> Outcome {
    let (child, _) = diamond()?;
    let graph = new_graph()?;
    let node: Handle = out(|node| cu!(cuGraphAddChildGraphNode(node, graph, null(), 0, child)))?;
    add(child, &[])?;
    let embedded: Handle = out(|graph| cu!(cuGraphChildGraphNodeGetGraph(node, graph)))?;
    same!(counts(embedded)?, (4, 1, 4));
    same!(counts(child)?, (5, 2, 4));
    ok!(cuGraphDestroy(child));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn kernel_parameters_are_kept(scene: &mut Scene) -> Outcome {
    let (graph, parameters) = (new_graph()?, kernel_parameters(scene)?);
    let node: Handle =
        out(|node| cu!(cuGraphAddKernelNode_v2(node, graph, null(), 0, &parameters)))?;
    let mut kept = parameters;
    (kept.function, kept.grid, kept.block) = (0, [0; 3], [0; 3]);
    ok!(cuGraphKernelNodeGetParams_v2(node, &mut kept));
    same!(
        (kept.function, kept.grid, kept.block),
        (parameters.function, [3, 2, 1], [32, 1, 1])
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}
