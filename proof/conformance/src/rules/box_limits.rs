//! Rectangles and boxes that are refused or empty, and sets of rows in stream order.

use crate::api::*;
use crate::rule::{Outcome, Rule};
use crate::scene::{Scene, is_busy};
use crate::{gives, holds, ok, rule, same};

const FAMILY: &str = "box_limits";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(empty_rectangles_are_copied_in_vain, "cuMemcpy2D", "A rectangle without rows or without columns is copied in vain."),
    rule!(empty_boxes_are_copied_in_vain, "cuMemcpy3D", "A box without slices is copied in vain."),
    rule!(null_sides_are_refused, "cuMemcpy2D", "A rectangle from or to a null address is refused."),
    rule!(one_slice_needs_no_height, "cuMemcpy3D", "For a single slice the height from slice to slice does not matter."),
    rule!(sides_need_a_kind, "cuMemcpy2D", "A side of a memory type that does not exist is refused."),
    rule!(pitch_has_a_limit, "CU_DEVICE_ATTRIBUTE_MAX_PITCH", "A pitch above the device's limit is refused."),
    rule!(slices_must_fit_into_the_height, "cuMemcpy3D", "A box with more rows than the height from slice to slice is refused."),
    rule!(boxes_must_stay_inside, "cuMemcpy3D", "A box that leaves its allocation is refused."),
    rule!(asynchronous_rectangles_refuse_at_once, "cuMemcpy2DAsync",
        "An asynchronous rectangle refuses bad pitches when it is called."),
    rule!(boxes_within_the_device, "cuMemcpy3D", "A box is copied within the device, slice by slice."),
    rule!(rectangle_within_the_device_does_not_wait, "API synchronization behavior, memcpy",
        "A rectangle within the device does not wait for the work before it."),
    rule!(rows_of_halves, "cuMemsetD2D16", "A set of rows of two-byte elements leaves the bytes between the rows alone."),
    rule!(set_rows_must_fit_into_the_pitch, "cuMemsetD2D8", "A set of rows wider than the pitch is refused."),
    rule!(set_rows_must_be_aligned, "cuMemsetD2D16",
        "A pitch between rows of two-byte elements that is no multiple of two is refused."),
    rule!(set_rows_are_set_in_stream_order, "cuMemsetD2D32Async",
        "An asynchronous set of rows does not wait, and keeps the stream's order."),
    rule!(set_rows_must_stay_inside, "cuMemsetD2D8", "A set of rows that leaves its allocation is refused."),
    rule!(one_row_needs_no_pitch, "cuMemsetD2D8", "For a single row the pitch does not matter."),
];

const HOST: u32 = 1;
const DEVICE: u32 = 2;
/// A size that no allocator rounds up.
const LARGE: usize = 32 << 20;

fn flat(from: Address, to: Address, pitch: usize, width: usize, height: usize) -> Memcpy2D {
    let side = |device| Side2D {
        kind: DEVICE,
        device,
        pitch,
        ..Side2D::default()
    };
    Memcpy2D {
        from: side(from),
        to: side(to),
        width,
        height,
    }
}

/// A box of two bytes by two rows by `depth` slices, within the device; pitch 4, `height` rows from slice to slice.
fn deep(from: Address, to: Address, height: usize, depth: usize) -> Memcpy3D {
    let side = |device| Side3D {
        kind: DEVICE,
        device,
        pitch: 4,
        height,
        ..Side3D::default()
    };
    Memcpy3D {
        from: side(from),
        to: side(to),
        width: 2,
        height: 2,
        depth,
    }
}

fn ones(scene: &Scene, bytes: usize) -> Outcome<Address> {
    let address = scene.device(bytes)?;
    ok!(cuMemsetD8_v2(address, 1, bytes));
    Ok(address)
}

fn empty_rectangles_are_copied_in_vain(scene: &mut Scene) -> Outcome {
    let (from, to) = (ones(scene, 64)?, scene.device(64)?);
    ok!(cuMemcpy2D_v2(&flat(from, to, 8, 0, 4)));
    ok!(cuMemcpy2D_v2(&flat(from, to, 8, 4, 0)));
    same!(scene.bytes(to, 64)?, vec![0; 64]);
    Ok(())
}

fn empty_boxes_are_copied_in_vain(scene: &mut Scene) -> Outcome {
    let (from, to) = (ones(scene, 64)?, scene.device(64)?);
    ok!(cuMemcpy3D_v2(&deep(from, to, 2, 0)));
    same!(scene.bytes(to, 64)?, vec![0; 64]);
    Ok(())
}

fn null_sides_are_refused(scene: &mut Scene) -> Outcome {
    let address = scene.device(64)?;
    gives!(INVALID_VALUE, cuMemcpy2D_v2(&flat(0, address, 8, 4, 2)));
    gives!(INVALID_VALUE, cuMemcpy2D_v2(&flat(address, 0, 8, 4, 2)));
    let mut copy = flat(address, address, 8, 4, 2);
    copy.from.kind = HOST;
    gives!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    gives!(INVALID_VALUE, cuMemcpy2D_v2(std::ptr::null()));
    Ok(())
}

