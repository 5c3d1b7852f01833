//! Managed memory: one address for host and device, whose pages the model moves.

use std::ffi::{c_int, c_uint, c_void};

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const LONG: usize = 4 << 20;
const CPU: c_int = -1;
const NO_DEVICE: c_int = -2;

fn allocate(bytes: usize) -> Result<u64, Error> {
    let mut address = 0;
    cu!(cuMemAllocManaged(&mut address => *mut Address, bytes => usize, 1 => c_uint))
        .map(|()| address)
}

fn prefetch(address: u64, bytes: usize, device: c_int, stream: Handle) -> Result<(), Error> {
    cu!(cuMemPrefetchAsync(address => Address, bytes => usize, device => c_int, stream => Handle))
}

fn advise(address: u64, bytes: usize, advice: c_uint, device: c_int) -> Result<(), Error> {
    cu!(cuMemAdvise(address => Address, bytes => usize, advice => c_uint, device => c_int))
}

fn attribute<const N: usize>(
    kind: c_uint,
    address: u64,
    bytes: usize,
) -> Result<[c_int; N], Error> {
    let mut values = [0; N];
    cu!(cuMemRangeGetAttribute(
        values.as_mut_ptr() => *mut c_int, 4 * N => usize, kind => c_uint, address => Address, bytes => usize,
    ))
    .map(|()| values)
}

/// The values of managed memory, as the program reads them.
fn words(address: u64, count: usize) -> Vec<u32> {
    // SAFETY: the tests pass addresses of managed memory with as many values, and wait for the device first.
    unsafe { std::slice::from_raw_parts(address as *const u32, count) }.to_vec()
}

/// Adds 1 to each of the first `count` values, 256 in a block.
const INCREMENT: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 shared_counter = 41;
.visible .entry increment(.param .u64 values)
{
    .reg .u32 %r<5>;
    .reg .u64 %rd<5>;
    ld.param.u64 %rd1, [values];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 256, %r2;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r4, [%rd3];
    add.u32 %r4, %r4, 1;
    st.global.u32 [%rd3], %r4;
    ret;
}
.visible .entry count()
{
    .reg .u32 %r<2>;
    ld.global.u32 %r1, [shared_counter];
    add.u32 %r1, %r1, 1;
    st.global.u32 [shared_counter], %r1;
    ret;
}
";

/// Milliseconds that a kernel takes which touches all of `LONG` bytes.
fn kernel_ms(driver: &Driver, kernel: Handle, address: u64, stream: Handle) -> f32 {
    let (start, end) = (driver.event(), driver.event());
    driver.record(start, stream).unwrap();
    driver
        .launch(kernel, (LONG / 1024) as u32, 256, stream, &[&address])
        .unwrap();
    driver.record(end, stream).unwrap();
    driver.event_synchronize(end).unwrap();
    driver.elapsed(start, end).unwrap()
}

#[test]
fn host_and_kernel_use_the_same_bytes() {
    let driver = Driver::new();
    let (kernel, stream) = (
        driver.kernel(INCREMENT, "increment"),
        driver.stream(NON_BLOCKING),
    );
    let address = allocate(1024).unwrap();
    // SAFETY: 256 values.
    unsafe { (address as *mut u32).add(3).write(7) };
    driver.launch(kernel, 1, 256, stream, &[&address]).unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(words(address, 5), [1, 1, 1, 8, 1]);
    cu!(cuMemFree_v2(address => Address)).unwrap();
    assert_eq!(cu!(cuMemFree_v2(address => Address)), Err(INVALID_VALUE));
}

#[test]
fn a_copy_and_a_memset_take_managed_memory() {
    let driver = Driver::new();
    let (address, data) = (allocate(64).unwrap(), driver.allocate(64).unwrap());
    driver.fill(address, 3, 64);
    driver.within_device(data, address, 64, 0).unwrap();
    assert_eq!(driver.read(data, 64), [3; 64]);
    cu!(cuMemFree_v2(address => Address)).unwrap();
}

#[test]
fn the_first_kernel_brings_the_pages_and_a_prefetch_spares_it_that() {
    let driver = Driver::new();
    let (kernel, stream) = (
        driver.kernel(INCREMENT, "increment"),
        driver.stream(NON_BLOCKING),
    );
    let address = allocate(LONG).unwrap();
    let time = || kernel_ms(&driver, kernel, address, stream);
    let (first, second) = (time(), time());
    assert!(first > 4.0 * second, "{first} ms, then {second} ms");
    prefetch(address, LONG, CPU, stream).unwrap();
    let again = time();
    assert!(again > 4.0 * second, "{again} ms from the host");
    prefetch(address, LONG, CPU, stream).unwrap();
    prefetch(address, LONG, 0, stream).unwrap();
    let fetched = time();
    assert!(fetched < first / 4.0, "{fetched} ms after a prefetch");
    cu!(cuMemFree_v2(address => Address)).unwrap();
}

#[test]
fn a_prefetch_takes_the_time_of_a_copy_once() {
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    let address = allocate(LONG).unwrap();
    let time = |device: c_int| {
        let (start, end) = (driver.event(), driver.event());
        driver.record(start, stream).unwrap();
        prefetch(address, LONG, device, stream).unwrap();
        driver.record(end, stream).unwrap();
        driver.event_synchronize(end).unwrap();
        driver.elapsed(start, end).unwrap()
    };
    // The link to an H200 moves at most 64 GB/s.
    let least = LONG as f32 / 64e6;
    assert!(time(0) > least);
    assert!(time(0) < least / 4.0);
    assert!(time(CPU) > least);
    assert!(time(CPU) < least / 4.0);
    cu!(cuMemFree_v2(address => Address)).unwrap();
}

