//! Copies of rectangles and boxes: `cuMemcpy2D`, `cuMemcpy3D` and their variants.
//!
//! A side's rows start at `(z * height + y) * pitch + x` from its base. A pitch or height of 0 is not specified: then
//! the rows, or the slices, follow each other without a gap.

use std::ffi::{c_uint, c_void};

use super::boxes::{Extent, Pitches, Rows};
use super::copy_params::{CUmemcpy2D, CUmemcpy2DSide, CUmemcpy3D, CUmemcpy3DSide};
use super::transfer::Pointer;
use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::c_abi::types::{CUarray, CUdeviceptr, CUstream};
use crate::driver::host::call::{Call, call};
use crate::driver::host::costs::Cost;
use crate::driver::simulation::operation::Side;
use crate::driver::streams::stream::Mode;
use Mode::{Async, Sync};

/// `CU_DEVICE_ATTRIBUTE_MAX_PITCH` is the same on all devices.
const MAX_PITCH: usize = 0x7fff_ffff;

/// `CUmemorytype`.
pub(in crate::driver) const HOST: c_uint = 1;
pub(in crate::driver) const DEVICE: c_uint = 2;
pub(in crate::driver) const ARRAY: c_uint = 3;
const UNIFIED: c_uint = 4;

/// Defines entry points that take a pointer to a description: the synchronous ones and the others.
macro_rules! copies {
    ($description:ty: $($sync:ident $sync_ptds:ident)+; $($later:ident $later_ptsz:ident)+) => {
        entry_points! {
            $(
                fn $sync | $sync_ptds as null (description: *const $description) {
                    // SAFETY: the caller passes null or a description.
                    copy(Sync(null), unsafe { description.as_ref() }.map(Request::from))
                }
            )+
            $(
                fn $later | $later_ptsz as null (description: *const $description, stream: CUstream) {
                    // SAFETY: as above.
                    copy(Async(null, stream), unsafe { description.as_ref() }.map(Request::from))
                }
            )+
        }
    };
}

copies! {
    CUmemcpy2D:
    cuMemcpy2D_v2 cuMemcpy2D_v2_ptds cuMemcpy2DUnaligned_v2 cuMemcpy2DUnaligned_v2_ptds;
    cuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2_ptsz
}
copies! {
    CUmemcpy3D: cuMemcpy3D_v2 cuMemcpy3D_v2_ptds; cuMemcpy3DAsync_v2 cuMemcpy3DAsync_v2_ptsz
}

/// What all descriptions come to.
pub(in crate::driver) struct Request {
    pub(in crate::driver) from: Corner,
    pub(in crate::driver) to: Corner,
    pub(in crate::driver) extent: Extent,
}

/// One side: a box's place in a larger one.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Corner {
    pub(in crate::driver) memory_type: c_uint,
    pub(in crate::driver) host: *const c_void,
    pub(in crate::driver) device: CUdeviceptr,
    pub(in crate::driver) array: CUarray,
    /// Bytes, rows and slices before the box.
    pub(in crate::driver) offset: [usize; 3],
    /// Bytes from row to row, 0 when not specified.
    pub(in crate::driver) pitch: usize,
    /// Rows from slice to slice, 0 when not specified.
    pub(in crate::driver) height: usize,
}

/// Submits a copy of a box, and waits as its mode says.
///
/// # Errors
/// The errors of [`Call::sides`] and [`Call::copy`].
pub(in crate::driver) fn copy(mode: Mode, request: Option<Request>) -> Result<(), CudaError> {
    let request = request.ok_or(CudaError::InvalidValue)?;
    call(Cost::Free, |call| {
        let stream = call.stream_of(mode)?;
        call.spend_in(stream, Cost::Copy);
        match call.sides(&request)? {
            Some((to, from)) => {
                call.within_reach(call.context()?, &[to.place, from.place])?;
                call.copy(mode, stream, to, from)
            }
            None => Ok(()),
        }
    })
}

impl Call {
    /// Both sides of a copy, destination first, or `None` when there is nothing to copy.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what the driver refuses.
    pub(in crate::driver) fn sides(
        &self,
        request: &Request,
    ) -> Result<Option<(Side, Side)>, CudaError> {
        let Request { from, to, extent } = request;
        let from = &self.in_memory(from, *extent)?;
        let to = &self.in_memory(to, *extent)?;
        let sides = [to, from].map(|side| side.pitches(*extent));
        let [to_pitches, from_pitches] = sides;
        let (to_pitches, from_pitches) = (to_pitches?, from_pitches?);
        if extent.bytes() == Some(0) {
            return Ok(None);
        }
        let side = |corner: &Corner, pitches| {
            let pointer = corner.pointer(pitches).ok_or(CudaError::InvalidValue)?;
            let extent = *extent;
            self.side(pointer, Rows { extent, pitches })
        };
        Ok(Some((side(to, to_pitches)?, side(from, from_pitches)?)))
    }
}

