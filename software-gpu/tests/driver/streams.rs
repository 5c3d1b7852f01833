//! Streams: what happens to data where nothing orders two of them.

use crate::driver_support::*;

/// Long enough for its copy (75 µs) to be under way when the next call returns.
const LONG: usize = 4 * MIB;

/// `cuMemcpyHtoDAsync`: the bytes arrive at the copy's modelled end, not before.
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
