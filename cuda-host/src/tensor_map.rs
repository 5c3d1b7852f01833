//! Tensor maps (`cuTensorMapEncodeTiled`), which cust's bindings of CUDA 11.4 do not declare.
//!
//! A map tells kernels how a tensor lies in global memory and how large a box of it is; `cuda_std::extensions::tensor_map` has the copies
//! of such boxes.

use crate::result::ToResult;
use crate::symbol;
use cust::error::CudaResult;
use cust::memory::{DeviceCopy, DeviceSlice};
use cust::sys::CUresult;
use std::ffi::{c_uint, c_void};

pub use cuda_std::extensions::tensor_map::TensorMap;

/// What a tensor's elements are, `CUtensorMapDataType` of cuda.h: it decides how many bytes they have and what zero is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Element {
    /// 16 bits, a whole number.
    U16 = 1,
    /// 32 bits, a float.
    F32 = 7,
    /// 16 bits, a `bf16`.
    Bf16 = 9,
}

impl Element {
    /// Bytes of an element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::U16 | Self::Bf16 => 2,
            Self::F32 => 4,
        }
    }
}

/// In which places of a row of shared memory the box's parts of 16 bytes lie, `CUtensorMapSwizzle` of cuda.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Swizzle {
    /// One behind the other.
    None = 0,
    /// Rows of 128 bytes: part `i` of row `r` in place `i ^ (r % 8)`.
    Bytes128 = 3,
}

type EncodeTiled = unsafe extern "C" fn(
    map: *mut Aligned,
    element: Element,
    rank: c_uint,
    address: *mut c_void,
    dimensions: *const u64,
    strides: *const u64,
    box_dimensions: *const c_uint,
    element_strides: *const c_uint,
    interleave: c_uint,
    swizzle: Swizzle,
    l2_promotion: c_uint,
    fill: c_uint,
) -> CUresult;

/// The driver writes a map to an address that is a multiple of 64.
#[repr(C, align(64))]
struct Aligned(TensorMap);

/// `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`: what is missing in the L2 cache comes in pieces of 256 bytes.
const L2_256B: c_uint = 3;

/// The map of a tensor without gaps of these dimensions, innermost first, in boxes of this many elements (`cuTensorMapEncodeTiled`). What of a
/// box is outside of the tensor counts as zero.
///
/// # Errors
/// A box with more than 256 elements along a dimension, or an inner row of it whose bytes are no multiple of 16, or more than its
/// swizzling takes; a dimension but the last whose bytes are no multiple of 16; `CUDA_ERROR_NOT_SUPPORTED` before Hopper.
///
/// # Panics
/// When the tensor does not have as many elements as its dimensions say.
pub fn encode_tiled<T: DeviceCopy, const RANK: usize>(
    tensor: &DeviceSlice<T>,
    element: Element,
    dimensions: [usize; RANK],
    boxes: [u32; RANK],
    swizzle: Swizzle,
) -> CudaResult<TensorMap> {
    let bytes = dimensions.iter().product::<usize>() * element.bytes() as usize;
    assert_eq!(
        tensor.len() * size_of::<T>(),
        bytes,
        "a tensor of these dimensions"
    );
    let dimensions = dimensions.map(|len| len as u64);
    // For all dimensions except the innermost one.
    let mut strides = [0; RANK];
    let mut stride = element.bytes();
    for (to, len) in strides.iter_mut().zip(dimensions) {
        stride *= len;
        *to = stride;
    }
    // SAFETY: the type is the one that cuda.h declares.
    let encode: EncodeTiled = unsafe { symbol::function("cuTensorMapEncodeTiled") };
    let mut map = Aligned([0; 16]);
    // SAFETY: `RANK` dimensions and box dimensions, one stride less; all of them and the map outlive the call.
    unsafe {
        encode(
            &mut map,
            element,
            RANK as c_uint,
            tensor.as_device_ptr().as_raw() as *mut c_void,
            dimensions.as_ptr(),
            strides.as_ptr(),
            boxes.as_ptr(),
            [1; RANK].as_ptr(),
            0,
            swizzle,
            L2_256B,
            0,
        )
    }
    .to_result()?;
    Ok(map.0)
}