#[test]
fn memory_that_prefers_the_host_stays_there() {
    let driver = Driver::new();
    let (kernel, stream) = (
        driver.kernel(INCREMENT, "increment"),
        driver.stream(NON_BLOCKING),
    );
    let address = allocate(LONG).unwrap();
    advise(address, LONG, 3, CPU).unwrap();
    let time = || kernel_ms(&driver, kernel, address, stream);
    let (first, second) = (time(), time());
    assert!(second > 0.8 * first, "{first} ms, then {second} ms");
    cu!(cuMemFree_v2(address => Address)).unwrap();
}

#[test]
fn a_range_tells_what_was_advised_of_all_of_it() {
    let _driver = Driver::new();
    let page = 64 << 10;
    let address = allocate(2 * page).unwrap();
    assert_eq!(attribute(2, address, page), Ok([NO_DEVICE]));
    advise(address, page, 1, 0).unwrap();
    advise(address, 2 * page, 3, 0).unwrap();
    advise(address, 2 * page, 5, CPU).unwrap();
    advise(address, 2 * page, 5, 0).unwrap();
    assert_eq!(attribute(1, address, page), Ok([1]));
    assert_eq!(attribute(1, address, 2 * page), Ok([0]));
    assert_eq!(attribute(2, address, 2 * page), Ok([0]));
    assert_eq!(attribute(3, address, 2 * page), Ok([CPU, 0, NO_DEVICE]));
    assert_eq!(attribute(4, address, 2 * page), Ok([NO_DEVICE]));
    assert_eq!(
        (attribute(5, address, 1), attribute(7, address, 1)),
        (Ok([1]), Ok([0]))
    );
    prefetch(address, page, CPU, 0).unwrap();
    assert_eq!(attribute(4, address, page), Ok([CPU]));
    assert_eq!(attribute(4, address, 2 * page), Ok([NO_DEVICE]));
    advise(address, 2 * page, 6, CPU).unwrap();
    assert_eq!(attribute(3, address, page), Ok([0, NO_DEVICE]));
    cu!(cuMemFree_v2(address => Address)).unwrap();
}

#[test]
fn what_is_wrong_is_refused() {
    let driver = Driver::new();
    let data = driver.allocate(64).unwrap();
    let address = allocate(64).unwrap();
    assert_eq!(allocate(0), Err(INVALID_VALUE));
    let mut unused = 0;
    let flags = cu!(cuMemAllocManaged(&mut unused => *mut Address, 1 => usize, 4 => c_uint));
    assert_eq!(flags, Err(INVALID_VALUE));
    assert_eq!(prefetch(data, 64, 0, 0), Err(INVALID_VALUE));
    assert_eq!(prefetch(address, 65, 0, 0), Err(INVALID_VALUE));
    assert_eq!(prefetch(address, 64, 99, 0), Err(INVALID_DEVICE));
    assert_eq!(advise(address, 64, 7, 0), Err(INVALID_VALUE));
    assert_eq!(attribute::<2>(1, address, 64), Err(INVALID_VALUE));
    assert_eq!(attribute::<1>(9, address, 64), Err(INVALID_VALUE));
    let host = cu!(cuMemFreeHost(address as *mut c_void => *mut c_void));
    assert_eq!(host, Err(INVALID_VALUE));
    cu!(cuMemFree_v2(address => Address)).unwrap();
}

#[test]
fn a_pointer_to_managed_memory_says_so() {
    let driver = Driver::new();
    let (managed, host) = (allocate(64).unwrap(), driver.pinned(64));
    let pinned = host.pointer() as u64;
    let ask = |attribute: c_uint, address: u64| {
        let mut value: c_uint = 0;
        cu!(cuPointerGetAttribute(&mut value => *mut c_uint, attribute => c_uint, address => Address))
            .map(|()| value)
    };
    // CU_POINTER_ATTRIBUTE_IS_MANAGED and CU_POINTER_ATTRIBUTE_MEMORY_TYPE.
    assert_eq!((ask(8, managed), ask(2, managed)), (Ok(1), Ok(2)));
    assert_eq!((ask(8, pinned), ask(2, pinned)), (Ok(0), Ok(1)));
    cu!(cuMemFree_v2(managed => Address)).unwrap();
}

#[test]
fn managed_variables_are_at_one_address_for_both() {
    let driver = Driver::new();
    let module = driver.module(INCREMENT).unwrap();
    let count = driver.function(module, "count").unwrap();
    let (mut address, mut bytes) = (0, 0);
    cu!(cuModuleGetGlobal_v2(
        &mut address => *mut Address, &mut bytes => *mut usize,
        module => Handle, c"shared_counter".as_ptr() => *const std::ffi::c_char,
    ))
    .unwrap();
    assert_eq!((words(address, 1), bytes), (vec![41], 4));
    driver.launch(count, 1, 1, 0, &[]).unwrap();
    driver.synchronize().unwrap();
    assert_eq!(words(address, 1), [42]);
}
