//! Memsets: asynchronous to the host, unless the memory is the host's own.

use std::ffi::c_uint;

use super::abi::{CUdeviceptr, CUstream};
use super::boundary::entry_points;
use super::call::call;
use super::costs::Cost;
use super::errors::CudaError;
use super::operation::{Effect, Pattern, Set};
use super::stream::{Mode, NullStream};

/// Defines the four entry points of one width.
macro_rules! memsets {
    ($kind:ty: $sync:ident $sync_ptds:ident $asynchronous:ident $asynchronous_ptsz:ident) => {
        entry_points! {
            fn $sync(to: CUdeviceptr, value: $kind, count: usize) {
                set(Mode::Sync(NullStream::Legacy), to, Pattern::from(value), count)
            }

            fn $sync_ptds(to: CUdeviceptr, value: $kind, count: usize) {
                set(Mode::Sync(NullStream::PerThread), to, Pattern::from(value), count)
            }

            fn $asynchronous(to: CUdeviceptr, value: $kind, count: usize, stream: CUstream) {
                set(Mode::Async(NullStream::Legacy, stream), to, Pattern::from(value), count)
            }

            fn $asynchronous_ptsz(to: CUdeviceptr, value: $kind, count: usize, stream: CUstream) {
                set(Mode::Async(NullStream::PerThread, stream), to, Pattern::from(value), count)
            }
        }
    };
}

memsets!(u8: cuMemsetD8_v2 cuMemsetD8_v2_ptds cuMemsetD8Async cuMemsetD8Async_ptsz);
memsets!(u16: cuMemsetD16_v2 cuMemsetD16_v2_ptds cuMemsetD16Async cuMemsetD16Async_ptsz);
memsets!(c_uint: cuMemsetD32_v2 cuMemsetD32_v2_ptds cuMemsetD32Async cuMemsetD32Async_ptsz);

fn set(mode: Mode, to: CUdeviceptr, pattern: Pattern, count: usize) -> Result<(), CudaError> {
    call(Cost::Set, |call| {
        let stream = call.stream_of(mode)?;
        let bytes = count
            .checked_mul(pattern.len)
            .ok_or(CudaError::InvalidValue)?;
        if !to.is_multiple_of(pattern.len as u64) {
            return Err(CudaError::InvalidValue);
        }
        if bytes == 0 {
            return Ok(());
        }
        let to = call.mapped(to, bytes)?;
        let waits = matches!(mode, Mode::Sync(_)) && !call.is_on_device(to);
        let clock = call.clock();
        let context = call.streams.get(stream)?.context;
        let op = call.submit(stream, clock, Effect::Set(Set { to, bytes, pattern }))?;
        if waits {
            let wake_up = call.wake_up(context)?;
            call.wait([op], wake_up)?;
            call.usable(context)?;
        }
        Ok(())
    })
}

impl From<u8> for Pattern {
    fn from(value: u8) -> Self {
        Self {
            bytes: [value; 4],
            len: 1,
        }
    }
}

impl From<u16> for Pattern {
    fn from(value: u16) -> Self {
        let [low, high] = value.to_ne_bytes();
        Self {
            bytes: [low, high, low, high],
            len: 2,
        }
    }
}

impl From<u32> for Pattern {
    fn from(value: u32) -> Self {
        Self {
            bytes: value.to_ne_bytes(),
            len: 4,
        }
    }
}
