//! What the checkers say of programs with pools: nothing about those that keep the rules, and the mistake otherwise.

use crate::driver_support::*;
use crate::pool_support::*;
use software_gpu::reports::{self, Kind};

/// The kinds of what is found in a program with two streams and a pool with those policies.
fn found(policies: &[u32], program: impl Fn(&Driver, Pool, [Handle; 2])) -> Vec<Kind> {
    let driver = Driver::new();
    let pool = Pool::new().only(policies);
    let streams = [driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING)];
    let ((), found) = reports::collect(|| {
        program(&driver, pool, streams);
        driver.synchronize().unwrap();
    });
    pool.destroy().unwrap();
    found.iter().map(|report| report.kind).collect()
}

/// Allocates, writes and frees.
fn use_memory(driver: &Driver, pool: Pool, stream: Handle) -> Address {
    let memory = pool.allocate(LONG, stream).unwrap();
    driver.set(memory, 1, LONG, stream).unwrap();
    free(memory, stream).unwrap();
    memory
}

type Between = fn(&Driver, Handle, Handle);

#[test]
fn reuse_by_the_rules_is_no_mistake() {
    let programs: [(&[u32], Between, bool); 4] = [
        (&[ALLOW_OPPORTUNISTIC], |driver, a, _| poll(driver, a), true),
        (&[FOLLOW_EVENT_DEPENDENCIES], order, true),
        (
            &[],
            |driver, a, _| driver.stream_synchronize(a).unwrap(),
            true,
        ),
        (&[], |_, _, _| (), false),
    ];
    for (policies, between, reused) in programs {
        let kinds = found(policies, |driver, pool, [a, b]| {
            let keeps_the_chunk = pool.allocate(512, a).unwrap();
            let first = use_memory(driver, pool, a);
            between(driver, a, b);
            let second = use_memory(driver, pool, b);
            assert_eq!(first == second, reused);
            free(keeps_the_chunk, a).unwrap();
        });
        assert_eq!(kinds, [], "{policies:?}");
    }
}

fn order(driver: &Driver, a: Handle, b: Handle) {
    let event = driver.event();
    driver.record(event, a).unwrap();
    driver.wait(b, event).unwrap();
}

/// Once the pool has made the stream wait, nothing is out of order.
#[test]
fn an_internal_dependency_is_an_order() {
    let driver = Driver::new();
    let (pool, host) = (Pool::of_one_chunk(), driver.pinned(LONG));
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let ((), found) = reports::collect(|| {
        let memory = pool.allocate(CHUNK, a).unwrap();
        keep_busy(&driver, memory, &host, a);
        free(memory, a).unwrap();
        assert_eq!(pool.allocate(CHUNK, b), Ok(memory));
        driver.set(memory, 1, CHUNK, b).unwrap();
        free(memory, b).unwrap();
        driver.synchronize().unwrap();
    });
    assert_eq!(found, []);
    pool.destroy().unwrap();
}

#[test]
fn use_after_the_free_is_found() {
    let kinds = found(&[], |driver, pool, [a, _]| {
        let memory = use_memory(driver, pool, a);
        driver.set(memory, 2, 512, a).unwrap();
    });
    assert_eq!(kinds, [Kind::Lifetime]);
}

#[test]
fn use_in_another_stream_without_order_is_found() {
    let kinds = found(&[], |driver, pool, [a, b]| {
        let memory = pool.allocate(512, a).unwrap();
        driver.set(memory, 2, 512, b).unwrap();
        driver.synchronize().unwrap();
        free(memory, a).unwrap();
    });
    assert_eq!(kinds, [Kind::Lifetime]);
}

#[test]
fn a_free_without_order_is_found() {
    let kinds = found(&[], |driver, pool, [a, b]| {
        let memory = pool.allocate(512, a).unwrap();
        let event = driver.event();
        driver.record(event, a).unwrap();
        driver.wait(b, event).unwrap();
        driver.set(memory, 2, 512, b).unwrap();
        free(memory, a).unwrap();
    });
    assert_eq!(kinds, [Kind::Lifetime]);
}

/// `cuMemFree` of a pool's memory waits for nothing: the host has to have waited before.
#[test]
fn a_free_by_the_host_needs_a_wait_of_the_host() {
    for waits in [false, true] {
        let kinds = found(&[], |driver, pool, [a, _]| {
            let memory = pool.allocate(LONG, a).unwrap();
            driver.set(memory, 2, LONG, a).unwrap();
            if waits {
                driver.stream_synchronize(a).unwrap();
            }
            free_now(memory).unwrap();
        });
        // Without the wait it may come before the allocation, and before the memset.
        let expected = if waits { 0 } else { 2 };
        assert_eq!(kinds, vec![Kind::Lifetime; expected]);
    }
}

/// The next owner reads what the last one left: it has written nothing itself.
#[test]
fn reused_memory_counts_as_never_written() {
    let kinds = found(&[], |driver, pool, [a, _]| {
        let seen = driver.pinned(512);
        let first = use_memory(driver, pool, a);
        assert_eq!(pool.allocate(LONG, a), Ok(first));
        driver.to_host(seen.pointer(), first, 512, a).unwrap();
        free(first, a).unwrap();
        driver.synchronize().unwrap();
        assert_eq!(seen.bytes(), [1; 512]);
    });
    assert_eq!(kinds, [Kind::NeverWritten]);
}
