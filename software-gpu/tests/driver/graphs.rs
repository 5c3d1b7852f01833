//! Graphs: what the software GPU leaves out, where it ends, and how it writes a graph down. What graphs do is in
//! `proof/conformance`.

use std::ffi::{c_char, c_uint};

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::driver::entry_point;

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

/// Each omission has a message.
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
    /// `CU_GRAPH_NODE_TYPE_CONDITIONAL` and `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
    const CONDITIONAL: u64 = 13;
    const DEVICE_LAUNCH: u64 = 4;
    let mut params = [0_u64; 32];
    params[0] = CONDITIONAL;
    let general = cu!(cuGraphAddNode_v2(
        &mut node => *mut Handle, graph => Handle, 0 => usize, 0 => usize, 0 => usize, params.as_mut_ptr() => *mut u64,
    ));
    let by_the_device = cu!(cuGraphInstantiateWithFlags(
        &mut node => *mut Handle, graph => Handle, DEVICE_LAUNCH => u64,
    ));
    for refused in [semaphore, batch, conditional, general, by_the_device] {
        assert_eq!(refused, Err(NOT_SUPPORTED));
    }
    assert_eq!(nodes_of(graph), []);
}
