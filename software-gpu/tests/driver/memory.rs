//! Memory: allocation, page-locking, memsets, and which copies the host waits for.

use std::ffi::{c_int, c_uint, c_void};
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

/// `cuMemAlloc`, `cuMemGetInfo`, `cuMemFree`.
#[test]
fn device_memory_is_limited_to_what_the_device_has() {
    let driver = Driver::new();
    let (mut free, mut total) = (0_usize, 0_usize);
    cu!(cuMemGetInfo_v2(&mut free => *mut usize, &mut total => *mut usize)).unwrap();
    assert_eq!(total, 150_109_945_856);
    assert_eq!(driver.allocate(total + 1), Err(OUT_OF_MEMORY));
    assert_eq!(driver.allocate(0), Err(INVALID_VALUE));
    let address = driver.allocate(1 << 20).unwrap();
    let before = free;
    cu!(cuMemGetInfo_v2(&mut free => *mut usize, &mut total => *mut usize)).unwrap();
    assert_eq!(before - free, 1 << 20);
    assert_eq!(cu!(cuMemFree_v2(address + 8 => u64)), Err(INVALID_VALUE));
    cu!(cuMemFree_v2(address => u64)).unwrap();
    assert_eq!(cu!(cuMemFree_v2(address => u64)), Err(INVALID_VALUE));
    assert_eq!(cu!(cuMemFree_v2(0 => u64)), Ok(()));
}

/// `cuMemFree` waits for the device: nobody may still be using the memory.
#[test]
fn freeing_device_memory_synchronises() {
    let driver = Driver::new();
    let (data, other, host) = (
        driver.allocate(LONG).unwrap(),
        driver.allocate(8).unwrap(),
        driver.pinned(LONG),
    );
    let stream = driver.stream(NON_BLOCKING);
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    cu!(cuMemFree_v2(other => u64)).unwrap();
    assert_eq!(driver.stream_query(stream), Ok(()));
}

/// `cuMemAllocHost`: exhaustion is an error, not a crash.
#[test]
fn page_locking_too_much_is_a_clean_error() {
    let _driver = Driver::new();
    let mut start = std::ptr::null_mut::<c_void>();
    let everything =
        cu!(cuMemHostAlloc(&mut start => *mut *mut c_void, 1 << 45 => usize, 0 => c_uint));
    assert_eq!(everything, Err(OUT_OF_MEMORY));
    assert_eq!(
        cu!(cuMemHostAlloc(&mut start => *mut *mut c_void, 0 => usize, 0 => c_uint)),
        Ok(())
    );
    assert_eq!(
        cu!(cuMemHostAlloc(&mut start => *mut *mut c_void, 8 => usize, 8 => c_uint)),
        Err(INVALID_VALUE)
    );
}

/// `cuMemHostAlloc`, `cuMemHostGetFlags`, `cuMemHostGetDevicePointer`, `cuPointerGetAttribute`.
#[test]
fn page_locked_memory_has_one_address_on_both_sides() {
    let driver = Driver::new();
    let (mut start, mut flags, mut address, mut kind) = (std::ptr::null_mut::<u8>(), 0, 0, 0);
    cu!(cuMemHostAlloc(&mut start => *mut *mut u8, 64 => usize, 4 => c_uint)).unwrap();
    cu!(cuMemHostGetFlags(&mut flags => *mut c_uint, start => *mut u8)).unwrap();
    cu!(cuMemHostGetDevicePointer_v2(&mut address => *mut u64, start => *mut u8, 0 => c_uint))
        .unwrap();
    assert_eq!((flags, address), (4, start as u64));
    cu!(cuPointerGetAttribute(&mut kind => *mut c_uint, 2 => c_uint, address => u64)).unwrap();
    assert_eq!(kind, 1);
    let device = driver.allocate(64).unwrap();
    cu!(cuPointerGetAttribute(&mut kind => *mut c_uint, 2 => c_uint, device + 8 => u64)).unwrap();
    assert_eq!(kind, 2);
    let unknown =
        cu!(cuPointerGetAttribute(&mut kind => *mut c_uint, 2 => c_uint, device + 64 => u64));
    assert_eq!(unknown, Err(INVALID_VALUE));
    cu!(cuMemFreeHost(start => *mut u8)).unwrap();
    assert_eq!(cu!(cuMemFreeHost(start => *mut u8)), Err(INVALID_VALUE));
}

