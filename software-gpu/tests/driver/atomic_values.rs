//! Streams and threads that wait for what kernels count or flag by atomic operations: they continue when the kernel has ended, and
//! find what it has stored.

use std::ffi::c_uint;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::{host, reports};

const GEQ: c_uint = 0;
const EQ: c_uint = 1;
const AND: c_uint = 2;
const LONG: u32 = 100_000;

const ADD: &str = "red.release.sys.global.add.u32 [%flag], %by;";
const ADD_AND_FETCH: &str = "atom.acq_rel.sys.global.add.u32 %old, [%flag], %by;";
const ADD_WIDE: &str = "cvt.u64.u32 %wide, %by; red.release.sys.global.add.u64 [%flag], %wide;";
const OR: &str = "red.release.sys.global.or.b32 [%flag], %by;";
const AND_NOT: &str = "not.b32 %by, %by; red.release.sys.global.and.b32 [%flag], %by;";
const MAXIMUM: &str = "red.release.sys.global.max.u32 [%flag], %by;";
const EXCHANGE: &str = "atom.release.sys.global.exch.b32 %old, [%flag], %by;";
const COMPARE: &str = "atom.release.sys.global.cas.b32 %old, [%flag], 0, %by;";

/// A kernel that stores 1, says so by the operation, and computes for a while. It leaves behind what the operation returns.
fn publishing(operation: &str) -> String {
    format!(
        ".version 6.0\n.target sm_70\n.address_size 64
.visible .entry publish(.param .u64 data, .param .u64 flag, .param .u32 by, .param .u32 rounds)
{{
.reg .b64 %data, %flag, %wide; .reg .b32 %by, %old, %left, %one; .reg .pred %more;
ld.param.u64 %data, [data]; ld.param.u64 %flag, [flag]; ld.param.u32 %by, [by]; ld.param.u32 %left, [rounds];
mov.u32 %one, 1; mov.u32 %old, 0;
st.global.u32 [%data], %one;
membar.sys;
{operation}
st.global.u32 [%data+4], %old;
AGAIN: sub.u32 %left, %left, 1; setp.ne.u32 %more, %left, 0; @%more bra AGAIN;
ret;
}}"
    )
}

/// Three streams: two for kernels, which publish a buffer of 8 bytes each, and one that waits and copies both away.
struct ThreeStreams {
    driver: Driver,
    kernels: [Handle; 2],
    waiting: Handle,
    publish: Handle,
    data: [Address; 2],
    seen: [Pinned; 2],
}

impl ThreeStreams {
    fn new(operation: &str) -> Self {
        let driver = Driver::new();
        let data = [(); 2].map(|()| driver.allocate(8).unwrap());
        data.iter().for_each(|data| driver.fill(*data, 0, 8));
        let seen = [(); 2].map(|()| driver.pinned(8));
        seen.iter().for_each(|seen| seen.fill(0));
        Self {
            kernels: [(); 2].map(|()| driver.stream(NON_BLOCKING)),
            waiting: driver.stream(NON_BLOCKING),
            publish: driver.kernel(&publishing(operation), "publish"),
            data,
            seen,
            driver,
        }
    }

    /// A flag in device memory, and one in page-locked memory. Both are 0.
    fn flags(&self) -> (Address, Pinned) {
        let (of_device, of_host) = (self.driver.allocate(8).unwrap(), self.driver.pinned(8));
        self.driver.fill(of_device, 0, 8);
        of_host.fill(0);
        (of_device, of_host)
    }

    fn launch(&self, index: usize, flag: Address, by: u32, rounds: u32) {
        let arguments: [&dyn LaunchArgument; 4] = [&self.data[index], &flag, &by, &rounds];
        let stream = self.kernels[index];
        self.driver
            .launch(self.publish, 1, 1, stream, &arguments)
            .unwrap();
    }

    fn wait(&self, flag: Address, value: u32, condition: c_uint) {
        cu!(cuStreamWaitValue32_v2(
            self.waiting => Handle, flag => Address, value => u32, condition => c_uint,
        ))
        .unwrap();
    }

    fn copy(&self, index: usize) {
        let (to, from) = (self.seen[index].pointer(), self.data[index]);
        self.driver.to_host(to, from, 8, self.waiting).unwrap();
    }

    /// Long enough for a short kernel to end, without a wait for it.
    fn let_time_pass(&self) {
        for _ in 0..100 {
            let _ = self.driver.stream_query(self.waiting);
        }
    }

    /// How many mistakes are reported of the program.
    fn mistakes(&self, program: impl FnOnce()) -> usize {
        let ((), found) = reports::collect(|| {
            program();
            self.driver.synchronize().unwrap();
        });
        found.iter().for_each(|report| println!("{report:#?}"));
        found.len()
    }

