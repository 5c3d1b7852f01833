//! Changing executable graphs, nodes of events and embedded graphs. The codes are those of an H200.

use std::ffi::{c_char, c_uint};

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::driver::entry_point;

const KERNELS: &str = include_str!("../driver_support/kernels.ptx");

/// `CUgraphExecUpdateResultInfo`.
#[derive(Debug, Default)]
#[repr(C)]
struct UpdateResult {
    result: c_uint,
    node: Handle,
    from: Handle,
}

fn update(exec: Handle, graph: Handle) -> (Result<(), Error>, c_uint, Handle) {
    let mut found = UpdateResult::default();
    let updated = cu!(cuGraphExecUpdate_v2(
        exec => Handle, graph => Handle, &mut found => *mut UpdateResult,
    ));
    assert_eq!(found.from, 0);
    (updated, found.result, found.node)
}

/// A memset and an empty node after it.
fn pair(params: &SetParams) -> (Handle, Handle, Handle) {
    let graph = graph();
    let first = set_node(graph, &[], params).unwrap();
    (graph, first, empty_node(graph, &[first]).unwrap())
}

/// `cuGraphExecUpdate`: other parameters.
#[test]
fn an_update_takes_over_parameters() {
    let driver = Driver::new();
    let data = driver.allocate(4096).unwrap();
    let exec = instantiate(pair(&SetParams::bytes(data, 1, 16)).0).unwrap();
    let (other, ..) = pair(&SetParams::bytes(data + 8, 2, 32));
    assert_eq!(update(exec, other), (Ok(()), 0, 0));
    driver.fill(data, 0, 64);
    launch_graph(exec, 0).unwrap();
    let seen = driver.read(data, 64);
    assert_eq!((seen[7], seen[8], seen[39], seen[40]), (0, 2, 2, 0));
    let (words, ..) = pair(&SetParams {
        element_bytes: 4,
        ..SetParams::bytes(data, 1, 4)
    });
    assert_eq!(update(exec, words).0, Ok(()));
}

/// `CUgraphExecUpdateResult`: what an update cannot do.
#[test]
fn an_update_names_what_has_changed() {
    let driver = Driver::new();
    let data = driver.allocate(4096).unwrap();
    let params = SetParams::bytes(data, 1, 16);
    let exec = instantiate(pair(&params).0).unwrap();
    let failed = |result, node| (Err(UPDATE_FAILURE), result, node);

    let (more, ..) = pair(&params);
    empty_node(more, &[]).unwrap();
    assert_eq!(update(exec, more), failed(2, 0), "a node more");

    let fewer = graph();
    set_node(fewer, &[], &params).unwrap();
    assert_eq!(update(exec, fewer), failed(2, 0), "a node less");

    let (loose, first, second) = pair(&params);
    disconnect(loose, first, second).unwrap();
    assert_eq!(update(exec, loose), failed(2, first), "an edge less");

    let types = graph();
    let first = empty_node(types, &[]).unwrap();
    empty_node(types, &[first]).unwrap();
    assert_eq!(update(exec, types), failed(3, first), "another type");

    let (rows, first, _) = pair(&SetParams {
        height: 2,
        pitch: 64,
        ..params
    });
    assert_eq!(update(exec, rows), failed(5, first), "more than one row");
    let without = cu!(cuGraphExecUpdate_v2(exec => Handle, rows => Handle, 0 => usize));
    assert_eq!(without, Err(UPDATE_FAILURE), "nobody wants to know why");
}

