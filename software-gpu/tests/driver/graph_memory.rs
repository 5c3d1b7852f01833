//! Allocation and free nodes: the life of the memory of graphs.

use std::ffi::{c_int, c_uint};

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports::{self, Kind};

const BYTES: usize = 4096;
const AUTO_FREE: u64 = 1;
const USED: c_uint = 0;
const USED_HIGH: c_uint = 1;
const RESERVED: c_uint = 2;

/// `CUDA_MEM_ALLOC_NODE_PARAMS`: the pool's properties, access descriptions and their number, bytes, the address.
fn params(bytes: usize) -> [u64; 15] {
    let mut words = [0; 15];
    words[0] = 1;
    words[1] = 1;
    words[13] = bytes as u64;
    words
}

fn allocate_node(graph: Handle, bytes: usize) -> Result<(Handle, Address), Error> {
    let (mut node, mut params) = (0, params(bytes));
    cu!(cuGraphAddMemAllocNode(
        &mut node => *mut Handle, graph => Handle, 0 => usize, 0 => usize, params.as_mut_ptr() => *mut u64,
    ))
    .map(|()| (node, params[14]))
}

fn free_node(graph: Handle, after: &[Handle], address: Address) -> Result<Handle, Error> {
    let mut node = 0;
    cu!(cuGraphAddMemFreeNode(
        &mut node => *mut Handle, graph => Handle, after.as_ptr() => *const Handle, after.len() => usize,
        address => Address,
    ))
    .map(|()| node)
}

fn allocate_async(bytes: usize, stream: Handle) -> Result<Address, Error> {
    let mut address = 0;
    cu!(cuMemAllocAsync(&mut address => *mut Address, bytes => usize, stream => Handle))
        .map(|()| address)
}

fn free_async(address: Address, stream: Handle) -> Result<(), Error> {
    cu!(cuMemFreeAsync(address => Address, stream => Handle))
}

fn instantiate_with(graph: Handle, flags: u64) -> Result<Handle, Error> {
    let mut exec = 0;
    cu!(cuGraphInstantiateWithFlags(&mut exec => *mut Handle, graph => Handle, flags => u64))
        .map(|()| exec)
}

fn destroy(graph: Handle, exec: Handle) {
    cu!(cuGraphDestroy(graph => Handle)).unwrap();
    cu!(cuGraphExecDestroy(exec => Handle)).unwrap();
}

fn attribute(attribute: c_uint) -> u64 {
    let mut value = u64::MAX;
    cu!(cuDeviceGetGraphMemAttribute(0 => c_int, attribute => c_uint, &mut value => *mut u64))
        .unwrap();
    value
}

/// A graph that allocates and sets `value`.
fn allocating(value: u8) -> (Handle, Handle, Address) {
    let graph = graph();
    let (node, address) = allocate_node(graph, BYTES).unwrap();
    let set = set_node(graph, &[node], &SetParams::bytes(address, value, BYTES)).unwrap();
    (graph, set, address)
}

/// The address is known when the node is made, and is the same in every launch.
#[test]
fn a_node_allocates_at_each_launch() {
    let driver = Driver::new();
    let out = driver.allocate(BYTES).unwrap();
    let (graph, set, address) = allocating(7);
    let from = CopySide::device(address);
    let copy = CopyParams::row(CopySide::device(out), from, BYTES);
    let copy = copy_node(graph, &[set], &copy).unwrap();
    let free = free_node(graph, &[copy], address).unwrap();
    assert_eq!(type_of(free), 11);
    let exec = instantiate(graph).unwrap();
    for _ in 0..3 {
        driver.fill(out, 0, BYTES);
        launch_graph(exec, 0).unwrap();
        assert_eq!(driver.read(out, BYTES), vec![7; BYTES]);
    }
    assert_eq!(attribute(USED), 0);
    assert_eq!(free_async(address, 0), Err(INVALID_VALUE), "the graph's");
    destroy(graph, exec);
}

#[test]
fn parameters_of_memory_nodes() {
    let driver = Driver::new();
    let graph = graph();
    let (node, address) = allocate_node(graph, 100).unwrap();
    assert_eq!(type_of(node), 10);
    let mut words = [0_u64; 15];
    cu!(cuGraphMemAllocNodeGetParams(node => Handle, words.as_mut_ptr() => *mut u64)).unwrap();
    let mut expected = params(100);
    expected[14] = address;
    assert_eq!(words, expected);
    let free = free_node(graph, &[node], address).unwrap();
    let mut freed = 0;
    cu!(cuGraphMemFreeNodeGetParams(free => Handle, &mut freed => *mut Address)).unwrap();
    assert_eq!(freed, address);
    assert_eq!(
        free_node(graph, &[node], address),
        Err(INVALID_VALUE),
        "twice"
    );
    let foreign = driver.allocate(64).unwrap();
    assert_eq!(free_node(graph, &[], foreign), Err(INVALID_VALUE));
    assert_eq!(allocate_node(graph, 0), Err(INVALID_VALUE));
    cu!(cuGraphDestroy(graph => Handle)).unwrap();
}

