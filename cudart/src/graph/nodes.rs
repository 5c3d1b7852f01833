//! Nodes that call host functions, record events and wait for them.

use std::ffi::c_void;

use crate::call::exports;
use crate::driver::{self, Handle};

exports! {
    fn cudaGraphAddHostNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, parameters: *const c_void
    ) {
        driver::cuGraphAddHostNode(node, graph, dependencies, count, parameters)
    }
    fn cudaGraphHostNodeGetParams(node: Handle, parameters: *mut c_void) {
        driver::cuGraphHostNodeGetParams(node, parameters)
    }
    fn cudaGraphHostNodeSetParams(node: Handle, parameters: *const c_void) {
        driver::cuGraphHostNodeSetParams(node, parameters)
    }
    fn cudaGraphExecHostNodeSetParams(executable: Handle, node: Handle, parameters: *const c_void) {
        driver::cuGraphExecHostNodeSetParams(executable, node, parameters)
    }
    fn cudaGraphAddEventRecordNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, event: Handle
    ) {
        driver::cuGraphAddEventRecordNode(node, graph, dependencies, count, event)
    }
    fn cudaGraphEventRecordNodeGetEvent(node: Handle, event: *mut Handle) {
        driver::cuGraphEventRecordNodeGetEvent(node, event)
    }
    fn cudaGraphEventRecordNodeSetEvent(node: Handle, event: Handle) {
        driver::cuGraphEventRecordNodeSetEvent(node, event)
    }
    fn cudaGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle) {
        driver::cuGraphExecEventRecordNodeSetEvent(executable, node, event)
    }
    fn cudaGraphAddEventWaitNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, event: Handle
    ) {
        driver::cuGraphAddEventWaitNode(node, graph, dependencies, count, event)
    }
    fn cudaGraphEventWaitNodeGetEvent(node: Handle, event: *mut Handle) {
        driver::cuGraphEventWaitNodeGetEvent(node, event)
    }
    fn cudaGraphEventWaitNodeSetEvent(node: Handle, event: Handle) {
        driver::cuGraphEventWaitNodeSetEvent(node, event)
    }
    fn cudaGraphExecEventWaitNodeSetEvent(executable: Handle, node: Handle, event: Handle) {
        driver::cuGraphExecEventWaitNodeSetEvent(executable, node, event)
    }
}
