//! Memory pools: what a pool holds on to.

use crate::driver_support::*;
use crate::pool_support::*;

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

/// A query does not synchronise: it returns no memory to the device.
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

/// Dependencies pass through other streams, and a completed event is still a dependency. A GPU may know of the last wait alone.
#[test]
fn every_event_between_the_free_and_the_allocation_is_a_dependency() {
    for (through_a_third, late) in [(false, false), (true, false), (false, true), (true, true)] {
        let driver = Driver::new();
        let pool = Pool::new().only(&[FOLLOW_EVENT_DEPENDENCIES]);
        let [a, b, third] = [NON_BLOCKING; 3].map(|flags| driver.stream(flags));
        let (first, host) = (pool.allocate(CHUNK, a).unwrap(), driver.pinned(LONG));
        keep_busy(&driver, first, &host, a);
        free(first, a).unwrap();
        let ways = match through_a_third {
            true => vec![(a, third), (third, b)],
            false => vec![(a, b)],
        };
        for (from, to) in ways {
            let event = driver.event();
            driver.record(event, from).unwrap();
            if late {
                poll(&driver, from);
            }
            driver.wait(to, event).unwrap();
        }
        assert_eq!(pool.allocate(CHUNK, b), Ok(first));
        free(first, b).unwrap();
        driver.synchronize().unwrap();
        pool.destroy().unwrap();
    }
}
