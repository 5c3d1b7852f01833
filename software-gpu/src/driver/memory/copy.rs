//! Copies of contiguous bytes. `transfer` describes what the host waits for.

use std::ffi::c_void;

use super::boxes::Rows;
use super::transfer::Pointer;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdeviceptr, CUstream};
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::driver::streams::stream::Mode;
use Mode::{Async, Sync};

entry_points! {
    fn cuMemcpy | cuMemcpy_ptds as null (to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(null), Pointer::Unified(to), Pointer::Unified(from), bytes)
    }

    fn cuMemcpyAsync | cuMemcpyAsync_ptsz as null (to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(null, stream), Pointer::Unified(to), Pointer::Unified(from), bytes)
    }

    fn cuMemcpyHtoD_v2 | cuMemcpyHtoD_v2_ptds as null (to: CUdeviceptr, from: *const c_void, bytes: usize) {
        copy(Sync(null), Pointer::Device(to), Pointer::Host(from), bytes)
    }

    fn cuMemcpyHtoDAsync_v2 | cuMemcpyHtoDAsync_v2_ptsz as null (
        to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream,
    ) {
        copy(Async(null, stream), Pointer::Device(to), Pointer::Host(from), bytes)
    }

    fn cuMemcpyDtoH_v2 | cuMemcpyDtoH_v2_ptds as null (to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        copy(Sync(null), Pointer::Host(to.cast_const()), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoHAsync_v2 | cuMemcpyDtoHAsync_v2_ptsz as null (
        to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream,
    ) {
        copy(Async(null, stream), Pointer::Host(to.cast_const()), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoD_v2 | cuMemcpyDtoD_v2_ptds as null (to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(null), Pointer::Device(to), Pointer::Device(from), bytes)
    }

    fn cuMemcpyDtoDAsync_v2 | cuMemcpyDtoDAsync_v2_ptsz as null (
        to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream,
    ) {
        copy(Async(null, stream), Pointer::Device(to), Pointer::Device(from), bytes)
    }
}

fn copy(mode: Mode, to: Pointer, from: Pointer, bytes: usize) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let stream = call.stream_of(mode)?;
        call.spend_in(stream, Cost::Copy);
        if bytes == 0 {
            return Ok(());
        }
        let rows = Rows::row(bytes);
        let (to, from) = (call.side(to, rows)?, call.side(from, rows)?);
        call.within_reach(call.context()?, &[to.place, from.place])?;
        call.copy(mode, stream, to, from)
    })
}
