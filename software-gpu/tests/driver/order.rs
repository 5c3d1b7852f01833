//! The driver and its ordering checker agree on happens-before.

use std::ffi::{c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::driver_support::attributes::{attribute, launch_with};
use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::reports::{self, Report};

const LARGE: usize = 16 * MIB;
const GEQ: c_uint = 0;
const EQ: c_uint = 1;

fn wait_value(stream: Handle, address: Address, value: u32, flags: c_uint) {
    cu!(cuStreamWaitValue32_v2(stream => Handle, address => Address, value => u32, flags => c_uint))
        .unwrap();
}

fn write_value(stream: Handle, address: Address, value: u32) {
    cu!(cuStreamWriteValue32_v2(stream => Handle, address => Address, value => u32, 0 => c_uint))
        .unwrap();
}

#[track_caller]
fn assert_silent(found: &[Report]) {
    assert!(found.is_empty(), "{found:#?}");
}

/// The documentation counts cudaStreamWaitEvent among the actions in the legacy stream, which waits for the blocking
/// streams' work, and which that waits for. A wait for an event that was never recorded does nothing.
#[test]
fn a_wait_in_the_legacy_stream_for_a_complete_event_orders_blocking_streams() {
    for recorded in [true, false] {
        let driver = Driver::new();
        let data = driver.allocate(LARGE).unwrap();
        let (a, b, event) = (driver.stream(0), driver.stream(0), driver.event());
        if recorded {
            driver.record(event, a).unwrap();
            driver.event_synchronize(event).unwrap();
        }
        let ((), found) = reports::collect(|| {
            driver.set(data, 7, LARGE, a).unwrap();
            driver.wait(LEGACY, event).unwrap();
            driver.set(data, 8, LARGE, b).unwrap();
            driver.synchronize().unwrap();
        });
        assert_eq!(found.len(), usize::from(!recorded), "{found:#?}");
    }
}

/// Two streams and a flag in device memory.
struct Flag {
    driver: Driver,
    a: Handle,
    b: Handle,
    flag: Address,
    data: Address,
}

impl Flag {
    fn new() -> Self {
        let driver = Driver::new();
        let [flag, data] = [4, 64].map(|bytes| driver.allocate(bytes).unwrap());
        driver.fill(flag, 0, 4);
        driver.fill(data, 0, 64);
        let [a, b] = [0; 2].map(|_| driver.stream(NON_BLOCKING));
        Self {
            driver,
            a,
            b,
            flag,
            data,
        }
    }

    fn set(&self, stream: Handle, value: u8) {
        self.driver.set(self.data, value, 64, stream).unwrap();
    }

    fn found(&self, program: impl FnOnce()) -> Vec<Report> {
        let ((), found) = reports::collect(|| {
            program();
            self.driver.synchronize().unwrap();
        });
        found
    }
}

/// The number of earlier and later writes does not matter.
#[test]
fn a_wait_for_a_value_comes_after_the_first_write_that_satisfies_it() {
    const BITS: c_uint = 2;
    let flag = Flag::new();
    for (writes, awaited, condition, races) in [
        (2, 1, GEQ, 1),
        (2, 2, GEQ, 0),
        (1001, 1, GEQ, 1),
        (1001, 500, GEQ, 1),
        (1001, 501, GEQ, 0),
        (1001, 1 << 9, BITS, 0),
        (1001, 1001, EQ, 0),
    ] {
        flag.driver.fill(flag.flag, 0, 4);
        let found = flag.found(|| {
            let half = writes / 2;
            (1..=half).for_each(|value| write_value(flag.a, flag.flag, value));
            flag.set(flag.a, 1);
            (half + 1..=writes).for_each(|value| write_value(flag.a, flag.flag, value));
            wait_value(flag.b, flag.flag, awaited, condition);
            flag.set(flag.b, 2);
        });
        assert_eq!(found.len(), races, "waiting for {awaited}: {found:#?}");
    }
}

/// The value comes with a memset, a copy, a kernel or a write of values, after the stream was given the wait.
#[test]
fn anything_may_write_the_value_that_is_waited_for() {
    const ONES: u32 = 0x0101_0101;
    for writer in 0..4 {
        let flag = Flag::new();
        let driver = &flag.driver;
        let ones = driver.pinned(4);
        ones.fill(1);
        let store = driver.kernel(include_str!("../driver_support/kernels.ptx"), "store_after");
        let found = flag.found(|| {
            wait_value(flag.b, flag.flag, ONES, EQ);
            flag.set(flag.b, 2);
            flag.set(flag.a, 1);
            match writer {
                0 => driver.set(flag.flag, 1, 4, flag.a).unwrap(),
                1 => driver
                    .to_device(flag.flag, ones.pointer(), 4, flag.a)
                    .unwrap(),
                2 => write_value(flag.a, flag.flag, ONES),
                _ => driver
                    .launch(store, 1, 1, flag.a, &[&flag.flag, &ONES, &10_u32])
                    .unwrap(),
            }
        });
        assert_silent(&found);
        assert_eq!(driver.read(flag.data, 1), [2]);
    }
}

#[test]
fn the_host_may_write_the_value_that_is_waited_for() {
    let flag = Flag::new();
    let mapped = flag.driver.pinned(4);
    mapped.fill(0);
    let found = flag.found(|| {
        wait_value(flag.b, mapped.pointer() as u64, 0x0101_0101, EQ);
        flag.set(flag.b, 2);
        flag.set(flag.a, 1);
        flag.driver.stream_synchronize(flag.a).unwrap();
        mapped.fill(1);
    });
    assert_silent(&found);
    let found = flag.found(|| {
        wait_value(flag.b, mapped.pointer() as u64, 0x0202_0202, EQ);
        flag.set(flag.b, 2);
        flag.set(flag.a, 1);
        mapped.fill(2);
    });
    assert_eq!(found.len(), 1, "the host has not waited: {found:#?}");
}

#[test]
fn the_write_of_a_value_is_an_access() {
    let flag = Flag::new();
    let driver = &flag.driver;
    let seen = driver.pinned(4);
    for other in 0..3 {
        let found = flag.found(|| {
            write_value(flag.a, flag.flag, 1);
            let to = flag.flag;
            match other {
                0 => driver.set(to, 0, 4, flag.b).unwrap(),
                1 => driver.to_host(seen.pointer(), to, 4, flag.b).unwrap(),
                _ => write_value(flag.b, to, 2),
            }
        });
        assert_eq!(found.len(), usize::from(other < 2), "{other}: {found:#?}");
    }
}

#[test]
fn the_write_of_a_value_to_freed_memory_is_found() {
    let flag = Flag::new();
    let mut memory: Address = 0;
    cu!(cuMemAllocAsync(&mut memory => *mut Address, 64 => usize, flag.a => Handle)).unwrap();
    let found = flag.found(|| {
        write_value(flag.b, memory, 1);
        cu!(cuMemFreeAsync(memory => Address, flag.a => Handle)).unwrap();
    });
    assert!(!found.is_empty());
}

const KERNELS: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry plain(.param .u64 out)
{
    .reg .b64 %rd; ld.param.u64 %rd, [out]; st.global.u32 [%rd], 7; ret;
}
.visible .entry one_waits(.param .u64 out)
{
    .reg .b64 %rd; .reg .b32 %t; .reg .pred %p;
    ld.param.u64 %rd, [out]; mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0;
    @%p bra met;
    griddepcontrol.wait;
met:
    bar.sync 0;
    setp.ne.u32 %p, %t, 40;
    @%p bra done;
    st.global.u32 [%rd], 9;
done:
    ret;
}";

/// One thread's wait stands for its block, which meets at a barrier.
#[test]
fn a_programmatic_launch_without_a_wait_in_the_kernel_is_a_race() {
    let flag = Flag::new();
    let [plain, one_waits] = ["plain", "one_waits"].map(|name| flag.driver.kernel(KERNELS, name));
    for (function, races) in [(plain, 1), (one_waits, 0)] {
        let found = flag.found(|| {
            let out: &dyn LaunchArgument = &flag.data;
            flag.driver.launch(plain, 1, 1, flag.a, &[out]).unwrap();
            // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
            let programmatic = [attribute(6, &[1])];
            launch_with(function, [1, 64, 0], flag.a, &programmatic, &[out]).unwrap();
        });
        assert_eq!(found.len(), races, "{found:#?}");
    }
}

struct Signal {
    done: Mutex<bool>,
    changed: Condvar,
}

unsafe extern "C" fn signal(data: *mut c_void) {
    // SAFETY: the test passes a signal that outlives the call.
    let signal = unsafe { &*data.cast::<Signal>() };
    *signal.done.lock().unwrap() = true;
    signal.changed.notify_all();
}

/// No thread calls the driver: the clock advances because all are blocked.
#[test]
fn a_host_function_wakes_a_host_that_waits_outside_of_the_driver() {
    let flag = Flag::new();
    let host = flag.driver.pinned(64);
    let done = Signal {
        done: Mutex::new(false),
        changed: Condvar::new(),
    };
    let found = flag.found(|| {
        flag.set(flag.a, 5);
        flag.driver
            .to_host(host.pointer(), flag.data, 64, flag.a)
            .unwrap();
        let data = (&raw const done).cast_mut().cast();
        flag.driver.host_function(flag.a, signal, data).unwrap();
        let waiting = done.done.lock().unwrap();
        let patience = Duration::from_secs(100);
        let result = done
            .changed
            .wait_timeout_while(waiting, patience, |done| !*done);
        let timed_out = result.unwrap().1.timed_out();
        assert!(!timed_out, "the host function was not called");
        software_gpu::host::reads(host.pointer(), 64);
        // What the function came after, the host comes after, too.
        flag.set(flag.b, 6);
    });
    assert_eq!(host.byte(63), 5);
    assert_silent(&found);
}

/// A loop on a flag in mapped memory ends, although it looks like computation.
#[test]
fn a_flag_in_mapped_memory_comes_to_a_host_that_polls_it() {
    // In a program that declares what its own work costs the loop would continue for a minute.
    if !child::is_this() {
        let test = "a_flag_in_mapped_memory_comes_to_a_host_that_polls_it";
        child::passes(module_path!(), test, &[]);
        return;
    }
    let flag = Flag::new();
    let mapped = flag.driver.pinned(4);
    for round in 1..20_u8 {
        mapped.fill(0);
        write_value(flag.a, mapped.pointer() as u64, round.into());
        let start = Instant::now();
        while mapped.byte(0) != round {
            assert!(start.elapsed() < Duration::from_secs(100), "round {round}");
            std::hint::spin_loop();
        }
    }
    flag.driver.synchronize().unwrap();
}

/// The function and the host hand a buffer over under a lock.
#[test]
fn a_host_function_and_the_host_may_agree_through_a_lock() {
    static FILLED: AtomicBool = AtomicBool::new(false);
    unsafe extern "C" fn fill(data: *mut c_void) {
        software_gpu::host::writes(data.cast(), 64);
        FILLED.store(true, Ordering::SeqCst);
    }
    let flag = Flag::new();
    let host = flag.driver.pinned(64);
    let found = flag.found(|| {
        flag.driver
            .host_function(flag.a, fill, host.pointer().cast())
            .unwrap();
        while !FILLED.load(Ordering::SeqCst) {
            let _ = flag.driver.stream_query(flag.b);
        }
        software_gpu::host::reads(host.pointer(), 64);
        flag.driver
            .to_device(flag.data, host.pointer(), 64, flag.b)
            .unwrap();
    });
    assert_silent(&found);
}

/// At every size: the driver does not promise that such a copy waits, and a synchronous one returns when it is staged.
#[test]
fn copies_of_pageable_memory_order_the_same_at_every_size() {
    let driver = Driver::new();
    let device = driver.allocate(LARGE).unwrap();
    driver.fill(device, 0, LARGE);
    let [a, b] = [0; 2].map(|_| driver.stream(NON_BLOCKING));
    for bytes in [1 << 10, 64 << 10, (64 << 10) + 4, 4 * MIB] {
        let mut memory = vec![1_u8; bytes];
        let host = memory.as_mut_ptr();
        for (way, races) in [1, 1, 1, 0].into_iter().enumerate() {
            let ((), found) = reports::collect(|| {
                match way {
                    0 => driver.to_device(device, host, bytes, a),
                    1 => driver.to_host(host, device, bytes, a),
                    2 => to_device_now(device, host, bytes),
                    _ => cu!(cuMemcpyDtoH_v2(host => *mut u8, device => Address, bytes => usize)),
                }
                .unwrap();
                driver.set(device, 2, bytes, b).unwrap();
                driver.synchronize().unwrap();
            });
            assert_eq!(found.len(), races, "way {way}, {bytes} bytes");
        }
    }
}

fn to_device_now(to: Address, from: *const u8, bytes: usize) -> Result<(), Error> {
    cu!(cuMemcpyHtoD_v2(to => Address, from => *const u8, bytes => usize))
}

/// The stream sync before the copy is a promise, whether or not there was anything to wait for.
#[test]
fn a_synchronous_copy_from_pageable_memory_waits_for_its_stream() {
    let driver = Driver::new();
    let [data, other] = [64, MIB].map(|bytes| driver.allocate(bytes).unwrap());
    let (blocking, free, event) = (
        driver.stream(0),
        driver.stream(NON_BLOCKING),
        driver.event(),
    );
    for bytes in [16, MIB] {
        let host = vec![1_u8; bytes];
        let ((), found) = reports::collect(|| {
            driver.set(data, 1, 64, blocking).unwrap();
            // Calls that do not wait, until the memset is complete.
            for _ in 0..100 {
                driver.event_query(event).unwrap();
            }
            to_device_now(other, host.as_ptr(), bytes).unwrap();
            driver.set(data, 2, 64, free).unwrap();
            driver.synchronize().unwrap();
        });
        assert_silent(&found);
    }
}

/// A module with a kernel that stores to memory, and the kernel.
fn module_with_a_kernel(driver: &Driver) -> (Handle, Handle) {
    const TEXT: &str = ".version 6.0\n.target sm_70\n.address_size 64
        .visible .entry to_memory(.param .u64 out) { .reg .b64 %to; ld.param.u64 %to, [out]; st.global.u32 [%to], 7; ret; }\n";
    let module = driver.module(TEXT).unwrap();
    (module, driver.function(module, "to_memory").unwrap())
}

/// Unloading waits, as drivers do, but no document says so.
#[test]
fn a_module_is_not_unloaded_while_a_kernel_of_it_may_run() {
    let driver = Driver::new();
    let (data, stream) = (driver.allocate(4).unwrap(), driver.stream(1));
    for (waits, expected) in [(false, 1), (true, 0)] {
        let (module, function) = module_with_a_kernel(&driver);
        let ((), found) = reports::collect(|| {
            driver.launch(function, 1, 1, stream, &[&data]).unwrap();
            if waits {
                driver.stream_synchronize(stream).unwrap();
            }
            cu!(cuModuleUnload(module => Handle)).unwrap();
        });
        assert_eq!(found.len(), expected, "{found:#?}");
        let named = |report: &Report| {
            report
                .text
                .contains("while kernel `to_memory` of it may still run")
        };
        assert!(found.iter().all(named), "{found:#?}");
    }
}

#[test]
fn unloading_orders_nothing() {
    let driver = Driver::new();
    let (data, stream) = (driver.allocate(64).unwrap(), driver.stream(1));
    let seen = driver.pinned(64);
    let (module, _) = module_with_a_kernel(&driver);
    let ((), found) = reports::collect(|| {
        driver.set(data, 7, 64, stream).unwrap();
        cu!(cuModuleUnload(module => Handle)).unwrap();
        driver
            .to_host(seen.pointer(), data, 64, driver.stream(1))
            .unwrap();
        driver.synchronize().unwrap();
    });
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].text.starts_with("race: "), "{found:#?}");
}

