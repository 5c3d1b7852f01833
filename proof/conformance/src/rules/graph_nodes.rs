//! What the nodes of a graph hold, and how it is changed before and after instantiation.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use super::graph_launches::{
    add, copy_of, counting_graph, instantiate, new_graph, one_thread, run, update,
};
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
        "Asking a node of another type for parameters, or giving it some, is refused."
    ),
    rule!(
        kernel_node_gives_back_its_arguments,
        "cuGraphKernelNodeGetParams",
        "A kernel node keeps copies of its arguments, and refuses parameters that no launch could have."
    ),
    rule!(
        host_nodes_need_a_function,
        "cuGraphAddHostNode",
        "A host node without a function is refused."
    ),
    rule!(
        event_nodes_need_an_event,
        "cuGraphAddEventWaitNode",
        "A wait or record node without an event is refused."
    ),
    rule!(
        set_nodes_are_checked,
        "cuGraphAddMemsetNode",
        "A memset node needs elements, rows that fit into the pitch, and memory that is aligned and known (seen on an H200)."
    ),
    rule!(
        nodes_are_added_by_their_type,
        "cuGraphAddNode",
        "One call adds nodes of every type; reserved fields are zero, and the type exists."
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
        "A child of the same shape replaces the child in the executable; one of another shape is refused."
    ),
    rule!(
        executable_nodes_keep_their_kind,
        "cuGraphExecMemcpyNodeSetParams",
        "In an executable a memset keeps its number of dimensions, and a copy its direction."
    ),
    rule!(
        empty_nodes_are_always_enabled,
        "cuGraphNodeSetEnabled",
        "Only kernels, copies and memsets can be disabled."
    ),
    rule!(
        priorities_are_not_reported,
        "cuGraphExecGetFlags",
        "An executable graph reports automatic frees, but not that it uses the priorities of its nodes (seen on an H200)."
    ),
    rule!(
        device_launch_excludes_automatic_frees,
        "cuGraphInstantiate",
        "A graph cannot be instantiated for the device with automatic frees."
    ),
    rule!(
        unknown_instantiation_flags_are_refused,
        "cuGraphInstantiate",
        "Flags that do not exist are refused, and so is an upload without a stream."
    ),
    rule!(
        update_takes_another_memset,
        "cuGraphExecUpdate",
        "An update may change a memset's address, value, width and element size."
    ),
    rule!(
        update_names_the_node,
        "CUgraphExecUpdateResultInfo",
        "A failed update says what differs and at which node of the new graph (seen on an H200)."
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

fn parameters_are_of_the_nodes_type(scene: &mut Scene) -> Outcome {
    let (graph, mut kept) = (new_graph()?, set_of(0, 0));
    let node: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, graph, null(), 0)))?;
    gives!(INVALID_VALUE, cuGraphMemsetNodeGetParams(node, &mut kept));
    let copy = copy_of(scene.device(4)?, scene.pinned(4)?, 4);
    gives!(INVALID_VALUE, cuGraphMemcpyNodeSetParams(node, &copy));
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
    add(scene, children[1], &[], "count", &[&second])?;
    gives!(
        INVALID_VALUE,
        cuGraphExecChildGraphNodeSetParams(executable, node, children[1])
    );
    ok!(cuGraphDestroy(children[0]));
    ok!(cuGraphDestroy(children[1]));
    end(executable, graph)
}