/// `cuMemHostRegister` makes the program's own memory page-locked, `cuMemHostUnregister` undoes it.
#[test]
fn registered_memory_copies_like_page_locked_memory() {
    let driver = Driver::new();
    let data = driver.allocate(LONG).unwrap();
    let mut memory = vec![5_u8; LONG];
    let start = memory.as_mut_ptr();
    cu!(cuMemHostRegister_v2(start => *mut u8, LONG => usize, 0 => c_uint)).unwrap();
    let again = cu!(cuMemHostRegister_v2(start => *mut u8, LONG => usize, 0 => c_uint));
    assert_eq!(again, Err(712));
    let registered = cost(|| driver.to_device(data, start, LONG, 0));
    cu!(cuMemHostUnregister(start => *mut u8)).unwrap();
    assert_eq!(cu!(cuMemHostUnregister(start => *mut u8)), Err(713));
    let pageable = cost(|| driver.to_device(data, start, LONG, 0));
    assert!(
        registered < LINK && pageable > LINK,
        "{registered:?}, {pageable:?}"
    );
    assert_eq!(driver.read(data, 1), [5]);
}

/// `cuMemGetAddressRange`.
#[test]
fn an_address_knows_its_allocation() {
    let driver = Driver::new();
    let data = driver.allocate(1000).unwrap();
    let (mut base, mut bytes) = (0_u64, 0_usize);
    cu!(cuMemGetAddressRange_v2(&mut base => *mut u64, &mut bytes => *mut usize, data + 999 => u64)).unwrap();
    assert_eq!((base, bytes), (data, 1000));
    let outside = cu!(cuMemGetAddressRange_v2(&mut base => *mut u64, &mut bytes => *mut usize, data + 1000 => u64));
    assert_eq!(outside, Err(500));
}

/// `cuMemAllocPitch` aligns rows.
#[test]
fn pitched_rows_are_aligned() {
    let _driver = Driver::new();
    let (mut address, mut pitch) = (0_u64, 0_usize);
    cu!(cuMemAllocPitch_v2(
        &mut address => *mut u64, &mut pitch => *mut usize, 100 => usize, 3 => usize, 4 => c_uint
    ))
    .unwrap();
    assert_eq!(pitch, 512);
    let odd = cu!(cuMemAllocPitch_v2(
        &mut address => *mut u64, &mut pitch => *mut usize, 100 => usize, 3 => usize, 3 => c_uint
    ));
    assert_eq!(odd, Err(INVALID_VALUE));
}

/// `cuMemsetD8`, `D16`, `D32`; `D16` and `D32` want aligned addresses.
#[test]
fn memsets_repeat_their_pattern() {
    let driver = Driver::new();
    let data = driver.allocate(16).unwrap();
    cu!(cuMemsetD8_v2(data => u64, 0xaa => u8, 16 => usize)).unwrap();
    cu!(cuMemsetD16_v2(data + 2 => u64, 0x0201 => u16, 2 => usize)).unwrap();
    cu!(cuMemsetD32Async(data + 8 => u64, 0x0403_0201 => c_uint, 1 => usize, 0 => Handle)).unwrap();
    let expected = [
        0xaa, 0xaa, 1, 2, 1, 2, 0xaa, 0xaa, 1, 2, 3, 4, 0xaa, 0xaa, 0xaa, 0xaa,
    ];
    assert_eq!(driver.read(data, 16), expected);
    assert_eq!(
        cu!(cuMemsetD16_v2(data + 1 => u64, 0 => u16, 1 => usize)),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        cu!(cuMemsetD32_v2(data + 2 => u64, 0 => c_uint, 1 => usize)),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        cu!(cuMemsetD8_v2(data => u64, 0 => u8, 17 => usize)),
        Err(INVALID_VALUE)
    );
}