impl Call {
    /// The same side without an array: its rows lie one behind the other in device memory.
    fn in_memory(&self, side: &Corner, extent: Extent) -> Result<Corner, CudaError> {
        match side.memory_type {
            HOST | DEVICE | UNIFIED => return Ok(*side),
            ARRAY if side.array != CUarray(0) => {}
            _ => return Err(CudaError::InvalidValue),
        }
        let image = &self.textures.arrays.get(side.array)?.image;
        let size = [
            image.row_bytes(),
            image.extent[1].into(),
            image.extent[2].into(),
        ];
        let box_size = [extent.width, extent.height, extent.depth];
        for ((offset, count), size) in side.offset.into_iter().zip(box_size).zip(size) {
            let end = offset.checked_add(count).map(|end| end as u64);
            if end.is_none_or(|end| end > size) {
                return Err(CudaError::InvalidValue);
            }
        }
        Ok(Corner {
            memory_type: DEVICE,
            device: image.address,
            pitch: image.row as usize,
            height: image.extent[1] as usize,
            ..*side
        })
    }
}

impl Corner {
    /// How far apart the rows are.
    fn pitches(&self, extent: Extent) -> Result<Pitches, CudaError> {
        let [x, y, _] = self.offset;
        let sum = |a: usize, b: usize| a.checked_add(b).ok_or(CudaError::InvalidValue);
        let (width, height) = (sum(x, extent.width)?, sum(y, extent.height)?);
        let pitch = if self.pitch == 0 { width } else { self.pitch };
        let rows = if self.height == 0 {
            height
        } else {
            self.height
        };
        let has_slices = extent.depth > 1;
        if pitch < width || self.pitch > MAX_PITCH || rows < height && has_slices {
            return Err(CudaError::InvalidValue);
        }
        // The height of a single slice that is the first one does not matter.
        let slice = match has_slices || self.offset[2] > 0 {
            true => pitch.checked_mul(rows).ok_or(CudaError::InvalidValue)?,
            false => 0,
        };
        Ok(Pitches { row: pitch, slice })
    }

    /// Where the box's first byte is.
    fn pointer(&self, pitches: Pitches) -> Option<Pointer> {
        let [x, y, z] = self.offset;
        let offset = z
            .checked_mul(pitches.slice)?
            .checked_add(y.checked_mul(pitches.row)?)?
            .checked_add(x)?;
        Some(match self.memory_type {
            HOST if self.host.is_null() => return None,
            HOST => Pointer::Host((self.host as usize).checked_add(offset)? as *const c_void),
            DEVICE => Pointer::Device(self.device.checked_add(offset as u64)?),
            _ if self.device == 0 => return None,
            _ => Pointer::Unified(self.device.checked_add(offset as u64)?),
        })
    }
}

impl From<&CUmemcpy2DSide> for Corner {
    fn from(side: &CUmemcpy2DSide) -> Self {
        Self {
            memory_type: side.memory_type,
            host: side.host,
            device: side.device,
            array: CUarray(side.array),
            offset: [side.x_in_bytes, side.y, 0],
            pitch: side.pitch,
            height: 0,
        }
    }
}

impl From<&CUmemcpy3DSide> for Corner {
    fn from(side: &CUmemcpy3DSide) -> Self {
        Self {
            memory_type: side.memory_type,
            host: side.host,
            device: side.device,
            array: CUarray(side.array),
            offset: [side.x_in_bytes, side.y, side.z],
            pitch: side.pitch,
            height: side.height,
        }
    }
}

impl From<&CUmemcpy2D> for Request {
    fn from(copy: &CUmemcpy2D) -> Self {
        Self {
            from: Corner::from(&copy.from),
            to: Corner::from(&copy.to),
            extent: Extent {
                width: copy.width_in_bytes,
                height: copy.height,
                depth: 1,
            },
        }
    }
}

impl From<&CUmemcpy3D> for Request {
    fn from(copy: &CUmemcpy3D) -> Self {
        Self {
            extent: copy.extent(),
            from: Corner::from(&copy.from),
            to: Corner::from(&copy.to),
        }
    }
}

impl CUmemcpy3D {
    /// The box's size.
    pub(in crate::driver) fn extent(&self) -> Extent {
        Extent {
            width: self.width_in_bytes,
            height: self.height,
            depth: self.depth,
        }
    }
}
