//! Graphs: their nodes and edges, what an executable graph does, and how it is changed. The codes are those of an H200.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::driver::entry_point;

const KERNELS: &str = include_str!("../driver_support/kernels.ptx");

/// Long enough for its copy (75 µs) to be under way when the next call returns.
const LONG: usize = 4 * MIB;

fn edges_of(graph: Handle) -> Vec<(Handle, Handle)> {
    let (mut from, mut to, mut count) = ([0; 64], [0; 64], 64);
    cu!(cuGraphGetEdges(
        graph => Handle, from.as_mut_ptr() => *mut Handle, to.as_mut_ptr() => *mut Handle, &mut count => *mut usize,
    ))
    .unwrap();
    from.into_iter().zip(to).take(count).collect()
}

fn roots_of(graph: Handle) -> Vec<Handle> {
    nodes(
        |nodes, count| cu!(cuGraphGetRootNodes(graph => Handle, nodes => *mut Handle, count => *mut usize)),
    )
}

fn dependents_of(node: Handle) -> Vec<Handle> {
    nodes(
        |nodes, count| cu!(cuGraphNodeGetDependentNodes(node => Handle, nodes => *mut Handle, count => *mut usize)),
    )
}

/// `cuGraphGetNodes`, `…GetRootNodes`, `…GetEdges`, `cuGraphNodeGetDependencies`, `…GetDependentNodes`.
#[test]
fn a_graph_knows_its_nodes_and_edges() {
    let _driver = Driver::new();
    let graph = graph();
    let a = empty_node(graph, &[]).unwrap();
    let b = empty_node(graph, &[a]).unwrap();
    let c = empty_node(graph, &[]).unwrap();
    connect(graph, b, c).unwrap();
    assert_eq!(nodes_of(graph), [a, b, c]);
    assert_eq!(roots_of(graph), [a]);
    assert_eq!(edges_of(graph), [(a, b), (b, c)]);
    assert_eq!(dependencies_of(c), [b]);
    assert_eq!(dependents_of(a), [b]);
    cu!(cuGraphDestroyNode(b => Handle)).unwrap();
    assert_eq!(edges_of(graph), []);
    assert_eq!(roots_of(graph), [a, c]);
    let (mut node, mut count) = (0, 1);
    cu!(cuGraphGetNodes(graph => Handle, &mut node => *mut Handle, &mut count => *mut usize))
        .unwrap();
    assert_eq!((node, count), (a, 1));
    count = 0;
    cu!(cuGraphGetNodes(graph => Handle, std::ptr::null_mut() => *mut Handle, &mut count => *mut usize))
        .unwrap();
    assert_eq!(count, 2);
}

/// `cuGraphAddDependencies` and node creation: what an edge cannot be.
#[test]
fn wrong_edges_are_refused() {
    let _driver = Driver::new();
    let (graph, other) = (graph(), graph());
    let a = empty_node(graph, &[]).unwrap();
    let b = empty_node(graph, &[a]).unwrap();
    let foreign = empty_node(other, &[]).unwrap();
    assert_eq!(connect(graph, a, b), Err(INVALID_VALUE), "there already");
    assert_eq!(connect(graph, a, a), Err(INVALID_VALUE), "to itself");
    assert_eq!(connect(graph, a, foreign), Err(INVALID_VALUE));
    assert_eq!(empty_node(graph, &[a, a]), Err(INVALID_VALUE));
    assert_eq!(empty_node(graph, &[foreign]), Err(INVALID_VALUE));
    disconnect(graph, a, b).unwrap();
    assert_eq!(disconnect(graph, a, b), Err(INVALID_VALUE));
    assert_eq!(nodes_of(graph), [a, b]);
}

/// A cycle can be made, but not instantiated.
#[test]
fn a_cycle_cannot_be_instantiated() {
    #[repr(C)]
    struct Params {
        flags: u64,
        upload: Handle,
        node: Handle,
        result: c_uint,
    }
    let _driver = Driver::new();
    let graph = graph();
    let a = empty_node(graph, &[]).unwrap();
    let b = empty_node(graph, &[a]).unwrap();
    connect(graph, b, a).unwrap();
    assert_eq!(instantiate(graph), Err(INVALID_VALUE));
    let mut params = Params {
        flags: 0,
        upload: 0,
        node: 0,
        result: 77,
    };
    let mut exec = 0;
    let instantiated = cu!(cuGraphInstantiateWithParams(
        &mut exec => *mut Handle, graph => Handle, &mut params => *mut Params,
    ));
    assert_eq!((instantiated, params.result), (Err(INVALID_VALUE), 2));
    disconnect(graph, b, a).unwrap();
    instantiate(graph).unwrap();
}