fn priorities_are_not_reported(_: &mut Scene) -> Outcome {
    /// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` and `_USE_NODE_PRIORITY`.
    const AUTO_FREE_ON_LAUNCH: u64 = 1;
    const USE_NODE_PRIORITY: u64 = 8;
    for (given, expected) in [(0, 0), (USE_NODE_PRIORITY, 0), (AUTO_FREE_ON_LAUNCH, 1)] {
        let graph = new_graph()?;
        let executable: Handle =
            out(|executable| cu!(cuGraphInstantiateWithFlags(executable, graph, given)))?;
        let flags: u64 = out(|flags| cu!(cuGraphExecGetFlags(executable, flags)))?;
        same!(flags, expected);
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
    /// `CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD`, which needs `cuGraphInstantiateWithParams`.
    const UPLOAD: u64 = 2;
    let (graph, mut executable) = (new_graph()?, 0);
    for flags in [UPLOAD, 16, 1 << 40] {
        gives!(
            INVALID_VALUE,
            cuGraphInstantiateWithFlags(&mut executable, graph, flags)
        );
    }
    ok!(cuGraphDestroy(graph));
    Ok(())
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

fn kernel_node_gives_back_its_arguments(scene: &mut Scene) -> Outcome {
    let (graph, address, value) = (new_graph()?, scene.device(4)?, 7_u32);
    let node = add(scene, graph, &[], "store", &[&address, &value])?;
    let mut kept = one_thread(0, &mut []);
    ok!(cuGraphKernelNodeGetParams_v2(node, &mut kept));
    same!(
        (kept.grid, kept.block, kept.context),
        ([1; 3], [1; 3], scene.context)
    );
    // SAFETY: the kernel has these two parameters, and the node owns copies of them.
    let arguments = unsafe {
        let pointers = kept.parameters;
        (
            (*pointers).cast::<u64>().read(),
            (*pointers.add(1)).cast::<u32>().read(),
        )
    };
    same!(arguments, (address, value));
    kept.grid[0] = 0;
    gives!(INVALID_VALUE, cuGraphKernelNodeSetParams_v2(node, &kept));
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn host_nodes_need_a_function(_: &mut Scene) -> Outcome {
    let (graph, mut node) = (new_graph()?, 0);
    let host = HostNodeParams {
        function: None,
        data: null_mut(),
    };
    gives!(
        INVALID_VALUE,
        cuGraphAddHostNode(&mut node, graph, null(), 0, &host)
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn event_nodes_need_an_event(_: &mut Scene) -> Outcome {
    let (graph, mut node) = (new_graph()?, 0);
    gives!(
        INVALID_VALUE,
        cuGraphAddEventWaitNode(&mut node, graph, null(), 0, 0)
    );
    gives!(
        INVALID_VALUE,
        cuGraphAddEventRecordNode(&mut node, graph, null(), 0, 0)
    );
    ok!(cuGraphDestroy(graph));
    Ok(())
}

/// A memset of `width` bytes of one row.
fn bytes_of(to: Address, value: u32, width: usize) -> MemsetNodeParams {
    MemsetNodeParams {
        element_bytes: 1,
        width,
        ..set_of(to, value)
    }
}

/// Two rows of a memset's width, 64 bytes apart.
fn two_rows(set: MemsetNodeParams) -> MemsetNodeParams {
    MemsetNodeParams {
        height: 2,
        pitch: 64,
        ..set
    }
}

fn set_nodes_are_checked(scene: &mut Scene) -> Outcome {
    let (graph, address, pinned) = (new_graph()?, scene.device(256)?, scene.pinned(64)?);
    let good = bytes_of(address, 1, 16);
    let narrow = MemsetNodeParams {
        pitch: 8,
        ..two_rows(good)
    };
    for (set, expected) in [
        (good, SUCCESS),
        (two_rows(good), SUCCESS),
        (MemsetNodeParams { value: 300, ..good }, SUCCESS),
        (bytes_of(pinned.address(), 1, 64), SUCCESS),
        (bytes_of(address, 1, 0), INVALID_VALUE),
        (MemsetNodeParams { height: 0, ..good }, INVALID_VALUE),
        (
            MemsetNodeParams {
                element_bytes: 3,
                ..good
            },
            INVALID_VALUE,
        ),
        (narrow, INVALID_VALUE),
        (set_of(address + 1, 1), INVALID_VALUE),
        (bytes_of(64, 1, 16), INVALID_VALUE),
    ] {
        let mut node = 0;
        let code = cu!(cuGraphAddMemsetNode(
            &mut node,
            graph,
            null(),
            0,
            &set,
            scene.context
        ));
        same!((format!("{set:?}"), code), (format!("{set:?}"), expected));
    }
    ok!(cuGraphDestroy(graph));
    Ok(())
}

fn nodes_are_added_by_their_type(scene: &mut Scene) -> Outcome {
    /// `CU_GRAPH_NODE_TYPE_MEMSET` and `_EMPTY`.
    const MEMSET: u64 = 2;
    const EMPTY: u64 = 5;
    let (graph, address) = (new_graph()?, scene.device(16)?);
    let add = |words: &[u64]| {
        let (mut node, mut parameters) = (0, [0; 32]);
        parameters[..words.len()].copy_from_slice(words);
        cu!(cuGraphAddNode_v2(
            &mut node,
            graph,
            null(),
            null(),
            0,
            &mut parameters
        ))
    };
    // Address, pitch, value and element size, width, height, context.
    let set = [
        MEMSET,
        0,
        address,
        0,
        1 << 32 | 9,
        16,
        1,
        scene.context as u64,
    ];
    same!((add(&[EMPTY]), add(&set)), (SUCCESS, SUCCESS));
    same!(
        (add(&[EMPTY, 1]), add(&[99])),
        (INVALID_VALUE, INVALID_VALUE)
    );
    run(scene, graph)?;
    same!(scene.bytes(address, 16)?, vec![9; 16]);
    Ok(())
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

/// A memset and an empty node behind it.
fn set_and_empty(scene: &Scene, set: &MemsetNodeParams) -> Outcome<(Handle, [Handle; 2])> {
    let graph = new_graph()?;
    let first = add_set(scene, graph, set)?;
    let second = out(|node| cu!(cuGraphAddEmptyNode(node, graph, &first, 1)))?;
    Ok((graph, [first, second]))
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
    let (loose, [first, second]) = set_and_empty(scene, &set)?;
    ok!(cuGraphRemoveDependencies_v2(
        loose,
        &first,
        &second,
        null(),
        1
    ));
    let other_type = new_graph()?;
    let empty: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, other_type, null(), 0)))?;
    let _: Handle = out(|node| cu!(cuGraphAddEmptyNode(node, other_type, &empty, 1)))?;
    let (rows, [of_rows, _]) = set_and_empty(scene, &two_rows(set))?;
    for (name, other, result, node) in [
        ("a node more", more, TOPOLOGY, 0),
        ("a node less", fewer, TOPOLOGY, 0),
        ("an edge less", loose, TOPOLOGY, first),
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
