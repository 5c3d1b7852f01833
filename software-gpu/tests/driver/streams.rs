//! Streams: order inside one, none between two, and the legacy stream's implicit rules.

use std::ffi::{c_int, c_uint};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

/// Long enough for its copy (75 µs) to be under way when the next call returns.
const LONG: usize = 4 * MIB;

/// `cuMemcpyHtoDAsync`: the bytes are not there before the copy's time has come.
#[test]
fn another_stream_reads_stale_data_without_an_event() {
    let driver = Driver::new();
    let (data, host, seen) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.pinned(LONG),
    );
    host.fill(7);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    driver.to_device(data, host.pointer(), LONG, a).unwrap();
    driver.to_host(seen.pointer(), data, LONG, b).unwrap();
    driver.synchronize().unwrap();
    assert_eq!((seen.byte(0), seen.byte(LONG - 1)), (0, 0));
}

/// `cuStreamWaitEvent`: with the event, the other stream reads what it should.
#[test]
fn an_event_orders_two_streams() {
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
    driver.to_host(seen.pointer(), data, LONG, b).unwrap();
    driver.synchronize().unwrap();
    assert!(seen.bytes().iter().all(|byte| *byte == 7));
}

/// One stream: in order, without any event.
#[test]
fn a_stream_keeps_its_order() {
    let driver = Driver::new();
    let (data, host, seen) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.pinned(LONG),
    );
    host.fill(9);
    let stream = driver.stream(NON_BLOCKING);
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    driver.set(data, 5, 16, stream).unwrap();
    driver.to_host(seen.pointer(), data, LONG, stream).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert_eq!((seen.byte(15), seen.byte(16)), (5, 9));
}

/// `cuMemcpyDtoHAsync`: page-locked memory that the host reads too early shows the old bytes.
#[test]
fn an_early_host_read_sees_the_old_bytes() {
    let driver = Driver::new();
    let (data, seen) = (driver.allocate(LONG).unwrap(), driver.pinned(LONG));
    driver.fill(data, 3, LONG);
    seen.fill(1);
    let stream = driver.stream(NON_BLOCKING);
    driver.to_host(seen.pointer(), data, LONG, stream).unwrap();
    assert_eq!(seen.byte(0), 1);
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(seen.byte(0), 3);
}

/// `cuMemcpyHtoDAsync` from page-locked memory reads its source when it runs, not when it is called.
#[test]
fn a_source_that_is_changed_too_early_is_copied_changed() {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(LONG).unwrap(), driver.pinned(LONG));
    host.fill(1);
    let stream = driver.stream(NON_BLOCKING);
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    host.fill(2);
    assert_eq!(driver.read(data, 1), [2]);
}

/// `cuMemcpyDtoDAsync` reads its source when it starts: what lands there later does not matter.
#[test]
fn a_copy_reads_its_source_when_it_starts() {
    let driver = Driver::new();
    let bytes = 64 * MIB;
    let (from, to) = (
        driver.allocate(bytes).unwrap(),
        driver.allocate(bytes).unwrap(),
    );
    let seen = driver.pinned(bytes);
    driver.fill(from, 1, bytes);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    // The copy over the link takes a millisecond, the memset a few microseconds.
    driver.to_host(seen.pointer(), from, bytes, a).unwrap();
    driver.set(from, 2, bytes, b).unwrap();
    driver.within_device(to, from, bytes, b).unwrap();
    driver.synchronize().unwrap();
    assert_eq!((seen.byte(0), seen.byte(bytes - 1)), (1, 1));
    assert_eq!(driver.read(to, 1), [2]);
}

fn legacy_order(flags: c_uint, first: impl Fn(Handle) -> (Handle, Handle)) -> u8 {
    let driver = Driver::new();
    let (data, host, seen) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.pinned(LONG),
    );
    host.fill(7);
    let (writer, reader) = first(driver.stream(flags));
    driver
        .to_device(data, host.pointer(), LONG, writer)
        .unwrap();
    driver.to_host(seen.pointer(), data, LONG, reader).unwrap();
    driver.synchronize().unwrap();
    seen.byte(LONG - 1)
}

/// The legacy stream waits for all blocking streams.
#[test]
fn the_legacy_stream_waits_for_blocking_streams() {
    assert_eq!(legacy_order(0, |stream| (stream, 0)), 7);
    assert_eq!(legacy_order(0, |stream| (stream, LEGACY)), 7);
}

