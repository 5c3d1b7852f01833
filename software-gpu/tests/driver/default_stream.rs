//! The option that refuses calls in a default stream.

use crate::driver_support::*;
use software_gpu::driver::entry_point;

const NOT_PERMITTED: Error = 800;

#[test]
fn calls_in_a_default_stream_fail_when_the_environment_refuses_them() {
    if !child::is_this() {
        let test = "calls_in_a_default_stream_fail_when_the_environment_refuses_them";
        let refuse = ("SOFTWARE_GPU_DEFAULT_STREAM", &"error" as _);
        child::passes(module_path!(), test, &[refuse]);
        return;
    }
    let driver = Driver::new();
    let (memory, stream) = (
        driver.allocate(64).expect("fits"),
        driver.stream(NON_BLOCKING),
    );
    driver.set(memory, 1, 64, stream).expect("a created stream");
    driver.stream_synchronize(stream).expect("a created stream");
    driver.synchronize().expect("no stream");
    for (handle, which) in [(0, "legacy"), (1, "legacy"), (2, "per-thread")] {
        assert_eq!(driver.set(memory, 2, 64, handle), Err(NOT_PERMITTED));
        let said = software_gpu::last_error().expect("a sentence");
        assert!(
            said.contains(&format!("the {which} default stream")),
            "{said}"
        );
    }
    let mut bytes = [0_u8; 64];
    let synchronous =
        cu!(cuMemcpyDtoH_v2(bytes.as_mut_ptr() => *mut u8, memory => u64, 64 => usize));
    assert_eq!(synchronous, Err(NOT_PERMITTED));
    let said = software_gpu::last_error().expect("a sentence");
    assert!(said.contains("call the asynchronous one"), "{said}");
    let pinned = driver.pinned(64);
    driver
        .to_host(pinned.pointer(), memory, 64, stream)
        .expect("a created stream");
    driver.stream_synchronize(stream).expect("a created stream");
    // SAFETY: the copy has ended.
    assert_eq!(unsafe { pinned.pointer().read() }, 1, "nothing else ran");
}

#[test]
fn default_streams_are_allowed_without_the_option() {
    let driver = Driver::new();
    let memory = driver.allocate(64).expect("fits");
    for handle in 0..3 {
        driver.set(memory, 2, 64, handle).expect("allowed");
    }
    driver.synchronize().expect("allowed");
}
