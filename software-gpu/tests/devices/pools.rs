//! Pools of several devices.

use std::ffi::c_int;

use crate::driver_support::*;
use crate::pool_support::*;
use software_gpu::driver::entry_point;

/// A context and a stream on each of two devices; that of the first one is current.
struct Pair {
    driver: Driver,
    contexts: [Handle; 2],
    streams: [Handle; 2],
}

impl Pair {
    fn new() -> Self {
        let driver = Driver::with_devices(2);
        let first = driver.stream(NON_BLOCKING);
        let contexts = [driver.context, driver.context_on(1)];
        let streams = [first, driver.stream(NON_BLOCKING)];
        driver.set_current(contexts[0]);
        Self {
            driver,
            contexts,
            streams,
        }
    }

    fn on(&self, device: usize) -> &Driver {
        self.driver.set_current(self.contexts[device]);
        &self.driver
    }

    fn synchronize(&self) {
        for device in [1, 0] {
            self.on(device).synchronize().expect("cuCtxSynchronize");
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = cu!(cuCtxDestroy_v2(self.contexts[1] => Handle));
        self.driver.set_current(self.contexts[0]);
    }
}

fn pool_on(device: c_int) -> Pool {
    let location = [1, device];
    create(&Properties {
        location,
        ..Properties::device()
    })
    .expect("cuMemPoolCreate")
}

/// An event orders streams of two devices, and so the reuse of memory between them.
#[test]
fn dependencies_cross_devices() {
    let pair = Pair::new();
    let pool = pool_on(1).only(&[FOLLOW_EVENT_DEPENDENCIES]);
    let [a, b] = pair.streams;
    let (host, sink) = (
        pair.driver.pinned(LONG),
        pair.driver.allocate(LONG).unwrap(),
    );
    let event = pair.driver.event();
    let first = pool.allocate(CHUNK, a).unwrap();
    keep_busy(&pair.driver, sink, &host, a);
    free(first, a).unwrap();
    let unordered = pool.allocate(CHUNK, b).unwrap();
    assert_ne!(unordered, first);
    pair.driver.record(event, a).unwrap();
    pair.driver.wait(b, event).unwrap();
    let second = pool.allocate(CHUNK, b).unwrap();
    assert_eq!(second, first);
    for memory in [unordered, second] {
        free(memory, b).unwrap();
    }
    pair.synchronize();
    assert_eq!(pool.figures()[0], 0);
    pool.destroy().unwrap();
}
