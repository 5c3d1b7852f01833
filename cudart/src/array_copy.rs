//! Copies to and from CUDA arrays: rows, and those that go from one row of an array to the next.

use std::ffi::c_void;

use crate::array::ChannelFormat;
use crate::array::description;
use crate::call::{default_stream_exports, stream_exports};
use crate::copy_box::{ARRAY, DEVICE, PitchedRows, copy_rows, memory_side, sides};
use crate::driver::{self, Handle, Memcpy2D, Side2D};
use crate::error::{Error, Result};

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

/// Which side of a copy the array is.
#[derive(Clone, Copy)]
enum Direction {
    ToArray,
    FromArray,
}
use Direction::{FromArray, ToArray};

/// A copy of rows between an array and memory.
fn rows(
    direction: Direction,
    place: Place,
    memory: PitchedRows,
    [width, height]: [usize; 2],
    kind: u32,
) -> Result<Memcpy2D> {
    let (source, target) = sides(kind)?;
    let (of_array, of_memory) = match direction {
        ToArray => (target, source),
        FromArray => (source, target),
    };
    if !matches!(of_array, DEVICE | driver::UNIFIED) {
        return Err(Error::INVALID_COPY_DIRECTION);
    }
    let (array, memory) = (place.side(), memory_side(memory, of_memory));
    let (from, to) = match direction {
        ToArray => (memory, array),
        FromArray => (array, memory),
    };
    Ok(Memcpy2D {
        from,
        to,
        width,
        height,
    })
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

/// The copies of a run of bytes between an array and memory.
fn run(
    direction: Direction,
    place: Place,
    memory: *const c_void,
    bytes: usize,
    kind: u32,
) -> Result<Vec<Memcpy2D>> {
    let copies = parts(place.x, place.y, bytes, row_bytes(place.array)?)
        .into_iter()
        .map(|part| {
            let place = Place {
                x: part.x,
                y: part.y,
                ..place
            };
            let memory = (memory.wrapping_byte_add(part.offset), part.width);
            rows(direction, place, memory, [part.width, part.height], kind)
        });
    copies.collect()
}

/// The copies that have bytes.
fn with_bytes(copies: &[Memcpy2D]) -> impl Iterator<Item = &Memcpy2D> {
    copies
        .iter()
        .filter(|copy| copy.width > 0 && copy.height > 0)
}

/// # Safety
/// The copies' memory is valid.
unsafe fn copy(copies: &[Memcpy2D], stream: Handle) -> Result {
    // SAFETY: the caller's promise.
    with_bytes(copies).try_for_each(|copy| unsafe { copy_rows(copy, stream) })
}

/// # Safety
/// The copies' memory is valid until they have ended.
unsafe fn copy_async(copies: &[Memcpy2D], stream: Handle) -> Result {
    // SAFETY: the caller's promise.
    with_bytes(copies).try_for_each(|copy| unsafe { driver::cuMemcpy2DAsync_v2(copy, stream) })
}

default_stream_exports! {
    fn cudaMemcpy2DToArray | cudaMemcpy2DToArray_ptds(
        array: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32
    ) in stream {
        copy(&[rows(ToArray, Place { array, x, y }, (from, pitch), [width, height], kind)?], stream)
    }
    fn cudaMemcpy2DFromArray | cudaMemcpy2DFromArray_ptds(
        to: *mut c_void, pitch: usize, array: Handle, x: usize, y: usize, width: usize, height: usize, kind: u32
    ) in stream {
        copy(&[rows(FromArray, Place { array, x, y }, (to, pitch), [width, height], kind)?], stream)
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
        copy(&[Memcpy2D { from: from.side(), to: to.side(), width, height }], stream)
    }
    fn cudaMemcpyToArray | cudaMemcpyToArray_ptds(
        array: Handle, x: usize, y: usize, from: *const c_void, bytes: usize, kind: u32
    ) in stream {
        copy(&run(ToArray, Place { array, x, y }, from, bytes, kind)?, stream)
    }
    fn cudaMemcpyFromArray | cudaMemcpyFromArray_ptds(
        to: *mut c_void, array: Handle, x: usize, y: usize, bytes: usize, kind: u32
    ) in stream {
        copy(&run(FromArray, Place { array, x, y }, to, bytes, kind)?, stream)
    }
}

stream_exports! {
    fn cudaMemcpy2DToArrayAsync | cudaMemcpy2DToArrayAsync_ptsz(
        array: Handle, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32,
        stream: Handle
    ) for stream {
        copy_async(&[rows(ToArray, Place { array, x, y }, (from, pitch), [width, height], kind)?], stream)
    }
    fn cudaMemcpy2DFromArrayAsync | cudaMemcpy2DFromArrayAsync_ptsz(
        to: *mut c_void, pitch: usize, array: Handle, x: usize, y: usize, width: usize, height: usize, kind: u32,
        stream: Handle
    ) for stream {
        copy_async(&[rows(FromArray, Place { array, x, y }, (to, pitch), [width, height], kind)?], stream)
    }
    fn cudaMemcpyToArrayAsync | cudaMemcpyToArrayAsync_ptsz(
        array: Handle, x: usize, y: usize, from: *const c_void, bytes: usize, kind: u32, stream: Handle
    ) for stream {
        copy_async(&run(ToArray, Place { array, x, y }, from, bytes, kind)?, stream)
    }
    fn cudaMemcpyFromArrayAsync | cudaMemcpyFromArrayAsync_ptsz(
        to: *mut c_void, array: Handle, x: usize, y: usize, bytes: usize, kind: u32, stream: Handle
    ) for stream {
        copy_async(&run(FromArray, Place { array, x, y }, to, bytes, kind)?, stream)
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
