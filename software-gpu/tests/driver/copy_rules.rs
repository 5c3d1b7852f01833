//! What the host waits for when it copies: the section "API synchronization behavior" of the driver API's
//! documentation, rule by rule.

use std::ffi::c_uint;

use crate::driver_support::{
    Address, Driver, Error, Handle, INVALID_VALUE, LEGACY, MIB, NON_BLOCKING, NOT_READY,
    NOT_SUPPORTED, Pinned, cu,
};
use software_gpu::driver::entry_point;

const BYTES: usize = 16 * MIB;
/// The largest pageable source that is staged whole.
const STAGED: usize = 64 << 10;

/// One memory of each kind.
struct Scene {
    driver: Driver,
    stream: Handle,
    device: [Address; 2],
    pinned: [Pinned; 2],
    pageable: [Vec<u8>; 2],
}

impl Scene {
    fn new() -> Self {
        let driver = Driver::new();
        Self {
            stream: driver.stream(NON_BLOCKING),
            device: [(); 2].map(|()| driver.allocate(BYTES).expect("fits")),
            pinned: [(); 2].map(|()| driver.pinned(BYTES)),
            pageable: [(); 2].map(|()| vec![1; BYTES]),
            driver,
        }
    }

    fn device(&self, which: usize) -> Address {
        self.device[which]
    }

    fn pinned(&self, which: usize) -> Address {
        self.pinned[which].pointer() as Address
    }

    fn pageable(&mut self, which: usize) -> Address {
        self.pageable[which].as_mut_ptr() as Address
    }

    /// Whether the copy is still under way when `cuMemcpyAsync` returns.
    fn outlasts_async(&self, to: Address, from: Address, bytes: usize) -> bool {
        cu!(cuMemcpyAsync(
            to => Address, from => Address, bytes => usize, self.stream => Handle,
        ))
        .expect("cuMemcpyAsync");
        let outlasts = self.driver.stream_query(self.stream) == Err(NOT_READY);
        self.driver.synchronize().expect("cuCtxSynchronize");
        outlasts
    }

    /// Whether the copy is still under way when `cuMemcpy` returns.
    fn outlasts_sync(&self, to: Address, from: Address, bytes: usize) -> bool {
        cu!(cuMemcpy(to => Address, from => Address, bytes => usize)).expect("cuMemcpy");
        let outlasts = self.driver.stream_query(LEGACY) == Err(NOT_READY);
        self.driver.synchronize().expect("cuCtxSynchronize");
        outlasts
    }
}

#[test]
fn synchronous_copies_to_the_device_wait_unless_their_source_is_staged() {
    let mut scene = Scene::new();
    let (to, pageable) = (scene.device(0), scene.pageable(0));
    assert!(!scene.outlasts_sync(to, scene.pinned(0), BYTES));
    assert!(!scene.outlasts_sync(to, scene.pinned(0), STAGED));
    assert!(!scene.outlasts_sync(to, pageable, BYTES));
    assert!(!scene.outlasts_sync(to, pageable, STAGED + 1));
    assert!(scene.outlasts_sync(to, pageable, STAGED));
}

#[test]
fn synchronous_copies_from_the_device_wait() {
    let mut scene = Scene::new();
    let (from, pageable) = (scene.device(0), scene.pageable(0));
    for bytes in [1, STAGED, BYTES] {
        assert!(!scene.outlasts_sync(scene.pinned(0), from, bytes));
        assert!(!scene.outlasts_sync(pageable, from, bytes));
    }
}

#[test]
fn copies_within_the_device_never_wait() {
    let scene = Scene::new();
    assert!(scene.outlasts_sync(scene.device(0), scene.device(1), BYTES));
    assert!(scene.outlasts_async(scene.device(0), scene.device(1), BYTES));
}

#[test]
fn copies_within_the_host_wait_always() {
    let mut scene = Scene::new();
    let pageable = [scene.pageable(0), scene.pageable(1)];
    let pinned = [scene.pinned(0), scene.pinned(1)];
    let pairs = [
        [pageable[0], pageable[1]],
        [pinned[0], pinned[1]],
        [pageable[0], pinned[0]],
        [pinned[1], pageable[1]],
    ];
    for [to, from] in pairs {
        assert!(!scene.outlasts_sync(to, from, BYTES));
        assert!(!scene.outlasts_async(to, from, BYTES));
    }
}

