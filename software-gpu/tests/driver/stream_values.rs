//! Streams that wait for values in memory and write them.

use std::ffi::c_uint;
use std::time::Duration;

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports;

const LAUNCH_TIMEOUT: Error = 702;
const GEQ: c_uint = 0;
const EQ: c_uint = 1;

fn wait(stream: Handle, address: Address, value: u32, flags: c_uint) -> Result<(), Error> {
    cu!(cuStreamWaitValue32_v2(stream => Handle, address => Address, value => u32, flags => c_uint))
}

fn write(stream: Handle, address: Address, value: u32) -> Result<(), Error> {
    cu!(cuStreamWriteValue32_v2(stream => Handle, address => Address, value => u32, 0 => c_uint))
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes[..4].try_into().unwrap())
}

/// cuStreamWaitValue32: work behind it begins when the value is there; the write is that of another stream.
#[test]
fn a_stream_waits_for_what_another_one_writes() {
    let driver = Driver::new();
    let [flag, data] = [4, 4].map(|bytes| driver.allocate(bytes).unwrap());
    driver.fill(flag, 0, 4);
    driver.fill(data, 1, 4);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let seen = driver.pinned(4);
    wait(b, flag, 3, GEQ).unwrap();
    driver.to_host(seen.pointer(), data, 4, b).unwrap();
    assert_eq!(driver.stream_query(b), Err(NOT_READY));
    driver.set(data, 9, 4, a).unwrap();
    write(a, flag, 2).unwrap();
    driver.stream_synchronize(a).unwrap();
    assert_eq!(driver.stream_query(b), Err(NOT_READY));
    write(a, flag, 4).unwrap();
    driver.stream_synchronize(b).unwrap();
    assert_eq!((word(&driver.read(flag, 4)), seen.byte(0)), (4, 9));
}

/// A value in page-locked memory, written by the program itself.
#[test]
fn a_stream_waits_for_what_the_host_writes() {
    let driver = Driver::new();
    let (flag, stream, event) = (driver.pinned(8), driver.stream(0), driver.event());
    flag.fill(0);
    wait(stream, flag.pointer() as u64, 1, EQ).unwrap();
    driver.record(event, stream).unwrap();
    assert_eq!(driver.event_query(event), Err(NOT_READY));
    flag.fill(1);
    assert_eq!(
        driver.event_query(event),
        Err(NOT_READY),
        "0x01010101 is not 1"
    );
    flag.fill(0);
    // SAFETY: the page-locked memory is that long, and this thread alone writes it.
    unsafe { flag.pointer().write_volatile(1) };
    driver.event_synchronize(event).unwrap();
}

/// A thread of the program that does not call the driver may write while another one waits inside it.
#[test]
fn another_thread_may_write_the_value() {
    let driver = Driver::new();
    let (flag, stream) = (driver.pinned(8), driver.stream(0));
    flag.fill(0);
    wait(stream, flag.pointer() as u64, 1, GEQ).unwrap();
    let address = flag.pointer() as usize;
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        // SAFETY: the page-locked memory lives until the thread has been joined.
        unsafe { (address as *mut u32).write_volatile(1) };
    });
    let result = driver.stream_synchronize(stream);
    writer.join().unwrap();
    assert_eq!(result, Ok(()));
}

#[test]
fn values_have_32_or_64_bits() {
    let driver = Driver::new();
    let (memory, stream) = (driver.allocate(16).unwrap(), driver.stream(0));
    driver.fill(memory, 0xff, 16);
    write(stream, memory, 0x0102_0304).unwrap();
    cu!(cuStreamWriteValue64_v2(stream => Handle, memory + 8 => Address, 5_u64 << 32 => u64, 0 => c_uint)).unwrap();
    cu!(cuStreamWaitValue64_v2(stream => Handle, memory + 8 => Address, 5_u64 << 32 => u64, EQ => c_uint)).unwrap();
    let bytes = driver.read(memory, 16);
    assert_eq!(bytes[..8], [4, 3, 2, 1, 255, 255, 255, 255]);
    assert_eq!(bytes[8..], (5_u64 << 32).to_ne_bytes());
}

#[repr(C)]
struct BatchOperation {
    operation: c_uint,
    address: Address,
    value: u64,
    flags: c_uint,
    rest: [u64; 2],
}

#[test]
fn a_batch_is_performed_in_order() {
    let driver = Driver::new();
    let (memory, stream) = (driver.allocate(8).unwrap(), driver.stream(0));
    driver.fill(memory, 0, 8);
    let operation = |operation, value, flags| BatchOperation {
        operation,
        address: memory,
        value,
        flags,
        rest: [7; 2],
    };
    let batch = |operations: &[BatchOperation], flags: c_uint| {
        cu!(cuStreamBatchMemOp_v2(
            stream => Handle, operations.len() as c_uint => c_uint,
            operations.as_ptr() => *const BatchOperation, flags => c_uint,
        ))
    };
    batch(
        &[
            operation(2, 1, 0),
            operation(1, 1, EQ),
            operation(6, 0, 0),
            operation(5, 1 << 40, 0),
        ],
        0,
    )
    .unwrap();
    driver.stream_synchronize(stream).unwrap();
    assert_eq!(driver.read(memory, 8), (1_u64 << 40).to_ne_bytes());
    assert_eq!(batch(&[operation(9, 0, 0)], 0), Err(INVALID_VALUE));
    assert_eq!(batch(&[], 1), Err(INVALID_VALUE));
    assert_eq!(
        batch(&[operation(2, 5, 0), operation(1, 1, 9)], 0),
        Err(INVALID_VALUE)
    );
    assert_eq!(
        driver.read(memory, 8),
        (1_u64 << 40).to_ne_bytes(),
        "a bad batch does nothing"
    );
}

