//! Devices that reach each other's memory.

use std::ffi::{c_int, c_uint};

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports;

/// A context on each of two devices; that of the first one is current.
struct DevicePair {
    driver: Driver,
    contexts: [Handle; 2],
}

impl DevicePair {
    fn new() -> Self {
        let driver = Driver::with_devices(2);
        let second = driver.context_on(1);
        driver.set_current(driver.context);
        let contexts = [driver.context, second];
        Self { driver, contexts }
    }

    /// Memory of that device, filled with a byte.
    fn memory(&self, device: usize, bytes: usize, value: u8) -> Address {
        self.driver.set_current(self.contexts[device]);
        let address = self.driver.allocate(bytes).expect("fits");
        self.driver.fill(address, value, bytes);
        self.driver.set_current(self.contexts[0]);
        address
    }

    /// How long a copy from the first device to the second one takes, in milliseconds.
    fn time(&self, to: Address, from: Address, bytes: usize) -> f32 {
        let driver = &self.driver;
        let stream = driver.stream(NON_BLOCKING);
        let [start, end] = [driver.event(), driver.event()];
        driver.record(start, stream).expect("cuEventRecord");
        let [first, second] = self.contexts;
        cu!(cuMemcpyPeerAsync(
            to => Address, second => Handle, from => Address, first => Handle, bytes => usize, stream => Handle,
        ))
        .expect("cuMemcpyPeerAsync");
        driver.record(end, stream).expect("cuEventRecord");
        driver.event_synchronize(end).expect("ends");
        driver.elapsed(start, end).expect("recorded")
    }
}

impl Drop for DevicePair {
    fn drop(&mut self) {
        let _ = cu!(cuCtxDestroy_v2(self.contexts[1] => Handle));
        self.driver.set_current(self.contexts[0]);
    }
}

fn enable(peer: Handle) -> Result<(), Error> {
    cu!(cuCtxEnablePeerAccess(peer => Handle, 0 => c_uint))
}

#[test]
fn all_devices_have_a_link_with_atomics() {
    let _pair = DevicePair::new();
    let attribute = |attribute: c_uint| {
        let mut value = -1;
        cu!(cuDeviceGetP2PAttribute(
            &mut value => *mut c_int, attribute => c_uint, 0 => c_int, 1 => c_int,
        ))
        .map(|()| value)
    };
    assert_eq!([2, 3, 4].map(attribute), [Ok(1); 3]);
}

#[test]
fn a_copy_between_devices_takes_the_link_once_access_is_enabled() {
    const BYTES: usize = 256 * MIB;
    let pair = DevicePair::new();
    let (from, to) = (pair.memory(0, BYTES, 7), pair.memory(1, BYTES, 0));
    let rate = || BYTES as f32 / pair.time(to, from, BYTES) / 1e6;
    let staged = rate();
    assert_eq!(enable(pair.contexts[1]), Ok(()));
    let direct = rate();
    assert!((370.0..378.0).contains(&direct), "{direct} GB/s");
    assert!((54.0..55.3).contains(&staged), "{staged} GB/s");
    pair.driver.set_current(pair.contexts[1]);
    assert!(pair.driver.read(to, BYTES).iter().all(|byte| *byte == 7));
}

/// `cuMemcpyPeer` comes after the work of the first context, and before what the streams of both get afterwards.
#[test]
fn the_checker_knows_the_order_of_a_synchronous_peer_copy() {
    let pair = DevicePair::new();
    let driver = &pair.driver;
    let (from, to) = (pair.memory(0, MIB, 0), pair.memory(1, MIB, 0));
    let [first, second] = pair.contexts;
    let near = driver.stream(NON_BLOCKING);
    driver.set_current(second);
    let far = driver.stream(NON_BLOCKING);
    driver.set_current(first);
    let ((), found) = reports::collect(|| {
        driver.set(from, 3, MIB, near).expect("cuMemsetD8Async");
        cu!(cuMemcpyPeer(
            to => Address, second => Handle, from => Address, first => Handle, MIB => usize,
        ))
        .expect("cuMemcpyPeer");
        driver.set(from, 9, MIB, near).expect("cuMemsetD8Async");
        driver.set(to, 9, MIB, far).expect("cuMemsetD8Async");
        driver.stream_synchronize(far).expect("ends");
        driver.synchronize().expect("cuCtxSynchronize");
    });
    assert_eq!(found, []);
}

/// Within one device the copy does not wait for the streams of either context. Null is the current context.
#[test]
fn a_peer_copy_within_a_device_is_an_ordinary_copy() {
    const LARGE: usize = 256 * MIB;
    let pair = DevicePair::new();
    let driver = &pair.driver;
    let (from, to, other) = (
        pair.memory(0, 4, 7),
        pair.memory(0, 4, 0),
        pair.memory(0, LARGE, 0),
    );
    let stream = driver.stream(NON_BLOCKING);
    let twin = driver.context_on(0);
    driver.set_current(pair.contexts[0]);
    driver
        .set(other, 1, LARGE, stream)
        .expect("cuMemsetD8Async");
    cu!(cuMemcpyPeer(
        to => Address, 0 => Handle, from => Address, twin => Handle, 4 => usize,
    ))
    .expect("cuMemcpyPeer");
    driver.stream_synchronize(LEGACY).expect("ends");
    assert_eq!(driver.stream_query(stream), Err(NOT_READY));
    assert_eq!(driver.read(to, 4), [7; 4]);
    cu!(cuCtxDestroy_v2(twin => Handle)).expect("cuCtxDestroy");
}
