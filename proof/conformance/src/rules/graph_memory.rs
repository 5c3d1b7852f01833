//! Memory that graphs allocate and free.

use std::ptr::null;

use super::graph_launches::{add, instantiate, new_graph};
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "graph_memory";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        node_gives_the_address,
        "cuGraphAddMemAllocNode",
        "Adding an allocation node returns the address of the memory."
    ),
    rule!(
        nodes_use_the_memory,
        "CUDA programming guide, graph memory nodes",
        "Nodes between the allocation and its free use the memory, in every launch."
    ),
    rule!(
        memory_is_freed_outside,
        "CUDA programming guide, graph memory nodes",
        "Memory that the graph does not free is used and freed in stream order after the launch."
    ),
    rule!(
        second_launch_needs_the_free,
        "cuGraphLaunch",
        "While memory of the first launch is not freed, a second launch is refused."
    ),
    rule!(
        one_executable_at_a_time,
        "cuGraphInstantiate",
        "A graph with allocation nodes is instantiated once at a time."
    ),
    rule!(
        cannot_be_cloned,
        "cuGraphClone",
        "A graph with allocation nodes cannot be cloned."
    ),
];

fn parameters(scene: &Scene) -> MemAllocNodeParams {
    MemAllocNodeParams {
        properties: MemPoolProps {
            allocation_type: 1,
            handle_types: 0,
            location: MemLocation {
                kind: 1,
                id: scene.device,
            },
            security_attributes: 0,
            max_size: 0,
            usage: 0,
            reserved: [0; 54],
        },
        access: null(),
        access_count: 0,
        bytes: 1 << 20,
        address: 0,
    }
}

fn allocate(scene: &Scene, graph: Handle) -> Outcome<(Handle, Address)> {
    let mut parameters = parameters(scene);
    let node = out(|node| {
        cu!(cuGraphAddMemAllocNode(
            node,
            graph,
            null(),
            0,
            &mut parameters
        ))
    })?;
    Ok((node, parameters.address))
}

fn free_after(graph: Handle, node: Handle, address: Address) -> Outcome<Handle> {
    out(|free| cu!(cuGraphAddMemFreeNode(free, graph, &node, 1, address)))
}

fn node_gives_the_address(scene: &mut Scene) -> Outcome {
    let graph = new_graph()?;
    let (_, first) = allocate(scene, graph)?;
    let (_, second) = allocate(scene, graph)?;
    holds!(first != 0 && second != 0 && first != second);
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn nodes_use_the_memory(scene: &mut Scene) -> Outcome {
    let (graph, to) = (new_graph()?, scene.device(4)?);
    let (node, memory) = allocate(scene, graph)?;
    let stored = add(scene, graph, &[node], "store", &[&memory, &81_u32])?;
    let moved = add(scene, graph, &[stored], "move_word", &[&to, &memory])?;
    free_after(graph, moved, memory)?;
    let executable = instantiate(graph)?;
    for _ in 0..3 {
        ok!(cuMemsetD32_v2(to, 0, 1));
        ok!(cuGraphLaunch(executable, 0));
        same!(scene.word(to)?, 81);
    }
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn memory_is_freed_outside(scene: &mut Scene) -> Outcome {
    let (graph, to) = (new_graph()?, scene.device(4)?);
    let (node, memory) = allocate(scene, graph)?;
    add(scene, graph, &[node], "store", &[&memory, &82_u32])?;
    let executable = instantiate(graph)?;
    for _ in 0..2 {
        ok!(cuGraphLaunch(executable, 0));
        scene.move_word(to, memory, 0)?;
        ok!(cuMemFreeAsync(memory, 0));
        same!(scene.word(to)?, 82);
    }
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn second_launch_needs_the_free(scene: &mut Scene) -> Outcome {
    let graph = new_graph()?;
    let (_, memory) = allocate(scene, graph)?;
    let executable = instantiate(graph)?;
    ok!(cuGraphLaunch(executable, 0));
    gives!(INVALID_VALUE, cuGraphLaunch(executable, 0));
    ok!(cuMemFreeAsync(memory, 0));
    ok!(cuGraphLaunch(executable, 0));
    ok!(cuMemFreeAsync(memory, 0));
    ok!(cuStreamSynchronize(0));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn one_executable_at_a_time(scene: &mut Scene) -> Outcome {
    let (graph, mut second) = (new_graph()?, 0);
    allocate(scene, graph)?;
    let executable = instantiate(graph)?;
    gives!(
        NOT_SUPPORTED,
        cuGraphInstantiateWithFlags(&mut second, graph, 0)
    );
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn cannot_be_cloned(scene: &mut Scene) -> Outcome {
    let (graph, mut clone) = (new_graph()?, 0);
    allocate(scene, graph)?;
    gives!(NOT_SUPPORTED, cuGraphClone(&mut clone, graph));
    ok!(cuGraphDestroy(graph));
    Ok(())
}
