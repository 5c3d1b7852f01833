//! The owner of an address: `cuPointerGetAttribute`.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUdeviceptr;
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::memory::{Allocation, AllocationKind};

/// `CUmemorytype`.
const MEMORY_TYPE_HOST: c_uint = 1;
const MEMORY_TYPE_DEVICE: c_uint = 2;

entry_points! {
    fn cuPointerGetAttribute(data: *mut c_void, attribute: c_uint, address: CUdeviceptr) {
        if data.is_null() {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Free, |call| {
            let allocation = call.memory.find(address).ok_or(CudaError::InvalidValue)?;
            // SAFETY: the caller passes room for the attribute's type.
            unsafe { store(data, value(call, allocation, attribute, address)?) };
            Ok(())
        })
    }

    /// Addresses that belong to nothing give zeros and no error.
    fn cuPointerGetAttributes(count: c_uint, attributes: *const c_uint, data: *const *mut c_void, address: CUdeviceptr) {
        if attributes.is_null() || data.is_null() {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Free, |call| {
            for index in 0..count as usize {
                // SAFETY: the caller passes `count` attributes and as many pointers.
                let (attribute, data) = unsafe { (*attributes.add(index), *data.add(index)) };
                let allocation = call.memory.find(address);
                let value = match allocation.map(|allocation| value(call, allocation, attribute, address)) {
                    Some(value) => value.unwrap_or(AttributeValue::Word(0)),
                    None => zero(attribute)?,
                };
                if data.is_null() {
                    return Err(CudaError::InvalidValue);
                }
                // SAFETY: the caller passes room for the attribute's type.
                unsafe { store(data, value) };
            }
            Ok(())
        })
    }
}

/// An attribute's value, in the size that its type has in C.
enum AttributeValue {
    /// `unsigned int`, `int`.
    Int(c_uint),
    /// `bool`.
    Bool(bool),
    /// A pointer, `size_t` or `unsigned long long`.
    Word(u64),
}

fn value(
    call: &Call,
    allocation: &Allocation,
    attribute: c_uint,
    address: CUdeviceptr,
) -> Result<AttributeValue, CudaError> {
    let on_host = allocation.kind() == AllocationKind::PageLocked;
    let is_managed = call.managed.starts_at(allocation.base());
    let pool = call.pools.allocation_at(address);
    let (base, bytes) = match pool {
        Some((base, found)) => (base, found.bytes),
        None => (allocation.base(), allocation.len()),
    };
    Ok(match attribute {
        1 => AttributeValue::Word(
            call.owned
                .get(&allocation.base())
                .map_or(0, |owned| owned.context.0 as u64),
        ),
        2 => AttributeValue::Int(if on_host && !is_managed {
            MEMORY_TYPE_HOST
        } else {
            MEMORY_TYPE_DEVICE
        }),
        3 => AttributeValue::Word(address),
        4 if on_host => AttributeValue::Word(address),
        6 => AttributeValue::Bool(false),
        7 => AttributeValue::Word(base),
        8 => AttributeValue::Bool(is_managed),
        9 => AttributeValue::Int(match allocation.device() {
            Some(device) => device as c_uint,
            None => owner_device(call, allocation),
        }),
        11 => AttributeValue::Word(base),
        12 => AttributeValue::Word(bytes as u64),
        13 => AttributeValue::Bool(true),
        16 => AttributeValue::Int(access_flags(call, allocation, address)?),
        17 => AttributeValue::Word(pool.map_or(0, |(_, found)| found.pool.0 as u64)),
        _ => return Err(CudaError::InvalidValue),
    })
}

/// `CUmemAccess_flags` of the current context's device: its own memory, host memory, and pools that it may access.
fn access_flags(
    call: &Call,
    allocation: &Allocation,
    address: CUdeviceptr,
) -> Result<c_uint, CudaError> {
    const READ_WRITE: c_uint = 3;
    let device = call.contexts.get(call.context()?)?.device;
    let of_pool = call.pools.accessible_from(address, device);
    let accessible = match allocation.device() {
        Some(owner) => of_pool.unwrap_or(owner == device),
        None => true,
    };
    Ok(if accessible { READ_WRITE } else { 0 })
}

/// The device in whose context host memory was page-locked.
fn owner_device(call: &Call, allocation: &Allocation) -> c_uint {
    let owned = call.owned.get(&allocation.base());
    let context = owned.and_then(|owned| call.contexts.get(owned.context).ok());
    context.map_or(0, |context| context.device as c_uint)
}

fn zero(attribute: c_uint) -> Result<AttributeValue, CudaError> {
    Ok(match attribute {
        1 | 3 | 4 | 7 | 11 | 12 | 17 => AttributeValue::Word(0),
        2 | 16 => AttributeValue::Int(0),
        9 => AttributeValue::Int(c_int::cast_unsigned(-2)),
        6 | 8 | 13 => AttributeValue::Bool(false),
        _ => return Err(CudaError::InvalidValue),
    })
}

/// # Safety
/// `data` has room for the value's type.
unsafe fn store(data: *mut c_void, value: AttributeValue) {
    // SAFETY: the caller's promise.
    unsafe {
        match value {
            AttributeValue::Int(value) => data.cast::<c_uint>().write(value),
            AttributeValue::Bool(value) => data.cast::<bool>().write(value),
            AttributeValue::Word(value) => data.cast::<u64>().write(value),
        }
    }
}
