//! Creating, asking and changing pools.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::abi::{CUmemAccessDesc, CUmemLocation, CUmemPoolProps};
use super::pool::{Attribute, Pool, Properties};
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdevice, CUdeviceptr, CUmemoryPool, Out};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;

/// `CUmemLocationType`.
const LOCATION_DEVICE: c_uint = 1;
const LOCATION_HOST: c_uint = 2;
const LOCATION_HOST_NUMA: c_uint = 3;
/// `CUmemAllocationType`.
const PINNED: c_uint = 1;
const MANAGED: c_uint = 2;
/// `CUmemAccess_flags`.
const NO_ACCESS: c_uint = 0;
const READ_WRITE: c_uint = 3;

entry_points! {
    fn cuMemPoolCreate(pool: Out<CUmemoryPool>, properties: *const CUmemPoolProps) {
        let pool = pool.required()?;
        if properties.is_null() {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: not null, so the caller passes properties.
        let properties = unsafe { properties.read() };
        call(Cost::Other, |call| {
            let properties = checked(call, &properties)?;
            pool.set(call.pools.pools.insert(Pool::new(properties)))
        })
    }

    /// The pool lasts until its last allocation is freed.
    fn cuMemPoolDestroy(pool: CUmemoryPool) {
        call(Cost::Other, |call| {
            if call.pools.is_default(pool) {
                return Err(CudaError::InvalidValue);
            }
            call.pools.get_mut(pool)?.destroyed = true;
            call.pools.current.retain(|_, current| *current != pool);
            let chunks = call.pools.pools.get_mut(pool)?.memory.release_above(0);
            let released = call.unmap(&chunks);
            call.give_back(released);
            call.forget_finished_pools();
            Ok(())
        })
    }

    fn cuMemPoolTrimTo(pool: CUmemoryPool, keep: usize) {
        call(Cost::Other, |call| {
            let pool = call.pools.get_mut(pool)?;
            if pool.can_release() {
                let chunks = pool.memory.trim(keep as u64);
                let released = call.unmap(&chunks);
                call.give_back(released);
            }
            Ok(())
        })
    }

    fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: c_uint, value: *const c_void) {
        if value.is_null() {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Free, |call| {
            let pool = call.pools.get_mut(pool)?;
            let attribute = Attribute::from_number(attribute)?;
            // SAFETY: not null, so the caller passes a value of the attribute's type.
            let value = unsafe {
                if attribute.is_switch() {
                    u64::from(value.cast::<c_int>().read_unaligned() != 0)
                } else {
                    value.cast::<u64>().read_unaligned()
                }
            };
            pool.set_attribute(attribute, value)
        })
    }

    fn cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: c_uint, value: *mut c_void) {
        if value.is_null() {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Free, |call| {
            let pool = call.pools.get(pool)?;
            let attribute = Attribute::from_number(attribute)?;
            let current = pool.attribute(attribute);
            // SAFETY: not null, so the caller passes room for a value of the attribute's type.
            unsafe {
                if attribute.is_switch() {
                    value.cast::<c_int>().write_unaligned(c_int::from(current != 0));
                } else {
                    value.cast::<u64>().write_unaligned(current);
                }
            }
            Ok(())
        })
    }

    /// The device that a pool's memory is on can always access it.
    fn cuMemPoolSetAccess(pool: CUmemoryPool, map: *const CUmemAccessDesc, count: usize) {
        if map.is_null() || count == 0 {
            return Err(CudaError::InvalidValue);
        }
        call(Cost::Other, |call| {
            call.pools.get(pool)?;
            for index in 0..count {
                // SAFETY: the caller passes `count` descriptions.
                let wanted = unsafe { map.add(index).read_unaligned() };
                set_access(call, pool, wanted)?;
            }
            Ok(())
        })
    }

    fn cuMemPoolGetAccess(flags: Out<c_uint>, pool: CUmemoryPool, location: *const CUmemLocation) {
        if location.is_null() {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: not null, so the caller passes a location.
        let location = unsafe { location.read_unaligned() };
        call(Cost::Free, |call| {
            let pool = call.pools.get(pool)?;
            let accessible = match location.kind {
                LOCATION_DEVICE => {
                    pool.accessible_from(call.ordinal(location.id)?)
                }
                LOCATION_HOST | LOCATION_HOST_NUMA => false,
                _ => return Err(CudaError::InvalidValue),
            };
            flags.set(if accessible { READ_WRITE } else { NO_ACCESS })
        })
    }

    fn cuDeviceGetDefaultMemPool(pool: Out<CUmemoryPool>, device: CUdevice) {
        call(Cost::Free, |call| pool.set(default_of(call, device)?))
    }

    fn cuDeviceGetMemPool(pool: Out<CUmemoryPool>, device: CUdevice) {
        call(Cost::Free, |call| pool.set(current_of(call, device)?))
    }

    fn cuDeviceSetMemPool(device: CUdevice, pool: CUmemoryPool) {
        call(Cost::Free, |call| set_current(call, device, pool))
    }

    fn cuMemGetDefaultMemPool(pool: Out<CUmemoryPool>, location: *const CUmemLocation, kind: c_uint) {
        let device = device_at("cuMemGetDefaultMemPool", location, kind)?;
        call(Cost::Free, |call| pool.set(default_of(call, device)?))
    }

    fn cuMemGetMemPool(pool: Out<CUmemoryPool>, location: *const CUmemLocation, kind: c_uint) {
        let device = device_at("cuMemGetMemPool", location, kind)?;
        call(Cost::Free, |call| pool.set(current_of(call, device)?))
    }

    fn cuMemSetMemPool(location: *const CUmemLocation, kind: c_uint, pool: CUmemoryPool) {
        let device = device_at("cuMemSetMemPool", location, kind)?;
        call(Cost::Free, |call| set_current(call, device, pool))
    }

    fn cuMemPoolExportToShareableHandle(_handle: *mut c_void, _pool: CUmemoryPool, _kind: c_uint, _flags: c_ulonglong) {
        refused("cuMemPoolExportToShareableHandle: sharing memory between processes")
    }

    fn cuMemPoolImportFromShareableHandle(
        _pool: Out<CUmemoryPool>,
        _handle: *mut c_void,
        _kind: c_uint,
        _flags: c_ulonglong,
    ) {
        refused("cuMemPoolImportFromShareableHandle: sharing memory between processes")
    }

    fn cuMemPoolExportPointer(_data: *mut c_void, _address: CUdeviceptr) {
        refused("cuMemPoolExportPointer: sharing memory between processes")
    }

    fn cuMemPoolImportPointer(_address: Out<CUdeviceptr>, _pool: CUmemoryPool, _data: *mut c_void) {
        refused("cuMemPoolImportPointer: sharing memory between processes")
    }
}

