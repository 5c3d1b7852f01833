//! Copies with one-dimensional CUDA arrays: `cuMemcpyHtoA` and its kin. Those of boxes are in `memory::copy_box`.

use std::ffi::c_void;

use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUarray, CUdeviceptr, CUstream};
use crate::driver::memory::boxes::Extent;
use crate::driver::memory::copy_box::{ARRAY, Corner, DEVICE, HOST, Request, copy};
use crate::driver::streams::stream::Mode;
use Mode::{Async, Sync};

entry_points! {
    fn cuMemcpyHtoA_v2 | cuMemcpyHtoA_v2_ptds as null (
        to: CUarray, offset: usize, from: *const c_void, bytes: usize,
    ) {
        row(Sync(null), in_array(to, offset), on_host(from), bytes)
    }

    fn cuMemcpyAtoH_v2 | cuMemcpyAtoH_v2_ptds as null (
        to: *mut c_void, from: CUarray, offset: usize, bytes: usize,
    ) {
        row(Sync(null), on_host(to.cast_const()), in_array(from, offset), bytes)
    }

    fn cuMemcpyHtoAAsync_v2 | cuMemcpyHtoAAsync_v2_ptsz as null (
        to: CUarray, offset: usize, from: *const c_void, bytes: usize, stream: CUstream,
    ) {
        row(Async(null, stream), in_array(to, offset), on_host(from), bytes)
    }

    fn cuMemcpyAtoHAsync_v2 | cuMemcpyAtoHAsync_v2_ptsz as null (
        to: *mut c_void, from: CUarray, offset: usize, bytes: usize, stream: CUstream,
    ) {
        let to = on_host(to.cast_const());
        row(Async(null, stream), to, in_array(from, offset), bytes)
    }

    fn cuMemcpyDtoA_v2 | cuMemcpyDtoA_v2_ptds as null (
        to: CUarray, offset: usize, from: CUdeviceptr, bytes: usize,
    ) {
        row(Sync(null), in_array(to, offset), on_device(from), bytes)
    }

    fn cuMemcpyAtoD_v2 | cuMemcpyAtoD_v2_ptds as null (
        to: CUdeviceptr, from: CUarray, offset: usize, bytes: usize,
    ) {
        row(Sync(null), on_device(to), in_array(from, offset), bytes)
    }

    fn cuMemcpyAtoA_v2 | cuMemcpyAtoA_v2_ptds as null (
        to: CUarray, to_offset: usize, from: CUarray, from_offset: usize, bytes: usize,
    ) {
        let (to, from) = (in_array(to, to_offset), in_array(from, from_offset));
        row(Sync(null), to, from, bytes)
    }
}

/// A row of bytes in an array, on the host or on a device.
fn corner(memory_type: u32, x: usize) -> Corner {
    Corner {
        memory_type,
        host: std::ptr::null(),
        device: 0,
        array: CUarray(0),
        offset: [x, 0, 0],
        pitch: 0,
        height: 0,
    }
}

fn in_array(array: CUarray, offset: usize) -> Corner {
    Corner {
        array,
        ..corner(ARRAY, offset)
    }
}

fn on_host(host: *const c_void) -> Corner {
    Corner {
        host,
        ..corner(HOST, 0)
    }
}

fn on_device(device: CUdeviceptr) -> Corner {
    Corner {
        device,
        ..corner(DEVICE, 0)
    }
}

fn row(mode: Mode, to: Corner, from: Corner, bytes: usize) -> Result<(), CudaError> {
    let extent = Extent::row(bytes);
    copy(mode, Some(Request { from, to, extent }))
}
