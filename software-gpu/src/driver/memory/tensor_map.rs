//! Tensor maps: `cuTensorMapEncodeTiled`, `cuTensorMapReplaceAddress`.
//!
//! What is refused follows the documentation of the driver API, and an H200 (driver 580) where the two differ: it looks neither at
//! the alignment of the map in host memory, nor whether memory is at the address, nor whether strides let elements overlap. Nothing
//! is written when a call fails.

use std::ffi::{c_uint, c_void};

use crate::driver::c_abi::entry_point::entry_points;
use crate::driver::c_abi::errors::CudaError;
use crate::driver::host::call::call;
use crate::driver::host::costs::Cost;
use crate::exec::tensor_map::{self, MAX_RANK, TensorMap};

/// `CUtensorMapInterleave`.
const INTERLEAVE_32B: c_uint = 2;
/// The last `CUtensorMapL2promotion`: a hint.
const LAST_PROMOTION: c_uint = 3;
/// `CUtensorMapFloatOOBfill`.
const FILL_NAN: c_uint = 1;
const PIECE: u64 = 16;

/// A `CUtensorMapDataType`.
#[derive(Clone, Copy)]
struct Element {
    bytes: u32,
    is_float: bool,
}

impl Element {
    /// The formats that devices of compute capability 9.0 have.
    fn of(kind: c_uint) -> Option<Self> {
        let (bytes, is_float) = match kind {
            0 => (1, false),
            1 => (2, false),
            2 | 3 => (4, false),
            4 | 5 => (8, false),
            // FLOAT16, BFLOAT16.
            6 | 9 => (2, true),
            // FLOAT32, FLOAT32_FTZ, TFLOAT32, TFLOAT32_FTZ: the bits are copied as they are.
            7 | 10 | 11 | 12 => (4, true),
            8 => (8, true),
            _ => return None,
        };
        Some(Self { bytes, is_float })
    }
}

entry_points! {
    fn cuTensorMapEncodeTiled(
        map: *mut [u8; tensor_map::BYTES],
        kind: c_uint,
        rank: c_uint,
        address: *mut c_void,
        extents: *const u64,
        strides: *const u64,
        boxes: *const c_uint,
        steps: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) {
        let rank = rank as usize;
        let arrays = [extents.is_null(), strides.is_null(), boxes.is_null(), steps.is_null()];
        if map.is_null() || arrays.contains(&true) || !(1..=MAX_RANK).contains(&rank) {
            return Err(CudaError::InvalidValue);
        }
        let mut tiles = Tiles {
            kind,
            rank,
            address: address.addr() as u64,
            extents: [1; MAX_RANK],
            strides: [0; MAX_RANK],
            boxes: [1; MAX_RANK],
            steps: [1; MAX_RANK],
            interleave,
            swizzle,
            promotion,
            fill,
        };
        // SAFETY: the caller passes arrays of `rank` elements, and of one less for the strides, to which nothing is aligned.
        unsafe {
            for dimension in 0..rank {
                tiles.extents[dimension] = extents.add(dimension).read_unaligned();
                tiles.boxes[dimension] = boxes.add(dimension).read_unaligned();
                tiles.steps[dimension] = steps.add(dimension).read_unaligned();
            }
            for dimension in 1..rank {
                tiles.strides[dimension] = strides.add(dimension - 1).read_unaligned();
            }
        }
        let bytes = supported(|| tiles.encoded())?.to_bytes();
        // SAFETY: the caller passes room for a tensor map.
        unsafe { map.write_unaligned(bytes) };
        Ok(())
    }

    fn cuTensorMapReplaceAddress(map: *mut [u8; tensor_map::BYTES], address: *mut c_void) {
        if map.is_null() {
            return Err(CudaError::InvalidValue);
        }
        let replaced = supported(|| {
            // SAFETY: the caller passes a tensor map.
            let bytes = unsafe { map.read_unaligned() };
            let known = TensorMap::of_bytes(&bytes)?;
            let address = address.addr() as u64;
            let unit = unit(known.interleave);
            address.is_multiple_of(unit).then_some(TensorMap { address, ..known })
        })?;
        // SAFETY: as above.
        unsafe { map.write_unaligned(replaced.to_bytes()) };
        Ok(())
    }
}

/// What `make` gives, on a device that has tensor maps.
fn supported(make: impl FnOnce() -> Option<TensorMap>) -> Result<TensorMap, CudaError> {
    call(Cost::Free, |call| {
        let device = &call.profile_of(call.context()?)?.device;
        if device.compute_capability_major < 9 {
            return Err(CudaError::NotSupported);
        }
        make().ok_or(CudaError::InvalidValue)
    })
}

/// What addresses and strides are multiples of.
fn unit(interleave: c_uint) -> u64 {
    match interleave {
        INTERLEAVE_32B => 2 * PIECE,
        _ => PIECE,
    }
}

/// The arguments of `cuTensorMapEncodeTiled`.
struct Tiles {
    kind: c_uint,
    rank: usize,
    address: u64,
    extents: [u64; MAX_RANK],
    strides: [u64; MAX_RANK],
    boxes: [u32; MAX_RANK],
    steps: [u32; MAX_RANK],
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
}

impl Tiles {
    /// The tensor map, if the arguments are as the documentation demands.
    fn encoded(&self) -> Option<TensorMap> {
        let element = Element::of(self.kind)?;
        let swizzle = *[0, 32, 64, 128].get(self.swizzle as usize)?;
        let fills_nan = self.fill == FILL_NAN;
        let are_known = self.interleave <= INTERLEAVE_32B
            && self.promotion <= LAST_PROMOTION
            && self.fill <= FILL_NAN
            && (!fills_nan || element.is_float);
        if !(are_known && self.are_in_bounds() && self.boxes_fit(element, swizzle)) {
            return None;
        }
        let mut strides = self.strides;
        strides[0] = element.bytes.into();
        Some(TensorMap {
            address: self.address,
            rank: self.rank,
            element: element.bytes,
            extents: self.extents,
            strides,
            boxes: self.boxes,
            steps: self.steps,
            swizzle,
            fills_nan,
            interleave: self.interleave,
        })
    }

    /// Address, extents and strides.
    fn are_in_bounds(&self) -> bool {
        let unit = unit(self.interleave);
        let is_stride = |stride: &u64| stride.is_multiple_of(unit) && *stride < 1 << 40;
        self.address.is_multiple_of(unit)
            && (self.interleave == 0 || self.rank >= 3)
            && self
                .extents
                .iter()
                .all(|extent| (1..=1 << 32).contains(extent))
            && self.strides.iter().all(is_stride)
            && self.boxes.iter().all(|extent| (1..=256).contains(extent))
            && self.steps.iter().all(|step| (1..=8).contains(step))
    }

    /// The rows of a box: whole pieces, and no longer than the line of a swizzle.
    fn boxes_fit(&self, element: Element, swizzle: u32) -> bool {
        let row = self.boxes[0] * element.bytes;
        self.interleave != 0
            || u64::from(row).is_multiple_of(PIECE) && (swizzle == 0 || row <= swizzle)
    }
}