/// The parameters of a new pool.
fn checked(call: &Call, given: &CUmemPoolProps) -> Result<Properties, CudaError> {
    /// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR` and `CU_MEM_HANDLE_TYPE_FABRIC`.
    const HANDLE_TYPES: c_uint = 9;
    /// `CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS`.
    const DECOMPRESSION: u16 = 2;
    let padded = given.security_attributes != 0 || given.reserved.iter().any(|byte| *byte != 0);
    if padded || given.usage & !DECOMPRESSION != 0 || given.handle_types & !HANDLE_TYPES != 0 {
        return Err(CudaError::InvalidValue);
    }
    match (given.allocation_type, given.location.kind) {
        (PINNED, LOCATION_DEVICE) => {}
        (PINNED, LOCATION_HOST | LOCATION_HOST_NUMA) => {
            return refused("cuMemPoolCreate: a pool of host memory");
        }
        (MANAGED, _) => return refused("cuMemPoolCreate: a pool of managed memory"),
        _ => return Err(CudaError::InvalidValue),
    }
    if given.usage != 0 {
        return refused("cuMemPoolCreate: hardware decompression");
    }
    let device = call
        .ordinal(given.location.id)
        .map_err(|_| CudaError::InvalidValue)?;
    Ok(Properties {
        device,
        handle_types: given.handle_types,
        max_bytes: given.max_size as u64,
    })
}

fn set_access(
    call: &mut Call,
    pool: CUmemoryPool,
    wanted: CUmemAccessDesc,
) -> Result<(), CudaError> {
    if wanted.location.kind != LOCATION_DEVICE || !matches!(wanted.flags, NO_ACCESS | READ_WRITE) {
        return Err(CudaError::InvalidValue);
    }
    let device = call.ordinal(wanted.location.id)?;
    let own = call.pools.get(pool)?.properties.device;
    match (device == own, wanted.flags) {
        (true, READ_WRITE) => {}
        (true, _) => return Err(CudaError::InvalidDevice),
        (false, READ_WRITE) if call.can_access_peer(device, own) => {
            call.pools.get_mut(pool)?.peers.insert(device);
        }
        (false, READ_WRITE) => return Err(CudaError::InvalidDevice),
        (false, _) => {
            call.pools.get_mut(pool)?.peers.remove(&device);
        }
    }
    Ok(())
}

/// The device whose pools are meant.
fn device_at(
    name: &str,
    location: *const CUmemLocation,
    kind: c_uint,
) -> Result<CUdevice, CudaError> {
    if location.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: not null, so the caller passes a location.
    let location = unsafe { location.read_unaligned() };
    match (kind, location.kind) {
        (PINNED, LOCATION_DEVICE) => Ok(location.id),
        (PINNED, LOCATION_HOST | LOCATION_HOST_NUMA) => {
            refused(&format!("{name}: a pool of host memory"))
        }
        (MANAGED, _) => refused(&format!("{name}: a pool of managed memory")),
        _ => Err(CudaError::InvalidValue),
    }
}

fn default_of(call: &mut Call, device: CUdevice) -> Result<CUmemoryPool, CudaError> {
    let device = call.ordinal(device)?;
    Ok(call.pools.default_of(device))
}

fn current_of(call: &mut Call, device: CUdevice) -> Result<CUmemoryPool, CudaError> {
    let device = call.ordinal(device)?;
    Ok(call.pools.current_of(device))
}

/// The pool has to be the device's own.
fn set_current(call: &mut Call, device: CUdevice, pool: CUmemoryPool) -> Result<(), CudaError> {
    let device = call.ordinal(device)?;
    if call.pools.get(pool)?.properties.device != device {
        return Err(CudaError::InvalidValue);
    }
    call.pools.current.insert(device, pool);
    Ok(())
}

/// Lists what the software GPU leaves out.
fn refused<R>(what: &str) -> Result<R, CudaError> {
    crate::say!("software GPU: {what} is not supported");
    Err(CudaError::NotSupported)
}
