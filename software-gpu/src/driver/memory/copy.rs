//! Copies of contiguous bytes. What the host waits for is said in `transfer`.

use std::ffi::c_void;

use super::boxes::Rows;
use super::transfer::Pointer;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdeviceptr, CUstream};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::streams::stream::{Mode, NullStream};
use Mode::{Async, Sync};
use NullStream::{Legacy, PerThread};

entry_points! {
    fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(Legacy), Pointer::Unified(to), Pointer::Unified(from), bytes)
    }

    fn cuMemcpy_ptds(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(PerThread), Pointer::Unified(to), Pointer::Unified(from), bytes)
    }

    fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(Legacy, stream), Pointer::Unified(to), Pointer::Unified(from), bytes)
    }

    fn cuMemcpyAsync_ptsz(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(PerThread, stream), Pointer::Unified(to), Pointer::Unified(from), bytes)
    }

    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        copy(Sync(Legacy), Pointer::Device(to), Pointer::Host(from), bytes)
    }

    fn cuMemcpyHtoD_v2_ptds(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        copy(Sync(PerThread), Pointer::Device(to), Pointer::Host(from), bytes)
    }

    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        copy(Async(Legacy, stream), Pointer::Device(to), Pointer::Host(from), bytes)
    }

    fn cuMemcpyHtoDAsync_v2_ptsz(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        copy(Async(PerThread, stream), Pointer::Device(to), Pointer::Host(from), bytes)
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        copy(Sync(Legacy), Pointer::Host(to.cast_const()), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoH_v2_ptds(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        copy(Sync(PerThread), Pointer::Host(to.cast_const()), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(Legacy, stream), Pointer::Host(to.cast_const()), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoHAsync_v2_ptsz(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(PerThread, stream), Pointer::Host(to.cast_const()), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(Legacy), Pointer::Device(to), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoD_v2_ptds(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(PerThread), Pointer::Device(to), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(Legacy, stream), Pointer::Device(to), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoDAsync_v2_ptsz(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(PerThread, stream), Pointer::Device(to), Pointer::Device(from), bytes)
    }
}

fn copy(mode: Mode, to: Pointer, from: Pointer, bytes: usize) -> Result<(), CudaError> {
    call(Cost::Copy, |call| {
        let stream = call.stream_of(mode)?;
        if bytes == 0 {
            return Ok(());
        }
        let rows = Rows::row(bytes);
        let (to, from) = (call.side(to, rows)?, call.side(from, rows)?);
        call.copy(mode, stream, to, from)
    })
}