    /// What the waiting stream has found of both buffers.
    fn found(&self) -> [u8; 2] {
        [0, 1].map(|index| self.seen[index].byte(0))
    }
}

/// Waits given before the kernel and while it runs, in device memory and in page-locked memory.
#[test]
fn a_wait_for_an_atomic_result_comes_after_the_kernels_stores() {
    for operation in [ADD, ADD_AND_FETCH, ADD_WIDE, OR, MAXIMUM, EXCHANGE, COMPARE] {
        for (of_host, early) in [(false, true), (false, false), (true, true), (true, false)] {
            let world = ThreeStreams::new(operation);
            let (device_flag, host_flag) = world.flags();
            let flag = match of_host {
                true => host_flag.pointer() as Address,
                false => device_flag,
            };
            let mistakes = world.mistakes(|| {
                if early {
                    world.wait(flag, 1, GEQ);
                    world.copy(0);
                }
                world.launch(0, flag, 1, LONG);
                while !early && world.driver.stream_query(world.waiting) != Err(NOT_READY) {
                    world.wait(flag, 1, GEQ);
                    world.copy(0);
                }
            });
            let case = format!("{operation} of_host {of_host} early {early}");
            assert_eq!((world.found()[0], mistakes), (1, 0), "{case}");
        }
    }
}

#[test]
fn a_wait_for_a_counter_comes_after_all_that_have_counted() {
    for operation in [ADD, ADD_AND_FETCH, ADD_WIDE, OR] {
        for rounds in [[1, 1], [LONG, 1], [1, LONG]] {
            let world = ThreeStreams::new(operation);
            let (flag, _of_host) = world.flags();
            let mistakes = world.mistakes(|| {
                world.wait(flag, 3, GEQ);
                world.copy(0);
                world.copy(1);
                world.launch(0, flag, 1, rounds[0]);
                world.launch(1, flag, 2, rounds[1]);
            });
            let case = format!("{operation} {rounds:?}");
            assert_eq!((world.found(), mistakes), ([1, 1], 0), "{case}");
        }
    }
}

/// The counter has been watched, and both kernels are over, when the stream is given the wait.
#[test]
fn a_late_wait_for_a_counter_comes_after_all_that_have_counted() {
    let world = ThreeStreams::new(ADD);
    let (flag, _of_host) = world.flags();
    let mistakes = world.mistakes(|| {
        world.wait(flag, 0, GEQ);
        world.launch(0, flag, 1, 1);
        world.launch(1, flag, 1, 1);
        world.let_time_pass();
        world.wait(flag, 2, GEQ);
        world.copy(0);
        world.copy(1);
    });
    assert_eq!((world.found(), mistakes), ([1, 1], 0));
}

#[test]
fn a_copy_that_does_not_wait_for_the_counter_is_reported() {
    let world = ThreeStreams::new(ADD);
    let (flag, _of_host) = world.flags();
    let mistakes = world.mistakes(|| {
        world.launch(0, flag, 1, 1);
        world.copy(0);
    });
    assert_eq!(mistakes, 1);
}

/// One of the kernels has counted: the other one may still be under way.
#[test]
fn a_wait_for_a_part_of_the_count_does_not_come_after_the_rest() {
    let world = ThreeStreams::new(ADD);
    let (flag, _of_host) = world.flags();
    let mistakes = world.mistakes(|| {
        world.wait(flag, 1, GEQ);
        world.copy(1);
        world.launch(0, flag, 1, 1);
        world.launch(1, flag, 1, LONG);
    });
    assert_eq!((world.found()[1], mistakes), (0, 1));
    let late = world.mistakes(|| {
        world.wait(flag, 1, GEQ);
        world.copy(1);
    });
    assert_eq!(
        (world.found()[1], late),
        (1, 0),
        "the host has waited for both"
    );
}

/// Increments before a new write of the value do not belong to the new count.
#[test]
fn a_counter_that_was_written_anew_begins_again() {
    let world = ThreeStreams::new(ADD);
    let (flag, _of_host) = world.flags();
    let mistakes = world.mistakes(|| {
        world.wait(flag, 0, GEQ);
        world.launch(0, flag, 1, 1);
        world.let_time_pass();
        cu!(cuStreamWriteValue32_v2(
            world.kernels[1] => Handle, flag => Address, 10_u32 => u32, 0 => c_uint,
        ))
        .unwrap();
        world.launch(1, flag, 1, 1);
        world.wait(flag, 11, GEQ);
        world.copy(1);
        world.copy(0);
    });
    assert_eq!(mistakes, 1, "nothing orders the first kernel");
}

