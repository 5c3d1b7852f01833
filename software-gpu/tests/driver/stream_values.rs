//! Streams that wait for values in memory and write them.

use std::ffi::c_uint;

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports;

const LAUNCH_TIMEOUT: Error = 702;
const EQ: c_uint = 1;

fn wait(stream: Handle, address: Address, value: u32, flags: c_uint) -> Result<(), Error> {
    cu!(cuStreamWaitValue32_v2(stream => Handle, address => Address, value => u32, flags => c_uint))
}

fn write(stream: Handle, address: Address, value: u32) -> Result<(), Error> {
    cu!(cuStreamWriteValue32_v2(stream => Handle, address => Address, value => u32, 0 => c_uint))
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

/// A GPU may perform the operations before the one that is refused, and may find a wrong address only later.
#[test]
fn a_batch_that_is_refused_does_nothing() {
    let driver = Driver::new();
    let (memory, stream) = (driver.allocate(8).unwrap(), driver.stream(0));
    driver.fill(memory, 0, 8);
    // A write of 32 bits, and a wait with a condition that does not exist.
    let operations = [[2, memory, 5, 0, 0, 0], [1, memory, 1, 9, 0, 0]];
    let refused = cu!(cuStreamBatchMemOp_v2(
        stream => Handle, 2 => c_uint, operations.as_ptr() => *const [u64; 6], 0 => c_uint,
    ));
    assert_eq!(refused, Err(INVALID_VALUE));
    assert_eq!(wait(stream, memory + 8, 0, EQ), Err(INVALID_VALUE));
    assert_eq!(driver.read(memory, 8), [0; 8]);
}

/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER` "is not supported in the v2 API" (CUDA driver API, `CUstreamWriteValue_flags`).
#[test]
fn the_second_version_of_a_write_has_no_flags() {
    let driver = Driver::new();
    let word = driver.allocate(8).expect("fits");
    for flags in [0_u32, 1, 2] {
        let expected = |supported: bool| supported.then_some(()).ok_or(INVALID_VALUE);
        let first = [
            cu!(cuStreamWriteValue32(0 => Handle, word => Address, 1 => u32, flags => c_uint)),
            cu!(cuStreamWriteValue64(0 => Handle, word => Address, 1 => u64, flags => c_uint)),
        ];
        assert_eq!(first, [expected(flags < 2); 2], "{flags}");
        let second = [
            cu!(cuStreamWriteValue32_v2(0 => Handle, word => Address, 1 => u32, flags => c_uint)),
            cu!(cuStreamWriteValue64_v2(0 => Handle, word => Address, 1 => u64, flags => c_uint)),
        ];
        assert_eq!(second, [expected(flags == 0); 2], "{flags}");
    }
}
