//! How long pools and their memory live, and what the driver says of them.

use crate::driver_support::*;
use crate::pool_support::*;
use software_gpu::driver::entry_point;

/// As on a GPU, freed memory is read and written like any other until the pool gives it back.
#[test]
fn freed_memory_stays_until_its_chunk_goes() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let (memory, seen) = (pool.allocate(1024, stream).unwrap(), driver.pinned(1024));
    driver.set(memory, 3, 1024, stream).unwrap();
    free(memory, stream).unwrap();
    driver
        .to_host(seen.pointer(), memory, 1024, stream)
        .unwrap();
    let store = driver.kernel(STORE, "store");
    driver.launch(store, 1, 1, stream, &[&memory]).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert!(seen.bytes().iter().all(|byte| *byte == 3));
    assert_eq!(pool.figures()[0], 0);
    assert_eq!(driver.set(memory, 3, 1, stream), Err(INVALID_VALUE));
    driver.launch(store, 1, 1, stream, &[&memory]).unwrap();
    assert_eq!(driver.stream_synchronize(stream), Err(ILLEGAL_ADDRESS));
    pool.destroy().unwrap();
}

/// The report of a fault beside a pool's allocation names that allocation, not the pool's chunk.
#[test]
fn a_fault_names_the_nearest_allocation_of_the_pool() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let first = pool.allocate(CHUNK - 512, stream).unwrap();
    let last = pool.allocate(500, stream).unwrap();
    let store = driver.kernel(STORE, "store");
    let behind = first + CHUNK as u64;
    driver.launch(store, 1, 1, stream, &[&behind]).unwrap();
    assert_eq!(driver.stream_synchronize(stream), Err(ILLEGAL_ADDRESS));
    let fault = software_gpu::last_fault().unwrap();
    assert!(fault.contains("500"), "{fault}");
    assert!(fault.contains(&format!("{last:x}")), "{fault}");
    drop(driver);
    let driver = Driver::new();
    for memory in [first, last] {
        free_now(memory).unwrap();
    }
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
}

/// `cuCtxDestroy`: pool memory belongs to no context.
#[test]
fn pool_memory_outlives_the_context() {
    let driver = Driver::new();
    let before = free_memory();
    let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
    let memory = pool.allocate(1024, stream).unwrap();
    let pending = pool.allocate(1024, stream).unwrap();
    driver.set(memory, 5, 1024, stream).unwrap();
    free(pending, stream).unwrap();
    drop(driver);
    let driver = Driver::new();
    assert_eq!(before - free_memory(), CHUNK);
    assert_eq!(driver.read(memory, 1), [5]);
    let stream = driver.stream(NON_BLOCKING);
    assert_eq!(pool.only(&[]).allocate(1024, stream), Ok(pending));
    for memory in [memory, pending] {
        free(memory, stream).unwrap();
    }
    driver.synchronize().unwrap();
    assert_eq!(free_memory(), before);
    pool.destroy().unwrap();
}

/// A pool whose memory may be given to other processes keeps it.
#[test]
fn a_shareable_pool_releases_nothing() {
    let driver = Driver::new();
    let before = free_memory();
    let handle_types = 1;
    let pool = create(&Properties {
        handle_types,
        ..Properties::device()
    })
    .unwrap();
    let stream = driver.stream(NON_BLOCKING);
    free(pool.allocate(1, stream).unwrap(), stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    pool.trim(0).unwrap();
    assert_eq!(pool.figures()[0], CHUNK);
    pool.destroy().unwrap();
    assert_eq!(free_memory(), before);
}

/// A destroyed pool keeps its reserved memory up to its last allocation's free, independent of the threshold.
#[test]
fn a_destroyed_pool_lasts_as_long_as_its_allocations() {
    let driver = Driver::new();
    let before = free_memory();
    for live in [true, false] {
        let (pool, stream) = (Pool::new(), driver.stream(NON_BLOCKING));
        pool.set(RELEASE_THRESHOLD, u64::MAX).unwrap();
        let memory = pool.allocate(LONG, stream).unwrap();
        if !live {
            free(memory, stream).unwrap();
        }
        driver.stream_synchronize(stream).unwrap();
        assert_eq!(before - free_memory(), CHUNK);
        pool.destroy().unwrap();
        assert_eq!(before - free_memory(), if live { CHUNK } else { 0 });
        if live {
            free(memory, stream).unwrap();
            driver.stream_synchronize(stream).unwrap();
        }
        assert_eq!(free_memory(), before);
    }
}

/// Other drivers may know more kinds of pools.
#[test]
fn what_a_pool_cannot_be_is_refused() {
    let _driver = Driver::new();
    type PropertyChange = fn(&mut Properties);
    let wrong: [(PropertyChange, Result<(), Error>); 7] = [
        (
            |properties| properties.allocation_type = 2,
            Err(NOT_SUPPORTED),
        ),
        (|properties| properties.handle_types = 1, Ok(())),
        (|properties| properties.handle_types = 2, Err(INVALID_VALUE)),
        (
            |properties| properties.location = [2, 0],
            Err(NOT_SUPPORTED),
        ),
        (
            |properties| properties.location = [4, 0],
            Err(INVALID_VALUE),
        ),
        (
            |properties| properties.security_attributes = 8,
            Err(INVALID_VALUE),
        ),
        (|properties| properties.reserved[53] = 1, Err(INVALID_VALUE)),
    ];
    for (number, (change, expected)) in wrong.into_iter().enumerate() {
        let mut properties = Properties::device();
        change(&mut properties);
        let created = create(&properties).map(|pool| pool.destroy().unwrap());
        assert_eq!(created, expected, "{number}");
    }
}

/// A destroyed stream's work still comes before what the legacy stream gets, and so does its free.
#[test]
fn a_destroyed_blocking_stream_still_orders_the_legacy_stream() {
    let driver = Driver::new();
    let pool = Pool::new().only(&[FOLLOW_EVENT_DEPENDENCIES]);
    let a = driver.stream(0);
    let (host, first) = (driver.pinned(LONG), pool.allocate(LONG, a).unwrap());
    keep_busy(&driver, first, &host, a);
    free(first, a).unwrap();
    cu!(cuStreamDestroy_v2(a => Handle)).unwrap();
    assert_eq!(pool.allocate(LONG, LEGACY), Ok(first));
    free(first, LEGACY).unwrap();
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
}
