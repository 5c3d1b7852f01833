//! Kernel nodes.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::call::{exports, set};
use crate::context;
use crate::driver::{self, Handle, KernelNodeParams};
use crate::error::{Error, Result};
use crate::function::function;
use crate::launch::Dim3;
use crate::registry;

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Parameters {
    function: *mut c_void,
    grid: Dim3,
    block: Dim3,
    shared_bytes: u32,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
}

const EMPTY: KernelNodeParams = KernelNodeParams {
    function: null_mut(),
    grid: [0; 3],
    block: [0; 3],
    shared_bytes: 0,
    parameters: null_mut(),
    extra: null_mut(),
    kernel: null_mut(),
    context: null_mut(),
};

/// # Safety
/// `parameters` is null or a `cudaKernelNodeParams`.
unsafe fn for_driver(parameters: *const Parameters) -> Result<KernelNodeParams> {
    // SAFETY: as the caller's.
    let parameters = unsafe { parameters.as_ref() }.ok_or(Error::INVALID_VALUE)?;
    // The driver may name the node's function later, and not its kernel.
    let kernel = registry::kernel(parameters.function)?;
    registry::remember_function(function(parameters.function)?, kernel);
    Ok(KernelNodeParams {
        grid: parameters.grid.array(),
        block: parameters.block.array(),
        shared_bytes: parameters.shared_bytes,
        parameters: parameters.parameters,
        extra: parameters.extra,
        kernel,
        context: context::current()?,
        ..EMPTY
    })
}

fn for_program(parameters: &KernelNodeParams) -> Parameters {
    let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
    let kernel = if parameters.kernel.is_null() {
        parameters.function
    } else {
        parameters.kernel
    };
    Parameters {
        function: registry::address_of(kernel),
        grid: dim(parameters.grid),
        block: dim(parameters.block),
        shared_bytes: parameters.shared_bytes,
        parameters: parameters.parameters,
        extra: parameters.extra,
    }
}

exports! {
    fn cudaGraphAddKernelNode(
        node: *mut Handle, graph: Handle, dependencies: *const Handle, count: usize, parameters: *const Parameters
    ) {
        driver::cuGraphAddKernelNode_v2(node, graph, dependencies, count, &for_driver(parameters)?)
    }
    fn cudaGraphKernelNodeGetParams(node: Handle, parameters: *mut Parameters) {
        let mut driver_parameters = EMPTY;
        driver::cuGraphKernelNodeGetParams_v2(node, &mut driver_parameters)?;
        set(parameters, for_program(&driver_parameters))
    }
    fn cudaGraphKernelNodeSetParams(node: Handle, parameters: *const Parameters) {
        driver::cuGraphKernelNodeSetParams_v2(node, &for_driver(parameters)?)
    }
    fn cudaGraphExecKernelNodeSetParams(executable: Handle, node: Handle, parameters: *const Parameters) {
        driver::cuGraphExecKernelNodeSetParams_v2(executable, node, &for_driver(parameters)?)
    }
}