/// `cuGraphInstantiateWithFlags`: which flags there are.
#[test]
fn flags_of_executable_graphs() {
    let _driver = Driver::new();
    let graph = graph();
    for (flags, expected) in [
        (1, Ok(())),
        (8, Ok(())),
        (2, Err(INVALID_VALUE)),
        (16, Err(INVALID_VALUE)),
    ] {
        let mut exec = 0;
        let instantiated = cu!(cuGraphInstantiateWithFlags(
            &mut exec => *mut Handle, graph => Handle, flags => u64,
        ));
        assert_eq!(instantiated, expected, "{flags}");
        if instantiated.is_ok() {
            let mut found = 0;
            cu!(cuGraphExecGetFlags(exec => Handle, &mut found => *mut u64)).unwrap();
            // An H200 does not report that the nodes' priorities are used.
            assert_eq!(found, flags & 1);
        }
    }
}

/// Every type of node that was made here, as `cuGraphNodeGetType` counts them.
#[test]
fn nodes_have_types() {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    let driver = Driver::new();
    let (graph, child) = (graph(), graph());
    let (data, event) = (driver.allocate(64).unwrap(), driver.event());
    let module = driver.module(KERNELS).unwrap();
    let function = driver.function(module, "copy_word").unwrap();
    let copy = CopyParams::row(CopySide::device(data), CopySide::device(data + 32), 32);
    let host = HostParams {
        function: Some(nothing),
        data: std::ptr::null_mut(),
    };
    kernel_node(graph, &[], function, &[&data, &data]).unwrap();
    copy_node(graph, &[], &copy).unwrap();
    set_node(graph, &[], &SetParams::bytes(data, 1, 64)).unwrap();
    host_node(graph, &[], &host).unwrap();
    child_node(graph, &[], child).unwrap();
    empty_node(graph, &[]).unwrap();
    event_wait_node(graph, &[], event).unwrap();
    event_record_node(graph, &[], event).unwrap();
    let types: Vec<_> = nodes_of(graph).into_iter().map(type_of).collect();
    assert_eq!(types, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// `CUDA_MEMSET_NODE_PARAMS`: what can be set.
#[test]
fn memset_nodes_are_checked_when_they_are_added() {
    let driver = Driver::new();
    let graph = graph();
    let (data, page_locked, pageable) = (
        driver.allocate(4096).unwrap(),
        driver.pinned(64),
        [0_u8; 64],
    );
    let good = SetParams::bytes(data, 1, 16);
    let cases = [
        (good, Ok(())),
        (SetParams { value: 300, ..good }, Ok(())),
        (
            SetParams::bytes(page_locked.pointer() as Address, 1, 64),
            Ok(()),
        ),
        (SetParams { width: 0, ..good }, Err(INVALID_VALUE)),
        (SetParams { height: 0, ..good }, Err(INVALID_VALUE)),
        (
            SetParams {
                element_bytes: 3,
                ..good
            },
            Err(INVALID_VALUE),
        ),
        (
            SetParams {
                height: 2,
                pitch: 8,
                ..good
            },
            Err(INVALID_VALUE),
        ),
        (
            SetParams {
                element_bytes: 4,
                to: data + 1,
                ..good
            },
            Err(INVALID_VALUE),
        ),
        (
            SetParams::bytes(pageable.as_ptr() as Address, 1, 64),
            Err(INVALID_VALUE),
        ),
        (SetParams::bytes(64, 1, 16), Err(INVALID_VALUE)),
    ];
    for (params, expected) in cases {
        let added = set_node(graph, &[], &params).map(|_| ());
        assert_eq!(added, expected, "{params:?}");
    }
}

/// `cuGraph…NodeGetParams` and `…SetParams`.
#[test]
fn parameters_are_kept_and_changed() {
    let driver = Driver::new();
    let graph = graph();
    let (data, host) = (driver.allocate(4096).unwrap(), driver.pinned(64));
    let copy = CopyParams::row(CopySide::device(data), CopySide::host(host.pointer()), 32);
    let copying = copy_node(graph, &[], &copy).unwrap();
    let setting = set_node(graph, &[], &SetParams::bytes(data, 1, 64)).unwrap();
    let changed = SetParams {
        element_bytes: 2,
        value: 0x1234,
        ..SetParams::bytes(data + 8, 0, 8)
    };
    cu!(cuGraphMemsetNodeSetParams(setting => Handle, &changed => *const SetParams)).unwrap();
    let mut found = SetParams::bytes(0, 0, 0);
    cu!(cuGraphMemsetNodeGetParams(setting => Handle, &mut found => *mut SetParams)).unwrap();
    assert_eq!(
        (
            found.to,
            found.value,
            found.element_bytes,
            found.width,
            found.height
        ),
        (data + 8, 0x1234, 2, 8, 1)
    );
    let mut found = CopyParams::default();
    cu!(cuGraphMemcpyNodeGetParams(copying => Handle, &mut found => *mut CopyParams)).unwrap();
    assert_eq!(found.extent, [32, 1, 1]);
    assert_eq!((found.to.memory_type, found.to.device), (2, data));
    assert_eq!(
        (found.from.memory_type, found.from.host),
        (1, host.pointer() as usize)
    );
    assert_eq!(
        cu!(cuGraphMemcpyNodeSetParams(setting => Handle, &copy => *const CopyParams)),
        Err(INVALID_VALUE),
        "a node keeps its type"
    );
}

/// `cuGraphKernelNodeGetParams`: the arguments are the node's own.
#[test]
fn a_kernel_node_keeps_its_arguments() {
    let driver = Driver::new();
    let graph = graph();
    let data = driver.allocate(64).unwrap();
    let module = driver.module(KERNELS).unwrap();
    let function = driver.function(module, "store_after").unwrap();
    let node = {
        let (value, rounds) = (7_u32, 1_u32);
        kernel_node(graph, &[], function, &[&data, &value, &rounds]).unwrap()
    };
    let mut params = kernel_params(0, &[]);
    cu!(cuGraphKernelNodeGetParams_v2(node => Handle, &mut params => *mut KernelParams)).unwrap();
    assert_eq!(
        (params.function, params.grid, params.block),
        (function, [1; 3], [1; 3])
    );
    assert_eq!(params.context, driver.context);
    // SAFETY: the kernel has three parameters, and the node was not changed since.
    let (to, value) = unsafe {
        let pointers = params.parameters;
        (
            (*pointers).cast::<u64>().read(),
            (*pointers.add(1)).cast::<u32>().read(),
        )
    };
    assert_eq!((to, value), (data, 7));
    let again = [
        &raw const to as *const c_void,
        (&raw const value).cast(),
        (&raw const value).cast(),
    ];
    let mut bad = kernel_params(function, &again);
    bad.grid[0] = 0;
    assert_eq!(
        cu!(cuGraphKernelNodeSetParams_v2(node => Handle, &bad => *const KernelParams)),
        Err(INVALID_VALUE)
    );
}

/// Order: a node starts after all that it depends on, and the stream goes on after all nodes.
#[test]
fn a_launch_keeps_the_graphs_and_the_streams_order() {
    let driver = Driver::new();
    let (data, copied) = (
        driver.allocate(LONG).unwrap(),
        driver.allocate(LONG).unwrap(),
    );
    let (host, seen) = (driver.pinned(LONG), driver.pinned(LONG));
    let graph = graph();
    let up = CopyParams::row(CopySide::device(data), CopySide::host(host.pointer()), LONG);
    let within = CopyParams::row(CopySide::device(copied), CopySide::device(data), LONG);
    let up = copy_node(graph, &[], &up).unwrap();
    copy_node(graph, &[up], &within).unwrap();
    let exec = instantiate(graph).unwrap();
    cu!(cuGraphDestroy(graph => Handle)).unwrap();
    let stream = driver.stream(NON_BLOCKING);
    let early = driver.pinned(LONG);
    early.fill(3);
    host.fill(5);
    // The stream's earlier work comes before the roots, its later work after the leaves.
    driver
        .to_device(data, early.pointer(), LONG, stream)
        .unwrap();
    launch_graph(exec, stream).unwrap();
    driver
        .to_host(seen.pointer(), copied, LONG, stream)
        .unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert!(seen.bytes().iter().all(|byte| *byte == 5));
}

/// Two launches of one executable graph follow each other, whatever the streams.
#[test]
fn launches_of_one_graph_follow_each_other() {
    let driver = Driver::new();
    let data = driver.allocate(LONG).unwrap();
    let host = driver.pinned(LONG);
    let graph = graph();
    let up = CopyParams::row(CopySide::device(data), CopySide::host(host.pointer()), LONG);
    copy_node(graph, &[], &up).unwrap();
    let exec = instantiate(graph).unwrap();
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let [start, first, second] = [(); 3].map(|()| driver.event());
    driver.record(start, a).unwrap();
    launch_graph(exec, a).unwrap();
    driver.record(first, a).unwrap();
    launch_graph(exec, b).unwrap();
    driver.record(second, b).unwrap();
    driver.synchronize().unwrap();
    let (one, two) = (
        driver.elapsed(start, first).unwrap(),
        driver.elapsed(start, second).unwrap(),
    );
    assert!(two > 1.8 * one, "{one} {two}");
}

/// Branches run side by side: an up and a down copy take the time of the longer one.
#[test]
fn independent_branches_overlap() {
    let driver = Driver::new();
    let (a, b) = (
        driver.allocate(LONG).unwrap(),
        driver.allocate(LONG).unwrap(),
    );
    let (from, to) = (driver.pinned(LONG), driver.pinned(LONG));
    let up = CopyParams::row(CopySide::device(a), CopySide::host(from.pointer()), LONG);
    let down = CopyParams::row(CopySide::host(to.pointer()), CopySide::device(b), LONG);
    let time = |chained: bool| {
        let graph = graph();
        let first = copy_node(graph, &[], &up).unwrap();
        let after: &[Handle] = if chained { &[first] } else { &[] };
        copy_node(graph, after, &down).unwrap();
        let exec = instantiate(graph).unwrap();
        let (stream, start, end) = (driver.stream(NON_BLOCKING), driver.event(), driver.event());
        driver.record(start, stream).unwrap();
        launch_graph(exec, stream).unwrap();
        driver.record(end, stream).unwrap();
        driver.event_synchronize(end).unwrap();
        driver.elapsed(start, end).unwrap()
    };
    let (chain, branches) = (time(true), time(false));
    assert!(chain > 1.6 * branches, "{chain} {branches}");
}

/// A launch costs the host less than launching its kernels one by one.
#[test]
fn a_launch_is_cheaper_than_its_kernels() {
    let driver = Driver::new();
    let data = driver.allocate(64).unwrap();
    let module = driver.module(KERNELS).unwrap();
    let function = driver.function(module, "copy_word").unwrap();
    let (graph, stream) = (graph(), driver.stream(NON_BLOCKING));
    let mut after = Vec::new();
    for _ in 0..20 {
        after = vec![kernel_node(graph, &after, function, &[&data, &data]).unwrap()];
    }
    let exec = instantiate(graph).unwrap();
    let time = |work: &dyn Fn()| {
        let before = software_gpu::host::now();
        work();
        software_gpu::host::now() - before
    };
    let launched = time(&|| launch_graph(exec, stream).unwrap());
    driver.synchronize().unwrap();
    let one_by_one = time(&|| {
        for _ in 0..20 {
            driver
                .launch(function, 1, 1, stream, &[&data, &data])
                .unwrap();
        }
    });
    assert!(launched * 10 < one_by_one, "{launched:?} {one_by_one:?}");
}

/// A host node calls its function at its turn, once per launch.
#[test]
fn host_nodes_are_called_at_each_launch() {
    unsafe extern "C" fn count(data: *mut c_void) {
        // SAFETY: the test passes a counter that outlives the graph.
        unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
    }
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let driver = Driver::new();
    let graph = graph();
    let params = HostParams {
        function: Some(count),
        data: (&raw const CALLS).cast_mut().cast(),
    };
    host_node(graph, &[], &params).unwrap();
    let without = HostParams {
        function: None,
        ..params
    };
    assert_eq!(host_node(graph, &[], &without), Err(INVALID_VALUE));
    let exec = instantiate(graph).unwrap();
    let stream = driver.stream(0);
    launch_graph(exec, stream).unwrap();
    launch_graph(exec, 0).unwrap();
    driver.synchronize().unwrap();
    assert_eq!(CALLS.load(Ordering::Relaxed), 2);
}