fn one_slice_needs_no_height(scene: &mut Scene) -> Outcome {
    let (from, to) = (ones(scene, 8)?, scene.device(8)?);
    ok!(cuMemcpy3D_v2(&deep(from, to, 0, 1)));
    same!(scene.bytes(to, 8)?, vec![1, 1, 0, 0, 1, 1, 0, 0]);
    Ok(())
}

fn sides_need_a_kind(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.device(64)?, scene.device(64)?);
    for kind in [0, 77] {
        let mut copy = flat(from, to, 8, 4, 2);
        copy.to.kind = kind;
        gives!(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    }
    Ok(())
}

fn pitch_has_a_limit(scene: &mut Scene) -> Outcome {
    /// `CU_DEVICE_ATTRIBUTE_MAX_PITCH`.
    const MAX_PITCH: u32 = 11;
    let (from, to) = (scene.device(64)?, scene.device(64)?);
    let pitch = scene.attribute(MAX_PITCH)?.unsigned_abs() as usize + 1;
    gives!(INVALID_VALUE, cuMemcpy2D_v2(&flat(from, to, pitch, 4, 2)));
    Ok(())
}

fn slices_must_fit_into_the_height(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.device(64)?, scene.device(64)?);
    gives!(INVALID_VALUE, cuMemcpy3D_v2(&deep(from, to, 1, 2)));
    Ok(())
}

fn boxes_must_stay_inside(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.device(LARGE)?, scene.device(64)?);
    let mut copy = deep(from, to, 2, 2);
    copy.from.z = LARGE / 8 - 1;
    gives!(INVALID_VALUE, cuMemcpy3D_v2(&copy));
    Ok(())
}

fn asynchronous_rectangles_refuse_at_once(scene: &mut Scene) -> Outcome {
    let (from, to, stream) = (scene.device(64)?, scene.device(64)?, scene.stream()?);
    gives!(
        INVALID_VALUE,
        cuMemcpy2DAsync_v2(&flat(from, to, 4, 8, 2), stream)
    );
    ok!(cuStreamQuery(stream));
    Ok(())
}

fn boxes_within_the_device(scene: &mut Scene) -> Outcome {
    let (from, to) = (ones(scene, 32)?, scene.device(32)?);
    ok!(cuMemcpy3D_v2(&deep(from, to, 3, 2)));
    let row = [1, 1, 0, 0];
    let slice = [row, row, [0; 4]].concat();
    let expected = [slice.clone(), slice, vec![0; 8]].concat();
    same!(scene.bytes(to, 32)?, expected);
    Ok(())
}

fn rectangle_within_the_device_does_not_wait(scene: &mut Scene) -> Outcome {
    let (from, to) = (ones(scene, 64)?, scene.device(64)?);
    scene.busy(0)?;
    ok!(cuMemcpy2D_v2(&flat(from, to, 8, 8, 8)));
    holds!(is_busy(0)?);
    same!(scene.bytes(to, 64)?, vec![1; 64]);
    Ok(())
}

fn rows_of_halves(scene: &mut Scene) -> Outcome {
    let address = scene.device(32)?;
    ok!(cuMemsetD2D16_v2(address, 8, 0x0201, 2, 3));
    let row = [1, 2, 1, 2, 0, 0, 0, 0];
    same!(scene.bytes(address, 32)?, [row, row, row, [0; 8]].concat());
    Ok(())
}

fn set_rows_must_fit_into_the_pitch(scene: &mut Scene) -> Outcome {
    let address = scene.device(64)?;
    gives!(INVALID_VALUE, cuMemsetD2D8_v2(address, 4, 1, 8, 2));
    same!(scene.bytes(address, 64)?, vec![0; 64]);
    Ok(())
}

fn set_rows_must_be_aligned(scene: &mut Scene) -> Outcome {
    let address = scene.device(64)?;
    gives!(INVALID_VALUE, cuMemsetD2D16_v2(address, 5, 1, 2, 3));
    Ok(())
}

fn set_rows_are_set_in_stream_order(scene: &mut Scene) -> Outcome {
    let (address, stream) = (scene.device(32)?, scene.stream()?);
    scene.slow_store(address, 9, stream)?;
    ok!(cuMemsetD2D32Async(address, 16, 7, 1, 2, stream));
    ok!(cuMemsetD2D16Async(address + 4, 16, 5, 1, 2, stream));
    holds!(is_busy(stream)?);
    let row = [7, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    same!(scene.bytes(address, 32)?, [row, row].concat());
    Ok(())
}

fn set_rows_must_stay_inside(scene: &mut Scene) -> Outcome {
    let address = scene.device(LARGE)?;
    gives!(INVALID_VALUE, cuMemsetD2D8_v2(address, 1 << 20, 1, 16, 34));
    Ok(())
}

fn one_row_needs_no_pitch(scene: &mut Scene) -> Outcome {
    let address = scene.device(16)?;
    ok!(cuMemsetD2D8_v2(address, 0, 3, 16, 1));
    same!(scene.bytes(address, 16)?, vec![3; 16]);
    Ok(())
}
