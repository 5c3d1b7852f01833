//! Memory: what copies cost the host, and what it cannot be copied from.

use std::ffi::c_uint;
use std::time::Duration;

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::host;

const LONG: usize = 4 * MIB;
/// What `LONG` bytes take over the link at least.
const LINK: Duration = Duration::from_micros(70);

/// Virtual host time of a call.
fn cost(call: impl FnOnce() -> Result<(), Error>) -> Duration {
    let before = host::now();
    call().expect("the call succeeds");
    host::now() - before
}

/// What the host's copies cost it: those of page-locked memory a call, those of pageable memory the way to staging and over the link.
#[test]
fn pageable_copies_block_the_host_and_page_locked_ones_do_not() {
    let driver = Driver::new();
    let (data, stream) = (driver.allocate(LONG).unwrap(), driver.stream(NON_BLOCKING));
    let (pinned, mut pageable, mut registered) =
        (driver.pinned(LONG), vec![6_u8; LONG], vec![5_u8; LONG]);
    let registered = registered.as_mut_ptr();
    cu!(cuMemHostRegister_v2(registered => *mut u8, LONG => usize, 0 => c_uint)).unwrap();
    for (start, blocks) in [
        (pinned.pointer(), false),
        (registered, false),
        (pageable.as_mut_ptr(), true),
    ] {
        for copy in [
            cost(|| driver.to_device(data, start, LONG, stream)),
            cost(|| driver.to_host(start, data, LONG, stream)),
        ] {
            let expected = if blocks {
                4 * LINK..Duration::MAX
            } else {
                Duration::ZERO..LINK / 2
            };
            assert!(expected.contains(&copy), "{copy:?}");
        }
        let waits = cost(|| driver.stream_synchronize(stream));
        assert_eq!(waits > LINK, !blocks, "{waits:?}");
    }
    cu!(cuMemHostUnregister(registered => *mut u8)).unwrap();
}

/// Up to 64 KiB the host waits for the staging only.
#[test]
fn small_pageable_copies_return_when_they_are_staged() {
    let driver = Driver::new();
    let (data, stream) = (driver.allocate(LONG).unwrap(), driver.stream(NON_BLOCKING));
    let (pinned, host) = (driver.pinned(LONG), vec![6_u8; 64 << 10]);
    driver
        .to_device(data, pinned.pointer(), LONG, stream)
        .unwrap();
    driver
        .to_device(data, host.as_ptr(), host.len(), stream)
        .unwrap();
    assert_eq!(driver.stream_query(stream), Err(NOT_READY));
    driver.synchronize().unwrap();
}

/// A GPU may take the address of device memory for one of the host's.
#[test]
fn device_memory_is_no_host_memory() {
    let driver = Driver::new();
    let data = driver.allocate(16).unwrap();
    let copied = driver.to_device(data, data as *const u8, 1, 0);
    assert_eq!(copied, Err(INVALID_VALUE));
    assert_eq!(driver.to_device(data + 16, std::ptr::null(), 0, 0), Ok(()));
}
