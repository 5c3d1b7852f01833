//! Memory pools: attributes, figures, what a pool holds on to, and what it refuses.

use crate::driver_support::*;
use crate::pool_support::*;
use software_gpu::driver::entry_point;

#[test]
fn the_default_pool_is_current_and_empty() {
    let _driver = Driver::new();
    assert_eq!(default_pool(), current_pool());
    let pool = default_pool();
    for policy in [
        FOLLOW_EVENT_DEPENDENCIES,
        ALLOW_OPPORTUNISTIC,
        ALLOW_INTERNAL_DEPENDENCIES,
    ] {
        assert_eq!(pool.get_switch(policy), Ok(1));
    }
    assert_eq!(pool.get(RELEASE_THRESHOLD), Ok(0));
    assert_eq!(pool.get(RESERVED_CURRENT), Ok(0));
    assert_eq!(pool.get(USED_CURRENT), Ok(0));
    assert_eq!(pool.destroy(), Err(INVALID_VALUE));
}

/// `cuMemAllocAsync`: the address comes at once; what the stream does later uses the memory.
#[test]
fn an_allocation_is_used_in_its_stream() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let (host, seen) = (driver.pinned(1000), driver.pinned(1000));
    host.fill(7);
    let memory = allocate(1000, stream).unwrap();
    assert_eq!(memory % 512, 0);
    driver
        .to_device(memory, host.pointer(), 1000, stream)
        .unwrap();
    driver
        .to_host(seen.pointer(), memory, 1000, stream)
        .unwrap();
    free(memory, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert!(seen.bytes().iter().all(|byte| *byte == 7));
}

/// The pool's figures: sizes are multiples of 512, chunks of 32 MiB.
#[test]
fn reserved_and_used_are_exact() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    assert_eq!(pool.figures(), [0; 4]);
    let a = pool.allocate(1, stream).unwrap();
    let b = pool.allocate(513, stream).unwrap();
    assert_eq!(pool.figures(), [CHUNK, CHUNK, 1536, 1536]);
    free(a, stream).unwrap();
    assert_eq!(pool.figures(), [CHUNK, CHUNK, 1024, 1536]);
    let c = pool.allocate(CHUNK + 1, stream).unwrap();
    let used = CHUNK + 512 + 1024;
    assert_eq!(pool.figures(), [3 * CHUNK, 3 * CHUNK, used, used]);
    free(b, stream).unwrap();
    free(c, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(pool.figures(), [0, 3 * CHUNK, 0, used]);
    pool.destroy().unwrap();
}

