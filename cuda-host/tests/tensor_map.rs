//! Tensor maps: which tensors and boxes the driver takes.

use cuda_host::tensor_map::{Element, Swizzle, encode_tiled};
use cust::error::{CudaError, CudaResult};
use cust::memory::DeviceBuffer;

/// The map of a matrix of 24 rows in boxes, or the driver's answer.
fn encode(columns: usize, box_of: [u32; 2], swizzle: Swizzle) -> CudaResult<[u64; 16]> {
    libcuda::select(libcuda::Choice::Software).unwrap();
    let _context = cust::quick_init().unwrap();
    let matrix = DeviceBuffer::<u16>::zeroed(columns * 24).unwrap();
    encode_tiled(&matrix, Element::Bf16, [columns, 24], box_of, swizzle)
}

#[test]
fn what_the_hardware_cannot_copy_is_refused() {
    assert!(encode(64, [64, 8], Swizzle::Bytes128).is_ok());
    assert!(encode(64, [64, 256], Swizzle::Bytes128).is_ok());
    let refused = Err(CudaError::InvalidValue);
    for (what, columns, box_of, swizzle) in [
        ("rows of 130 bytes", 65, [64, 8], Swizzle::Bytes128),
        ("a box of 257 rows", 64, [64, 257], Swizzle::Bytes128),
        ("a box without rows", 64, [64, 0], Swizzle::Bytes128),
        (
            "256 bytes to swizzle as 128",
            128,
            [128, 8],
            Swizzle::Bytes128,
        ),
        ("a box whose rows have 20 bytes", 64, [10, 8], Swizzle::None),
    ] {
        assert_eq!(encode(columns, box_of, swizzle), refused, "{what}");
    }
}

#[test]
fn maps_differ_by_what_they_say() {
    let swizzled = encode(64, [64, 8], Swizzle::Bytes128).unwrap();
    let plain = encode(64, [64, 8], Swizzle::None).unwrap();
    let higher = encode(64, [64, 16], Swizzle::None).unwrap();
    assert!(swizzled != plain && plain != higher);
}

#[test]
#[should_panic(expected = "a tensor of these dimensions")]
fn dimensions_that_are_not_the_tensors_are_a_mistake_of_the_program() {
    libcuda::select(libcuda::Choice::Software).unwrap();
    let _context = cust::quick_init().unwrap();
    let vector = DeviceBuffer::<u16>::zeroed(64).unwrap();
    let _ = encode_tiled(&vector, Element::Bf16, [128], [64], Swizzle::None);
}
