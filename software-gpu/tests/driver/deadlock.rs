//! Programs that wait for themselves, and those that only take their time.

use crate::driver_support::*;
use software_gpu::driver::entry_point;

use std::ffi::c_void;
use std::sync::Mutex;
use std::time::Duration;

static LOCK: Mutex<()> = Mutex::new(());

extern "C" fn takes_the_lock(_: *mut c_void) {
    drop(LOCK.lock());
}

extern "C" fn sleeps(_: *mut c_void) {
    std::thread::sleep(Duration::from_millis(2600));
}

#[test]
fn a_free_that_waits_for_a_function_that_waits_for_the_callers_lock_is_reported() {
    if !cfg!(target_os = "linux") {
        return;
    }
    if !child::is_this() {
        let test = "a_free_that_waits_for_a_function_that_waits_for_the_callers_lock_is_reported";
        let said = child::says(module_path!(), test, "Release the lock before the call");
        for words in [
            "software GPU: deadlock: nothing has happened for ",
            " waits in cuMemFree for the host function in stream ",
            "the host function in stream ",
            "runs, and waits for the lock or condition at 0x",
        ] {
            assert!(said.contains(words), "`{words}` is missing: {said}");
        }
        assert_eq!(said.matches("software GPU: deadlock").count(), 1, "{said}");
        return;
    }
    let driver = Driver::new();
    let memory = driver.allocate(64).expect("fits");
    let stream = driver.stream(NON_BLOCKING);
    driver
        .host_function(stream, takes_the_lock, std::ptr::null_mut())
        .expect("is enqueued");
    let _held = LOCK.lock().expect("no other thread has it");
    let _ = cu!(cuMemFree_v2(memory => Address));
}

#[test]
fn a_function_that_sleeps_is_no_deadlock() {
    if !child::is_this() {
        let test = "a_function_that_sleeps_is_no_deadlock";
        let output = child::passes(module_path!(), test, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("software GPU: deadlock"), "{said}");
        return;
    }
    let driver = Driver::new();
    let stream = driver.stream(NON_BLOCKING);
    driver
        .host_function(stream, sleeps, std::ptr::null_mut())
        .expect("is enqueued");
    driver.synchronize().expect("it returns");
}
