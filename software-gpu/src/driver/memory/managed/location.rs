//! Where managed memory can be: on the host or on a device.

use std::ffi::{c_int, c_uint};

use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::CUdevice;

/// `CU_DEVICE_CPU`.
const CPU: CUdevice = -1;
/// `CU_DEVICE_INVALID`.
const INVALID: CUdevice = -2;

/// `CUmemLocation`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in crate::driver) struct CUmemLocation {
    kind: c_uint,
    id: c_int,
}

/// `CUmemLocationType`.
const DEVICE: c_uint = 1;
const HOST: c_uint = 2;
const HOST_NUMA: c_uint = 3;
const HOST_NUMA_CURRENT: c_uint = 4;

/// The location of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Location {
    Host,
    /// A device, by its ordinal.
    Device(usize),
}

impl Location {
    /// As the functions before CUDA 12.2 pass it: a device or `CU_DEVICE_CPU`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_DEVICE` if there is no such device among `devices`.
    pub(super) fn of_device(device: CUdevice, devices: usize) -> Result<Self, CudaError> {
        match usize::try_from(device) {
            _ if device == CPU => Ok(Self::Host),
            Ok(device) if device < devices => Ok(Self::Device(device)),
            _ => Err(CudaError::InvalidDevice),
        }
    }

    /// As `CUmemLocation` says it. All NUMA nodes of the host are one.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a type that does not exist, `CUDA_ERROR_INVALID_DEVICE` as above.
    pub(super) fn of(location: CUmemLocation, devices: usize) -> Result<Self, CudaError> {
        match location.kind {
            DEVICE if location.id >= 0 => Self::of_device(location.id, devices),
            DEVICE => Err(CudaError::InvalidDevice),
            HOST | HOST_NUMA | HOST_NUMA_CURRENT => Ok(Self::Host),
            _ => Err(CudaError::InvalidValue),
        }
    }

    /// The number for a location in the attributes of a range; `CU_DEVICE_INVALID` for none.
    pub(super) fn number(location: Option<Self>) -> c_int {
        match location {
            None => INVALID,
            Some(Self::Host) => CPU,
            Some(Self::Device(device)) => device as c_int,
        }
    }

    /// Its `CUmemLocationType` and identifier; `CU_MEM_LOCATION_TYPE_INVALID` for none.
    pub(super) fn type_and_id(location: Option<Self>) -> (c_uint, c_int) {
        match location {
            None => (0, 0),
            Some(Self::Host) => (HOST, 0),
            Some(Self::Device(device)) => (DEVICE, device as c_int),
        }
    }
}
