//! Copies to and from CUDA arrays: rows, and those that go from one row of an array to the next.

use std::ffi::c_void;

use crate::array::ChannelFormat;
use crate::array::description;
use crate::call::{default_stream_exports, stream_exports};
use crate::copy_box::{ARRAY, DEVICE, sides};
use crate::driver::{self, Address, Handle, Memcpy2D, Side2D};
use crate::error::{Error, Result};
use crate::stream::PER_THREAD;

/// A place in an array: bytes into a row, and the row.
#[derive(Clone, Copy)]
struct Place {
    array: Handle,
    x: usize,
    y: usize,
}

impl Place {
    fn side(self) -> Side2D {
        Side2D {
            x: self.x,
            y: self.y,
            kind: ARRAY,
            array: self.array as usize,
            ..Side2D::default()
        }
    }
}

/// Memory as a side: rows at a pitch.
fn memory(pointer: *const c_void, pitch: usize, kind: u32) -> Side2D {
    Side2D {
        kind,
        host: pointer as usize,
        device: pointer as Address,
        pitch,
        ..Side2D::default()
    }
}

/// A copy of rows to an array.
fn to_array(
    to: Place,
    from: *const c_void,
    pitch: usize,
    [width, height]: [usize; 2],
    kind: u32,
) -> Result<Vec<Memcpy2D>> {
    let (source, target) = sides(kind)?;
    if !matches!(target, DEVICE | driver::UNIFIED) {
        return Err(Error::INVALID_COPY_DIRECTION);
    }
    Ok(vec![Memcpy2D {
        from: memory(from, pitch, source),
        to: to.side(),
        width,
        height,
    }])
}

/// A copy of rows from an array.
fn from_array(
    to: *mut c_void,
    pitch: usize,
    from: Place,
    [width, height]: [usize; 2],
    kind: u32,
) -> Result<Vec<Memcpy2D>> {
    let (source, target) = sides(kind)?;
    if !matches!(source, DEVICE | driver::UNIFIED) {
        return Err(Error::INVALID_COPY_DIRECTION);
    }
    Ok(vec![Memcpy2D {
        from: from.side(),
        to: memory(to, pitch, target),
        width,
        height,
    }])
}

/// A part of a run of bytes, which begins somewhere in a row of an array and continues in the following rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Bytes of the run before it.
    offset: usize,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// The parts of a run in rows of `row` bytes: the rest of a row, whole rows, and the beginning of a last one.
fn parts(x: usize, y: usize, bytes: usize, row: usize) -> Vec<Part> {
    let (mut parts, mut offset, mut x, mut y) = (Vec::new(), 0, x, y);
    if row == 0 {
        return parts;
    }
    while offset < bytes {
        let left = bytes - offset;
        let (width, height) = match x == 0 && left >= row {
            true => (row, left / row),
            false => (left.min(row.saturating_sub(x).max(1)), 1),
        };
        parts.push(Part {
            offset,
            x,
            y,
            width,
            height,
        });
        offset += width * height;
        (x, y) = (0, y + height);
    }
    parts
}

/// Bytes of a row of an array.
fn row_bytes(array: Handle) -> Result<usize> {
    let described = description(array)?;
    let element = ChannelFormat::of_driver(described.format, described.channels)?.bytes();
    Ok(described.width * element)
}

fn run_to_array(to: Place, from: *const c_void, bytes: usize, kind: u32) -> Result<Vec<Memcpy2D>> {
    let row = row_bytes(to.array)?;
    let mut copies = Vec::new();
    for part in parts(to.x, to.y, bytes, row) {
        let (x, y) = (part.x, part.y);
        let from = from.wrapping_byte_add(part.offset);
        let extent = [part.width, part.height];
        copies.extend(to_array(
            Place { x, y, ..to },
            from,
            part.width,
            extent,
            kind,
        )?);
    }
    Ok(copies)
}

fn run_from_array(to: *mut c_void, from: Place, bytes: usize, kind: u32) -> Result<Vec<Memcpy2D>> {
    let row = row_bytes(from.array)?;
    let mut copies = Vec::new();
    for part in parts(from.x, from.y, bytes, row) {
        let (x, y) = (part.x, part.y);
        let to = to.wrapping_byte_add(part.offset);
        let extent = [part.width, part.height];
        copies.extend(from_array(
            to,
            part.width,
            Place { x, y, ..from },
            extent,
            kind,
        )?);
    }
    Ok(copies)
}

