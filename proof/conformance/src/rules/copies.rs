//! Copies: what they move, and what they refuse. What the host waits for is the family `copy_waits`.

use std::ptr::{null, null_mut};

use crate::api::*;
use crate::rule::{Outcome, Rule};
use crate::scene::Scene;
use crate::{gives, ok, rule, same};

const FAMILY: &str = "copies";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(to_the_device_and_back, "cuMemcpyHtoD", "Bytes copied to the device and back are the same."),
    rule!(within_the_device, "cuMemcpyDtoD", "A copy within the device moves the bytes, and no others."),
    rule!(any_bytes_at_any_offset, "cuMemcpyHtoD",
        "Copies need no alignment: an odd number of bytes at an odd offset is moved, and the neighbours stay."),
    rule!(direction_follows_from_the_addresses, "cuMemcpy",
        "cuMemcpy infers the direction from the addresses, host to host included."),
    rule!(asynchronous_direction_too, "cuMemcpyAsync", "cuMemcpyAsync infers the direction from the addresses."),
    rule!(zero_bytes_are_copied_in_vain, "cuMemcpyHtoD", "Copying zero bytes succeeds and changes nothing."),
    rule!(null_on_the_device_is_refused, "cuMemcpyHtoD", "Copying to a null address is refused."),
    rule!(null_on_the_host_is_refused, "cuMemcpyDtoH", "Copying to a null host pointer is refused."),
    rule!(copies_must_stay_inside_to, "cuMemcpyHtoD",
        "A copy that would write past the end of an allocation is refused, and writes nothing."),
    rule!(copies_must_stay_inside_from, "cuMemcpyDtoH", "A copy that would read behind the end of an allocation is refused."),
    rule!(both_sides_must_stay_inside, "cuMemcpyDtoD",
        "A copy within the device is refused when either side leaves its allocation."),
    rule!(asynchronous_copies_refuse_at_once, "cuMemcpyHtoDAsync",
        "An asynchronous copy refuses bad addresses when it is called, not later."),
    rule!(copies_follow_kernels, "CUDA programming guide, streams",
        "A copy starts when the kernel before it in the stream has ended."),
    rule!(kernels_follow_copies, "CUDA programming guide, streams",
        "A kernel starts when the copy before it in the stream has ended."),
    rule!(copies_follow_copies, "CUDA programming guide, streams", "Copies in one stream are done in order."),
    rule!(pinned_and_pageable_give_the_same, "cuMemcpyDtoHAsync",
        "Copies to page-locked and to pageable memory bring the same bytes."),
];

const BYTES: usize = 1 << 20;

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes)
        .map(|index| (index as u8).wrapping_mul(37).wrapping_add(seed))
        .collect()
}

fn to_the_device_and_back(scene: &mut Scene) -> Outcome {
    let (sent, address) = (pattern(BYTES, 1), scene.device(BYTES)?);
    ok!(cuMemcpyHtoD_v2(address, sent.as_ptr().cast(), BYTES));
    let mut came = vec![0_u8; BYTES];
    ok!(cuMemcpyDtoH_v2(came.as_mut_ptr().cast(), address, BYTES));
    same!(came == sent, true);
    Ok(())
}

fn within_the_device(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.device(64)?, scene.device(64)?);
    ok!(cuMemsetD8_v2(from, 9, 64));
    ok!(cuMemcpyDtoD_v2(to + 16, from, 32));
    let came = scene.bytes(to, 64)?;
    same!(came[..16], [0; 16]);
    same!(came[16..48], [9; 32]);
    same!(came[48..], [0; 16]);
    Ok(())
}

fn any_bytes_at_any_offset(scene: &mut Scene) -> Outcome {
    let (sent, address) = (pattern(32, 3), scene.device(32)?);
    ok!(cuMemcpyHtoD_v2(
        address + 3,
        sent.as_ptr().wrapping_add(1).cast(),
        7
    ));
    let came = scene.bytes(address, 32)?;
    same!(came[..3], [0; 3]);
    same!(came[3..10], sent[1..8]);
    same!(came[10..], [0; 22]);
    let mut part = [0_u8; 5];
    ok!(cuMemcpyDtoH_v2(part.as_mut_ptr().cast(), address + 5, 5));
    same!(part[..], sent[3..8]);
    Ok(())
}

fn direction_follows_from_the_addresses(scene: &mut Scene) -> Outcome {
    let (sent, mut came) = (pattern(64, 5), vec![0_u8; 64]);
    let (first, second) = (scene.device(64)?, scene.device(64)?);
    let mut between = [0_u8; 64];
    ok!(cuMemcpy(
        between.as_mut_ptr() as Address,
        sent.as_ptr() as Address,
        64
    ));
    ok!(cuMemcpy(first, between.as_ptr() as Address, 64));
    ok!(cuMemcpy(second, first, 64));
    ok!(cuMemcpy(came.as_mut_ptr() as Address, second, 64));
    same!(came, sent);
    Ok(())
}

fn asynchronous_direction_too(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.pinned(64)?, scene.pinned(64)?);
    let (first, second) = (scene.device(64)?, scene.device(64)?);
    let stream = scene.stream()?;
    from.fill(6);
    ok!(cuMemcpyAsync(first, from.address(), 64, stream));
    ok!(cuMemcpyAsync(second, first, 64, stream));
    ok!(cuMemcpyAsync(to.address(), second, 64, stream));
    ok!(cuStreamSynchronize(stream));
    same!(to.bytes(), vec![6; 64]);
    Ok(())
}

