//! Memory that graphs allocate and free.

use std::ptr::null;

use super::graph_launches::{add, instantiate, new_graph};
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::Scene;
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "graph_memory";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(node_gives_the_address, "cuGraphAddMemAllocNode", "Adding an allocation node returns the address of the memory."),
    rule!(nodes_use_the_memory, "CUDA programming guide, graph memory nodes",
        "Nodes between the allocation and its free use the memory, in every launch."),
    rule!(memory_is_freed_outside, "CUDA programming guide, graph memory nodes",
        "Memory that the graph does not free is used and freed in stream order after the launch."),
    rule!(second_launch_needs_the_free, "cuGraphLaunch",
        "While memory of the first launch is not freed, a second launch is refused."),
    rule!(one_executable_at_a_time, "cuGraphInstantiate",
        "A graph with allocation nodes is instantiated once at a time, and again when the executable is destroyed."),
    rule!(nodes_give_back_their_parameters, "cuGraphMemAllocNodeGetParams",
        "Memory nodes have types of their own, and name the size and the address."),
    rule!(nodes_free_what_nodes_allocate, "cuGraphAddMemFreeNode",
        "A free node for memory that has one already, or that no node has allocated, is refused."),
    rule!(nodes_are_added_by_their_type, "cuGraphAddNode", "One call adds allocations and frees too."),
    rule!(shape_is_kept, "cuGraphAddMemAllocNode",
        "Nodes and edges of a graph with allocation nodes cannot be removed, and it cannot be a child."),
    rule!(memory_is_freed_by_the_host, "CUDA programming guide, graph memory nodes",
        "cuMemFree frees memory of a graph too; memory that is not allocated cannot be freed."),
    rule!(memory_is_freed_by_another_graph, "CUDA programming guide, graph memory nodes",
        "A free node of another graph frees the memory, if that graph is launched while it is allocated."),
    rule!(launches_free_what_is_left, "CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH",
        "With automatic frees a graph is launched again although its memory is not freed."),
    rule!(captured_allocations_become_nodes, "cuMemAllocAsync", "An allocation and a free in a capture become nodes."),
    rule!(captures_free_no_pools_memory, "cuMemFreeAsync",
        "In a capture memory of a pool cannot be freed; the capture stays valid."),
    rule!(only_high_watermarks_are_reset, "cuDeviceSetGraphMemAttribute",
        "The high watermarks can be set to zero, and nothing else can be set."),
    rule!(cannot_be_cloned, "cuGraphClone", "A graph with allocation nodes cannot be cloned."),
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
    ok!(cuGraphExecDestroy(instantiate(graph)?));
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

/// `CU_GRAPH_NODE_TYPE_*`.
const MEMCPY: u32 = 1;
const MEMSET: u32 = 2;
const ALLOCATION: u32 = 10;
const FREE: u32 = 11;

fn type_of(node: Handle) -> Outcome<u32> {
    out(|kind| cu!(cuGraphNodeGetType(node, kind)))
}

