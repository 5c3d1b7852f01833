//! What a call of the driver costs the real host: the overhead of the simulation around a program's own work.

#[path = "../tests/driver_support/mod.rs"]
mod driver_support;

use divan::Bencher;
use driver_support::*;

fn main() {
    divan::main();
}

/// A call that submits nothing.
#[divan::bench]
fn query_event(bencher: Bencher) {
    let driver = Driver::new();
    let event = driver.event();
    bencher.bench_local(|| driver.event_query(event));
}

/// Two small copies in two streams, ordered by an event, and a wait for the second.
#[divan::bench]
fn copy_event_copy(bencher: Bencher) {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(4096).unwrap(), driver.pinned(4096));
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let event = driver.event();
    bencher.bench_local(|| {
        driver.to_device(data, host.pointer(), 4096, a).unwrap();
        driver.record(event, a).unwrap();
        driver.wait(b, event).unwrap();
        driver.to_host(host.pointer(), data, 4096, b).unwrap();
        driver.stream_synchronize(b).unwrap();
    });
}

/// A copy of 16 MiB to the device: the memory's own speed, if nothing is copied twice.
#[divan::bench]
fn copy_16_mib(bencher: Bencher) {
    let driver = Driver::new();
    let bytes = 16 * MIB;
    let (data, host) = (driver.allocate(bytes).unwrap(), driver.pinned(bytes));
    host.fill(1);
    let copy = || {
        driver
            .to_device(data, host.pointer(), bytes, LEGACY)
            .unwrap();
        driver.synchronize().unwrap();
    };
    copy();
    bencher
        .counter(divan::counter::BytesCount::new(bytes))
        .bench_local(copy);
}
