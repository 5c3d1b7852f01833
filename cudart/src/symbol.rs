//! Variables of the program: their addresses, and copies to and from them.

use std::ffi::c_void;

use crate::call::{default_stream_exports, exports, set, stream_exports};
use crate::copy::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, copy, copy_async};
use crate::driver::Handle;
use crate::error::{Error, Result};
use crate::registry::variable;

/// The address `offset` bytes into a variable that has `bytes` more.
pub(crate) fn part_of(symbol: *const c_void, bytes: usize, offset: usize) -> Result<*mut c_void> {
    let (address, length) = variable(symbol)?;
    let end = offset.checked_add(bytes).ok_or(Error::INVALID_VALUE)?;
    if end > length {
        return Err(Error::INVALID_VALUE);
    }
    Ok((address + offset as u64) as *mut c_void)
}

/// Fails unless a copy of this kind may end in a variable.
pub(crate) fn check_to(kind: u32) -> Result {
    let allowed = matches!(kind, HOST_TO_DEVICE | DEVICE_TO_DEVICE | DEFAULT);
    if allowed {
        Ok(())
    } else {
        Err(Error::INVALID_COPY_DIRECTION)
    }
}

/// Fails unless a copy of this kind may start in a variable.
pub(crate) fn check_from(kind: u32) -> Result {
    let allowed = matches!(kind, DEVICE_TO_HOST | DEVICE_TO_DEVICE | DEFAULT);
    if allowed {
        Ok(())
    } else {
        Err(Error::INVALID_COPY_DIRECTION)
    }
}

exports! {
    fn cudaGetSymbolAddress(pointer: *mut *mut c_void, symbol: *const c_void) {
        set(pointer, variable(symbol)?.0 as *mut c_void)
    }
    fn cudaGetSymbolSize(bytes: *mut usize, symbol: *const c_void) { set(bytes, variable(symbol)?.1) }
}

default_stream_exports! {
    fn cudaMemcpyToSymbol | cudaMemcpyToSymbol_ptds(
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: u32
    ) in stream {
        check_to(kind)?;
        copy(part_of(symbol, bytes, offset)?, from, bytes, kind, stream)
    }
    fn cudaMemcpyFromSymbol | cudaMemcpyFromSymbol_ptds(
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: u32
    ) in stream {
        check_from(kind)?;
        copy(to, part_of(symbol, bytes, offset)?, bytes, kind, stream)
    }
}

stream_exports! {
    fn cudaMemcpyToSymbolAsync | cudaMemcpyToSymbolAsync_ptsz(
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: u32, stream: Handle
    ) for stream {
        check_to(kind)?;
        copy_async(part_of(symbol, bytes, offset)?, from, bytes, kind, stream)
    }
    fn cudaMemcpyFromSymbolAsync | cudaMemcpyFromSymbolAsync_ptsz(
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: u32, stream: Handle
    ) for stream {
        check_from(kind)?;
        copy_async(to, part_of(symbol, bytes, offset)?, bytes, kind, stream)
    }
}