fn nodes_give_back_their_parameters(scene: &mut Scene) -> Outcome {
    let graph = new_graph()?;
    let (node, memory) = allocate(scene, graph)?;
    let free = free_after(graph, node, memory)?;
    same!((type_of(node)?, type_of(free)?), (ALLOCATION, FREE));
    let mut kept = parameters(scene);
    kept.bytes = 0;
    ok!(cuGraphMemAllocNodeGetParams(node, &mut kept));
    same!((kept.bytes, kept.address), (1 << 20, memory));
    same!(
        out(|address| cu!(cuGraphMemFreeNodeGetParams(free, address)))?,
        memory
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn nodes_free_what_nodes_allocate(scene: &mut Scene) -> Outcome {
    let (graph, foreign, mut free) = (new_graph()?, scene.device(64)?, 0);
    let (node, memory) = allocate(scene, graph)?;
    free_after(graph, node, memory)?;
    for address in [memory, foreign] {
        gives!(
            INVALID_VALUE,
            cuGraphAddMemFreeNode(&mut free, graph, &node, 1, address)
        );
    }
    let mut nothing = parameters(scene);
    nothing.bytes = 0;
    gives!(
        INVALID_VALUE,
        cuGraphAddMemAllocNode(&mut free, graph, null(), 0, &mut nothing)
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn nodes_are_added_by_their_type(scene: &mut Scene) -> Outcome {
    let graph = new_graph()?;
    let add = |parameters: &mut GraphNodeParams| {
        let mut node = 0;
        cu!(cuGraphAddNode_v2(
            &mut node,
            graph,
            null(),
            null(),
            0,
            parameters
        ))
    };
    let (mut allocation, mut free) = ([0; 32], [0; 32]);
    allocation[0] = ALLOCATION.into();
    // The allocation's type, the location, and 10 words on the size.
    (allocation[2], allocation[3]) = (1, 1 | (scene.device as u64) << 32);
    allocation[15] = 1 << 20;
    same!(add(&mut allocation), SUCCESS);
    (free[0], free[2]) = (FREE.into(), allocation[16]);
    same!((add(&mut free), add(&mut free)), (SUCCESS, INVALID_VALUE));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

/// A graph that allocates and then stores a word, and its nodes.
fn storing(scene: &mut Scene, value: u32) -> Outcome<(Handle, [Handle; 2], Address)> {
    let graph = new_graph()?;
    let (node, memory) = allocate(scene, graph)?;
    let store = add(scene, graph, &[node], "store", &[&memory, &value])?;
    Ok((graph, [node, store], memory))
}

fn shape_is_kept(scene: &mut Scene) -> Outcome {
    let ((graph, [first, second], _), outer) = (storing(scene, 1)?, new_graph()?);
    gives!(NOT_SUPPORTED, cuGraphDestroyNode(second));
    gives!(
        NOT_SUPPORTED,
        cuGraphRemoveDependencies_v2(graph, &first, &second, null(), 1)
    );
    let mut child = 0;
    gives!(
        NOT_SUPPORTED,
        cuGraphAddChildGraphNode(&mut child, outer, null(), 0, graph)
    );
    ok!(cuGraphDestroy(outer));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn memory_is_freed_by_the_host(scene: &mut Scene) -> Outcome {
    let (graph, _, memory) = storing(scene, 83)?;
    let executable = instantiate(graph)?;
    gives!(INVALID_VALUE, cuMemFreeAsync(memory, 0));
    for _ in 0..2 {
        ok!(cuGraphLaunch(executable, 0));
        same!(scene.word(memory)?, 83);
        ok!(cuMemFree_v2(memory));
        gives!(INVALID_VALUE, cuMemFreeAsync(memory, 0));
    }
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn memory_is_freed_by_another_graph(scene: &mut Scene) -> Outcome {
    let ((owner, _, memory), other) = (storing(scene, 84)?, new_graph()?);
    let _: Handle = out(|free| cu!(cuGraphAddMemFreeNode(free, other, null(), 0, memory)))?;
    let (allocates, frees) = (instantiate(owner)?, instantiate(other)?);
    gives!(INVALID_VALUE, cuGraphLaunch(frees, 0));
    for _ in 0..2 {
        ok!(cuGraphLaunch(allocates, 0));
        ok!(cuGraphLaunch(frees, 0));
    }
    ok!(cuStreamSynchronize(0));
    for (executable, graph) in [(frees, other), (allocates, owner)] {
        ok!(cuGraphExecDestroy(executable));
        ok!(cuGraphDestroy(graph));
    }
    Ok(())
}

fn launches_free_what_is_left(scene: &mut Scene) -> Outcome {
    const AUTO_FREE_ON_LAUNCH: u64 = 1;
    let (graph, _, memory) = storing(scene, 85)?;
    let executable: Handle = out(|executable| {
        cu!(cuGraphInstantiateWithFlags(
            executable,
            graph,
            AUTO_FREE_ON_LAUNCH
        ))
    })?;
    for _ in 0..3 {
        ok!(cuGraphLaunch(executable, 0));
    }
    same!(scene.word(memory)?, 85);
    ok!(cuMemFreeAsync(memory, 0));
    ok!(cuStreamSynchronize(0));
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn captured_allocations_become_nodes(scene: &mut Scene) -> Outcome {
    const GLOBAL: u32 = 0;
    let (stream, to) = (scene.non_blocking()?, scene.device(64)?);
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    let memory = out(|address| cu!(cuMemAllocAsync(address, 64, stream)))?;
    ok!(cuMemsetD8Async(memory, 8, 64, stream));
    ok!(cuMemcpyDtoDAsync_v2(to, memory, 64, stream));
    ok!(cuMemFreeAsync(memory, stream));
    let graph: Handle = out(|graph| cu!(cuStreamEndCapture(stream, graph)))?;
    let (mut nodes, mut count) = ([0; 8], 8);
    ok!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
    let types: Outcome<Vec<_>> = nodes[..count].iter().map(|node| type_of(*node)).collect();
    let mut types = types?;
    types.sort_unstable();
    same!(types, vec![MEMCPY, MEMSET, ALLOCATION, FREE]);
    let executable = instantiate(graph)?;
    for _ in 0..2 {
        ok!(cuMemsetD8_v2(to, 0, 64));
        ok!(cuGraphLaunch(executable, 0));
        same!(scene.bytes(to, 64)?, vec![8; 64]);
    }
    ok!(cuGraphExecDestroy(executable));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn captures_free_no_pools_memory(scene: &mut Scene) -> Outcome {
    const RELAXED: u32 = 2;
    let (stream, mut graph) = (scene.non_blocking()?, 0);
    let memory = out(|address| cu!(cuMemAllocAsync(address, 64, stream)))?;
    ok!(cuStreamBeginCapture_v2(stream, RELAXED));
    let code = cu!(cuMemFreeAsync(memory, stream));
    let ended = cu!(cuStreamEndCapture(stream, &mut graph));
    same!((code, ended), (INVALID_VALUE, SUCCESS));
    ok!(cuGraphDestroy(graph));
    ok!(cuMemFreeAsync(memory, stream));
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn only_high_watermarks_are_reset(scene: &mut Scene) -> Outcome {
    /// `CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT` and `_HIGH`.
    const USED: u32 = 0;
    const USED_HIGH: u32 = 1;
    for (attribute, mut value, expected) in [
        (USED_HIGH, 0_u64, SUCCESS),
        (USED_HIGH, 1, INVALID_VALUE),
        (USED, 0, INVALID_VALUE),
    ] {
        gives!(
            expected,
            cuDeviceSetGraphMemAttribute(scene.device, attribute, (&raw mut value).cast())
        );
    }
    let mut used = [0_u64; 2];
    for (attribute, value) in [USED, USED_HIGH].into_iter().zip(&mut used) {
        let value = std::ptr::from_mut(value).cast();
        ok!(cuDeviceGetGraphMemAttribute(scene.device, attribute, value));
    }
    same!(used[1], used[0]);
    Ok(())
}