fn zero_bytes_are_copied_in_vain(scene: &mut Scene) -> Outcome {
    let (sent, address) = ([1_u8; 4], scene.device(4)?);
    ok!(cuMemcpyHtoD_v2(address, sent.as_ptr().cast(), 0));
    ok!(cuMemcpyDtoD_v2(address, address, 0));
    ok!(cuMemcpyHtoDAsync_v2(address, sent.as_ptr().cast(), 0, 0));
    same!(scene.word(address)?, 0);
    Ok(())
}

fn null_on_the_device_is_refused(_: &mut Scene) -> Outcome {
    let mut word = 0_u32;
    gives!(
        INVALID_VALUE,
        cuMemcpyHtoD_v2(0, (&raw const word).cast(), 4)
    );
    gives!(INVALID_VALUE, cuMemcpyDtoH_v2((&raw mut word).cast(), 0, 4));
    Ok(())
}

fn null_on_the_host_is_refused(scene: &mut Scene) -> Outcome {
    let address = scene.device(4)?;
    gives!(INVALID_VALUE, cuMemcpyDtoH_v2(null_mut(), address, 4));
    gives!(INVALID_VALUE, cuMemcpyHtoD_v2(address, null(), 4));
    Ok(())
}

/// A size that no allocator rounds up to more than its double.
const LARGE: usize = 32 << 20;

fn copies_must_stay_inside_to(scene: &mut Scene) -> Outcome {
    let (sent, address) = (vec![1_u8; 64], scene.device(LARGE)?);
    let end = address + LARGE as u64;
    gives!(
        INVALID_VALUE,
        cuMemcpyHtoD_v2(end - 32, sent.as_ptr().cast(), 64)
    );
    same!(scene.bytes(end - 32, 32)?, vec![0; 32]);
    Ok(())
}

fn copies_must_stay_inside_from(scene: &mut Scene) -> Outcome {
    let (mut came, address) = (vec![0_u8; 64], scene.device(LARGE)?);
    let end = address + LARGE as u64;
    gives!(
        INVALID_VALUE,
        cuMemcpyDtoH_v2(came.as_mut_ptr().cast(), end - 32, 64)
    );
    Ok(())
}

fn both_sides_must_stay_inside(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.device(LARGE)?, scene.device(LARGE)?);
    let end = |address| address + LARGE as u64;
    gives!(INVALID_VALUE, cuMemcpyDtoD_v2(end(first) - 32, second, 64));
    gives!(INVALID_VALUE, cuMemcpyDtoD_v2(first, end(second) - 32, 64));
    Ok(())
}

fn asynchronous_copies_refuse_at_once(scene: &mut Scene) -> Outcome {
    let (pinned, address, stream) = (scene.pinned(64)?, scene.device(LARGE)?, scene.stream()?);
    let end = address + LARGE as u64;
    scene.busy(stream)?;
    gives!(
        INVALID_VALUE,
        cuMemcpyHtoDAsync_v2(end - 32, pinned.pointer(), 64, stream)
    );
    gives!(
        INVALID_VALUE,
        cuMemcpyHtoDAsync_v2(0, pinned.pointer(), 64, stream)
    );
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn copies_follow_kernels(scene: &mut Scene) -> Outcome {
    let (pinned, address, stream) = (scene.pinned(4)?, scene.device(4)?, scene.stream()?);
    scene.slow_store(address, 71, stream)?;
    ok!(cuMemcpyDtoHAsync_v2(pinned.pointer(), address, 4, stream));
    ok!(cuStreamSynchronize(stream));
    same!(pinned.word(), 71);
    Ok(())
}

fn kernels_follow_copies(scene: &mut Scene) -> Outcome {
    let (pinned, stream) = (scene.pinned(BYTES)?, scene.stream()?);
    let (address, word) = (scene.device(BYTES)?, scene.device(4)?);
    pinned.fill(3);
    ok!(cuMemcpyHtoDAsync_v2(
        address,
        pinned.pointer(),
        BYTES,
        stream
    ));
    scene.move_word(word, address + BYTES as u64 - 4, stream)?;
    same!(scene.word(word)?, 0x0303_0303);
    Ok(())
}

fn copies_follow_copies(scene: &mut Scene) -> Outcome {
    let (from, to, stream) = (scene.pinned(BYTES)?, scene.pinned(BYTES)?, scene.stream()?);
    let (first, second) = (scene.device(BYTES)?, scene.device(BYTES)?);
    from.fill(8);
    ok!(cuMemcpyHtoDAsync_v2(first, from.pointer(), BYTES, stream));
    ok!(cuMemcpyDtoDAsync_v2(second, first, BYTES, stream));
    ok!(cuMemcpyDtoHAsync_v2(to.pointer(), second, BYTES, stream));
    ok!(cuStreamSynchronize(stream));
    same!(to.bytes().iter().all(|byte| *byte == 8), true);
    Ok(())
}

fn pinned_and_pageable_give_the_same(scene: &mut Scene) -> Outcome {
    let (pinned, address, stream) = (scene.pinned(BYTES)?, scene.device(BYTES)?, scene.stream()?);
    let (sent, mut pageable) = (pattern(BYTES, 7), vec![0_u8; BYTES]);
    ok!(cuMemcpyHtoD_v2(address, sent.as_ptr().cast(), BYTES));
    ok!(cuCtxSynchronize());
    ok!(cuMemcpyDtoHAsync_v2(
        pinned.pointer(),
        address,
        BYTES,
        stream
    ));
    ok!(cuMemcpyDtoHAsync_v2(
        pageable.as_mut_ptr().cast(),
        address,
        BYTES,
        stream
    ));
    ok!(cuStreamSynchronize(stream));
    same!(pinned.bytes() == sent, true);
    same!(pageable == sent, true);
    Ok(())
}
