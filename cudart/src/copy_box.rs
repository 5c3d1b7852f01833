//! Copies of rows and of boxes between pitched memory.

use std::ffi::c_void;

use crate::array::element_bytes;
use crate::call::{default_stream_exports, stream_exports};
use crate::copy::{DEFAULT, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE, HOST_TO_HOST};
use crate::driver::{self, Address, Handle, Memcpy2D, Memcpy3D, Side2D, Side3D, UNIFIED};
use crate::error::{Error, Result};
use crate::memory::{Extent, PitchedPointer};
use crate::stream::PER_THREAD;

/// `CUmemorytype`.
const HOST: u32 = 1;
pub(crate) const DEVICE: u32 = 2;
pub(crate) const ARRAY: u32 = 3;

/// What the two sides of a copy are, source first.
pub(crate) fn sides(kind: u32) -> Result<(u32, u32)> {
    match kind {
        HOST_TO_HOST => Ok((HOST, HOST)),
        HOST_TO_DEVICE => Ok((HOST, DEVICE)),
        DEVICE_TO_HOST => Ok((DEVICE, HOST)),
        DEVICE_TO_DEVICE => Ok((DEVICE, DEVICE)),
        DEFAULT => Ok((UNIFIED, UNIFIED)),
        _ => Err(Error::INVALID_COPY_DIRECTION),
    }
}

/// `cudaErrorInvalidPitchValue`.
const INVALID_PITCH: Error = Error(12);

/// One side of a copy of rows: where it starts, and bytes from one row to the next.
pub(crate) type PitchedRows = (*const c_void, usize);

fn copy_2d(
    to: PitchedRows,
    from: PitchedRows,
    width: usize,
    height: usize,
    kind: u32,
) -> Result<Option<Memcpy2D>> {
    let (source, target) = sides(kind)?;
    if width == 0 || height == 0 {
        return Ok(None);
    }
    if width > to.1 || width > from.1 {
        return Err(INVALID_PITCH);
    }
    Ok(Some(Memcpy2D {
        from: memory_side(from, source),
        to: memory_side(to, target),
        width,
        height,
    }))
}

/// Memory as a side of a copy of rows.
pub(crate) fn memory_side((pointer, pitch): PitchedRows, kind: u32) -> Side2D {
    Side2D {
        kind,
        host: pointer as usize,
        device: pointer as Address,
        pitch,
        ..Side2D::default()
    }
}

/// Copies rows in the default stream that `stream` stands for.
///
/// # Safety
/// The copy's memory is valid.
pub(crate) unsafe fn copy_rows(copy: &Memcpy2D, stream: Handle) -> Result {
    // SAFETY: the caller's promise.
    unsafe {
        if stream == PER_THREAD {
            driver::cuMemcpy2DUnaligned_v2_ptds(copy)
        } else {
            driver::cuMemcpy2DUnaligned_v2(copy)
        }
    }
}

default_stream_exports! {
    fn cudaMemcpy2D | cudaMemcpy2D_ptds(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: u32
    ) in stream {
        let Some(copy) = copy_2d((to, to_pitch), (from, from_pitch), width, height, kind)? else { return Ok(()) };
        copy_rows(&copy, stream)
    }
    fn cudaMemcpy3D | cudaMemcpy3D_ptds(parameters: *const Parameters3D) in stream {
        let Some(copy) = copy_3d(parameters)? else { return Ok(()) };
        if stream == PER_THREAD { driver::cuMemcpy3D_v2_ptds(&copy) } else { driver::cuMemcpy3D_v2(&copy) }
    }
}

