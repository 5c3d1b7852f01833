//! Allocation and free nodes, and what a device says of the memory of graphs.

use std::ffi::{c_uint, c_void};

use super::add::add;
use super::arrays;
use super::memory::Allocation;
use super::node::Action;
use super::node_params::get;
use super::params::AllocationParams;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdevice, CUdeviceptr, CUgraph, CUgraphNode, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::memory::pools::abi::{CUmemLocation, CUmemPoolProps};

/// `CU_MEM_ALLOCATION_TYPE_PINNED` and `CU_MEM_LOCATION_TYPE_DEVICE`.
const PINNED: c_uint = 1;
const ON_DEVICE: c_uint = 1;

/// `CUgraphMem_attribute`.
const USED: c_uint = 0;
const USED_HIGH: c_uint = 1;
const RESERVED: c_uint = 2;
const RESERVED_HIGH: c_uint = 3;

entry_points! {
    fn cuGraphAddMemAllocNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize,
        params: *mut AllocationParams,
    ) {
        // SAFETY: the caller passes null or parameters and dependencies as the call asks for them.
        unsafe {
            let mut given = arrays::parameters(params)?;
            add(node, graph, dependencies, count, |call| allocation(call, graph, &mut given))?;
            params.write(given);
            Ok(())
        }
    }

    /// Access descriptions are not returned: no device but the memory's own has any.
    fn cuGraphMemAllocNodeGetParams(node: CUgraphNode, params: Out<AllocationParams>) {
        let params = params.required()?;
        get(node, |_, action| match action {
            Action::Allocate(memory) => Some(params.set(allocation_params(memory))),
            _ => None,
        })
    }

    fn cuGraphAddMemFreeNode(
        node: Out<CUgraphNode>, graph: CUgraph, dependencies: *const CUgraphNode, count: usize, address: CUdeviceptr,
    ) {
        let free = |call: &mut Call| call.graphs.memory.add_free(graph, address);
        // SAFETY: as above.
        unsafe { add(node, graph, dependencies, count, free) }
    }

    fn cuGraphMemFreeNodeGetParams(node: CUgraphNode, address: Out<CUdeviceptr>) {
        let address = address.required()?;
        get(node, |_, action| match action {
            Action::Free(memory) => Some(address.set(memory.address)),
            _ => None,
        })
    }

    fn cuDeviceGraphMemTrim(device: CUdevice) {
        call(Cost::Other, |call| {
            let device = call.ordinal(device)?;
            call.trim_graph_memory(device);
            Ok(())
        })
    }

    fn cuDeviceGetGraphMemAttribute(device: CUdevice, attribute: c_uint, value: *mut c_void) {
        call(Cost::Other, |call| {
            let device = call.ordinal(device)?;
            let memory = &mut call.graphs.memory;
            let found = match attribute {
                USED => memory.current(device).0,
                RESERVED => memory.current(device).1,
                USED_HIGH => memory.high_mut(device).0,
                RESERVED_HIGH => memory.high_mut(device).1,
                _ => return Err(CudaError::InvalidValue),
            };
            if value.is_null() {
                return Err(CudaError::InvalidValue);
            }
            // SAFETY: not null, so the caller passes a place for a number of 64 bits.
            unsafe { value.cast::<u64>().write_unaligned(found) };
            Ok(())
        })
    }

    /// The high-water marks can be set to zero: they then start from what is current.
    fn cuDeviceSetGraphMemAttribute(device: CUdevice, attribute: c_uint, value: *const c_void) {
        if value.is_null() {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: not null, so the caller passes a number of 64 bits.
        let value = unsafe { value.cast::<u64>().read_unaligned() };
        call(Cost::Other, |call| {
            let device = call.ordinal(device)?;
            let (used, reserved) = call.graphs.memory.current(device);
            let high = call.graphs.memory.high_mut(device);
            match (attribute, value) {
                (USED_HIGH, 0) => high.0 = used,
                (RESERVED_HIGH, 0) => high.1 = reserved,
                _ => return Err(CudaError::InvalidValue),
            }
            Ok(())
        })
    }
}

/// An allocation node of `graph`; the address is returned in the parameters.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for memory that is not plain memory of a device, `CUDA_ERROR_NOT_SUPPORTED` for access by
/// other devices, `CUDA_ERROR_OUT_OF_MEMORY`.
///
/// # Safety
/// The access descriptions are as many as the parameters say.
pub(super) unsafe fn allocation(
    call: &mut Call,
    graph: CUgraph,
    params: &mut AllocationParams,
) -> Result<Action, CudaError> {
    let CUmemPoolProps {
        allocation_type,
        handle_types,
        location,
        ..
    } = params.properties;
    if (allocation_type, handle_types, location.kind) != (PINNED, 0, ON_DEVICE) {
        return Err(CudaError::InvalidValue);
    }
    let ordinal = call.ordinal(location.id);
    let device = ordinal.map_err(|_| CudaError::InvalidValue)?;
    // SAFETY: the caller's promise.
    let access = unsafe { arrays::input(params.access, params.access_count) }?;
    if access
        .iter()
        .any(|access| access.location.id != location.id)
    {
        crate::say!("software GPU: allocation nodes: access by another device is not supported");
        return Err(CudaError::NotSupported);
    }
    let action = call.reserve_for_graph(graph, device, params.bytes)?;
    if let Action::Allocate(memory) = &action {
        params.address = memory.address;
    }
    Ok(action)
}

fn allocation_params(memory: &Allocation) -> AllocationParams {
    AllocationParams {
        properties: CUmemPoolProps {
            allocation_type: PINNED,
            handle_types: 0,
            location: CUmemLocation {
                kind: ON_DEVICE,
                id: memory.device as i32,
            },
            security_attributes: 0,
            max_size: 0,
            usage: 0,
            reserved: [0; 54],
        },
        access: std::ptr::null(),
        access_count: 0,
        bytes: memory.bytes,
        address: memory.address,
    }
}
