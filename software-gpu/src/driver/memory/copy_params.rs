//! The descriptions of 2-D and 3-D copies in `cuda.h`, as C lays them out.

use std::ffi::{c_uint, c_void};

use crate::driver::c_abi::types::CUdeviceptr;

/// One side of a `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemcpy2DSide {
    /// Bytes before the rectangle in its rows.
    pub x_in_bytes: usize,
    /// Rows before the rectangle.
    pub y: usize,
    /// `CUmemorytype`.
    pub memory_type: c_uint,
    /// The base, of host memory.
    pub host: *const c_void,
    /// The base, of device or unified memory.
    pub device: CUdeviceptr,
    /// The array.
    pub array: usize,
    /// Bytes from row to row.
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemcpy2D {
    /// Source.
    pub from: CUmemcpy2DSide,
    /// Destination.
    pub to: CUmemcpy2DSide,
    /// Bytes of a row.
    pub width_in_bytes: usize,
    /// Rows.
    pub height: usize,
}

/// One side of a `CUDA_MEMCPY3D` or `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemcpy3DSide {
    /// Bytes before the box in its rows.
    pub x_in_bytes: usize,
    /// Rows before the box in its slices.
    pub y: usize,
    /// Slices before the box.
    pub z: usize,
    /// For mipmapped arrays; without effect here.
    pub level_of_detail: usize,
    /// `CUmemorytype`.
    pub memory_type: c_uint,
    /// The base, of host memory.
    pub host: *const c_void,
    /// The base, of device or unified memory.
    pub device: CUdeviceptr,
    /// The array.
    pub array: usize,
    /// The context of a `CUDA_MEMCPY3D_PEER`; reserved and without effect in a `CUDA_MEMCPY3D`.
    pub context: usize,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Rows from slice to slice.
    pub height: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`, which differ in the meaning of one field.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUmemcpy3D {
    /// Source.
    pub from: CUmemcpy3DSide,
    /// Destination.
    pub to: CUmemcpy3DSide,
    /// Bytes of a row.
    pub width_in_bytes: usize,
    /// Rows of a slice.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}
