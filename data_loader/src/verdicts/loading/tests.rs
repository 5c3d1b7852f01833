//! The predicted idle time, and the copies that block, where they are known.

use super::claims::blocking;
use super::{Feed, Loading};
use examples_host::intervals::{Engine, HostCall, HostSpan, Interval, Recording, Source, Span};
use std::time::Duration;

fn loading(load: u64, copy: u64, kernel: u64, batches: usize) -> Loading {
    let us = Duration::from_micros;
    Loading {
        loads: vec![us(load); batches],
        hand_over: Duration::ZERO,
        copy: us(copy),
        kernel: us(kernel),
    }
}

/// The idle share when a batch takes `period` and its kernel `kernel`.
fn of_period(found: f64, kernel: f64, period: f64) -> bool {
    (found - (1.0 - kernel / period)).abs() < 0.01
}

/// A copy in of a thread, from 0 to 10 µs on the device, whose call returns when `blocks` says.
fn copied(recording: &mut Recording, thread: &str, blocks: bool) {
    let interval = recording.intervals.len();
    recording.intervals.push(Interval {
        device: 0,
        engine: Engine::HostToDevice,
        name: "copy in".to_owned(),
        stream: "copy".to_owned(),
        span: Span { start: 0, end: 10_000 },
        bytes: 4,
    });
    recording.calls.push(HostCall {
        name: "cuMemcpyHtoDAsync".to_owned(),
        thread: thread.to_owned(),
        span: HostSpan { start: 0, end: if blocks { 10_001 } else { 1 } },
        stream: None,
        interval: Some(interval),
    });
}

#[test]
fn a_copy_blocks_if_its_call_returns_behind_it_but_for_the_first_of_a_thread() {
    let mut recording = Recording {
        source: Source::SoftwareGpu,
        intervals: Vec::new(),
        dependencies: Vec::new(),
        ranges: Vec::new(),
        calls: Vec::new(),
        findings: Vec::new(),
    };
    for thread in ["host thread 0", "host thread 1"] {
        copied(&mut recording, thread, true);
        copied(&mut recording, thread, false);
        copied(&mut recording, thread, false);
    }
    assert_eq!(blocking(&recording), 0.0);
    copied(&mut recording, "host thread 0", true);
    assert_eq!(blocking(&recording), 0.2);
}

#[test]
fn a_batch_takes_the_longest_of_device_link_threads_and_ring() {
    let idle = |loading: &Loading, threads, depth| loading.idle(Feed { threads, depth });
    let even = loading(90, 60, 100, 400);
    assert!(of_period(idle(&even, 1, 0), 100.0, 250.0));
    assert!(of_period(idle(&even, 1, 1), 100.0, 125.0));
    assert!(of_period(idle(&even, 1, 2), 100.0, 100.0));
    let slow = loading(300, 20, 100, 400);
    assert!(of_period(slow.bound(1), 100.0, 300.0));
    assert!(of_period(slow.bound(2), 100.0, 150.0));
    assert!(of_period(slow.bound(4), 100.0, 100.0));
    assert!(of_period(idle(&slow, 2, 0), 100.0, 210.0));
    // A hand-over belongs to the ring's way, not to the thread's load.
    let handed = |loading: Loading| Loading { hand_over: Duration::from_micros(50), ..loading };
    assert!(of_period(idle(&handed(even), 1, 1), 100.0, 150.0));
    assert!(of_period(idle(&handed(slow), 1, 4), 100.0, 300.0));
}

#[test]
fn threads_begin_one_after_the_other_within_one_load() {
    let feed = |threads| Feed { threads, depth: 1 };
    let begins = |threads, thread| feed(threads).begin(thread, Duration::from_micros(400));
    let of_four = [0, 1, 2, 3].map(|thread| begins(4, thread).as_micros());
    assert_eq!(of_four, [0, 100, 200, 300]);
    assert_eq!(begins(1, 0), Duration::ZERO);
}

#[test]
fn a_deep_ring_evens_out_what_varies() {
    let mut loads = loading(30, 10, 100, 400);
    let long = loads.loads.iter_mut().skip(3).step_by(4);
    long.for_each(|load| *load = Duration::from_micros(270));
    let idle = |depth| loads.idle(Feed { threads: 1, depth });
    assert!(
        idle(1) > idle(2) + 0.05 && idle(2) > idle(4) + 0.05,
        "{} {} {}",
        idle(1),
        idle(2),
        idle(4)
    );
    assert!(idle(4) < 0.01);
}
