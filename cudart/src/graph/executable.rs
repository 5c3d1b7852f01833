//! Executable graphs: instantiation, launch, update.

use std::ffi::c_void;

use crate::call::{exports, stream_exports};
use crate::driver::{self, Handle};

exports! {
    fn cudaGraphInstantiate(executable: *mut Handle, graph: Handle, flags: u64) {
        driver::cuGraphInstantiateWithFlags(executable, graph, flags)
    }
    fn cudaGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64) {
        driver::cuGraphInstantiateWithFlags(executable, graph, flags)
    }
    fn cudaGraphExecDestroy(executable: Handle) { driver::cuGraphExecDestroy(executable) }
    fn cudaGraphExecGetFlags(executable: Handle, flags: *mut u64) { driver::cuGraphExecGetFlags(executable, flags) }
    fn cudaGraphExecUpdate(executable: Handle, graph: Handle, result: *mut c_void) {
        driver::cuGraphExecUpdate_v2(executable, graph, result)
    }
    fn cudaGraphNodeSetEnabled(executable: Handle, node: Handle, enabled: u32) {
        driver::cuGraphNodeSetEnabled(executable, node, enabled)
    }
    fn cudaGraphNodeGetEnabled(executable: Handle, node: Handle, enabled: *mut u32) {
        driver::cuGraphNodeGetEnabled(executable, node, enabled)
    }
    fn cudaGraphExecChildGraphNodeSetParams(executable: Handle, node: Handle, child: Handle) {
        driver::cuGraphExecChildGraphNodeSetParams(executable, node, child)
    }
    fn cudaGraphInstantiateWithParams(executable: *mut Handle, graph: Handle, parameters: *mut c_void) {
        driver::cuGraphInstantiateWithParams(executable, graph, parameters)
    }
    /// The stream in the parameters is one that the program created.
    fn cudaGraphInstantiateWithParams_ptsz(executable: *mut Handle, graph: Handle, parameters: *mut c_void) {
        driver::cuGraphInstantiateWithParams(executable, graph, parameters)
    }
}

stream_exports! {
    fn cudaGraphLaunch | cudaGraphLaunch_ptsz(executable: Handle, stream: Handle) for stream {
        driver::cuGraphLaunch(executable, stream)
    }
    fn cudaGraphUpload | cudaGraphUpload_ptsz(executable: Handle, stream: Handle) for stream {
        driver::cuGraphUpload(executable, stream)
    }
}
