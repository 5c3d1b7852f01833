//! Copies of contiguous bytes, and which of them the host waits for.
//!
//! The rules are those of the section "API synchronization behavior" of the driver API's documentation:
//!
//! | from → to | `cuMemcpy…` | `cuMemcpy…Async` |
//! |---|---|---|
//! | page-locked → device | waits | does not wait |
//! | pageable → device, up to 64 KiB | waits for the stream, then until the bytes are staged | until they are staged |
//! | pageable → device, above | waits | waits |
//! | device → page-locked | waits | does not wait |
//! | device → pageable | waits | waits |
//! | device → device | does not wait | does not wait |
//! | host → host | waits | waits |

use std::ffi::c_void;

use super::abi::{CUdeviceptr, CUstream};
use super::boundary::entry_points;
use super::call::{Call, call};
use super::costs::{self, Cost};
use super::errors::CudaError;
use super::operation::{Copy, Effect, Place};
use super::stream::{Mode, NullStream};
use crate::memory::{AllocationKind, is_device_address};
use crate::timeline::CopyKind;

/// Up to this size a pageable source is staged whole.
const STAGED_BYTES: usize = 64 << 10;

use Mode::{Async, Sync};
use NullStream::{Legacy, PerThread};

entry_points! {
    fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(Legacy), Side::Any(to), Side::Any(from), bytes)
    }

    fn cuMemcpy_ptds(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(PerThread), Side::Any(to), Side::Any(from), bytes)
    }

    fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(Legacy, stream), Side::Any(to), Side::Any(from), bytes)
    }

    fn cuMemcpyAsync_ptsz(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(PerThread, stream), Side::Any(to), Side::Any(from), bytes)
    }

    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        copy(Sync(Legacy), Side::Device(to), Side::Host(from), bytes)
    }

    fn cuMemcpyHtoD_v2_ptds(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        copy(Sync(PerThread), Side::Device(to), Side::Host(from), bytes)
    }

    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        copy(Async(Legacy, stream), Side::Device(to), Side::Host(from), bytes)
    }

    fn cuMemcpyHtoDAsync_v2_ptsz(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        copy(Async(PerThread, stream), Side::Device(to), Side::Host(from), bytes)
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        copy(Sync(Legacy), Side::Host(to.cast_const()), Side::Device(from), bytes)
    }

    fn cuMemcpyDtoH_v2_ptds(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        copy(Sync(PerThread), Side::Host(to.cast_const()), Side::Device(from), bytes)
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(Legacy, stream), Side::Host(to.cast_const()), Side::Device(from), bytes)
    }

    fn cuMemcpyDtoHAsync_v2_ptsz(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(PerThread, stream), Side::Host(to.cast_const()), Side::Device(from), bytes)
    }

    fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(Legacy), Side::Device(to), Side::Device(from), bytes)
    }

    fn cuMemcpyDtoD_v2_ptds(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(Sync(PerThread), Side::Device(to), Side::Device(from), bytes)
    }

    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(Legacy, stream), Side::Device(to), Side::Device(from), bytes)
    }

    fn cuMemcpyDtoDAsync_v2_ptsz(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(Async(PerThread, stream), Side::Device(to), Side::Device(from), bytes)
    }
}

/// One side of a copy as the call names it.
#[derive(Clone, Copy)]
pub(super) enum Side {
    /// An address that the device understands.
    Device(CUdeviceptr),
    /// A host pointer, page-locked or not.
    Host(*const c_void),
    /// Whichever of the two it is.
    Any(CUdeviceptr),
}

fn copy(mode: Mode, to: Side, from: Side, bytes: usize) -> Result<(), CudaError> {
    call(Cost::Copy, |call| {
        let stream = call.stream_of(mode)?;
        if bytes == 0 {
            return Ok(());
        }
        let mut copy = prepare(call, to, from, bytes)?;
        copy.staged = staged(call, mode, stream, copy.kind, copy.from, bytes)?;
        let waits = match copy.kind {
            CopyKind::HostToHost => true,
            CopyKind::DeviceToDevice => false,
            CopyKind::DeviceToHost => copy.pageable || matches!(mode, Sync(_)),
            CopyKind::HostToDevice => {
                copy.staged.is_none() && (copy.pageable || matches!(mode, Sync(_)))
            }
        };
        let clock = call.clock();
        let context = call.streams.get(stream)?.context;
        let op = call.submit(stream, clock, Effect::Copy(copy))?;
        if waits {
            let wake_up = call.wake_up(context)?;
            call.wait(op, wake_up)?;
            call.usable(context)?;
        }
        Ok(())
    })
}

