//! What the host waits for when it copies.

use crate::rule::{Outcome, Rule};
use crate::scene::{Scene, is_busy, is_pending};
use crate::{holds, ok, rule, same};

const FAMILY: &str = "copy_waits";

/// The rules of this family.
pub const RULES: &[Rule] = &[
    rule!(
        pinned_to_device_waits,
        "API synchronization behavior, Memcpy, synchronous",
        "cuMemcpyHtoD from page-locked memory returns when the copy is done."
    ),
    rule!(
        pageable_to_device_waits_for_the_stream,
        "API synchronization behavior, Memcpy, synchronous",
        "cuMemcpyHtoD from pageable memory synchronises with the stream before it copies."
    ),
    rule!(
        device_to_pinned_waits,
        "API synchronization behavior, Memcpy, synchronous",
        "cuMemcpyDtoH to page-locked memory returns when the bytes are there."
    ),
    rule!(
        device_to_pageable_waits,
        "API synchronization behavior, Memcpy, synchronous",
        "cuMemcpyDtoH to pageable memory returns when the bytes are there."
    ),
    rule!(
        within_the_device_does_not_wait,
        "API synchronization behavior, Memcpy, synchronous",
        "cuMemcpyDtoD does not wait for the copy, nor for what is before it."
    ),
    rule!(
        host_to_host_waits,
        "API synchronization behavior, Memcpy, synchronous",
        "A copy from host memory to host memory is done when the call returns."
    ),
    rule!(
        later_pinned_to_device_returns_at_once,
        "API synchronization behavior, Memcpy, asynchronous",
        "cuMemcpyHtoDAsync from page-locked memory does not wait."
    ),
    rule!(
        later_device_to_pinned_returns_at_once,
        "API synchronization behavior, Memcpy, asynchronous",
        "cuMemcpyDtoHAsync to page-locked memory does not wait: the bytes come later."
    ),
    rule!(
        later_within_the_device_returns_at_once,
        "API synchronization behavior, Memcpy, asynchronous",
        "cuMemcpyDtoDAsync does not wait."
    ),
    rule!(
        large_copies_return_at_once_too,
        "API synchronization behavior, Memcpy, asynchronous",
        "The size makes no difference: 64 MiB from page-locked memory do not wait."
    ),
    rule!(
        pageable_source_is_free_after_the_call,
        "API synchronization behavior, Memcpy, asynchronous",
        "After cuMemcpyHtoDAsync from pageable memory the program may change the source."
    ),
    rule!(
        large_pageable_source_is_free_after_the_call,
        "API synchronization behavior, Memcpy, asynchronous",
        "That holds for sources larger than a staging buffer too."
    ),
    rule!(
        pinned_source_is_read_in_stream_order,
        "API synchronization behavior, Memcpy, asynchronous",
        "A page-locked source that changes before the copy's turn is copied as changed."
    ),
    rule!(
        registered_memory_counts_as_page_locked,
        "cuMemHostRegister",
        "A copy from registered memory does not wait."
    ),
    rule!(
        synchronous_copies_use_the_legacy_stream,
        "API synchronization behavior, Memcpy",
        "A synchronous copy waits for blocking streams, as the legacy stream does."
    ),
    rule!(
        synchronous_copies_ignore_non_blocking_streams,
        "Stream synchronization behavior, legacy default stream",
        "A synchronous copy does not wait for non-blocking streams."
    ),
    rule!(
        later_device_to_pageable_waits,
        "API synchronization behavior, Memcpy, asynchronous",
        "cuMemcpyDtoHAsync to pageable memory returns when the bytes are there."
    ),
    rule!(
        later_large_device_to_pageable_waits,
        "API synchronization behavior, Memcpy, asynchronous",
        "That holds for targets larger than a staging buffer too."
    ),
    rule!(
        later_host_to_host_waits,
        "API synchronization behavior, Memcpy, asynchronous",
        "cuMemcpyAsync from host memory to host memory is done when the call returns, behind earlier work of the stream."
    ),
    rule!(
        later_sets_of_pinned_memory_return_at_once,
        "API synchronization behavior, Memset",
        "cuMemsetD8Async of page-locked memory does not wait."
    ),
];

const BYTES: usize = 4096;

