//! What host functions and waking up cost: the caller, the stream, and the thread that waits.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Mutex;
use std::time::Duration;

use crate::driver_support::*;
use software_gpu::driver::entry_point;
use software_gpu::host;
use software_gpu::timeline::Profile;

/// When each host function began and ended, in µs.
static CALLS: Mutex<Vec<(f64, f64)>> = Mutex::new(Vec::new());

const WORK: Duration = Duration::from_micros(50);

fn now() -> f64 {
    host::now().as_secs_f64() * 1e6
}

unsafe extern "C" fn note(_: *mut c_void) {
    let begun = now();
    host::work(WORK);
    CALLS.lock().unwrap().push((begun, now()));
}

fn calls() -> Vec<(f64, f64)> {
    std::mem::take(&mut CALLS.lock().unwrap())
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.01
}

#[test]
fn a_host_function_costs_its_caller_and_its_stream() {
    let driver = Driver::new();
    let Profile { host, handover, .. } = Profile::h200();
    let stream = driver.stream(NON_BLOCKING);
    let before = now();
    for _ in 0..2 {
        driver
            .host_function(stream, note, std::ptr::null_mut())
            .expect("cuLaunchHostFunc");
    }
    let spent = now() - before;
    driver
        .stream_synchronize(stream)
        .expect("cuStreamSynchronize");
    let calls = calls();
    let [(first, first_end), (second, _)] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert!(near(spent, 2.0 * host.host_function_us.value), "{spent}");
    assert!(near(first_end - first, 50.0), "{calls:?}");
    let between = second - first_end;
    assert!(
        near(between, handover.from_host_function_us.value),
        "{between}"
    );
}

#[test]
fn a_host_function_comes_after_the_work_before_it() {
    let driver = Driver::new();
    let Profile { handover, .. } = Profile::h200();
    let [start, end] = [driver.event(), driver.event()];
    let stream = driver.stream(NON_BLOCKING);
    driver.record(start, stream).expect("cuEventRecord");
    driver
        .host_function(stream, note, std::ptr::null_mut())
        .expect("cuLaunchHostFunc");
    driver.record(end, stream).expect("cuEventRecord");
    driver
        .stream_synchronize(stream)
        .expect("cuStreamSynchronize");
    assert_eq!(calls().len(), 1);
    let elapsed = f64::from(driver.elapsed(start, end).expect("both reached")) * 1e3;
    let hand_over = handover.to_host_function_us.value + handover.from_host_function_us.value;
    // The first record holds the stream up.
    let expected = handover.timestamp_us.value + hand_over + 50.0;
    assert!(near(elapsed, expected), "{elapsed} {expected}");
}

/// A context whose threads sleep while they wait takes longer to wake them.
#[test]
fn a_thread_wakes_up_after_what_it_has_waited_for() {
    const BLOCKING_SYNC: c_uint = 4;
    let driver = Driver::new();
    let figures = Profile::h200().host;
    for (flags, wake_up) in [
        (0, figures.wake_up_us),
        (BLOCKING_SYNC, figures.blocking_wake_up_us),
    ] {
        let mut context = 0;
        cu!(cuCtxCreate_v2(&mut context => *mut Handle, flags => c_uint, 0 => c_int))
            .expect("cuCtxCreate");
        let stream = driver.stream(NON_BLOCKING);
        driver
            .host_function(stream, note, std::ptr::null_mut())
            .expect("cuLaunchHostFunc");
        driver
            .stream_synchronize(stream)
            .expect("cuStreamSynchronize");
        let awake = now();
        let (_, end) = calls()[0];
        assert!(
            near(awake - end, wake_up.value),
            "{awake} {end}, flags {flags}"
        );
        cu!(cuCtxDestroy_v2(context => Handle)).expect("cuCtxDestroy");
    }
}
