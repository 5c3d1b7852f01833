//! Allocating and freeing in stream order.

use std::ptr::null_mut;

use super::pools::{MIB, RESERVED_CURRENT, get, with_pool};
use crate::api::*;
use crate::rule::{Outcome, Rule, out};
use crate::scene::{Scene, is_busy};
use crate::{cu, gives, holds, ok, rule, same};

const FAMILY: &str = "pool_order";

/// The rules of this family.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule!(zero_bytes_are_allocated_in_vain, "cuMemAllocAsync",
        "Allocating zero bytes succeeds, and the returned address can be freed."),
    rule!(more_than_there_is_is_refused, "cuMemAllocAsync",
        "Allocating more than the device has is out of memory, and the stream works on."),
    rule!(addresses_are_aligned_to_256, "CUDA programming guide, device memory accesses",
        "Allocations in stream order start at multiples of 256 bytes too."),
    rule!(used_between_allocation_and_free, "CUDA programming guide, stream ordered memory allocator",
        "Work in the stream between allocation and free uses the memory."),
    rule!(allocating_does_not_wait, "cuMemAllocAsync", "Allocating in a busy stream returns at once."),
    rule!(freeing_does_not_wait, "cuMemFreeAsync",
        "Freeing in a busy stream returns at once, and the work before it finds the memory."),
    rule!(another_stream_uses_it_behind_an_event, "CUDA programming guide, stream ordered memory allocator",
        "A stream that waits for an event behind the allocation uses the memory."),
    rule!(another_stream_may_free, "cuMemFreeAsync", "The memory may be freed in another stream than it was allocated in."),
    rule!(live_allocations_do_not_overlap, "cuMemAllocAsync", "Allocations that live at the same time share no byte."),
    rule!(a_pending_free_is_not_reused_unordered, "CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES",
        "While a free is pending, another stream gets other memory, or waits for it."),
    rule!(the_same_stream_reuses_at_once, "CUDA programming guide, stream ordered memory allocator",
        "An allocation behind a free in the same stream needs no more memory."),
    rule!(event_order_lets_reuse, "CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES",
        "A stream that waits for an event behind a free may get that memory while the free is pending."),
    rule!(freeing_twice_is_refused, "cuMemFreeAsync", "Freeing memory twice is refused."),
    rule!(freeing_the_middle_is_refused, "cuMemFreeAsync",
        "Only the start of an allocation frees it, and any other address is refused."),
    rule!(plain_free_of_pool_memory_does_not_wait, "cuMemFree",
        "cuMemFree of memory of cuMemAllocAsync does not wait for the device."),
    rule!(a_place_and_a_pool_are_needed, "cuMemAllocFromPoolAsync",
        "Allocating without a place for the address, or from a null pool, is refused."),
    rule!(plain_free_takes_pool_memory, "cuMemFree", "cuMemFree frees memory of cuMemAllocAsync."),
    rule!(ordered_free_takes_plain_memory, "cuMemFreeAsync", "cuMemFreeAsync frees memory of cuMemAlloc."),
    rule!(memory_outlives_its_stream, "cuMemAllocAsync", "The memory stays when the stream it was allocated in is destroyed."),
    rule!(pointer_names_its_pool, "CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE",
        "An address has the attribute of the pool that it was allocated from; memory of cuMemAlloc has no pool."),
    rule!(legacy_stream_orders_allocations, "Stream synchronization behavior, legacy default stream",
        "Memory allocated in the legacy stream is used by blocking streams afterwards."),
];

fn allocate(bytes: usize, stream: Handle) -> Outcome<Address> {
    out(|address| cu!(cuMemAllocAsync(address, bytes, stream)))
}