#[test]
fn asynchronous_copies_wait_where_pageable_memory_is_not_staged() {
    let mut scene = Scene::new();
    let (device, pinned, pageable) = (scene.device(0), scene.pinned(0), scene.pageable(0));
    assert!(scene.outlasts_async(device, pinned, BYTES));
    assert!(scene.outlasts_async(pinned, device, BYTES));
    assert!(!scene.outlasts_async(device, pageable, BYTES));
    assert!(!scene.outlasts_async(pageable, device, BYTES));
    assert!(!scene.outlasts_async(pageable, device, STAGED));
    assert!(scene.outlasts_async(device, pageable, STAGED));
}

#[test]
fn a_pageable_source_may_change_as_soon_as_the_call_returns() {
    for bytes in [STAGED, BYTES] {
        let mut scene = Scene::new();
        let (device, pageable) = (scene.device(0), scene.pageable(0));
        // Something is in the way, so that the copy cannot have been carried out yet when it is staged.
        scene
            .driver
            .within_device(scene.device(1), device, BYTES, scene.stream)
            .expect("cuMemcpyDtoDAsync");
        cu!(cuMemcpyAsync(
            device => Address, pageable => Address, bytes => usize, scene.stream => Handle,
        ))
        .expect("cuMemcpyAsync");
        scene.pageable[0].fill(9);
        assert_eq!(scene.driver.read(device, bytes), vec![1; bytes]);
    }
}

#[test]
fn a_page_locked_source_is_read_when_the_copy_takes_place() {
    let scene = Scene::new();
    let (device, pinned) = (scene.device(0), scene.pinned(0));
    scene.pinned[0].fill(1);
    cu!(cuMemcpyAsync(
        device => Address, pinned => Address, BYTES => usize, scene.stream => Handle,
    ))
    .expect("cuMemcpyAsync");
    scene.pinned[0].fill(9);
    assert_eq!(scene.driver.read(device, BYTES), vec![9; BYTES]);
}

#[test]
fn a_synchronous_copy_of_pageable_memory_waits_for_the_stream_first() {
    let mut scene = Scene::new();
    let (device, pinned, pageable) = (scene.device(0), scene.pinned(0), scene.pageable(0));
    let blocking = scene.driver.stream(0);
    cu!(cuMemcpyAsync(
        device => Address, pinned => Address, BYTES => usize, blocking => Handle,
    ))
    .expect("cuMemcpyAsync");
    let event = scene.driver.event();
    scene.driver.record(event, blocking).expect("cuEventRecord");
    assert_eq!(scene.driver.event_query(event), Err(NOT_READY));
    cu!(cuMemcpy(device => Address, pageable => Address, 16 => usize)).expect("cuMemcpy");
    assert_eq!(scene.driver.event_query(event), Ok(()));
}

/// `cuMemsetD8` of the first bytes.
fn set(to: Address, bytes: usize) -> Result<(), Error> {
    cu!(cuMemsetD8_v2(to => Address, 5 => u8, bytes => usize))
}

#[test]
fn memsets_wait_for_page_locked_memory_alone() {
    let mut scene = Scene::new();
    let (device, pinned, pageable) = (scene.device(0), scene.pinned(0), scene.pageable(0));
    let outlasts = |to: Address| {
        set(to, BYTES).expect("cuMemsetD8");
        let outlasts = scene.driver.stream_query(LEGACY) == Err(NOT_READY);
        scene.driver.synchronize().expect("cuCtxSynchronize");
        outlasts
    };
    assert!(outlasts(device));
    assert!(!outlasts(pinned));
    assert_eq!(set(pageable, 1), Err(INVALID_VALUE));
    for to in [device, pinned] {
        scene
            .driver
            .set(to, 6, BYTES, scene.stream)
            .expect("cuMemsetD8Async");
        assert_eq!(scene.driver.stream_query(scene.stream), Err(NOT_READY));
        scene.driver.synchronize().expect("cuCtxSynchronize");
    }
}

#[test]
fn what_is_left_out_is_refused_by_name() {
    let scene = Scene::new();
    let mut address: Address = 0;
    let managed = cu!(cuMemAllocManaged(
        &mut address => *mut Address, 64 => usize, 1 => c_uint,
    ));
    let array = cu!(cuMemcpyAtoD_v2(
        scene.device(0) => Address, 1 => usize, 0 => usize, 16 => usize,
    ));
    let batch = cu!(cuMemcpyBatchAsync_v2(
        &address => *const Address, &address => *const Address, &1 => *const usize, 1 => usize,
        std::ptr::null() => *const u8, std::ptr::null() => *const usize, 0 => usize,
        scene.stream => Handle,
    ));
    assert_eq!([managed, array, batch], [Err(NOT_SUPPORTED); 3]);
}
