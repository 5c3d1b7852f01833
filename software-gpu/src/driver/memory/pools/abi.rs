//! The types of `cuda.h` that the calls on pools take.

use std::ffi::{c_int, c_uint};

/// `CUmemLocation`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemLocation {
    /// `CUmemLocationType`.
    pub kind: c_uint,
    /// A device's ordinal, or a NUMA node's.
    pub id: c_int,
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemAccessDesc {
    /// Who accesses.
    pub location: CUmemLocation,
    /// `CUmemAccess_flags`.
    pub flags: c_uint,
}

/// `CUmemPoolProps`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemPoolProps {
    /// `CUmemAllocationType`.
    pub allocation_type: c_uint,
    /// `CUmemAllocationHandleType`.
    pub handle_types: c_uint,
    /// The location of its memory.
    pub location: CUmemLocation,
    /// Null, except on Windows.
    pub security_attributes: usize,
    /// Bytes.
    pub max_size: usize,
    /// `CU_MEM_POOL_CREATE_USAGE_*`.
    pub usage: u16,
    /// Zeros.
    pub reserved: [u8; 54],
}