stream_exports! {
    fn cudaMemcpy2DAsync | cudaMemcpy2DAsync_ptsz(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: u32,
        stream: Handle
    ) for stream {
        match copy_2d((to, to_pitch), (from, from_pitch), width, height, kind)? {
            Some(copy) => driver::cuMemcpy2DAsync_v2(&copy, stream),
            None => Ok(()),
        }
    }
    fn cudaMemcpy3DAsync | cudaMemcpy3DAsync_ptsz(parameters: *const Parameters3D, stream: Handle) for stream {
        match copy_3d(parameters)? {
            Some(copy) => driver::cuMemcpy3DAsync_v2(&copy, stream),
            None => Ok(()),
        }
    }
}

/// `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Position {
    x: usize,
    y: usize,
    z: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Parameters3D {
    from_array: Handle,
    from_position: Position,
    from: PitchedPointer,
    to_array: Handle,
    to_position: Position,
    to: PitchedPointer,
    extent: Extent,
    kind: u32,
}

/// The driver's form of a copy of a box, unless it copies nothing.
///
/// # Errors
/// `cudaErrorInvalidValue` for null, `cudaErrorInvalidMemcpyDirection` for an unknown kind, and what the driver says of an array.
///
/// # Safety
/// `parameters` is null or a `cudaMemcpy3DParms`.
pub(crate) unsafe fn copy_3d(parameters: *const Parameters3D) -> Result<Option<Memcpy3D>> {
    // SAFETY: as the caller's.
    let parameters = unsafe { parameters.as_ref() }.ok_or(Error::INVALID_VALUE)?;
    let (source, target) = sides(parameters.kind)?;
    let Extent {
        width,
        height,
        depth,
    } = parameters.extent;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(None);
    }
    // With an array, widths and positions count its elements; positions in memory are bytes nevertheless.
    let arrays = [parameters.from_array, parameters.to_array];
    let element = match arrays.into_iter().find(|array| !array.is_null()) {
        Some(array) => element_bytes(array)?,
        None => 1,
    };
    let side = |array: Handle, memory: PitchedPointer, position: Position, kind| {
        let in_array = !array.is_null();
        Side3D {
            x: position.x * if in_array { element } else { 1 },
            y: position.y,
            z: position.z,
            kind: if in_array { ARRAY } else { kind },
            host: memory.pointer as usize,
            device: memory.pointer as Address,
            array: array as usize,
            pitch: memory.pitch,
            height: memory.height,
            ..Side3D::default()
        }
    };
    let Parameters3D {
        from_array,
        from_position,
        from,
        to_array,
        to_position,
        to,
        ..
    } = *parameters;
    Ok(Some(Memcpy3D {
        from: side(from_array, from, from_position, source),
        to: side(to_array, to, to_position, target),
        width: width.checked_mul(element).ok_or(Error::INVALID_VALUE)?,
        height,
        depth,
    }))
}

/// The driver's form of a copy of bytes, as one row.
pub(crate) fn copy_1d(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: u32,
) -> Result<Memcpy3D> {
    let (source, target) = sides(kind)?;
    let side = |pointer: *const c_void, kind| Side3D {
        kind,
        host: pointer as usize,
        device: pointer as Address,
        pitch: bytes,
        height: 1,
        ..Side3D::default()
    };
    Ok(Memcpy3D {
        from: side(from, source),
        to: side(to, target),
        width: bytes,
        height: 1,
        depth: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn a_row_that_is_longer_than_its_pitch_is_an_error_on_either_side() {
        let copy = |to, from| {
            copy_2d((null(), to), (null(), from), 8, 2, DEFAULT).map(|copy| copy.is_some())
        };
        assert_eq!(copy(8, 16), Ok(true));
        assert_eq!(copy(7, 16), Err(INVALID_PITCH));
        assert_eq!(copy(16, 7), Err(INVALID_PITCH));
    }

    #[test]
    fn the_kind_says_which_side_is_the_host() {
        assert_eq!(sides(HOST_TO_DEVICE), Ok((HOST, DEVICE)));
        assert_eq!(sides(DEVICE_TO_HOST), Ok((DEVICE, HOST)));
        assert_eq!(sides(5), Err(Error::INVALID_COPY_DIRECTION));
    }
}
