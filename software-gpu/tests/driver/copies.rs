//! Copies: which pageable sources are staged, what narrow rows cost, and what is left out. What the host waits for is in
//! `proof/conformance`.

use crate::driver_support::copies::{ARRAY, Copy2D, DEVICE, HOST, Side2D, copy_2d, copy_2d_async};
use crate::driver_support::*;
use software_gpu::driver::entry_point;

/// The largest pageable source that is staged whole.
const STAGED: usize = 64 << 10;

/// Such a copy is still under way when the call returns; one byte more, and the call waits.
#[test]
fn small_pageable_sources_are_staged() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let (device, pageable) = (
        driver.allocate(2 * STAGED).expect("fits"),
        vec![1_u8; 2 * STAGED],
    );
    for (bytes, is_staged) in [(STAGED, true), (STAGED + 1, false)] {
        driver
            .to_device(device, pageable.as_ptr(), bytes, stream)
            .expect("cuMemcpyHtoDAsync");
        let asynchronous = driver.stream_query(stream).is_err();
        driver.synchronize().expect("cuCtxSynchronize");
        cu!(cuMemcpyHtoD_v2(device => Address, pageable.as_ptr() => *const u8, bytes => usize))
            .expect("cuMemcpyHtoD");
        let synchronous = driver.stream_query(LEGACY).is_err();
        driver.synchronize().expect("cuCtxSynchronize");
        assert_eq!(
            (asynchronous, synchronous),
            (is_staged, is_staged),
            "{bytes}"
        );
    }
}

/// An array needs a handle; the device's memory is not the host's, even if a side says so.
#[test]
fn sides_that_are_no_linear_memory_are_refused() {
    let driver = Driver::new();
    let device = driver.allocate(64).expect("fits");
    let side = |memory_type| Side2D {
        memory_type,
        device,
        host: device as usize,
        pitch: 8,
        ..Side2D::default()
    };
    for (to, expected) in [
        (DEVICE, Ok(())),
        (ARRAY, Err(INVALID_VALUE)),
        (HOST, Err(INVALID_VALUE)),
    ] {
        let copy = Copy2D {
            from: side(DEVICE),
            to: side(to),
            width: 4,
            height: 2,
        };
        assert_eq!(copy_2d(&copy), expected, "memory type {to}");
    }
}

#[test]
fn narrow_rows_take_longer_than_the_same_bytes_in_one() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let (device, pinned) = (
        driver.allocate(64 * MIB).expect("fits"),
        driver.pinned(64 * MIB),
    );
    let time = |width: usize, pitch: usize| {
        let side = Side2D {
            memory_type: HOST,
            host: pinned.pointer() as usize,
            pitch: width,
            ..Side2D::default()
        };
        let to = Side2D {
            memory_type: DEVICE,
            device,
            pitch,
            ..Side2D::default()
        };
        let copy = Copy2D {
            from: side,
            to,
            width,
            height: 16 * MIB / width,
        };
        let [start, end] = [driver.event(), driver.event()];
        driver.record(start, stream).expect("cuEventRecord");
        copy_2d_async(&copy, stream).expect("cuMemcpy2DAsync");
        driver.record(end, stream).expect("cuEventRecord");
        driver.event_synchronize(end).expect("ends");
        driver.elapsed(start, end).expect("recorded")
    };
    let (narrow, wide, contiguous) = (time(128, 256), time(4096, 8192), time(128, 128));
    assert!(narrow > 3.0 * wide, "{narrow} {wide}");
    assert!(
        (wide / contiguous - 1.0).abs() < 0.01,
        "{wide} {contiguous}"
    );
}