/// Copies from and to the same pageable bytes, in two streams that nothing orders: an asynchronous copy may be on its way when
/// its call has returned, whatever the driver does here.
#[test]
fn copies_meet_in_pageable_memory() {
    let driver = Driver::new();
    let (one, other) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    for bytes in [64, MIB] {
        let [a, b] = [(); 2].map(|()| driver.allocate(bytes).unwrap());
        driver.fill(a, 1, bytes);
        driver.fill(b, 2, bytes);
        let mut memory = vec![0_u8; bytes];
        let host = memory.as_mut_ptr();
        let copy = |way, device, stream| match way {
            "out" => driver.to_host(host, device, bytes, stream),
            "in" => driver.to_device(device, host, bytes, stream),
            _ => to_device_now(device, host, bytes),
        };
        for (first, waits, second, races) in [
            ("out", false, "out", 1),
            ("out", true, "out", 0),
            ("in", false, "out", 1),
            ("in", false, "in", 0),
            ("in at once", false, "out", 0),
        ] {
            let ((), found) = reports::collect(|| {
                copy(first, a, one).unwrap();
                if waits {
                    driver.stream_synchronize(one).unwrap();
                }
                copy(second, b, other).unwrap();
            });
            driver.synchronize().unwrap();
            assert_eq!(found.len(), races, "{first}, {second}: {bytes} bytes");
        }
    }
}

/// A function runs while the host waits for everything. It does not come after that.
#[test]
fn a_host_function_does_not_come_after_what_the_host_still_waits_for() {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    let driver = Driver::new();
    let (data, other) = (driver.allocate(8).unwrap(), driver.allocate(LARGE).unwrap());
    driver.fill(data, 0, 8);
    let (a, b) = (driver.stream(NON_BLOCKING), driver.stream(NON_BLOCKING));
    let ((), found) = reports::collect(|| {
        driver.set(data, 7, 8, b).unwrap();
        // It takes longer than the calls.
        driver.set(other, 7, LARGE, a).unwrap();
        driver
            .host_function(a, nothing, std::ptr::null_mut())
            .unwrap();
        driver.set(data, 8, 8, a).unwrap();
        driver.synchronize().unwrap();
    });
    assert_eq!(found.len(), 1, "{found:#?}");
}