/// Counters and bits of kernels that run at the same time: each is there at its own kernel's end.
#[test]
fn a_short_kernel_counts_before_a_long_one_has_ended() {
    for (operation, by, value, condition) in [
        (ADD, [1, 2], 2, EQ),
        (ADD_WIDE, [5, 7], 7, EQ),
        (OR, [1, 2], 2, AND),
    ] {
        let world = ThreeStreams::new(operation);
        let (device_flag, host_flag) = world.flags();
        for flag in [device_flag, host_flag.pointer() as Address] {
            let mistakes = world.mistakes(|| {
                world.launch(0, flag, by[0], LONG);
                world.launch(1, flag, by[1], 1);
                world.wait(flag, value, condition);
                world.copy(1);
                world.driver.stream_synchronize(world.waiting).unwrap();
                let query = world.driver.stream_query(world.kernels[0]);
                assert_eq!(query, Err(NOT_READY), "{operation}");
            });
            assert_eq!((world.found()[1], mistakes), (1, 0), "{operation}");
            assert_eq!(word(&world.driver.read(flag, 4)), by[0] + by[1]);
        }
    }
}

/// The maximum of both kernels' values may equal that of one: it is complete with the later kernel.
#[test]
fn other_operations_of_kernels_that_overlap_count_when_the_later_one_has_ended() {
    let world = ThreeStreams::new(MAXIMUM);
    let (flag, _of_host) = world.flags();
    let mistakes = world.mistakes(|| {
        world.wait(flag, 5, GEQ);
        world.copy(1);
        world.launch(0, flag, 4, LONG);
        world.launch(1, flag, 5, 1);
        world.driver.stream_synchronize(world.waiting).unwrap();
        let query = world.driver.stream_query(world.kernels[0]);
        assert_eq!(query, Err(NOT_READY), "the wait is over before the kernel");
    });
    assert_eq!((world.found(), mistakes), ([0, 1], 0));
}

