//! Pools of several devices.

use std::ffi::{c_int, c_uint};

use crate::driver_support::copies::{Copy2D, DEVICE, Side2D, copy_2d, copy_2d_async};
use crate::driver_support::*;
use crate::pool_support::*;
use software_gpu::driver::{entry_point, last_fault};

/// A context and a stream on each of two devices; that of the first one is current.
struct DevicePair {
    driver: Driver,
    contexts: [Handle; 2],
    streams: [Handle; 2],
}

impl DevicePair {
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

impl Drop for DevicePair {
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

fn give_access(pool: Pool, device: c_int, flags: c_uint) -> Result<(), Error> {
    let access: [c_int; 3] = [1, device, flags as c_int];
    cu!(cuMemPoolSetAccess(pool.0 => Handle, access.as_ptr() => *const c_int, 1 => usize))
}

/// A kernel's fault names the memory and the call that gives access to it: `cuMemPoolSetAccess` for a pool's memory,
/// `cuCtxEnablePeerAccess` for other memory.
#[test]
fn a_fault_in_memory_of_another_device_names_the_call_that_gives_access() {
    for of_pool in [true, false] {
        let pair = DevicePair::new();
        let pool = pool_on(1);
        if of_pool {
            let peer = pair.contexts[1];
            cu!(cuCtxEnablePeerAccess(peer => Handle, 0 => c_uint)).unwrap();
        }
        let memory = match of_pool {
            true => pool.allocate(512, pair.streams[1]).unwrap(),
            false => pair.on(1).allocate(512).unwrap(),
        };
        let module = pair.on(0).module(STORE).unwrap();
        let store = pair.driver.function(module, "store").unwrap();
        let address = memory + 8;
        pair.driver
            .launch(store, 1, 1, pair.streams[0], &[&address])
            .unwrap();
        let outcome = pair.driver.stream_synchronize(pair.streams[0]);
        assert_eq!(outcome, Err(ILLEGAL_ADDRESS));
        let expected = match of_pool {
            true => {
                "in memory of another device, to which the kernel's device has no access\n  \
                 it lies at offset 8 of an allocation of 512 bytes of a memory pool of device 1: cuMemPoolSetAccess gives \
                 device 0 access to the pool, cuCtxEnablePeerAccess does not"
            }
            false => {
                "in memory of another device, to which the kernel's device has no access\n  \
                 it lies in memory of device 1: cuCtxEnablePeerAccess gives a context of device 0 access to it"
            }
        };
        let text = last_fault().unwrap();
        assert!(text.ends_with(expected), "{text}");
        pair.on(1);
        if of_pool {
            free(memory, pair.streams[1]).unwrap();
            pair.on(1).synchronize().unwrap();
        }
        pool.destroy().unwrap();
    }
}

/// Copies of rectangles reach a pool of another device once the pool grants access. The conformance suite checks the same for other copies
/// and for memsets.
#[test]
fn rectangles_of_a_pool_need_its_access() {
    let pair = DevicePair::new();
    let pool = pool_on(1);
    let [own_stream, other_stream] = pair.streams;
    let memory = pool.allocate(512, other_stream).unwrap();
    pair.on(1).stream_synchronize(other_stream).unwrap();
    let own = pair.on(0).allocate(512).unwrap();
    let row = |device| Side2D {
        memory_type: DEVICE,
        device,
        pitch: 512,
        ..Side2D::default()
    };
    let rectangle = Copy2D {
        from: row(memory),
        to: row(own),
        width: 512,
        height: 1,
    };
    for (granted, expected) in [(false, Err(INVALID_VALUE)), (true, Ok(()))] {
        if granted {
            give_access(pool, 0, 3).unwrap();
        }
        assert_eq!(copy_2d(&rectangle), expected, "access granted: {granted}");
        if !granted {
            let said = software_gpu::last_error().expect("a sentence");
            let words = "belongs to a pool of device 1, which device 0 may not access; give device 0 access to the pool";
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(
            copy_2d_async(&rectangle, own_stream),
            expected,
            "access granted: {granted}"
        );
        pair.synchronize();
    }
    free(memory, other_stream).unwrap();
    pair.synchronize();
    pool.destroy().unwrap();
}

/// An event orders streams of two devices, and so the reuse of memory between them.
#[test]
fn dependencies_cross_devices() {
    let pair = DevicePair::new();
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
