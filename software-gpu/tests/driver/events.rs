//! Events: what a wait captures, when one is complete, and the time between two.

use std::ffi::c_uint;

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const LONG: usize = 4 * MIB;

/// `cuStreamWaitEvent` waits for the record at the time of the call; recording again does not move it.
#[test]
fn a_wait_captures_the_record_at_its_call() {
    let driver = Driver::new();
    let (data, host, seen) = (
        driver.allocate(2 * LONG).unwrap(),
        driver.pinned(2 * LONG),
        driver.pinned(2 * LONG),
    );
    host.fill(7);
    let (a, b, event) = (
        driver.stream(NON_BLOCKING),
        driver.stream(NON_BLOCKING),
        driver.event(),
    );
    driver.to_device(data, host.pointer(), LONG, a).unwrap();
    driver.record(event, a).unwrap();
    driver.wait(b, event).unwrap();
    driver
        .to_device(data + LONG as u64, host.pointer(), LONG, a)
        .unwrap();
    driver.record(event, a).unwrap();
    driver.to_host(seen.pointer(), data, 2 * LONG, b).unwrap();
    driver.synchronize().unwrap();
    assert_eq!((seen.byte(0), seen.byte(2 * LONG - 1)), (7, 0));
}

/// A wait for an event that was never recorded does nothing, and neither do query and synchronise.
#[test]
fn an_event_never_recorded_counts_as_complete() {
    let driver = Driver::new();
    let (stream, event) = (driver.stream(NON_BLOCKING), driver.event());
    assert_eq!(driver.wait(stream, event), Ok(()));
    assert_eq!(driver.event_query(event), Ok(()));
    assert_eq!(driver.event_synchronize(event), Ok(()));
    assert_eq!(driver.stream_query(stream), Ok(()));
}

/// `cuEventElapsedTime`: `CUDA_ERROR_INVALID_HANDLE` for events never recorded or without timing,
/// `CUDA_ERROR_NOT_READY` for those not reached.
#[test]
fn elapsed_time_has_its_errors() {
    let driver = Driver::new();
    let (data, host, stream) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.stream(NON_BLOCKING),
    );
    let (start, end, never) = (driver.event(), driver.event(), driver.event());
    let untimed = driver.event_with(DISABLE_TIMING).unwrap();
    driver.record(start, stream).unwrap();
    driver.record(untimed, stream).unwrap();
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    driver.record(end, stream).unwrap();
    assert_eq!(driver.elapsed(start, never), Err(INVALID_HANDLE));
    assert_eq!(driver.elapsed(start, untimed), Err(INVALID_HANDLE));
    assert_eq!(driver.elapsed(start, end), Err(NOT_READY));
    driver.event_synchronize(end).unwrap();
    assert_eq!(driver.elapsed(start, untimed), Err(INVALID_HANDLE));
    let forward = driver.elapsed(start, end).unwrap();
    // 4 MiB over the link at 55 GB/s.
    assert!((0.07..0.10).contains(&forward), "{forward} ms");
    assert_eq!(driver.elapsed(end, start), Ok(-forward));
}

/// An event that is recorded again stands for the new record.
#[test]
fn a_new_record_replaces_the_old_one() {
    let driver = Driver::new();
    let (data, host, stream) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.stream(NON_BLOCKING),
    );
    let event = driver.event();
    driver.record(event, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(driver.event_query(event), Ok(()));
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    driver.record(event, stream).unwrap();
    assert_eq!(driver.event_query(event), Err(NOT_READY));
    driver.event_synchronize(event).unwrap();
    assert_eq!(driver.event_query(event), Ok(()));
}

/// `cuEventQuery` takes virtual time, so that polling ends.
#[test]
fn polling_an_event_ends() {
    let driver = Driver::new();
    let (data, host, stream) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.stream(NON_BLOCKING),
    );
    let event = driver.event();
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    driver.record(event, stream).unwrap();
    let polls = (0..100_000)
        .take_while(|_| driver.event_query(event) == Err(NOT_READY))
        .count();
    assert!((10..10_000).contains(&polls), "{polls} polls");
}

/// `cuEventDestroy` of an event that has not been reached is allowed; who waits for it still does.
#[test]
fn a_destroyed_event_still_holds_its_waiters() {
    let driver = Driver::new();
    let (data, host, seen) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.pinned(LONG),
    );
    host.fill(7);
    let (a, b, event) = (
        driver.stream(NON_BLOCKING),
        driver.stream(NON_BLOCKING),
        driver.event(),
    );
    driver.to_device(data, host.pointer(), LONG, a).unwrap();
    driver.record(event, a).unwrap();
    driver.wait(b, event).unwrap();
    cu!(cuEventDestroy_v2(event => Handle)).unwrap();
    driver.to_host(seen.pointer(), data, LONG, b).unwrap();
    driver.synchronize().unwrap();
    assert_eq!(seen.byte(LONG - 1), 7);
    assert_eq!(driver.event_query(event), Err(INVALID_HANDLE));
}

/// `cuEventCreate`: events between processes need `DISABLE_TIMING`, and then work within their process.
#[test]
fn flags_of_events_are_checked() {
    let driver = Driver::new();
    assert_eq!(driver.event_with(4), Err(INVALID_VALUE));
    let shared = driver.event_with(6).unwrap();
    driver.record(shared, 0).unwrap();
    driver.event_synchronize(shared).unwrap();
    assert_eq!(driver.event_with(8), Err(INVALID_VALUE));
    let event = driver.event();
    let unknown = cu!(cuEventRecordWithFlags(event => Handle, 0 => Handle, 2 => c_uint));
    assert_eq!(unknown, Err(INVALID_VALUE));
}

/// `cuEventRecord` in the legacy stream comes after the work of all blocking streams.
#[test]
fn an_event_in_the_legacy_stream_waits_for_blocking_streams() {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(LONG).unwrap(), driver.pinned(LONG));
    let (stream, start, end) = (driver.stream(0), driver.event(), driver.event());
    driver.record(start, 0).unwrap();
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    driver.record(end, 0).unwrap();
    driver.event_synchronize(end).unwrap();
    assert!(driver.elapsed(start, end).unwrap() > 0.07);
    assert_eq!(driver.stream_query(stream), Ok(()));
}
