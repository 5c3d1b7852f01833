//! Memsets.

use crate::api::*;
use crate::rule::{Failure, Outcome, Rule};
use crate::scene::{Scene, is_busy};
use crate::{gives, holds, ok, rule, same};

const FAMILY: &str = "sets";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(bytes_are_set, "cuMemsetD8", "cuMemsetD8 sets exactly the requested bytes."),
    rule!(halves_are_set, "cuMemsetD16", "cuMemsetD16 counts in units of two bytes."),
    rule!(words_are_set, "cuMemsetD32", "cuMemsetD32 counts in units of four bytes."),
    rule!(halves_must_be_aligned, "cuMemsetD16", "An address that is no multiple of two is refused."),
    rule!(words_must_be_aligned, "cuMemsetD32", "An address that is no multiple of four is refused."),
    rule!(rows_leave_the_gap_between_them, "cuMemsetD2D8", "A set of rows leaves the bytes between the rows alone."),
    rule!(rows_of_words, "cuMemsetD2D32", "The width of a row counts elements, the pitch bytes."),
    rule!(zero_elements_are_set_in_vain, "cuMemsetD8", "Setting zero elements succeeds and writes no memory."),
    rule!(null_is_refused, "cuMemsetD8", "Setting at a null address is refused."),
    rule!(pageable_memory_is_not_set, "cuMemsetD8", "Setting pageable memory is refused unless the device reaches that."),
    rule!(sets_must_stay_inside, "cuMemsetD8", "A set that would leave its allocation is refused."),
    rule!(device_memory_is_set_later, "API synchronization behavior, Memset", "cuMemsetD8 of device memory does not wait."),
    rule!(pinned_memory_is_set_at_once, "API synchronization behavior, Memset",
        "cuMemsetD8 of page-locked memory returns when it is set."),
    rule!(asynchronous_sets_return_at_once, "API synchronization behavior, Memset", "cuMemsetD8Async does not wait."),
    rule!(sets_follow_the_stream, "CUDA programming guide, streams",
        "A set starts when the kernel before it in the stream has ended."),
];

fn bytes_are_set(scene: &mut Scene) -> Outcome {
    let address = scene.device(16)?;
    ok!(cuMemsetD8_v2(address + 3, 0xab, 5));
    let mut expected = [0; 16];
    expected[3..8].fill(0xab);
    same!(scene.bytes(address, 16)?[..], expected[..]);
    Ok(())
}

fn halves_are_set(scene: &mut Scene) -> Outcome {
    let address = scene.device(16)?;
    ok!(cuMemsetD16_v2(address + 2, 0x1234, 3));
    let mut expected = [0; 16];
    expected[2..8].copy_from_slice(&[0x34, 0x12, 0x34, 0x12, 0x34, 0x12]);
    same!(scene.bytes(address, 16)?[..], expected[..]);
    Ok(())
}

fn words_are_set(scene: &mut Scene) -> Outcome {
    let address = scene.device(16)?;
    ok!(cuMemsetD32_v2(address + 4, 0x0102_0304, 2));
    let mut expected = [0; 16];
    expected[4..12].copy_from_slice(&[4, 3, 2, 1, 4, 3, 2, 1]);
    same!(scene.bytes(address, 16)?[..], expected[..]);
    Ok(())
}

fn halves_must_be_aligned(scene: &mut Scene) -> Outcome {
    let address = scene.device(16)?;
    gives!(INVALID_VALUE, cuMemsetD16_v2(address + 1, 1, 2));
    Ok(())
}

fn words_must_be_aligned(scene: &mut Scene) -> Outcome {
    let address = scene.device(16)?;
    gives!(INVALID_VALUE, cuMemsetD32_v2(address + 2, 1, 2));
    Ok(())
}

fn rows_leave_the_gap_between_them(scene: &mut Scene) -> Outcome {
    let address = scene.device(32)?;
    ok!(cuMemsetD2D8_v2(address, 8, 7, 5, 3));
    let mut expected = [0; 32];
    for row in 0..3 {
        expected[row * 8..row * 8 + 5].fill(7);
    }
    same!(scene.bytes(address, 32)?[..], expected[..]);
    Ok(())
}

fn rows_of_words(scene: &mut Scene) -> Outcome {
    let address = scene.device(64)?;
    ok!(cuMemsetD2D32_v2(address, 16, 0x0101_0101, 3, 4));
    let mut expected = [0; 64];
    for row in 0..4 {
        expected[row * 16..row * 16 + 12].fill(1);
    }
    same!(scene.bytes(address, 64)?[..], expected[..]);
    Ok(())
}

fn zero_elements_are_set_in_vain(scene: &mut Scene) -> Outcome {
    let address = scene.device(4)?;
    ok!(cuMemsetD8_v2(address, 1, 0));
    ok!(cuMemsetD32Async(address, 1, 0, 0));
    same!(scene.word(address)?, 0);
    Ok(())
}

fn null_is_refused(_: &mut Scene) -> Outcome {
    gives!(INVALID_VALUE, cuMemsetD8_v2(0, 1, 4));
    Ok(())
}

fn pageable_memory_is_not_set(scene: &mut Scene) -> Outcome {
    /// `CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS`.
    const PAGEABLE_MEMORY_ACCESS: u32 = 88;
    if scene.attribute(PAGEABLE_MEMORY_ACCESS)? != 0 {
        return Err(Failure::device("the device reaches pageable memory"));
    }
    let mut bytes = [0_u8; 64];
    gives!(
        INVALID_VALUE,
        cuMemsetD8_v2(bytes.as_mut_ptr() as Address, 5, 64)
    );
    Ok(())
}

fn sets_must_stay_inside(scene: &mut Scene) -> Outcome {
    /// A size that no allocator rounds up.
    const LARGE: usize = 32 << 20;
    let address = scene.device(LARGE)?;
    gives!(
        INVALID_VALUE,
        cuMemsetD8_v2(address + LARGE as u64 - 32, 1, 64)
    );
    Ok(())
}

fn device_memory_is_set_later(scene: &mut Scene) -> Outcome {
    let address = scene.device(4)?;
    scene.busy(0)?;
    ok!(cuMemsetD32_v2(address, 5, 1));
    holds!(is_busy(0)?);
    same!(scene.word(address)?, 5);
    Ok(())
}

fn pinned_memory_is_set_at_once(scene: &mut Scene) -> Outcome {
    let pinned = scene.pinned(64)?;
    scene.busy(0)?;
    ok!(cuMemsetD8_v2(pinned.address(), 6, 64));
    same!(pinned.bytes(), vec![6; 64]);
    Ok(())
}

fn asynchronous_sets_return_at_once(scene: &mut Scene) -> Outcome {
    let (address, stream) = (scene.device(64)?, scene.stream()?);
    scene.busy(stream)?;
    ok!(cuMemsetD8Async(address, 1, 64, stream));
    holds!(is_busy(stream)?);
    Ok(())
}

fn sets_follow_the_stream(scene: &mut Scene) -> Outcome {
    let (address, stream) = (scene.device(4)?, scene.stream()?);
    scene.slow_store(address, 1, stream)?;
    ok!(cuMemsetD32Async(address, 2, 1, stream));
    same!(scene.word(address)?, 2);
    Ok(())
}