/// `CU_MEMPOOL_ATTR_*_HIGH`: reset by 0 alone, to what is current.
#[test]
fn high_water_marks_are_reset_to_what_is_current() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let [a, b] = [0; 2].map(|_| pool.allocate(CHUNK, stream).unwrap());
    free(b, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    for attribute in [RESERVED_HIGH, USED_HIGH] {
        assert_eq!(pool.set(attribute, 1), Err(INVALID_VALUE));
        assert_eq!(pool.get(attribute), Ok(2 * CHUNK as u64));
        assert_eq!(pool.set(attribute, 0), Ok(()));
        assert_eq!(pool.get(attribute), Ok(CHUNK as u64));
    }
    free(a, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    pool.destroy().unwrap();
}

#[test]
fn attributes_can_be_set_and_others_are_refused() {
    let _driver = Driver::new();
    let pool = Pool::new();
    for policy in [
        FOLLOW_EVENT_DEPENDENCIES,
        ALLOW_OPPORTUNISTIC,
        ALLOW_INTERNAL_DEPENDENCIES,
    ] {
        pool.set_switch(policy, 0).unwrap();
        assert_eq!(pool.get_switch(policy), Ok(0));
        pool.set_switch(policy, 1).unwrap();
        assert_eq!(pool.get_switch(policy), Ok(1));
    }
    pool.set(RELEASE_THRESHOLD, u64::MAX).unwrap();
    assert_eq!(pool.get(RELEASE_THRESHOLD), Ok(u64::MAX));
    for attribute in [RESERVED_CURRENT, USED_CURRENT, 0, 9, 1000] {
        assert_eq!(pool.set(attribute, 0), Err(INVALID_VALUE), "{attribute}");
    }
    for attribute in [0, 9, 1000] {
        assert_eq!(pool.get(attribute), Err(INVALID_VALUE), "{attribute}");
    }
    pool.destroy().unwrap();
    assert_eq!(pool.get(RELEASE_THRESHOLD), Err(INVALID_VALUE));
    assert_eq!(pool.destroy(), Err(INVALID_VALUE));
}

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`: at a synchronisation, chunks go until no more than that is reserved.
#[test]
fn a_pool_gives_back_chunks_above_its_threshold() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    for (threshold, kept) in [
        (u64::MAX, 3),
        (3 * CHUNK as u64, 3),
        (3 * CHUNK as u64 - 1, 2),
        (2 * CHUNK as u64, 2),
        (CHUNK as u64 + 1, 1),
        (CHUNK as u64 - 1, 0),
        (1, 0),
        (0, 0),
    ] {
        pool.set(RELEASE_THRESHOLD, threshold).unwrap();
        let allocations = [(); 3].map(|()| pool.allocate(CHUNK, stream).unwrap());
        for allocation in allocations {
            free(allocation, stream).unwrap();
        }
        assert_eq!(pool.figures()[0], 3 * CHUNK);
        driver.stream_synchronize(stream).unwrap();
        assert_eq!(pool.figures()[0], kept * CHUNK, "{threshold}");
    }
    pool.destroy().unwrap();
}

/// A query is no synchronisation: it gives nothing back.
#[test]
fn a_query_releases_nothing() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let memory = pool.allocate(1, stream).unwrap();
    free(memory, stream).unwrap();
    poll(&driver, stream);
    assert_eq!(pool.figures()[0], CHUNK);
    pool.trim(0).unwrap();
    assert_eq!(pool.figures()[0], CHUNK, "the host has not seen the free");
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(pool.figures()[0], 0);
    pool.destroy().unwrap();
}

/// `cuMemPoolTrimTo`: at least that many bytes stay, and what is in use.
#[test]
fn trimming_keeps_what_it_is_told_and_what_is_used() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    pool.set(RELEASE_THRESHOLD, u64::MAX).unwrap();
    let allocations = [(); 4].map(|()| pool.allocate(CHUNK, stream).unwrap());
    for allocation in &allocations[1..] {
        free(*allocation, stream).unwrap();
    }
    driver.stream_synchronize(stream).unwrap();
    for (keep, reserved) in [
        (4 * CHUNK, 4),
        (3 * CHUNK - 1, 3),
        (3 * CHUNK, 3),
        (0, 1),
        (usize::MAX, 1),
    ] {
        pool.trim(keep).unwrap();
        assert_eq!(pool.figures()[0], reserved * CHUNK, "{keep}");
    }
    free(allocations[0], stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    pool.trim(0).unwrap();
    assert_eq!(pool.figures()[0], 0);
    pool.destroy().unwrap();
}

/// `cuMemGetInfo` counts what pools have reserved, used or not.
#[test]
fn reserved_memory_is_not_free() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let before = free_memory();
    let memory = pool.allocate(1, stream).unwrap();
    assert_eq!(before - free_memory(), CHUNK);
    free(memory, stream).unwrap();
    assert_eq!(before - free_memory(), CHUNK);
    driver.synchronize().unwrap();
    assert_eq!(free_memory(), before);
    pool.destroy().unwrap();
}

#[test]
fn more_than_there_is_leaks_nothing() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let before = free_memory();
    for bytes in [before + 1, usize::MAX, usize::MAX - 511] {
        assert_eq!(pool.allocate(bytes, stream), Err(OUT_OF_MEMORY));
    }
    assert_eq!(pool.figures(), [0; 4]);
    assert_eq!(free_memory(), before);
    assert_eq!(pool.allocate(0, stream), Ok(0));
    assert_eq!(free(0, stream), Ok(()));
    assert_eq!(Pool(0).allocate(1, stream), Err(INVALID_VALUE));
    assert_eq!(pool.allocate(1, 0xdead), Err(INVALID_HANDLE));
    assert_eq!(driver.stream_query(stream), Ok(()));
    let nowhere = std::ptr::null_mut::<Address>();
    assert_eq!(
        cu!(cuMemAllocAsync(nowhere => *mut Address, 1 => usize, stream => Handle)),
        Err(INVALID_VALUE)
    );
    pool.destroy().unwrap();
}

#[test]
fn a_pool_is_limited_by_its_size() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::of_one_chunk(), driver.stream(NON_BLOCKING));
    assert_eq!(pool.allocate(CHUNK + 1, stream), Err(OUT_OF_MEMORY));
    let half = pool.allocate(CHUNK / 2, stream).unwrap();
    assert_eq!(pool.allocate(CHUNK / 2 + 1, stream), Err(OUT_OF_MEMORY));
    let other = pool.allocate(CHUNK / 2, stream).unwrap();
    assert_eq!(pool.figures(), [CHUNK; 4]);
    for memory in [half, other] {
        free(memory, stream).unwrap();
    }
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
}

#[test]
fn only_live_allocations_are_freed() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let memory = pool.allocate(1024, stream).unwrap();
    for wrong in [memory + 512, memory + 1024, 0x1000] {
        assert_eq!(free(wrong, stream), Err(INVALID_VALUE), "{wrong:#x}");
    }
    assert_eq!(free(memory, 0xdead), Err(INVALID_HANDLE));
    assert_eq!(free(memory, stream), Ok(()));
    assert_eq!(free(memory, stream), Err(INVALID_VALUE));
    assert_eq!(free_now(memory), Err(INVALID_VALUE));
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
}

/// `cuMemFree` of a pool's memory does not wait; the pool has the memory back at once.
#[test]
fn freeing_pool_memory_now_does_not_wait() {
    let driver = Driver::new();
    let pool = Pool::new().only(&[]);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let (host, memory) = (driver.pinned(LONG), pool.allocate(LONG, a).unwrap());
    keep_busy(&driver, memory, &host, a);
    assert_eq!(free_now(memory), Ok(()));
    assert_eq!(driver.stream_query(a), Err(NOT_READY));
    assert_eq!(free_now(memory), Err(INVALID_VALUE));
    assert_eq!(pool.allocate(LONG, b), Ok(memory));
    free(memory, b).unwrap();
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
}

/// `cuMemFreeAsync` of memory of `cuMemAlloc`: it goes when the stream is synchronised.
#[test]
fn other_memory_can_be_freed_in_stream_order() {
    let driver = Driver::new();
    let (stream, other) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let before = free_memory();
    let memory = driver.allocate(MIB).unwrap();
    assert_eq!(free(memory + 512, stream), Err(INVALID_VALUE));
    assert_eq!(free(memory, stream), Ok(()));
    assert_eq!(free(memory, stream), Err(INVALID_VALUE));
    assert_eq!(free_now(memory), Err(INVALID_VALUE));
    assert_eq!(before - free_memory(), MIB);
    driver.stream_synchronize(other).unwrap();
    assert_eq!(before - free_memory(), MIB);
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(free_memory(), before);
    assert_eq!(driver.set(memory, 0, 1, stream), Err(INVALID_VALUE));
}