/// `cuMemsetD2D8` and its variants leave alone what lies between the rows.
#[test]
fn memsets_of_rows_keep_their_pitch() {
    let driver = Driver::new();
    let data = driver.allocate(16).unwrap();
    driver.fill(data, 9, 16);
    let rows = |pitch: usize, width: usize, height: usize| cu!(cuMemsetD2D16_v2(data => u64, pitch => usize, 0x0101 => u16, width => usize, height => usize));
    assert_eq!(rows(6, 2, 3), Ok(()));
    let expected = [1, 1, 1, 1, 9, 9, 1, 1, 1, 1, 9, 9, 1, 1, 1, 1];
    assert_eq!(driver.read(data, 16), expected);
    assert_eq!(rows(6, 3, 3), Err(INVALID_VALUE));
    assert_eq!(rows(3, 1, 3), Err(INVALID_VALUE));
    assert_eq!(rows(2, 2, 3), Err(INVALID_VALUE));
}

/// Copies of device memory are checked against the allocation; copies of nothing always succeed.
#[test]
fn copies_stay_inside_allocations() {
    let driver = Driver::new();
    let data = driver.allocate(16).unwrap();
    let host = [0_u8; 32];
    assert_eq!(
        driver.to_device(data, host.as_ptr(), 17, 0),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        driver.to_device(data + 16, host.as_ptr(), 1, 0),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        driver.to_device(data, std::ptr::null(), 1, 0),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        driver.to_device(data, data as *const u8, 1, 0),
        Err(INVALID_VALUE)
    );
    assert_eq!(driver.to_device(data + 16, std::ptr::null(), 0, 0), Ok(()));
}

/// `cuMemcpy` and `cuMemcpyAsync` find out by themselves which side is where.
#[test]
fn unified_copies_go_in_every_direction() {
    let driver = Driver::new();
    let (a, b) = (driver.allocate(4).unwrap(), driver.allocate(4).unwrap());
    let (from, mut to) = ([1_u8, 2, 3, 4], [0_u8; 4]);
    cu!(cuMemcpy(a => u64, from.as_ptr() as u64 => u64, 4 => usize)).unwrap();
    cu!(cuMemcpyAsync(b => u64, a => u64, 4 => usize, 0 => Handle)).unwrap();
    cu!(cuMemcpy(to.as_mut_ptr() as u64 => u64, b => u64, 4 => usize)).unwrap();
    assert_eq!(to, from);
    let mut again = [0_u8; 4];
    cu!(cuMemcpy(again.as_mut_ptr() as u64 => u64, to.as_ptr() as u64 => u64, 4 => usize)).unwrap();
    assert_eq!(again, from);
}

/// Asynchronous copies of page-locked memory return before they are done.
#[test]
fn page_locked_copies_do_not_block_the_host() {
    let driver = Driver::new();
    let (data, host, stream) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.stream(NON_BLOCKING),
    );
    assert!(cost(|| driver.to_device(data, host.pointer(), LONG, stream)) < LINK / 2);
    assert!(cost(|| driver.to_host(host.pointer(), data, LONG, stream)) < LINK / 2);
    assert!(cost(|| driver.within_device(data, data + MIB as u64, MIB, stream)) < LINK / 2);
    assert!(cost(|| driver.stream_synchronize(stream)) > LINK);
}

/// Asynchronous copies of pageable memory are staged, and the host waits: `API synchronization behavior`.
#[test]
fn pageable_copies_block_the_host() {
    let driver = Driver::new();
    let (data, stream) = (driver.allocate(LONG).unwrap(), driver.stream(NON_BLOCKING));
    let mut host = vec![6_u8; LONG];
    assert!(cost(|| driver.to_device(data, host.as_ptr(), LONG, stream)) > 4 * LINK);
    assert_eq!(driver.stream_query(stream), Ok(()));
    assert!(cost(|| driver.to_host(host.as_mut_ptr(), data, LONG, stream)) > 4 * LINK);
    assert_eq!(driver.stream_query(stream), Ok(()));
}

