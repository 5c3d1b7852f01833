//! Which freed memory a pool gives to whom: the policies of reuse.

use std::ffi::c_uint;

use crate::driver_support::*;
use crate::pool_support::*;
use software_gpu::driver::entry_point;

/// Reuse in one stream needs nothing: not even the free to have been executed.
#[test]
fn a_stream_uses_its_own_freed_memory_at_once() {
    let driver = Driver::new();
    let (pool, stream) = (Pool::new().only(&[]), driver.stream(NON_BLOCKING));
    let host = driver.pinned(LONG);
    let first = pool.allocate(LONG, stream).unwrap();
    keep_busy(&driver, first, &host, stream);
    free(first, stream).unwrap();
    assert_eq!(pool.allocate(LONG, stream), Ok(first));
    free(first, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    pool.destroy().unwrap();
}

/// What another stream gets whose allocation follows a free in a busy stream, after `between`.
fn reused_by_another(
    policies: &[c_uint],
    between: impl Fn(&Driver, Handle, Handle),
) -> (bool, usize) {
    let driver = Driver::new();
    let pool = Pool::new().only(policies);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let host = driver.pinned(LONG);
    // The second allocation keeps the chunk when the host synchronises.
    let (first, other) = (
        pool.allocate(LONG, a).unwrap(),
        pool.allocate(512, a).unwrap(),
    );
    keep_busy(&driver, first, &host, a);
    free(first, a).unwrap();
    between(&driver, a, b);
    let second = pool.allocate(LONG, b).unwrap();
    let reserved = pool.figures()[0];
    free(second, b).unwrap();
    free(other, b).unwrap();
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
    (first == second, reserved)
}

const ALL: [c_uint; 3] = [
    FOLLOW_EVENT_DEPENDENCIES,
    ALLOW_OPPORTUNISTIC,
    ALLOW_INTERNAL_DEPENDENCIES,
];

/// Without an order, the pool rather takes more memory than making a stream wait.
#[test]
fn another_stream_does_not_use_what_is_not_free_yet() {
    assert_eq!(reused_by_another(&ALL, |_, _, _| ()), (false, 2 * CHUNK));
}

fn order(driver: &Driver, a: Handle, b: Handle) {
    let event = driver.event();
    driver.record(event, a).unwrap();
    driver.wait(b, event).unwrap();
}

#[test]
fn event_dependencies_are_followed() {
    assert_eq!(
        reused_by_another(&[FOLLOW_EVENT_DEPENDENCIES], order),
        (true, CHUNK)
    );
    assert_eq!(
        reused_by_another(&[ALLOW_OPPORTUNISTIC, ALLOW_INTERNAL_DEPENDENCIES], order),
        (false, 2 * CHUNK)
    );
}

/// The event that counts is recorded after the free, and stands for its record at the time of the wait.
#[test]
fn an_event_of_before_the_free_is_no_dependency() {
    let driver = Driver::new();
    let pool = Pool::new().only(&[FOLLOW_EVENT_DEPENDENCIES]);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let event = driver.event();
    let (host, first) = (driver.pinned(LONG), pool.allocate(LONG, a).unwrap());
    keep_busy(&driver, first, &host, a);
    driver.record(event, a).unwrap();
    free(first, a).unwrap();
    driver.wait(b, event).unwrap();
    driver.record(event, a).unwrap();
    let second = pool.allocate(LONG, b).unwrap();
    assert_ne!(first, second);
    driver.wait(b, event).unwrap();
    let third = pool.allocate(LONG, b).unwrap();
    assert_eq!(first, third);
    free(second, b).unwrap();
    free(third, b).unwrap();
    driver.synchronize().unwrap();
    pool.destroy().unwrap();
}

/// Dependencies go through other streams too.
#[test]
fn event_dependencies_are_transitive() {
    let through_a_third = |driver: &Driver, a, b| {
        let third = driver.stream(NON_BLOCKING);
        order(driver, a, third);
        order(driver, third, b);
    };
    assert_eq!(
        reused_by_another(&[FOLLOW_EVENT_DEPENDENCIES], through_a_third),
        (true, CHUNK)
    );
}

/// The legacy stream waits for blocking streams, and they for it; not for non-blocking ones.
#[test]
fn the_legacy_stream_is_a_dependency() {
    for (flags, reused) in [(0, true), (NON_BLOCKING, false)] {
        let driver = Driver::new();
        let pool = Pool::new().only(&[FOLLOW_EVENT_DEPENDENCIES]);
        let (a, b) = (driver.stream(flags), driver.stream(0));
        let (host, first) = (driver.pinned(LONG), pool.allocate(LONG, a).unwrap());
        keep_busy(&driver, first, &host, a);
        free(first, a).unwrap();
        let unordered = pool.allocate(LONG, b).unwrap();
        assert_ne!(first, unordered);
        let second = pool.allocate(LONG, LEGACY).unwrap();
        assert_eq!(first == second, reused);
        free(second, LEGACY).unwrap();
        let third = pool.allocate(LONG, b).unwrap();
        assert_eq!(second, third);
        free(unordered, b).unwrap();
        free(third, b).unwrap();
        driver.synchronize().unwrap();
        pool.destroy().unwrap();
    }
}

/// `REUSE_ALLOW_OPPORTUNISTIC`: a free that happens to be over.
#[test]
fn a_free_that_is_over_is_an_opportunity() {
    let polled = |driver: &Driver, a, _| poll(driver, a);
    assert_eq!(
        reused_by_another(&[ALLOW_OPPORTUNISTIC], polled),
        (true, CHUNK)
    );
    let others = [FOLLOW_EVENT_DEPENDENCIES, ALLOW_INTERNAL_DEPENDENCIES];
    assert_eq!(reused_by_another(&others, polled), (false, 2 * CHUNK));
}

/// What the host has waited for can be used by all, whatever the policies.
#[test]
fn a_synchronised_free_is_over_for_all_streams() {
    type Wait = dyn Fn(&Driver, Handle, Handle);
    let waits: [&Wait; 3] = [
        &|driver, a, _| driver.stream_synchronize(a).unwrap(),
        &|driver, _, _| driver.synchronize().unwrap(),
        &|driver, a, _| {
            let event = driver.event();
            driver.record(event, a).unwrap();
            driver.event_synchronize(event).unwrap();
        },
    ];
    for wait in waits {
        assert_eq!(reused_by_another(&[], wait), (true, CHUNK));
    }
    let wrong_stream = |driver: &Driver, a, b| {
        poll(driver, a);
        driver.stream_synchronize(b).unwrap();
    };
    assert_eq!(reused_by_another(&[], wrong_stream), (false, 2 * CHUNK));
}

/// `REUSE_ALLOW_INTERNAL_DEPENDENCIES`: when there is no more memory, the stream waits for what is being freed.
#[test]
fn a_full_pool_makes_the_stream_wait() {
    let driver = Driver::new();
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let host = driver.pinned(LONG);
    for (policies, outcome) in [(&ALL[..], Ok(())), (&ALL[..2], Err(OUT_OF_MEMORY))] {
        let pool = Pool::of_one_chunk().only(policies);
        let first = pool.allocate(CHUNK, a).unwrap();
        keep_busy(&driver, first, &host, a);
        free(first, a).unwrap();
        let second = pool.allocate(CHUNK, b);
        assert_eq!(second, outcome.map(|()| first));
        if outcome.is_ok() {
            assert_eq!(driver.stream_query(b), Err(NOT_READY));
            poll(&driver, b);
            assert_eq!(driver.stream_query(a), Ok(()));
            free(first, b).unwrap();
        }
        driver.synchronize().unwrap();
        assert_eq!(pool.figures()[..3], [0, CHUNK, 0]);
        pool.destroy().unwrap();
    }
}

/// `REUSE_FOLLOW_EVENT_DEPENDENCIES` in another order of time: what was freed counts, however old the event is.
#[test]
fn an_event_that_is_over_is_still_a_dependency() {
    let waited_late = |driver: &Driver, a, b| {
        let event = driver.event();
        driver.record(event, a).unwrap();
        poll(driver, a);
        driver.wait(b, event).unwrap();
    };
    assert_eq!(
        reused_by_another(&[FOLLOW_EVENT_DEPENDENCIES], waited_late),
        (true, CHUNK)
    );
}

/// A destroyed stream's work still comes before what the legacy stream is given.
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