#[test]
fn bad_arguments_are_refused() {
    let driver = Driver::new();
    let (memory, stream) = (driver.allocate(8).unwrap(), driver.stream(0));
    for (address, flags) in [(0, EQ), (memory + 2, EQ), (memory + 8, EQ), (memory, 4)] {
        assert_eq!(
            wait(stream, address, 0, flags),
            Err(INVALID_VALUE),
            "{address:#x} {flags}"
        );
    }
    assert_eq!(write(stream, memory + 1, 0), Err(INVALID_VALUE));
    assert_eq!(write(77, memory, 0), Err(INVALID_HANDLE));
    driver.synchronize().unwrap();
}

/// Two streams that wait for each other: the synchronising call ends, with an error that stays.
#[test]
fn streams_that_wait_for_each_other_are_a_deadlock() {
    let driver = Driver::new();
    let flags = driver.allocate(8).unwrap();
    driver.fill(flags, 0, 8);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    wait(a, flags, 1, EQ).unwrap();
    write(a, flags + 4, 1).unwrap();
    wait(b, flags + 4, 1, EQ).unwrap();
    write(b, flags, 1).unwrap();
    assert_eq!(driver.stream_query(a), Err(NOT_READY));
    assert_eq!(driver.stream_synchronize(a), Err(LAUNCH_TIMEOUT));
    assert_eq!(driver.synchronize(), Err(LAUNCH_TIMEOUT));
    drop(driver);
    let next = Driver::new();
    let memory = next.allocate(4).unwrap();
    next.fill(memory, 3, 4);
    assert_eq!(next.read(memory, 4), [3; 4]);
}

/// What a stream has done before it writes a value is ordered before what another one does behind its wait.
#[test]
fn a_value_orders_streams_for_the_checkers() {
    let driver = Driver::new();
    let [flag, data] = [4, 64].map(|bytes| driver.allocate(bytes).unwrap());
    driver.fill(flag, 0, 4);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let ((), ordered) = reports::collect(|| {
        driver.set(data, 1, 64, a).unwrap();
        write(a, flag, 1).unwrap();
        wait(b, flag, 1, EQ).unwrap();
        driver.set(data, 2, 64, b).unwrap();
        driver.synchronize().unwrap();
    });
    assert_eq!(ordered, [], "ordered by the value");
    let ((), unordered) = reports::collect(|| {
        driver.set(data, 3, 64, a).unwrap();
        write(a, flag, 2).unwrap();
        driver.set(data, 4, 64, b).unwrap();
        driver.synchronize().unwrap();
    });
    assert_eq!(unordered.len(), 1, "nothing orders these");
}

/// The host resets a flag, and something that is no write of the value sets it again before a stream is given the wait.
fn a_flag_for_the_second_time(flags: usize) {
    let driver = Driver::new();
    let memory = driver.pinned(4 * flags);
    memory.fill(0);
    let data = driver.allocate(64).unwrap();
    let [a, b, other] = [(); 3].map(|()| driver.stream(NON_BLOCKING));
    let flag = |index: usize| memory.at(4 * index) as Address;
    let is_set = 0x0101_0101;
    let ((), found) = reports::collect(|| {
        for index in 0..flags {
            driver.set(flag(index), 1, 4, a).unwrap();
            wait(b, flag(index), is_set, EQ).unwrap();
        }
        driver.stream_synchronize(b).unwrap();
        memory.fill(0);
        driver.set(data, 1, 64, a).unwrap();
        driver.set(flag(flags / 2), 1, 4, a).unwrap();
        while memory.byte(4 * (flags / 2)) == 0 {
            driver.stream_query(other).unwrap();
        }
        wait(b, flag(flags / 2), is_set, EQ).unwrap();
        driver.set(data, 2, 64, b).unwrap();
        driver.synchronize().unwrap();
    });
    assert_eq!(found, [], "{flags} flags");
}

#[test]
fn a_flag_that_the_host_has_reset_orders_again() {
    a_flag_for_the_second_time(1);
    a_flag_for_the_second_time(200);
}

const COUNT: &str = ".version 6.0\n.target sm_70\n.address_size 64
.visible .entry count(.param .u64 to)
{
.reg .b64 %to; .reg .b32 %r;
ld.param.u64 %to, [to];
atom.global.add.u32 %r, [%to], 1;
ret;
}";

/// A value that a kernel's atomic operations change, in device memory and in page-locked memory.
#[test]
fn a_stream_waits_for_what_kernels_count() {
    let driver = Driver::new();
    let module = driver.module(COUNT).unwrap();
    let count = driver.function(module, "count").unwrap();
    let of_host = driver.pinned(4);
    of_host.fill(0);
    let of_device = driver.allocate(4).unwrap();
    driver.fill(of_device, 0, 4);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    for counter in [of_device, of_host.pointer() as Address] {
        wait(b, counter, 64, EQ).unwrap();
        driver.launch(count, 1, 32, a, &[&counter]).unwrap();
        driver.stream_synchronize(a).unwrap();
        assert_eq!(driver.stream_query(b), Err(NOT_READY));
        driver.launch(count, 1, 32, a, &[&counter]).unwrap();
        driver.stream_synchronize(b).unwrap();
    }
}