/// `cuGraphExecMemsetNodeSetParams`, `cuGraphExecMemcpyNodeSetParams`: what one node can become.
#[test]
fn one_node_of_an_executable_graph_is_changed() {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(4096).unwrap(), driver.pinned(64));
    let (graph, setting, empty) = pair(&SetParams::bytes(data, 1, 16));
    let up = CopyParams::row(
        CopySide::device(data + 64),
        CopySide::host(host.pointer()),
        32,
    );
    let copying = copy_node(graph, &[setting], &up).unwrap();
    let exec = instantiate(graph).unwrap();
    let set = |node: Handle, params: SetParams| {
        cu!(cuGraphExecMemsetNodeSetParams(
            exec => Handle, node => Handle, &params => *const SetParams, 0 => Handle,
        ))
    };
    let good = SetParams::bytes(data, 4, 32);
    assert_eq!(set(setting, good), Ok(()));
    assert_eq!(
        set(setting, SetParams { width: 0, ..good }),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        set(
            setting,
            SetParams {
                height: 2,
                pitch: 64,
                ..good
            }
        ),
        Err(INVALID_VALUE)
    );
    assert_eq!(set(empty, good), Err(INVALID_VALUE));
    let copy = |params: CopyParams| {
        cu!(cuGraphExecMemcpyNodeSetParams(
            exec => Handle, copying => Handle, &params => *const CopyParams, 0 => Handle,
        ))
    };
    let down = CopyParams::row(CopySide::host(host.pointer()), CopySide::device(data), 32);
    assert_eq!(copy(down), Err(INVALID_VALUE), "another direction");
    let later = CopyParams::row(
        CopySide::device(data + 80),
        CopySide::host(host.pointer()),
        16,
    );
    assert_eq!(copy(later), Ok(()));
    driver.fill(data, 0, 128);
    host.fill(7);
    launch_graph(exec, 0).unwrap();
    let seen = driver.read(data, 128);
    assert_eq!(
        (seen[31], seen[32], seen[79], seen[80], seen[95], seen[96]),
        (4, 0, 0, 7, 7, 0)
    );
}

/// `cuGraphExecKernelNodeSetParams`: the graph that it was made from keeps its own.
#[test]
fn a_kernel_of_an_executable_graph_is_changed() {
    let driver = Driver::new();
    let data = driver.allocate(64).unwrap();
    let module = driver.module(KERNELS).unwrap();
    let function = driver.function(module, "store_after").unwrap();
    let graph = graph();
    let node = kernel_node(graph, &[], function, &[&data, &7_u32, &1_u32]).unwrap();
    let (changed, kept) = (instantiate(graph).unwrap(), instantiate(graph).unwrap());
    let (value, rounds) = (9_u32, 1_u32);
    let pointers = [data.pointer(), value.pointer(), rounds.pointer()];
    let params = kernel_params(function, &pointers);
    cu!(cuGraphExecKernelNodeSetParams_v2(
        changed => Handle, node => Handle, &params => *const KernelParams,
    ))
    .unwrap();
    for (exec, expected) in [(changed, 9), (kept, 7)] {
        launch_graph(exec, 0).unwrap();
        assert_eq!(driver.read(data, 1), [expected]);
    }
}

/// `cuGraphNodeSetEnabled`: only kernels, copies and memsets can be left out.
#[test]
fn a_disabled_node_does_nothing() {
    let driver = Driver::new();
    let data = driver.allocate(64).unwrap();
    let (graph, setting, empty) = pair(&SetParams::bytes(data, 1, 16));
    set_node(graph, &[empty], &SetParams::bytes(data + 16, 1, 16)).unwrap();
    let exec = instantiate(graph).unwrap();
    let enable = |node: Handle, enabled: c_uint| cu!(cuGraphNodeSetEnabled(exec => Handle, node => Handle, enabled => c_uint));
    let enabled = |node: Handle| {
        let mut enabled = 9;
        cu!(cuGraphNodeGetEnabled(exec => Handle, node => Handle, &mut enabled => *mut c_uint))
            .map(|()| enabled)
    };
    enable(setting, 0).unwrap();
    assert_eq!(enabled(setting), Ok(0));
    assert_eq!(enable(empty, 0), Err(INVALID_VALUE));
    assert_eq!(enabled(empty), Err(INVALID_VALUE));
    driver.fill(data, 0, 64);
    launch_graph(exec, 0).unwrap();
    let seen = driver.read(data, 32);
    assert_eq!((seen[0], seen[16]), (0, 1));
    enable(setting, 5).unwrap();
    assert_eq!(enabled(setting), Ok(1));
    launch_graph(exec, 0).unwrap();
    assert_eq!(driver.read(data, 1), [1]);
}

