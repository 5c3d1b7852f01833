//! Allocation and free nodes: what a device keeps for graphs, and reports. `proof/conformance` checks their behaviour.

use std::ffi::{c_int, c_uint};

use crate::driver_support::*;
use crate::graph_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports::{self, Kind};

const BYTES: usize = 4096;
const USED: c_uint = 0;
const USED_HIGH: c_uint = 1;
const RESERVED: c_uint = 2;

fn allocate_node(graph: Handle) -> Result<(Handle, Address), Error> {
    // The pool's properties, access descriptions and their number, bytes, the address: `CUDA_MEM_ALLOC_NODE_PARAMS`.
    let (mut node, mut params) = (0, [0; 15]);
    (params[0], params[1], params[13]) = (1, 1, BYTES as u64);
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

fn free_async(address: Address, stream: Handle) -> Result<(), Error> {
    cu!(cuMemFreeAsync(address => Address, stream => Handle))
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
    let (node, address) = allocate_node(graph).unwrap();
    let set = set_node(graph, &[node], &SetParams::bytes(address, value, BYTES)).unwrap();
    (graph, set, address)
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
    assert_eq!(attribute(USED), BYTES as u64);
    free_async(address, 0).unwrap();
    assert_eq!(attribute(USED), 0);
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
}

/// Launches that free what the last one has left, and captured allocations, are in order.
#[test]
fn graphs_that_free_their_memory_raise_no_report() {
    const AUTO_FREE: u64 = 1;
    let driver = Driver::new();
    let (left, _, address) = allocating(3);
    let (stream, mut freeing) = (driver.stream(NON_BLOCKING), 0);
    cu!(cuGraphInstantiateWithFlags(&mut freeing => *mut Handle, left => Handle, AUTO_FREE => u64))
        .unwrap();
    begin(stream, GLOBAL).unwrap();
    let mut memory = 0;
    cu!(cuMemAllocAsync(&mut memory => *mut Address, BYTES => usize, stream => Handle)).unwrap();
    driver.set(memory, 8, BYTES, stream).unwrap();
    free_async(memory, stream).unwrap();
    let captured = end(stream).unwrap();
    let exec = instantiate(captured).unwrap();
    let ((), found) = reports::collect(|| {
        for _ in 0..3 {
            launch_graph(freeing, 0).unwrap();
            launch_graph(exec, stream).unwrap();
        }
        driver.synchronize().unwrap();
    });
    assert_eq!(found, []);
    free_async(address, 0).unwrap();
    destroy(left, freeing);
    destroy(captured, exec);
}

/// A node that uses the memory without coming after the allocation, or behind the free, is found.
#[test]
fn uses_outside_of_the_life_are_found() {
    let driver = Driver::new();
    for (early, late) in [(true, false), (false, true)] {
        let graph = graph();
        let (node, address) = allocate_node(graph).unwrap();
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