fn zero_bytes_are_allocated_in_vain(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let address: Address = out(|address| cu!(cuMemAllocAsync(address, 0, stream)))?;
    ok!(cuMemFreeAsync(address, stream));
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn more_than_there_is_is_refused(scene: &mut Scene) -> Outcome {
    let total: usize = out(|bytes| cu!(cuDeviceTotalMem_v2(bytes, scene.device)))?;
    let (stream, mut address) = (scene.stream()?, 0);
    for bytes in [total + (1 << 30), usize::MAX - 511, usize::MAX] {
        gives!(OUT_OF_MEMORY, cuMemAllocAsync(&mut address, bytes, stream));
    }
    scene.launch("nothing", stream, &[])?;
    ok!(cuStreamSynchronize(stream));
    Ok(())
}

fn addresses_are_aligned_to_256(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let mut addresses = Vec::new();
    for bytes in [1, 3, 257, 5000] {
        addresses.push(allocate(bytes, stream)?);
    }
    for address in &addresses {
        ok!(cuMemFreeAsync(*address, stream));
    }
    holds!(addresses.iter().all(|address| address % 256 == 0));
    Ok(())
}

fn used_between_allocation_and_free(scene: &mut Scene) -> Outcome {
    let (stream, pinned) = (scene.stream()?, scene.pinned(4)?);
    let address = allocate(MIB, stream)?;
    scene.slow_store(address, 41, stream)?;
    ok!(cuMemcpyDtoHAsync_v2(pinned.pointer(), address, 4, stream));
    ok!(cuMemFreeAsync(address, stream));
    ok!(cuStreamSynchronize(stream));
    same!(pinned.word(), 41);
    Ok(())
}

fn allocating_does_not_wait(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(stream)?;
    let address = allocate(MIB, stream)?;
    let busy = is_busy(stream)?;
    ok!(cuMemFreeAsync(address, stream));
    holds!(busy);
    Ok(())
}

fn freeing_does_not_wait(scene: &mut Scene) -> Outcome {
    let (stream, pinned) = (scene.stream()?, scene.pinned(4)?);
    let address = allocate(MIB, stream)?;
    scene.slow_store(address, 42, stream)?;
    scene.move_word(pinned.address(), address, stream)?;
    ok!(cuMemFreeAsync(address, stream));
    holds!(is_busy(stream)?);
    ok!(cuStreamSynchronize(stream));
    same!(pinned.word(), 42);
    Ok(())
}

fn another_stream_uses_it_behind_an_event(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    scene.busy(first)?;
    let address = allocate(MIB, first)?;
    let event = scene.recorded(first)?;
    ok!(cuStreamWaitEvent(second, event, 0));
    scene.store(address, 43, second)?;
    let word = scene.word(address)?;
    ok!(cuMemFreeAsync(address, second));
    same!(word, 43);
    Ok(())
}

fn another_stream_may_free(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.stream()?, scene.stream()?);
    let address = allocate(MIB, first)?;
    ok!(cuStreamSynchronize(first));
    ok!(cuMemFreeAsync(address, second));
    ok!(cuStreamSynchronize(second));
    Ok(())
}

fn live_allocations_do_not_overlap(scene: &mut Scene) -> Outcome {
    const BYTES: usize = 100_000;
    let streams = [scene.stream()?, scene.stream()?];
    let mut starts = Vec::new();
    for index in 0..40 {
        starts.push(allocate(BYTES, streams[index % 2])?);
    }
    for start in &starts {
        ok!(cuMemFreeAsync(*start, streams[0]));
    }
    starts.sort_unstable();
    holds!(
        starts
            .windows(2)
            .all(|pair| pair[1] - pair[0] >= BYTES as u64)
    );
    Ok(())
}

fn a_pending_free_is_not_reused_unordered(scene: &mut Scene) -> Outcome {
    let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
    let freed = allocate(MIB, first)?;
    scene.busy(first)?;
    ok!(cuMemFreeAsync(freed, first));
    let taken = allocate(MIB, second)?;
    let held = is_busy(second)?;
    ok!(cuMemFreeAsync(taken, second));
    holds!(taken != freed || held);
    Ok(())
}

/// A size that two of do not fit into what is reserved for one.
const LARGE: usize = 64 * MIB;

fn the_same_stream_reuses_at_once(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        let stream = scene.stream()?;
        let allocate = || out(|address| cu!(cuMemAllocFromPoolAsync(address, LARGE, pool, stream)));
        let first: Address = allocate()?;
        scene.busy(stream)?;
        let before = get(pool, RESERVED_CURRENT)?;
        ok!(cuMemFreeAsync(first, stream));
        let second: Address = allocate()?;
        let after = get(pool, RESERVED_CURRENT)?;
        ok!(cuMemFreeAsync(second, stream));
        ok!(cuStreamSynchronize(stream));
        same!(after, before);
        Ok(())
    })
}