fn pinned_to_device_waits(scene: &mut Scene) -> Outcome {
    let (pinned, address) = (scene.pinned(BYTES)?, scene.device(BYTES)?);
    scene.busy(0)?;
    ok!(cuMemcpyHtoD_v2(address, pinned.pointer(), BYTES));
    holds!(!is_busy(0)?);
    Ok(())
}

fn pageable_to_device_waits_for_the_stream(scene: &mut Scene) -> Outcome {
    let (sent, address) = (vec![1_u8; BYTES], scene.device(BYTES)?);
    scene.busy(0)?;
    let before = scene.recorded(0)?;
    ok!(cuMemcpyHtoD_v2(address, sent.as_ptr().cast(), BYTES));
    holds!(!is_pending(before)?);
    Ok(())
}

fn device_to_pinned_waits(scene: &mut Scene) -> Outcome {
    let (pinned, address) = (scene.pinned(4)?, scene.device(4)?);
    scene.slow_store(address, 72, 0)?;
    ok!(cuMemcpyDtoH_v2(pinned.pointer(), address, 4));
    same!(pinned.word(), 72);
    Ok(())
}

fn device_to_pageable_waits(scene: &mut Scene) -> Outcome {
    let address = scene.device(4)?;
    let mut word = 0_u32;
    scene.slow_store(address, 73, 0)?;
    ok!(cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4));
    same!(word, 73);
    Ok(())
}

fn within_the_device_does_not_wait(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.device(BYTES)?, scene.device(BYTES)?);
    scene.busy(0)?;
    ok!(cuMemcpyDtoD_v2(to, from, BYTES));
    holds!(is_busy(0)?);
    Ok(())
}

fn host_to_host_waits(scene: &mut Scene) -> Outcome {
    let (from, to) = (scene.pinned(BYTES)?, scene.pinned(BYTES)?);
    from.fill(4);
    scene.busy(0)?;
    ok!(cuMemcpy(to.address(), from.address(), BYTES));
    same!(to.bytes(), vec![4; BYTES]);
    Ok(())
}

fn later_pinned_to_device_returns_at_once(scene: &mut Scene) -> Outcome {
    let (pinned, address, stream) = (scene.pinned(BYTES)?, scene.device(BYTES)?, scene.stream()?);
    scene.busy(stream)?;
    ok!(cuMemcpyHtoDAsync_v2(
        address,
        pinned.pointer(),
        BYTES,
        stream
    ));
    holds!(is_busy(stream)?);
    Ok(())
}

fn later_device_to_pinned_returns_at_once(scene: &mut Scene) -> Outcome {
    let (pinned, address, stream) = (scene.pinned(4)?, scene.device(4)?, scene.stream()?);
    scene.slow_store(address, 74, stream)?;
    ok!(cuMemcpyDtoHAsync_v2(pinned.pointer(), address, 4, stream));
    holds!(is_busy(stream)?);
    same!(pinned.word(), 0);
    ok!(cuStreamSynchronize(stream));
    same!(pinned.word(), 74);
    Ok(())
}

fn later_within_the_device_returns_at_once(scene: &mut Scene) -> Outcome {
    let (from, to, stream) = (scene.device(BYTES)?, scene.device(BYTES)?, scene.stream()?);
    scene.busy(stream)?;
    ok!(cuMemcpyDtoDAsync_v2(to, from, BYTES, stream));
    holds!(is_busy(stream)?);
    Ok(())
}

