//! Dependencies between nodes.

use std::ffi::c_void;
#[cfg(feature = "cuda-12")]
use std::ptr::{null, null_mut};

use crate::call::exports;
use crate::driver::{self, Handle};

/// The functions with the edges' data: of CUDA 13 under the plain names, of CUDA 12 under names that end with `_v2`.
macro_rules! with_edge_data {
    ($add:ident $remove:ident $edges:ident $dependencies:ident $dependents:ident) => {
        exports! {
            fn $add(graph: Handle, from: *const Handle, to: *const Handle, data: *const c_void, count: usize) {
                driver::cuGraphAddDependencies_v2(graph, from, to, data, count)
            }
            fn $remove(graph: Handle, from: *const Handle, to: *const Handle, data: *const c_void, count: usize) {
                driver::cuGraphRemoveDependencies_v2(graph, from, to, data, count)
            }
            fn $edges(graph: Handle, from: *mut Handle, to: *mut Handle, data: *mut c_void, count: *mut usize) {
                driver::cuGraphGetEdges_v2(graph, from, to, data, count)
            }
            fn $dependencies(node: Handle, dependencies: *mut Handle, data: *mut c_void, count: *mut usize) {
                driver::cuGraphNodeGetDependencies_v2(node, dependencies, data, count)
            }
            fn $dependents(node: Handle, dependents: *mut Handle, data: *mut c_void, count: *mut usize) {
                driver::cuGraphNodeGetDependentNodes_v2(node, dependents, data, count)
            }
        }
    };
}

#[cfg(not(feature = "cuda-12"))]
with_edge_data!(
    cudaGraphAddDependencies cudaGraphRemoveDependencies cudaGraphGetEdges cudaGraphNodeGetDependencies
    cudaGraphNodeGetDependentNodes
);

#[cfg(feature = "cuda-12")]
with_edge_data!(
    cudaGraphAddDependencies_v2 cudaGraphRemoveDependencies_v2 cudaGraphGetEdges_v2 cudaGraphNodeGetDependencies_v2
    cudaGraphNodeGetDependentNodes_v2
);

#[cfg(feature = "cuda-12")]
exports! {
    fn cudaGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        driver::cuGraphAddDependencies_v2(graph, from, to, null(), count)
    }
    fn cudaGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        driver::cuGraphRemoveDependencies_v2(graph, from, to, null(), count)
    }
    fn cudaGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) {
        driver::cuGraphGetEdges_v2(graph, from, to, null_mut(), count)
    }
    fn cudaGraphNodeGetDependencies(node: Handle, dependencies: *mut Handle, count: *mut usize) {
        driver::cuGraphNodeGetDependencies_v2(node, dependencies, null_mut(), count)
    }
    fn cudaGraphNodeGetDependentNodes(node: Handle, dependents: *mut Handle, count: *mut usize) {
        driver::cuGraphNodeGetDependentNodes_v2(node, dependents, null_mut(), count)
    }
}