/// `cuGraphAddChildGraphNode`: the node has a copy of the graph, which comes between what is before and after it.
#[test]
fn an_embedded_graph_runs_in_its_place() {
    let driver = Driver::new();
    let data = driver.allocate(64).unwrap();
    let child = graph();
    let inner = set_node(child, &[], &SetParams::bytes(data, 2, 32)).unwrap();
    set_node(child, &[inner], &SetParams::bytes(data, 3, 16)).unwrap();
    let graph = graph();
    let before = set_node(graph, &[], &SetParams::bytes(data, 1, 64)).unwrap();
    let node = child_node(graph, &[before], child).unwrap();
    set_node(graph, &[node], &SetParams::bytes(data, 4, 8)).unwrap();
    let mut embedded = 0;
    cu!(cuGraphChildGraphNodeGetGraph(node => Handle, &mut embedded => *mut Handle)).unwrap();
    assert_ne!(embedded, child);
    let exec = instantiate(graph).unwrap();
    launch_graph(exec, 0).unwrap();
    let seen = driver.read(data, 64);
    assert_eq!([seen[0], seen[8], seen[16], seen[32]], [4, 3, 2, 1]);

    let other = self::graph();
    let inner = set_node(other, &[], &SetParams::bytes(data, 5, 32)).unwrap();
    let set_child =
        || cu!(cuGraphExecChildGraphNodeSetParams(exec => Handle, node => Handle, other => Handle));
    assert_eq!(set_child(), Err(INVALID_VALUE), "another shape");
    set_node(other, &[inner], &SetParams::bytes(data, 6, 16)).unwrap();
    assert_eq!(set_child(), Ok(()));
    launch_graph(exec, 0).unwrap();
    let seen = driver.read(data, 64);
    assert_eq!([seen[0], seen[8], seen[16], seen[32]], [4, 6, 5, 1]);
}

/// Each embedding copies: a graph that is embedded into itself doubles, and one in another gets deeper.
#[test]
fn embedding_without_end_runs_out_of_memory() {
    let _driver = Driver::new();
    let doubling = graph();
    empty_node(doubling, &[]).unwrap();
    let refused = (0..20).find_map(|_| child_node(doubling, &[], doubling).err());
    assert_eq!(refused, Some(OUT_OF_MEMORY));

    let mut inner = graph();
    let refused = (0..100).find_map(|_| {
        let outer = graph();
        let refused = child_node(outer, &[], inner).err();
        inner = outer;
        refused
    });
    assert_eq!(refused, Some(OUT_OF_MEMORY));
}

/// `cuGraphClone`, `cuGraphNodeFindInClone`.
#[test]
fn a_clone_is_independent() {
    let driver = Driver::new();
    let data = driver.allocate(64).unwrap();
    let (original, setting, empty) = pair(&SetParams::bytes(data, 1, 16));
    let mut clone = 0;
    cu!(cuGraphClone(&mut clone => *mut Handle, original => Handle)).unwrap();
    let find = |node: Handle, graph: Handle| {
        let mut found = 0;
        cu!(cuGraphNodeFindInClone(&mut found => *mut Handle, node => Handle, graph => Handle))
            .map(|()| found)
    };
    assert_eq!(find(setting, clone), Ok(nodes_of(clone)[0]));
    assert_eq!(find(setting, original), Err(INVALID_VALUE));
    assert_eq!(
        dependencies_of(find(empty, clone).unwrap()),
        [nodes_of(clone)[0]]
    );
    cu!(cuGraphDestroy(original => Handle)).unwrap();
    driver.fill(data, 0, 16);
    launch_graph(instantiate(clone).unwrap(), 0).unwrap();
    assert_eq!(driver.read(data, 1), [1]);
}

/// Event nodes: the event is recorded at each launch, and another stream can wait for it.
#[test]
fn a_graph_records_and_waits_for_events() {
    let driver = Driver::new();
    let bytes = 4 * MIB;
    let data = driver.allocate(bytes).unwrap();
    let (host, seen) = (driver.pinned(bytes), driver.pinned(bytes));
    let (go, done) = (driver.event(), driver.event());
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let graph = graph();
    let wait = event_wait_node(graph, &[], go).unwrap();
    let down = CopyParams::row(
        CopySide::host(seen.pointer()),
        CopySide::device(data),
        bytes,
    );
    let copy = copy_node(graph, &[wait], &down).unwrap();
    event_record_node(graph, &[copy], done).unwrap();
    let exec = instantiate(graph).unwrap();
    host.fill(6);
    driver.to_device(data, host.pointer(), bytes, a).unwrap();
    driver.record(go, a).unwrap();
    launch_graph(exec, b).unwrap();
    assert_eq!(driver.event_query(done), Err(NOT_READY));
    driver.event_synchronize(done).unwrap();
    assert!(seen.bytes().iter().all(|byte| *byte == 6));
    let mut event = 0;
    cu!(cuGraphEventWaitNodeGetEvent(wait => Handle, &mut event => *mut Handle)).unwrap();
    assert_eq!(event, go);
    assert_eq!(event_wait_node(graph, &[], 0), Err(INVALID_VALUE));
}

