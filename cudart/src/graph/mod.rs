//! Graphs. Most functions are the driver's under another name, with the same structures; kernels and copies are converted.

mod edges;
mod executable;
mod kernel_nodes;
mod memory_nodes;
mod nodes;

use std::ffi::{c_char, c_void};

use crate::call::exports;
use crate::driver::{self, Handle};

exports! {
    fn cudaGraphCreate(graph: *mut Handle, flags: u32) { driver::cuGraphCreate(graph, flags) }
    fn cudaGraphDestroy(graph: Handle) { driver::cuGraphDestroy(graph) }
    fn cudaGraphClone(clone: *mut Handle, graph: Handle) { driver::cuGraphClone(clone, graph) }
    fn cudaGraphNodeFindInClone(node: *mut Handle, original: Handle, clone: Handle) {
        driver::cuGraphNodeFindInClone(node, original, clone)
    }
    fn cudaGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        driver::cuGraphGetNodes(graph, nodes, count)
    }
    fn cudaGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) {
        driver::cuGraphGetRootNodes(graph, nodes, count)
    }
    fn cudaGraphNodeGetType(node: Handle, kind: *mut u32) { driver::cuGraphNodeGetType(node, kind) }
    fn cudaGraphDestroyNode(node: Handle) { driver::cuGraphDestroyNode(node) }
    fn cudaGraphDebugDotPrint(graph: Handle, path: *const c_char, flags: u32) {
        driver::cuGraphDebugDotPrint(graph, path, flags)
    }
    fn cudaGraphAddEmptyNode(node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize) {
        driver::cuGraphAddEmptyNode(node, graph, dependencies, count)
    }
    fn cudaGraphAddChildGraphNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, child: Handle
    ) {
        driver::cuGraphAddChildGraphNode(node, graph, dependencies, count, child)
    }
    fn cudaGraphChildGraphNodeGetGraph(node: Handle, graph: *mut Handle) {
        driver::cuGraphChildGraphNodeGetGraph(node, graph)
    }
    fn cudaGraphAddMemAllocNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, parameters: *mut c_void
    ) {
        driver::cuGraphAddMemAllocNode(node, graph, dependencies, count, parameters)
    }
    fn cudaGraphMemAllocNodeGetParams(node: Handle, parameters: *mut c_void) {
        driver::cuGraphMemAllocNodeGetParams(node, parameters)
    }
    fn cudaGraphAddMemFreeNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, pointer: *mut c_void
    ) {
        driver::cuGraphAddMemFreeNode(node, graph, dependencies, count, pointer as u64)
    }
    fn cudaGraphMemFreeNodeGetParams(node: Handle, pointer: *mut c_void) {
        driver::cuGraphMemFreeNodeGetParams(node, pointer.cast())
    }
}