/// Blocking streams wait for the legacy stream.
#[test]
fn blocking_streams_wait_for_the_legacy_stream() {
    assert_eq!(legacy_order(0, |stream| (0, stream)), 7);
}

/// `CU_STREAM_NON_BLOCKING`: neither waits for the other.
#[test]
fn non_blocking_streams_and_the_legacy_stream_do_not_wait() {
    assert_eq!(legacy_order(NON_BLOCKING, |stream| (stream, 0)), 0);
    assert_eq!(legacy_order(NON_BLOCKING, |stream| (0, stream)), 0);
}

/// `CU_STREAM_PER_THREAD` synchronises with the legacy stream, and not with other streams.
#[test]
fn per_thread_streams_wait_for_the_legacy_stream_only() {
    assert_eq!(legacy_order(0, |_| (PER_THREAD, LEGACY)), 7);
    assert_eq!(legacy_order(0, |_| (LEGACY, PER_THREAD)), 7);
    assert_eq!(legacy_order(0, |stream| (PER_THREAD, stream)), 0);
}

/// The `_ptsz` entry points take the null handle for the calling thread's stream.
#[test]
fn ptsz_entry_points_use_the_per_thread_stream() {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(LONG).unwrap(), driver.pinned(LONG));
    cu!(cuMemcpyHtoDAsync_v2_ptsz(data => u64, host.pointer() => *mut u8, LONG => usize, 0 => Handle)).unwrap();
    assert_eq!(driver.stream_query(PER_THREAD), Err(NOT_READY));
    let mut ids = [0_u64; 3];
    cu!(cuStreamGetId_ptsz(0 => Handle, &mut ids[0] => *mut u64)).unwrap();
    cu!(cuStreamGetId(PER_THREAD => Handle, &mut ids[1] => *mut u64)).unwrap();
    cu!(cuStreamGetId(0 => Handle, &mut ids[2] => *mut u64)).unwrap();
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[0], ids[2]);
}

/// `cuStreamQuery`: `CUDA_ERROR_NOT_READY` until the work is done; polling takes virtual time.
#[test]
fn polling_a_stream_ends() {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(LONG).unwrap(), driver.pinned(LONG));
    let stream = driver.stream(NON_BLOCKING);
    assert_eq!(driver.stream_query(stream), Ok(()));
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    let polls = (0..100_000)
        .take_while(|_| driver.stream_query(stream) == Err(NOT_READY))
        .count();
    assert!((10..10_000).contains(&polls), "{polls} polls");
}

/// `cuStreamDestroy` returns at once, and the work is completed.
#[test]
fn a_destroyed_stream_completes_its_work() {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(LONG).unwrap(), driver.pinned(LONG));
    host.fill(4);
    let stream = driver.stream(0);
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    let before = software_gpu::host::now();
    cu!(cuStreamDestroy_v2(stream => Handle)).unwrap();
    assert!((software_gpu::host::now() - before).as_micros() < 20);
    assert_eq!(driver.stream_query(stream), Err(INVALID_HANDLE));
    // The legacy stream still waits for it.
    let mut seen = [0_u8; 1];
    cu!(cuMemcpyDtoH_v2(seen.as_mut_ptr() => *mut u8, data => u64, 1 => usize)).unwrap();
    assert_eq!(seen, [4]);
}

/// `cuStreamCreateWithPriority` clamps; `cuStreamGetPriority`, `cuStreamGetFlags` and `cuStreamGetCtx` tell.
#[test]
fn a_stream_knows_how_it_was_made() {
    let driver = Driver::new();
    let (mut stream, mut priority, mut flags, mut context) = (0, 0, 0, 0);
    cu!(cuStreamCreateWithPriority(&mut stream => *mut Handle, 1 => c_uint, -100 => c_int))
        .unwrap();
    cu!(cuStreamGetPriority(stream => Handle, &mut priority => *mut c_int)).unwrap();
    cu!(cuStreamGetFlags(stream => Handle, &mut flags => *mut c_uint)).unwrap();
    cu!(cuStreamGetCtx(stream => Handle, &mut context => *mut Handle)).unwrap();
    assert_eq!((priority, flags, context), (-5, 1, driver.context));
    assert_eq!(
        cu!(cuStreamCreate(&mut stream => *mut Handle, 2 => c_uint)),
        Err(INVALID_VALUE)
    );
}