/// Checks a copy of `bytes` bytes.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a side that is not there.
pub(super) fn prepare(call: &Call, to: Side, from: Side, bytes: usize) -> Result<Copy, CudaError> {
    let (to, from) = (call.place(to, bytes)?, call.place(from, bytes)?);
    Ok(Copy {
        kind: call.kind_of(to, from),
        from,
        to,
        bytes,
        pageable: matches!(to, Place::Pageable(_)) || matches!(from, Place::Pageable(_)),
        staged: None,
    })
}

/// The source's bytes, if it is pageable and small enough to be staged whole. The host takes the time of the copy to
/// the staging buffer; a synchronous call waits for the stream before.
fn staged(
    call: &mut Call,
    mode: Mode,
    stream: CUstream,
    kind: CopyKind,
    from: Place,
    bytes: usize,
) -> Result<Option<Vec<u8>>, CudaError> {
    let Place::Pageable(address) = from else {
        return Ok(None);
    };
    if kind != CopyKind::HostToDevice || bytes > STAGED_BYTES || call.is_capturing(stream) {
        return Ok(None);
    }
    if let Sync(_) = mode {
        let earlier = call.awaited(stream)?;
        call.synchronize(earlier)?;
    }
    // SAFETY: the caller passes as many readable bytes as it asks to copy.
    let staged = unsafe { std::slice::from_raw_parts(address as *const u8, bytes) }.to_vec();
    let time = costs::memory_work(call.host(), bytes as u64);
    call.spend_time(time);
    Ok(Some(staged))
}

impl Call {
    /// Where the bytes are.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null, for device addresses outside of every allocation, and for device
    /// addresses in the place of host pointers.
    fn place(&self, side: Side, bytes: usize) -> Result<Place, CudaError> {
        match side {
            Side::Device(address) => self.mapped(address, bytes),
            Side::Any(address) if is_device_address(address) => self.mapped(address, bytes),
            Side::Any(address) => self.host_place(address, bytes),
            Side::Host(pointer) if is_device_address(pointer as u64) => {
                Err(CudaError::InvalidValue)
            }
            Side::Host(pointer) => self.host_place(pointer as u64, bytes),
        }
    }

    /// An address that the device can use, with `bytes` bytes behind it.
    pub(super) fn mapped(&self, address: CUdeviceptr, bytes: usize) -> Result<Place, CudaError> {
        self.memory
            .storage(address, bytes)
            .map(|_| Place::Mapped(address))
            .ok_or(CudaError::InvalidValue)
    }

    fn host_place(&self, address: u64, bytes: usize) -> Result<Place, CudaError> {
        match self.memory.storage(address, bytes) {
            Some(_) => Ok(Place::Mapped(address)),
            None if address == 0 => Err(CudaError::InvalidValue),
            None => Ok(Place::Pageable(address as usize)),
        }
    }

    fn kind_of(&self, to: Place, from: Place) -> CopyKind {
        match (self.is_on_device(from), self.is_on_device(to)) {
            (false, true) => CopyKind::HostToDevice,
            (true, false) => CopyKind::DeviceToHost,
            (true, true) => CopyKind::DeviceToDevice,
            (false, false) => CopyKind::HostToHost,
        }
    }

    /// Whether a side is device memory.
    pub(super) fn is_on_device(&self, place: Place) -> bool {
        match place {
            Place::Mapped(address) => {
                let found = self.memory.find(address);
                found.is_some_and(|allocation| allocation.kind() != AllocationKind::PageLocked)
            }
            Place::Pageable(_) => false,
        }
    }
}
