//! The modelled host: its clock, its threads, host functions, and the activity log.

use std::sync::Mutex;
use std::time::Duration;

use crate::driver_support::*;
use software_gpu::activity::{self, Kind};
use software_gpu::driver::entry_point;
use software_gpu::host;

const LONG: usize = 4 * MIB;

/// `host::work` advances the clock by exactly its cost, and the device works meanwhile.
#[test]
fn work_and_copies_overlap() {
    let driver = Driver::new();
    let (data, seen, stream) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.stream(NON_BLOCKING),
    );
    driver.fill(data, 3, LONG);
    let start = host::now();
    driver.to_host(seen.pointer(), data, LONG, stream).unwrap();
    let before = host::now();
    host::work(Duration::from_millis(1));
    assert_eq!(host::now() - before, Duration::from_millis(1));
    assert_eq!(seen.byte(LONG - 1), 3);
    driver.stream_synchronize(stream).unwrap();
    assert!(host::now() - start < Duration::from_micros(1020));
}

/// `cuEventQuery` takes virtual time, so that polling ends.
#[test]
fn polling_an_event_ends() {
    let driver = Driver::new();
    let (data, host, stream) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.stream(NON_BLOCKING),
    );
    let event = driver.event();
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    driver.record(event, stream).unwrap();
    let polls = (0..100_000)
        .take_while(|_| driver.event_query(event) == Err(NOT_READY))
        .count();
    assert!((10..10_000).contains(&polls), "{polls} polls");
}

/// Four host threads that copy at their own pace, each on its own stream, and what they and the device saw.
fn race() {
    const THREADS: usize = 4;
    let driver = Driver::new();
    let (data, host) = (
        driver.allocate(THREADS * MIB).unwrap(),
        driver.pinned(THREADS * MIB),
    );
    let (context, start) = (driver.context, host.pointer() as usize);
    activity::start();
    let clocks = host::threads(THREADS, |index| {
        cu!(cuCtxSetCurrent(context => Handle)).unwrap();
        let mut stream = 0;
        cu!(cuStreamCreate(&mut stream => *mut Handle, NON_BLOCKING => u32)).unwrap();
        let offset = index * MIB;
        let round = |round| {
            let (to, from) = (data + offset as u64, (start + offset) as *const u8);
            let bytes = ((index * 7 + round * 3) % 5 + 1) * (100 << 10);
            cu!(cuMemcpyHtoDAsync_v2(to => u64, from => *const u8, bytes => usize, stream => Handle)).unwrap();
            match (index + round) % 3 {
                0 => cu!(cuStreamSynchronize(stream => Handle)).unwrap(),
                1 => host::work(Duration::from_micros(3)),
                _ => {}
            }
            host::now()
        };
        (0..10).map(round).collect::<Vec<_>>()
    });
    driver.synchronize().unwrap();
    println!("RACE {clocks:?} {:?}", activity::take());
}

/// `host::threads`: the order of their calls is that of virtual time, independent of the scheduler.
#[test]
fn host_threads_give_the_same_timeline_in_every_process() {
    if child::is_this() {
        return race();
    }
    let race = || {
        let test = "host_threads_give_the_same_timeline_in_every_process";
        let output = child::passes(module_path!(), test, &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        let start = text.find("RACE").expect("the race has an outcome");
        text[start..].lines().next().map(str::to_owned)
    };
    let first = race();
    for _ in 0..50 {
        assert_eq!(race(), first);
    }
}

/// The caller of `host::threads` continues when the last of them has ended.
#[test]
fn the_caller_waits_for_the_slowest_thread() {
    let _driver = Driver::new();
    let start = host::now();
    let indices = host::threads(3, |index| {
        host::work(Duration::from_micros(10 * (index as u64 + 1)));
        index
    });
    assert_eq!(indices, [0, 1, 2]);
    // The profile's threads take 90 µs to start.
    assert_eq!(host::now() - start, Duration::from_micros(90 + 30));
}

/// A new host thread has no context.
#[test]
fn host_threads_start_without_a_context() {
    let _driver = Driver::new();
    let results = host::threads(2, |_| cu!(cuCtxSynchronize()));
    assert_eq!(results, [Err(INVALID_CONTEXT); 2]);
}

/// Activities: what, where, when, how much.
#[test]
fn activities_tell_what_ran() {
    let driver = Driver::new();
    let (data, host, stream) = (
        driver.allocate(LONG).unwrap(),
        driver.pinned(LONG),
        driver.stream(NON_BLOCKING),
    );
    activity::start();
    driver
        .to_device(data, host.pointer(), LONG, stream)
        .unwrap();
    driver.set(data, 0, 100, 0).unwrap();
    driver.to_host(host.pointer(), data, 200, stream).unwrap();
    driver.synchronize().unwrap();
    let mut log = activity::take();
    log.sort_by_key(|record| record.correlation);
    let what: Vec<_> = log
        .iter()
        .map(|record| (record.kind, record.bytes, record.stream))
        .collect();
    let id = |stream: Handle| {
        let mut id = 0;
        cu!(cuStreamGetId(stream => Handle, &mut id => *mut u64)).unwrap();
        id
    };
    let (stream, legacy) = (id(stream), id(0));
    assert_eq!(
        what,
        [
            (Kind::HostToDevice, LONG as u64, stream),
            (Kind::Set, 100, legacy),
            (Kind::DeviceToHost, 200, stream)
        ]
    );
    assert!(log.iter().all(|record| record.start_ns < record.end_ns));
    assert!(log[0].end_ns <= log[2].start_ns);
    assert_eq!(activity::take(), []);
}

/// Threads of the modelled host may wait for each other outside of the driver.
#[test]
fn modelled_threads_may_wait_for_each_other() {
    let driver = Driver::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let (sender, receiver) = (Mutex::new(sender), Mutex::new(receiver));
    let context = driver.context;
    host::threads(2, |index| {
        driver.set_current(context);
        if index == 0 {
            receiver.lock().unwrap().recv().unwrap();
        } else {
            host::work(Duration::from_millis(1));
            driver.synchronize().unwrap();
            sender.lock().unwrap().send(()).unwrap();
        }
    });
}