/// Three kernels with any operations on one word of page-locked memory. What the host sees after a kernel has ended is what some of them,
/// those that have ended among them, make of the word in some order.
#[test]
fn the_host_never_sees_what_no_order_of_the_kernels_leaves() {
    type AtomicFunction = fn(u32, u32) -> u32;
    let operations: [(&str, AtomicFunction); 6] = [
        (ADD, |old, by| old + by),
        (OR, |old, by| old | by),
        (AND_NOT, |old, by| old & !by),
        (MAXIMUM, u32::max),
        (EXCHANGE, |_, by| by),
        (COMPARE, |old, by| if old == 0 { by } else { old }),
    ];
    let driver = Driver::new();
    let publish = operations.map(|(operation, _)| driver.kernel(&publishing(operation), "publish"));
    let streams = [(); 3].map(|()| driver.stream(NON_BLOCKING));
    let data = [(); 3].map(|()| driver.allocate(8).unwrap());
    let mut random = fastrand::Rng::with_seed(8);
    for program in 0..300 {
        let flag = driver.pinned(8);
        flag.fill(0);
        let address = flag.pointer() as Address;
        let kernels = [(); 3].map(|()| {
            let rounds = [1, 3000, LONG][random.usize(..3)];
            (random.usize(..6), random.u32(1..8), rounds)
        });
        for (at, (operation, by, rounds)) in kernels.iter().enumerate() {
            let arguments: [&dyn LaunchArgument; 4] = [&data[at], &address, by, rounds];
            driver
                .launch(publish[*operation], 1, 1, streams[at], &arguments)
                .unwrap();
        }
        let runs = |at: &usize| driver.stream_query(streams[*at]) == Err(NOT_READY);
        while (0..3).any(|at| runs(&at)) {
            let ended: Vec<usize> = (0..3).filter(|at| !runs(at)).collect();
            let seen = word(&flag.bytes());
            let orders = [
                [0, 1, 2],
                [0, 2, 1],
                [1, 0, 2],
                [1, 2, 0],
                [2, 0, 1],
                [2, 1, 0],
            ];
            let sets = (0..8).filter(|set| ended.iter().all(|at| set >> at & 1 == 1));
            let mut left = sets.flat_map(|set| {
                orders.map(|order| {
                    let taken = order.into_iter().filter(|at| set >> at & 1 == 1);
                    taken.fold(0, |old, at| operations[kernels[at].0].1(old, kernels[at].1))
                })
            });
            assert!(
                left.any(|value| value == seen),
                "program {program}: {kernels:?}, of which {ended:?} have ended: {seen}"
            );
        }
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_ne_bytes(bytes[..4].try_into().unwrap())
}

/// Kernels that run at the same time draw different numbers, wherever the counter is and whatever the host looks at meanwhile.
#[test]
fn kernels_that_overlap_share_their_counters() {
    let world = ThreeStreams::new(ADD_AND_FETCH);
    let (device_flag, host_flag) = world.flags();
    for flag in [device_flag, host_flag.pointer() as Address] {
        world.launch(0, flag, 1, LONG);
        world.let_time_pass();
        world.launch(1, flag, 1, LONG);
        assert_eq!(world.driver.stream_query(world.kernels[0]), Err(NOT_READY));
        world.driver.synchronize().unwrap();
        let drawn = world.data.map(|data| world.driver.read(data, 8)[4]);
        assert_eq!((drawn, word(&world.driver.read(flag, 4))), ([0, 1], 2));
    }
}

/// A stream writes the value while a kernel that has counted runs: the write replaces the count.
#[test]
fn a_value_that_is_written_over_a_count_stays() {
    let world = ThreeStreams::new(ADD);
    let (flag, _of_host) = world.flags();
    let mistakes = world.mistakes(|| {
        world.launch(0, flag, 1, LONG);
        cu!(cuStreamWriteValue32_v2(
            world.kernels[1] => Handle, flag => Address, 7_u32 => u32, 0 => c_uint,
        ))
        .unwrap();
        world.wait(flag, 7, EQ);
        world.driver.stream_synchronize(world.waiting).unwrap();
        let query = world.driver.stream_query(world.kernels[0]);
        assert_eq!(query, Err(NOT_READY), "the wait is over before the kernel");
    });
    assert_eq!((word(&world.driver.read(flag, 4)), mistakes), (7, 0));
}

/// A thread polls a flag in mapped memory, and finds it set when the kernel has ended.
#[test]
fn a_thread_that_polls_an_atomic_result_comes_after_the_kernels_stores() {
    for operation in [ADD, OR, EXCHANGE] {
        let world = ThreeStreams::new(operation);
        let (_of_device, flag) = world.flags();
        let mapped = world.driver.pinned(8);
        mapped.fill(0);
        let mistakes = world.mistakes(|| {
            let to = mapped.pointer() as Address;
            let arguments: [&dyn LaunchArgument; 4] =
                [&to, &(flag.pointer() as Address), &1_u32, &LONG];
            let stream = world.kernels[0];
            world
                .driver
                .launch(world.publish, 1, 1, stream, &arguments)
                .unwrap();
            while flag.byte(0) == 0 {
                world.driver.stream_query(world.waiting).unwrap();
            }
            host::acquires(flag.pointer(), 4);
            host::reads(mapped.pointer(), 4);
            assert_eq!(mapped.byte(0), 1, "{operation}");
        });
        assert_eq!(mistakes, 0, "{operation}");
    }
}

/// The host adds to a counter while a kernel runs that has added to it.
#[test]
fn the_host_counts_too() {
    for (operation, host_adds) in [(ADD, 8), (OR, 8)] {
        let world = ThreeStreams::new(operation);
        let (_of_device, flag) = world.flags();
        world.launch(0, flag.pointer() as Address, 1, LONG);
        world.let_time_pass();
        world.launch(1, flag.pointer() as Address, 2, LONG);
        assert_eq!(world.driver.stream_query(world.kernels[0]), Err(NOT_READY));
        // SAFETY: the page-locked memory is that long, and kernels change it by atomic operations only.
        let counter = unsafe { AtomicU32::from_ptr(flag.pointer().cast()) };
        let found = counter.fetch_add(host_adds, Ordering::Relaxed);
        assert_eq!(found, 0, "no kernel has ended");
        world.driver.stream_synchronize(world.kernels[0]).unwrap();
        assert_eq!(counter.load(Ordering::Relaxed) & 1, 1);
        world.driver.synchronize().unwrap();
        assert_eq!(counter.load(Ordering::Relaxed), 11, "{operation}");
    }
}

/// The host writes a flag that a kernel has set which still runs: its value remains, independent of other kernels.
#[test]
fn a_flag_that_the_host_writes_stays() {
    let world = ThreeStreams::new(EXCHANGE);
    let (other_flag, flag) = world.flags();
    world.launch(0, flag.pointer() as Address, 1, LONG);
    world.let_time_pass();
    assert_eq!(flag.byte(0), 0, "the kernel has not ended");
    flag.fill(5);
    world.launch(1, other_flag, 1, LONG);
    world.let_time_pass();
    assert_eq!(world.driver.stream_query(world.kernels[0]), Err(NOT_READY));
    assert_eq!(flag.byte(0), 5);
    world.driver.synchronize().unwrap();
    assert_eq!(flag.byte(0), 5);
}
