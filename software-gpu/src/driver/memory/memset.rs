//! Memsets: asynchronous to the host, unless the memory is the host's own.

use std::ffi::c_uint;

use super::boxes::Rows;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUdeviceptr, CUstream};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::simulation::operation::{Effect, MemsetPattern, Set};
use crate::driver::streams::stream::Mode;

/// Defines the entry points of one width: one row, synchronous and not; rows with a pitch, likewise.
macro_rules! memsets {
    (
        $kind:ty: $sync:ident $sync_ptds:ident $later:ident $later_ptsz:ident
        $sync_2d:ident $sync_2d_ptds:ident $later_2d:ident $later_2d_ptsz:ident
    ) => {
        entry_points! {
            fn $sync | $sync_ptds as null (to: CUdeviceptr, value: $kind, count: usize) {
                set(Mode::Sync(null), to, MemsetPattern::from(value), Elements::row(count))
            }

            fn $later | $later_ptsz as null (to: CUdeviceptr, value: $kind, count: usize, stream: CUstream) {
                set(Mode::Async(null, stream), to, MemsetPattern::from(value), Elements::row(count))
            }

            fn $sync_2d | $sync_2d_ptds as null (
                to: CUdeviceptr, pitch: usize, value: $kind, width: usize, height: usize,
            ) {
                set(Mode::Sync(null), to, MemsetPattern::from(value), Elements { width, height, pitch })
            }

            fn $later_2d | $later_2d_ptsz as null (
                to: CUdeviceptr, pitch: usize, value: $kind, width: usize, height: usize, stream: CUstream,
            ) {
                set(Mode::Async(null, stream), to, MemsetPattern::from(value), Elements { width, height, pitch })
            }
        }
    };
}

memsets! {
    u8: cuMemsetD8_v2 cuMemsetD8_v2_ptds cuMemsetD8Async cuMemsetD8Async_ptsz
    cuMemsetD2D8_v2 cuMemsetD2D8_v2_ptds cuMemsetD2D8Async cuMemsetD2D8Async_ptsz
}
memsets! {
    u16: cuMemsetD16_v2 cuMemsetD16_v2_ptds cuMemsetD16Async cuMemsetD16Async_ptsz
    cuMemsetD2D16_v2 cuMemsetD2D16_v2_ptds cuMemsetD2D16Async cuMemsetD2D16Async_ptsz
}
memsets! {
    c_uint: cuMemsetD32_v2 cuMemsetD32_v2_ptds cuMemsetD32Async cuMemsetD32Async_ptsz
    cuMemsetD2D32_v2 cuMemsetD2D32_v2_ptds cuMemsetD2D32Async cuMemsetD2D32Async_ptsz
}

/// What to set: elements of a row, rows, and bytes from one row to the next.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Elements {
    pub(in crate::driver) width: usize,
    pub(in crate::driver) height: usize,
    pub(in crate::driver) pitch: usize,
}

impl Elements {
    fn row(count: usize) -> Self {
        Self {
            width: count,
            height: 1,
            pitch: 0,
        }
    }

    fn rows(self, element_bytes: usize) -> Result<Rows, CudaError> {
        let width = self
            .width
            .checked_mul(element_bytes)
            .ok_or(CudaError::InvalidValue)?;
        let apart =
            self.height <= 1 || self.pitch >= width && self.pitch.is_multiple_of(element_bytes);
        if apart {
            Ok(Rows::rectangle(width, self.height, self.pitch))
        } else {
            Err(CudaError::InvalidValue)
        }
    }
}

fn set(
    mode: Mode,
    to: CUdeviceptr,
    pattern: MemsetPattern,
    elements: Elements,
) -> Result<(), CudaError> {
    call(Cost::Free, |call| {
        let stream = call.stream_of(mode)?;
        call.spend_in(stream, Cost::Set);
        let Some(set) = prepare(call, to, pattern, elements)? else {
            return Ok(());
        };
        let context = call.streams.get(stream)?.context;
        call.within_reach(context, &[set.to])?;
        let waits = matches!(mode, Mode::Sync(_)) && !call.is_on_device(set.to);
        let clock = call.clock();
        let op = call.submit(stream, clock, Effect::Set(set))?;
        if waits {
            let wake_up = call.wake_up(context)?;
            call.wait(op, wake_up)?;
            call.usable(context)?;
        }
        Ok(())
    })
}

/// Checks a memset. `None` if there is nothing to set.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for misaligned addresses, overlapping rows and memory outside of every allocation.
pub(in crate::driver) fn prepare(
    call: &Call,
    to: CUdeviceptr,
    pattern: MemsetPattern,
    elements: Elements,
) -> Result<Option<Set>, CudaError> {
    let rows = elements.rows(pattern.len)?;
    if !to.is_multiple_of(pattern.len as u64) {
        return Err(CudaError::InvalidValue);
    }
    if rows.bytes() == Some(0) {
        return Ok(None);
    }
    let to = call.mapped(to, rows.span().ok_or(CudaError::InvalidValue)?)?;
    Ok(Some(Set { to, rows, pattern }))
}

impl From<u8> for MemsetPattern {
    fn from(value: u8) -> Self {
        Self {
            bytes: [value; 4],
            len: 1,
        }
    }
}

impl From<u16> for MemsetPattern {
    fn from(value: u16) -> Self {
        let [low, high] = value.to_ne_bytes();
        Self {
            bytes: [low, high, low, high],
            len: 2,
        }
    }
}

impl From<u32> for MemsetPattern {
    fn from(value: u32) -> Self {
        Self {
            bytes: value.to_ne_bytes(),
            len: 4,
        }
    }
}
