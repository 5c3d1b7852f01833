//! The 2-D and 3-D copies of `cuda.h`.

use std::ffi::c_uint;

use software_gpu::driver::entry_point;

use super::{Address, Error, Handle, cu};

/// `CUmemorytype`.
pub const HOST: c_uint = 1;
pub const DEVICE: c_uint = 2;
pub const ARRAY: c_uint = 3;
pub const UNIFIED: c_uint = 4;

/// One side of `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Side2D {
    pub x: usize,
    pub y: usize,
    pub memory_type: c_uint,
    pub host: usize,
    pub device: Address,
    pub array: usize,
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Copy2D {
    pub from: Side2D,
    pub to: Side2D,
    pub width: usize,
    pub height: usize,
}

/// One side of `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Side3D {
    pub x: usize,
    pub y: usize,
    pub z: usize,
    pub level: usize,
    pub memory_type: c_uint,
    pub host: usize,
    pub device: Address,
    pub array: usize,
    pub reserved: usize,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Copy3D {
    pub from: Side3D,
    pub to: Side3D,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

pub fn copy_2d(copy: &Copy2D) -> Result<(), Error> {
    cu!(cuMemcpy2D_v2(copy => *const Copy2D))
}

pub fn copy_2d_async(copy: &Copy2D, stream: Handle) -> Result<(), Error> {
    cu!(cuMemcpy2DAsync_v2(copy => *const Copy2D, stream => Handle))
}

pub fn copy_3d(copy: &Copy3D) -> Result<(), Error> {
    cu!(cuMemcpy3D_v2(copy => *const Copy3D))
}

pub fn copy_3d_async(copy: &Copy3D, stream: Handle) -> Result<(), Error> {
    cu!(cuMemcpy3DAsync_v2(copy => *const Copy3D, stream => Handle))
}

pub fn numbered(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8).collect()
}