fn event_order_lets_reuse(scene: &mut Scene) -> Outcome {
    with_pool(scene, |scene, pool| {
        let (first, second) = (scene.non_blocking()?, scene.non_blocking()?);
        let allocate =
            |stream| out(|address| cu!(cuMemAllocFromPoolAsync(address, LARGE, pool, stream)));
        let freed: Address = allocate(first)?;
        scene.busy(first)?;
        ok!(cuMemFreeAsync(freed, first));
        let before = get(pool, RESERVED_CURRENT)?;
        let event = scene.recorded(first)?;
        ok!(cuStreamWaitEvent(second, event, 0));
        let taken: Address = allocate(second)?;
        let after = get(pool, RESERVED_CURRENT)?;
        ok!(cuMemFreeAsync(taken, second));
        ok!(cuCtxSynchronize());
        same!(after, before);
        Ok(())
    })
}

fn freeing_twice_is_refused(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let address = allocate(MIB, stream)?;
    ok!(cuMemFreeAsync(address, stream));
    gives!(INVALID_VALUE, cuMemFreeAsync(address, stream));
    Ok(())
}

fn freeing_the_middle_is_refused(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let (pooled, plain) = (allocate(MIB, stream)?, scene.device(MIB)?);
    for wrong in [pooled + 512, plain + 512, 64] {
        gives!(INVALID_VALUE, cuMemFreeAsync(wrong, stream));
    }
    ok!(cuMemFreeAsync(pooled, stream));
    Ok(())
}

fn plain_free_of_pool_memory_does_not_wait(scene: &mut Scene) -> Outcome {
    let stream = scene.non_blocking()?;
    let address = allocate(MIB, stream)?;
    scene.busy(stream)?;
    ok!(cuMemFree_v2(address));
    holds!(is_busy(stream)?);
    Ok(())
}

fn a_place_and_a_pool_are_needed(scene: &mut Scene) -> Outcome {
    let (stream, mut address) = (scene.stream()?, 0);
    gives!(INVALID_VALUE, cuMemAllocAsync(null_mut(), 4, stream));
    gives!(
        INVALID_VALUE,
        cuMemAllocFromPoolAsync(&mut address, 4, 0, stream)
    );
    Ok(())
}

fn plain_free_takes_pool_memory(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let address = allocate(MIB, stream)?;
    ok!(cuStreamSynchronize(stream));
    ok!(cuMemFree_v2(address));
    gives!(INVALID_VALUE, cuMemFree_v2(address));
    Ok(())
}

fn ordered_free_takes_plain_memory(scene: &mut Scene) -> Outcome {
    let (stream, address) = (scene.stream()?, scene.device(MIB)?);
    scene.store(address, 1, stream)?;
    ok!(cuMemFreeAsync(address, stream));
    ok!(cuStreamSynchronize(stream));
    gives!(INVALID_VALUE, cuMemFree_v2(address));
    Ok(())
}

fn memory_outlives_its_stream(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    let address = allocate(MIB, stream)?;
    ok!(cuStreamSynchronize(stream));
    ok!(cuStreamDestroy_v2(stream));
    scene.store(address, 44, 0)?;
    let word = scene.word(address)?;
    ok!(cuMemFreeAsync(address, 0));
    same!(word, 44);
    Ok(())
}

fn pointer_names_its_pool(scene: &mut Scene) -> Outcome {
    /// `CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE`.
    const MEMPOOL_HANDLE: u32 = 17;
    let stream = scene.stream()?;
    let default: Handle = out(|pool| cu!(cuDeviceGetDefaultMemPool(pool, scene.device)))?;
    let (pooled, plain) = (allocate(MIB, stream)?, scene.device(MIB)?);
    let pool_of = |address| {
        let mut pool: Handle = 9;
        ok!(cuPointerGetAttribute(
            (&raw mut pool).cast(),
            MEMPOOL_HANDLE,
            address
        ));
        Ok(pool)
    };
    let pools = (pool_of(pooled), pool_of(plain));
    ok!(cuMemFreeAsync(pooled, stream));
    same!((pools.0?, pools.1?), (default, 0));
    Ok(())
}

fn legacy_stream_orders_allocations(scene: &mut Scene) -> Outcome {
    let stream = scene.stream()?;
    scene.busy(0)?;
    let address = allocate(MIB, 0)?;
    scene.store(address, 45, stream)?;
    let word = scene.word(address)?;
    ok!(cuMemFreeAsync(address, stream));
    same!(word, 45);
    Ok(())
}