fn large_copies_return_at_once_too(scene: &mut Scene) -> Outcome {
    /// 64 MiB.
    const LARGE: usize = 64 << 20;
    let (address, stream) = (scene.device(LARGE)?, scene.stream()?);
    let mut start = std::ptr::null_mut();
    ok!(cuMemAllocHost_v2(&mut start, LARGE));
    scene.busy(stream)?;
    ok!(cuMemcpyHtoDAsync_v2(address, start, LARGE, stream));
    holds!(is_busy(stream)?);
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

/// Copies `bytes` bytes of the value 1 behind a kernel, overwrites the source at once, and looks at what came.
fn overwritten_source(scene: &mut Scene, bytes: usize) -> Outcome {
    let (mut sent, address, stream) = (vec![1_u8; bytes], scene.device(bytes)?, scene.stream()?);
    scene.busy(stream)?;
    ok!(cuMemcpyHtoDAsync_v2(
        address,
        sent.as_ptr().cast(),
        bytes,
        stream
    ));
    sent.fill(2);
    let came = scene.bytes(address, bytes)?;
    holds!(came.iter().all(|byte| *byte == 1));
    Ok(())
}

fn pageable_source_is_free_after_the_call(scene: &mut Scene) -> Outcome {
    overwritten_source(scene, 1000)
}

fn large_pageable_source_is_free_after_the_call(scene: &mut Scene) -> Outcome {
    overwritten_source(scene, 8 << 20)
}

fn registered_memory_counts_as_page_locked(scene: &mut Scene) -> Outcome {
    let (mut sent, address, stream) = (vec![1_u8; BYTES], scene.device(BYTES)?, scene.stream()?);
    ok!(cuMemHostRegister_v2(sent.as_mut_ptr().cast(), BYTES, 0));
    scene.busy(stream)?;
    ok!(cuMemcpyHtoDAsync_v2(
        address,
        sent.as_ptr().cast(),
        BYTES,
        stream
    ));
    let busy = is_busy(stream);
    ok!(cuStreamSynchronize(stream));
    ok!(cuMemHostUnregister(sent.as_mut_ptr().cast()));
    holds!(busy?);
    Ok(())
}

fn synchronous_copies_use_the_legacy_stream(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(4)?);
    let mut word = 0_u32;
    scene.slow_store(address, 75, stream)?;
    ok!(cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4));
    same!(word, 75);
    Ok(())
}

fn synchronous_copies_ignore_non_blocking_streams(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.non_blocking()?, scene.device(4)?);
    let mut word = 0_u32;
    scene.busy(stream)?;
    ok!(cuMemcpyDtoH_v2((&raw mut word).cast(), address, 4));
    holds!(is_busy(stream)?);
    Ok(())
}

fn pinned_source_is_read_in_stream_order(scene: &mut Scene) -> Outcome {
    let (stream, address, pinned) = (scene.stream()?, scene.device(64)?, scene.pinned(64)?);
    pinned.fill(1);
    scene.busy(stream)?;
    ok!(cuMemcpyHtoDAsync_v2(address, pinned.pointer(), 64, stream));
    pinned.fill(9);
    holds!(is_busy(stream)?);
    same!(scene.bytes(address, 64)?, vec![9; 64]);
    Ok(())
}

fn later_device_to_pageable_waits(scene: &mut Scene) -> Outcome {
    let (stream, address, mut word) = (scene.stream()?, scene.device(4)?, 0_u32);
    scene.slow_store(address, 76, stream)?;
    ok!(cuMemcpyDtoHAsync_v2(
        (&raw mut word).cast(),
        address,
        4,
        stream
    ));
    // SAFETY: a variable of this function, which the driver wrote through a pointer.
    same!(unsafe { (&raw const word).read_volatile() }, 76);
    Ok(())
}

fn later_large_device_to_pageable_waits(scene: &mut Scene) -> Outcome {
    const LARGE: usize = 8 << 20;
    let (stream, address, mut came) = (scene.stream()?, scene.device(LARGE)?, vec![0_u8; LARGE]);
    scene.busy(stream)?;
    ok!(cuMemsetD8Async(address, 3, LARGE, stream));
    ok!(cuMemcpyDtoHAsync_v2(
        came.as_mut_ptr().cast(),
        address,
        LARGE,
        stream
    ));
    holds!(came.iter().all(|byte| *byte == 3));
    Ok(())
}

fn later_host_to_host_waits(scene: &mut Scene) -> Outcome {
    let (stream, from, mut to) = (scene.stream()?, scene.pinned(4)?, 0_u32);
    scene.slow_store(from.address(), 77, stream)?;
    ok!(cuMemcpyAsync(&raw mut to as u64, from.address(), 4, stream));
    // SAFETY: a variable of this function, which the driver wrote through a pointer.
    same!(unsafe { (&raw const to).read_volatile() }, 77);
    Ok(())
}

fn later_sets_of_pinned_memory_return_at_once(scene: &mut Scene) -> Outcome {
    let (stream, pinned) = (scene.stream()?, scene.pinned(64)?);
    scene.busy(stream)?;
    ok!(cuMemsetD8Async(pinned.address(), 6, 64, stream));
    holds!(is_busy(stream)?);
    ok!(cuStreamSynchronize(stream));
    same!(pinned.bytes(), vec![6; 64]);
    Ok(())
}
