//! Nodes that copy and set memory.

use std::ffi::c_void;

use crate::call::exports;
use crate::context::current;
use crate::copy_box::{Parameters3D, copy_1d, copy_3d};
use crate::driver::{self, Handle};
use crate::error::Error;
use crate::symbol::{check_from, check_to, part_of};

exports! {
    fn cudaGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, parameters: *const c_void
    ) {
        driver::cuGraphAddMemsetNode(node, graph, dependencies, count, parameters, current()?)
    }
    fn cudaGraphMemsetNodeGetParams(node: Handle, parameters: *mut c_void) {
        driver::cuGraphMemsetNodeGetParams(node, parameters)
    }
    fn cudaGraphMemsetNodeSetParams(node: Handle, parameters: *const c_void) {
        driver::cuGraphMemsetNodeSetParams(node, parameters)
    }
    fn cudaGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, parameters: *const c_void) {
        driver::cuGraphExecMemsetNodeSetParams(executable, node, parameters, current()?)
    }
    fn cudaGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, parameters: *const Parameters3D
    ) {
        let copy = copy_3d(parameters)?.ok_or(Error::INVALID_VALUE)?;
        driver::cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, current()?)
    }
    fn cudaGraphMemcpyNodeSetParams(node: Handle, parameters: *const Parameters3D) {
        driver::cuGraphMemcpyNodeSetParams(node, &copy_3d(parameters)?.ok_or(Error::INVALID_VALUE)?)
    }
    fn cudaGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, parameters: *const Parameters3D) {
        let copy = copy_3d(parameters)?.ok_or(Error::INVALID_VALUE)?;
        driver::cuGraphExecMemcpyNodeSetParams(executable, node, &copy, current()?)
    }
    fn cudaGraphAddMemcpyNode1D(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, to: *mut c_void,
        from: *const c_void, bytes: usize, kind: u32
    ) {
        driver::cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy_1d(to, from, bytes, kind)?, current()?)
    }
    fn cudaGraphMemcpyNodeSetParams1D(node: Handle, to: *mut c_void, from: *const c_void, bytes: usize, kind: u32) {
        driver::cuGraphMemcpyNodeSetParams(node, &copy_1d(to, from, bytes, kind)?)
    }
    fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: Handle, node: Handle, to: *mut c_void, from: *const c_void, bytes: usize, kind: u32
    ) {
        driver::cuGraphExecMemcpyNodeSetParams(executable, node, &copy_1d(to, from, bytes, kind)?, current()?)
    }
    fn cudaGraphAddMemcpyNodeToSymbol(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, symbol: *const c_void,
        from: *const c_void, bytes: usize, offset: usize, kind: u32
    ) {
        check_to(kind)?;
        let copy = copy_1d(part_of(symbol, bytes, offset)?, from, bytes, kind)?;
        driver::cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, current()?)
    }
    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, to: *mut c_void,
        symbol: *const c_void, bytes: usize, offset: usize, kind: u32
    ) {
        check_from(kind)?;
        let copy = copy_1d(to, part_of(symbol, bytes, offset)?, bytes, kind)?;
        driver::cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, current()?)
    }
}