/// Up to 64 KiB the host waits for the staging only; the program may then change its memory.
#[test]
fn small_pageable_copies_return_when_they_are_staged() {
    let driver = Driver::new();
    let (data, stream) = (driver.allocate(LONG).unwrap(), driver.stream(NON_BLOCKING));
    let pinned = driver.pinned(LONG);
    let mut host = vec![6_u8; 64 << 10];
    driver
        .to_device(data, pinned.pointer(), LONG, stream)
        .unwrap();
    driver
        .to_device(data, host.as_ptr(), host.len(), stream)
        .unwrap();
    assert_eq!(driver.stream_query(stream), Err(NOT_READY));
    host.fill(7);
    assert_eq!(driver.read(data, 1), [6]);
}

/// `cuMemcpyHtoD` from page-locked memory is synchronous; `cuMemcpyDtoD` and `cuMemsetD8` are not.
#[test]
fn synchronous_copies_wait_unless_they_stay_on_the_device() {
    let driver = Driver::new();
    let (data, host) = (driver.allocate(64 * MIB).unwrap(), driver.pinned(LONG));
    let to_device = || cu!(cuMemcpyHtoD_v2(data => u64, host.pointer() => *mut u8, LONG => usize));
    assert!(cost(to_device) > LINK);
    let half = 32 * MIB;
    let within = || cu!(cuMemcpyDtoD_v2(data => u64, data + half as u64 => u64, half => usize));
    assert!(cost(within) < Duration::from_micros(10));
    assert_eq!(driver.stream_query(0), Err(NOT_READY));
    assert!(
        cost(|| cu!(cuMemsetD8_v2(data => u64, 1 => u8, half => usize)))
            < Duration::from_micros(10)
    );
    assert_eq!(driver.stream_query(0), Err(NOT_READY));
    let mut seen = [0_u8];
    cu!(cuMemcpyDtoH_v2(seen.as_mut_ptr() => *mut u8, data => u64, 1 => usize)).unwrap();
    assert_eq!(seen, [1]);
    let page_locked = host.pointer() as u64;
    cu!(cuMemsetD8_v2(page_locked => u64, 9 => u8, LONG => usize)).unwrap();
    assert_eq!(host.byte(LONG - 1), 9);
}

/// Device attributes: those of the profile, and the attribute numbers that do not exist.
#[test]
fn the_device_answers_for_itself() {
    let _driver = Driver::new();
    let mut value = 0;
    cu!(cuDeviceGetAttribute(&mut value => *mut c_int, 16 => c_int, 0 => c_int)).unwrap();
    assert_eq!(value, 132);
    assert_eq!(
        cu!(cuDeviceGetAttribute(&mut value => *mut c_int, 9999 => c_int, 0 => c_int)),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        cu!(cuDeviceGetAttribute(&mut value => *mut c_int, 16 => c_int, 1 => c_int)),
        Err(101)
    );
    let mut name = [0_u8; 8];
    cu!(cuDeviceGetName(name.as_mut_ptr() => *mut u8, 8 => c_int, 0 => c_int)).unwrap();
    assert_eq!(&name, b"NVIDIA \0");
    let mut bus_id = [0_u8; 13];
    cu!(cuDeviceGetPCIBusId(bus_id.as_mut_ptr() => *mut u8, 13 => c_int, 0 => c_int)).unwrap();
    let number = |attribute: c_int| {
        let mut value = 0;
        cu!(cuDeviceGetAttribute(&mut value => *mut c_int, attribute => c_int, 0 => c_int))
            .unwrap();
        value
    };
    let expected = format!(
        "{:04x}:{:02x}:{:02x}.0\0",
        number(50),
        number(33),
        number(34)
    );
    assert_eq!(bus_id, expected.as_bytes());
    let mut device = -1;
    cu!(cuDeviceGetByPCIBusId(&mut device => *mut c_int, bus_id.as_ptr() => *const u8)).unwrap();
    assert_eq!(device, 0);
}