/// # Safety
/// The copies' memory is valid.
unsafe fn copy(copies: Vec<Memcpy2D>, stream: Handle) -> Result {
    for copy in copies
        .iter()
        .filter(|copy| copy.width > 0 && copy.height > 0)
    {
        // SAFETY: the caller's promise.
        unsafe {
            if stream == PER_THREAD {
                driver::cuMemcpy2DUnaligned_v2_ptds(copy)
            } else {
                driver::cuMemcpy2DUnaligned_v2(copy)
            }
        }?;
    }
    Ok(())
}

/// # Safety
/// The copies' memory is valid until they have ended.
unsafe fn copy_async(copies: Vec<Memcpy2D>, stream: Handle) -> Result {
    for copy in copies
        .iter()
        .filter(|copy| copy.width > 0 && copy.height > 0)
    {
        // SAFETY: the caller's promise.
        unsafe { driver::cuMemcpy2DAsync_v2(copy, stream) }?;
    }
    Ok(())
}

default_stream_exports! {
    fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds(
        array: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32
    ) in stream {
        copy(to_array(Place { array, x, y }, from, pitch, [width, height], kind)?, stream)
    }
    fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds(
        to: *mut c_void, pitch: usize, array: Handle, x: usize, y: usize, width: usize, height: usize, kind: u32
    ) in stream {
        copy(from_array(to, pitch, Place { array, x, y }, [width, height], kind)?, stream)
    }
    fn cudaMemcpy2DArrayToArray | cudaMemcpy2DArrayToArray_ptds(
        to: Handle, to_x: usize, to_y: usize, from: Handle, from_x: usize, from_y: usize, width: usize, height: usize,
        kind: u32
    ) in stream {
        sides(kind)?;
        let (to, from) = (
            Place { array: to, x: to_x, y: to_y },
            Place { array: from, x: from_x, y: from_y },
        );
        copy(vec![Memcpy2D { from: from.side(), to: to.side(), width, height }], stream)
    }
    fn cudaMemcpyToArray | cudaMemcpyToArray_ptds(
        array: Handle, x: usize, y: usize, from: *const c_void, bytes: usize, kind: u32
    ) in stream {
        copy(run_to_array(Place { array, x, y }, from, bytes, kind)?, stream)
    }
    fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds(
        to: *mut c_void, array: Handle, x: usize, y: usize, bytes: usize, kind: u32
    ) in stream {
        copy(run_from_array(to, Place { array, x, y }, bytes, kind)?, stream)
    }
}

stream_exports! {
    fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz(
        array: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32,
        stream: Handle
    ) for stream {
        copy_async(to_array(Place { array, x, y }, from, pitch, [width, height], kind)?, stream)
    }
    fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz(
        to: *mut c_void, pitch: usize, array: Handle, x: usize, y: usize, width: usize, height: usize, kind: u32,
        stream: Handle
    ) for stream {
        copy_async(from_array(to, pitch, Place { array, x, y }, [width, height], kind)?, stream)
    }
    fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz(
        array: Handle, x: usize, y: usize, from: *const c_void, bytes: usize, kind: u32, stream: Handle
    ) for stream {
        copy_async(run_to_array(Place { array, x, y }, from, bytes, kind)?, stream)
    }
    fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz(
        to: *mut c_void, array: Handle, x: usize, y: usize, bytes: usize, kind: u32, stream: Handle
    ) for stream {
        copy_async(run_from_array(to, Place { array, x, y }, bytes, kind)?, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_bytes_goes_on_in_the_following_rows() {
        let part = |offset, x, y, width, height| Part {
            offset,
            x,
            y,
            width,
            height,
        };
        assert_eq!(parts(0, 0, 12, 16), [part(0, 0, 0, 12, 1)]);
        assert_eq!(parts(0, 0, 48, 16), [part(0, 0, 0, 16, 3)]);
        let three = [
            part(0, 12, 1, 4, 1),
            part(4, 0, 2, 16, 2),
            part(36, 0, 4, 4, 1),
        ];
        assert_eq!(parts(12, 1, 40, 16), three);
        assert_eq!(parts(0, 0, 0, 16), []);
    }
}