/// Graphs with memory keep their nodes and edges, and there is one executable graph at a time.
#[test]
fn what_graphs_with_memory_cannot_have() {
    let _driver = Driver::new();
    let (with_memory, set, _) = allocating(1);
    let node = dependencies_of(set)[0];
    let mut clone = 0;
    assert_eq!(
        cu!(cuGraphClone(&mut clone => *mut Handle, with_memory => Handle)),
        Err(NOT_SUPPORTED)
    );
    assert_eq!(cu!(cuGraphDestroyNode(set => Handle)), Err(NOT_SUPPORTED));
    assert_eq!(disconnect(with_memory, node, set), Err(NOT_SUPPORTED));
    assert_eq!(child_node(graph(), &[], with_memory), Err(NOT_SUPPORTED));
    let exec = instantiate(with_memory).unwrap();
    assert_eq!(instantiate(with_memory), Err(NOT_SUPPORTED));
    cu!(cuGraphExecDestroy(exec => Handle)).unwrap();
    let again = instantiate(with_memory).unwrap();
    destroy(with_memory, again);
}

/// Memory that its graph does not free outlives the launch; until somebody frees it, there is no second one.
#[test]
fn memory_outlives_its_launch() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let (graph, _, address) = allocating(5);
    let exec = instantiate(graph).unwrap();
    assert_eq!(free_async(address, stream), Err(INVALID_VALUE), "not yet");
    for by_host in [false, true] {
        launch_graph(exec, stream).unwrap();
        driver.stream_synchronize(stream).unwrap();
        assert_eq!(driver.read(address, BYTES), vec![5; BYTES]);
        assert_eq!(attribute(USED), BYTES as u64);
        assert_eq!(launch_graph(exec, stream), Err(INVALID_VALUE));
        match by_host {
            true => cu!(cuMemFree_v2(address => Address)).unwrap(),
            false => free_async(address, stream).unwrap(),
        }
        assert_eq!(free_async(address, stream), Err(INVALID_VALUE), "twice");
        assert_eq!(attribute(USED), 0);
    }
    destroy(graph, exec);
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`: each launch frees what the last one has left.
#[test]
fn a_launch_frees_what_the_last_one_left() {
    let driver = Driver::new();
    let (graph, _, address) = allocating(3);
    let exec = instantiate_with(graph, AUTO_FREE).unwrap();
    let ((), found) = reports::collect(|| {
        for _ in 0..3 {
            launch_graph(exec, 0).unwrap();
        }
        driver.synchronize().unwrap();
    });
    assert_eq!(found, []);
    free_async(address, 0).unwrap();
    destroy(graph, exec);
}

/// Another graph can free it, once it is alive.
#[test]
fn another_graph_frees() {
    let driver = Driver::new();
    let (owner, _, address) = allocating(3);
    let other = graph();
    free_node(other, &[], address).unwrap();
    let (allocates, frees) = (instantiate(owner).unwrap(), instantiate(other).unwrap());
    assert_eq!(launch_graph(frees, 0), Err(INVALID_VALUE), "not alive");
    for _ in 0..2 {
        launch_graph(allocates, 0).unwrap();
        launch_graph(frees, 0).unwrap();
    }
    driver.synchronize().unwrap();
    assert_eq!(attribute(USED), 0);
    destroy(owner, allocates);
    destroy(other, frees);
}

/// Stream-ordered allocations and frees in a capture become nodes.
#[test]
fn captured_allocations_are_nodes() {
    let driver = Driver::new();
    let out = driver.allocate(BYTES).unwrap();
    let stream = driver.stream(NON_BLOCKING);
    begin(stream, GLOBAL).unwrap();
    let memory = allocate_async(BYTES, stream).unwrap();
    driver.set(memory, 8, BYTES, stream).unwrap();
    driver.within_device(out, memory, BYTES, stream).unwrap();
    free_async(memory, stream).unwrap();
    let graph = end(stream).unwrap();
    let types: Vec<_> = nodes_of(graph).into_iter().map(type_of).collect();
    assert_eq!(types, [10, 2, 1, 11]);
    let exec = instantiate(graph).unwrap();
    let ((), found) = reports::collect(|| {
        for _ in 0..2 {
            launch_graph(exec, stream).unwrap();
        }
        driver.synchronize().unwrap();
    });
    assert_eq!(found, []);
    assert_eq!(driver.read(out, BYTES), vec![8; BYTES]);
    destroy(graph, exec);
}

/// A capture frees the memory of graphs alone.
#[test]
fn a_capture_cannot_free_a_pools_memory() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let memory = allocate_async(BYTES, stream).unwrap();
    begin(stream, RELAXED).unwrap();
    assert_eq!(free_async(memory, stream), Err(INVALID_VALUE));
    assert_eq!(end(stream), Err(INVALIDATED));
    free_async(memory, stream).unwrap();
    driver.synchronize().unwrap();
}

/// Memory is kept for the next graph until it is trimmed.
#[test]
fn unused_memory_is_kept_until_it_is_trimmed() {
    let driver = Driver::new();
    let trim = || cu!(cuDeviceGraphMemTrim(0 => c_int)).unwrap();
    trim();
    let reserved = attribute(RESERVED);
    let (first, _, address) = allocating(1);
    let exec = instantiate(first).unwrap();
    launch_graph(exec, 0).unwrap();
    free_async(address, 0).unwrap();
    destroy(first, exec);
    driver.synchronize().unwrap();
    assert_eq!(attribute(RESERVED), reserved + BYTES as u64);
    let (second, _, again) = allocating(2);
    assert_eq!(again, address);
    trim();
    assert_eq!(attribute(RESERVED), reserved + BYTES as u64, "held");
    cu!(cuGraphDestroy(second => Handle)).unwrap();
    trim();
    assert_eq!(attribute(RESERVED), reserved);
    assert!(attribute(USED_HIGH) >= BYTES as u64);
    let set = |attribute: c_uint, value: u64| cu!(cuDeviceSetGraphMemAttribute(0 => c_int, attribute => c_uint, &value => *const u64));
    assert_eq!(set(USED_HIGH, 1), Err(INVALID_VALUE));
    assert_eq!(set(USED, 0), Err(INVALID_VALUE));
    set(USED_HIGH, 0).unwrap();
    assert_eq!(attribute(USED_HIGH), attribute(USED));
}

/// A node that uses the memory without coming after the allocation, or behind the free, is found.
#[test]
fn uses_outside_of_the_life_are_found() {
    let driver = Driver::new();
    for (early, late) in [(true, false), (false, true)] {
        let graph = graph();
        let (node, address) = allocate_node(graph, BYTES).unwrap();
        let params = SetParams::bytes(address, 1, BYTES);
        let after = &[node][..usize::from(!early)];
        let set = if late {
            node
        } else {
            set_node(graph, after, &params).unwrap()
        };
        let free = free_node(graph, &[node, set][usize::from(late)..], address).unwrap();
        if late {
            set_node(graph, &[free], &params).unwrap();
        }
        let exec = instantiate(graph).unwrap();
        let ((), found) = reports::collect(|| {
            launch_graph(exec, 0).unwrap();
            driver.synchronize().unwrap();
        });
        let kinds: Vec<_> = found.iter().map(|report| report.kind).collect();
        assert_eq!(kinds, [Kind::Lifetime], "{early} {late}: {found:?}");
        destroy(graph, exec);
    }
}

/// `cuGraphAddNode` knows both types.
#[test]
fn the_general_call_adds_memory_nodes() {
    let _driver = Driver::new();
    let graph = graph();
    let add = |params: &mut [u64; 32]| {
        let mut node = 0;
        cu!(cuGraphAddNode_v2(
            &mut node => *mut Handle, graph => Handle, 0 => usize, 0 => usize, 0 => usize,
            params.as_mut_ptr() => *mut u64,
        ))
        .map(|()| type_of(node))
    };
    let mut allocation = [0_u64; 32];
    allocation[0] = 10;
    allocation[2..17].copy_from_slice(&params(BYTES));
    assert_eq!(add(&mut allocation), Ok(10));
    let mut free = [0_u64; 32];
    (free[0], free[2]) = (11, allocation[16]);
    assert_eq!(add(&mut free), Ok(11));
    assert_eq!(add(&mut free), Err(INVALID_VALUE));
    cu!(cuGraphDestroy(graph => Handle)).unwrap();
}