/// `cuGraphAddNode`: one call for every type; what is left out is refused.
#[test]
fn the_general_call_adds_nodes() {
    let driver = Driver::new();
    let data = driver.allocate(64).unwrap();
    let graph = graph();
    let add = |words: &[u64], reserved: u64| {
        let mut params = [0_u64; 32];
        params[0] = words[0];
        params[1] = reserved;
        params[2..1 + words.len()].copy_from_slice(&words[1..]);
        let mut node = 0;
        cu!(cuGraphAddNode_v2(
            &mut node => *mut Handle, graph => Handle, 0 => usize, 0 => usize, 0 => usize,
            params.as_mut_ptr() => *mut u64,
        ))
        .map(|()| type_of(node))
    };
    let memset = [2, data, 0, 1 << 32 | 9, 16, 1, 0];
    assert_eq!(add(&[5], 0), Ok(5));
    assert_eq!(add(&memset, 0), Ok(2));
    assert_eq!(add(&[5], 1), Err(INVALID_VALUE), "reserved");
    assert_eq!(add(&[99], 0), Err(INVALID_VALUE));
    assert_eq!(add(&[13], 0), Err(NOT_SUPPORTED), "conditional");
    driver.fill(data, 0, 16);
    launch_graph(instantiate(graph).unwrap(), 0).unwrap();
    assert_eq!(driver.read(data, 1), [9]);
}

/// `cuGraphDebugDotPrint`: nodes with their types, edges, and embedded graphs; a path that cannot be written is an error.
#[test]
fn a_graph_is_written_down() {
    let driver = Driver::new();
    let data = driver.allocate(64).unwrap();
    let (inner, outer) = (graph(), graph());
    empty_node(inner, &[]).unwrap();
    let set = set_node(outer, &[], &SetParams::bytes(data, 1, 48)).unwrap();
    child_node(outer, &[set], inner).unwrap();
    let name = format!("software-gpu-graph-{}.dot", std::process::id());
    let path = std::env::temp_dir().join(name);
    let print = |path: &std::path::Path, flags: c_uint| {
        let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        cu!(cuGraphDebugDotPrint(outer => Handle, path.as_ptr() => *const c_char, flags => c_uint))
    };
    print(&path, 0).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let expected = r#"digraph dot {
subgraph cluster_0 {
label="graph_0" graph[style="dashed"];
"graph_0_node_0"[shape="rectangle" label="0\nMEMSET\n48 bytes"];
"graph_0_node_1"[shape="rectangle" label="1\nGRAPH"];
"graph_0_node_0" -> "graph_0_node_1";
}
"graph_0_node_1" -> "graph_1_node_0"[style="dashed"];
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[shape="rectangle" label="0\nEMPTY"];
}
}
"#;
    assert_eq!(text, expected);
    assert_eq!(print(&path.join("missing"), 0), Err(304));
    assert_eq!(print(&path, 1 << 16), Err(INVALID_VALUE));
}

/// What is left out says so.
#[test]
fn node_types_that_are_left_out_are_refused() {
    let _driver = Driver::new();
    let graph = graph();
    let mut node = 0;
    let semaphore = cu!(cuGraphAddExternalSemaphoresSignalNode(
        &mut node => *mut Handle, graph => Handle, 0 => usize, 0 => usize, 0 => usize,
    ));
    let batch = cu!(cuGraphAddBatchMemOpNode(
        &mut node => *mut Handle, graph => Handle, 0 => usize, 0 => usize, 0 => usize,
    ));
    let mut handle = 0_u64;
    let conditional = cu!(cuGraphConditionalHandleCreate(
        &mut handle => *mut u64, graph => Handle, 0 => Handle, 0 => c_uint, 0 => c_uint,
    ));
    for refused in [semaphore, batch, conditional] {
        assert_eq!(refused, Err(NOT_SUPPORTED));
    }
    assert_eq!(nodes_of(graph), []);
}
