//! Every built-in profile as a device: what it says of itself, and a kernel that runs on it. A process models one
//! device, so each profile has a process of its own.

use std::ffi::{c_char, c_int, c_uint};

use crate::driver_support::*;
use software_gpu::driver::{entry_point, profile};
use software_gpu::timeline::Profile;

const EXAMPLES: &str = include_str!("../../../gpu-kernels/ptx/sm_70.ptx");
const VARIABLE: &str = "SOFTWARE_GPU";

fn attribute(number: c_int) -> i32 {
    let mut value = 0;
    cu!(cuDeviceGetAttribute(&mut value => *mut c_int, number => c_int, 0 => c_int))
        .expect("every attribute has a value");
    value
}

fn name() -> String {
    let mut name = [0u8; 64];
    cu!(cuDeviceGetName(name.as_mut_ptr().cast() => *mut c_char, 64 => c_int, 0 => c_int))
        .expect("cuDeviceGetName");
    let end = name.iter().position(|byte| *byte == 0).expect("ends");
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[test]
fn a_kernel_runs_on_every_profile() {
    if child::is_this() {
        return a_kernel_runs_on_this_profile();
    }
    for gpu in Profile::NAMES {
        let test = "a_kernel_runs_on_every_profile";
        child::passes(module_path!(), test, &[(VARIABLE, gpu)]);
    }
}

fn a_kernel_runs_on_this_profile() {
    let asked = std::env::var(VARIABLE).expect("set");
    let driver = Driver::new();
    let expected = Profile::named(&asked).expect("built in").expect("valid");
    assert_eq!(name(), expected.device.name);
    assert_eq!(attribute(16), expected.device.multiprocessor_count as i32);
    assert_eq!(
        attribute(75),
        expected.device.compute_capability_major as i32
    );
    assert!((1..=147).map(attribute).all(|value| value >= -1));

    const ELEMENTS: usize = 1 << 16;
    let affine = driver.kernel(EXAMPLES, "affine");
    let data = driver.allocate(ELEMENTS * 4).expect("fits");
    driver.fill(data, 0, ELEMENTS * 4);
    let (stream, start, end) = (driver.stream(NON_BLOCKING), driver.event(), driver.event());
    let arguments: [&dyn LaunchArgument; 4] = [&data, &(ELEMENTS as u64), &2.0_f32, &0.5_f32];
    driver.record(start, stream).expect("cuEventRecord");
    driver
        .launch(affine, ELEMENTS as u32 / 256, 256, stream, &arguments)
        .expect("cuLaunchKernel");
    driver.record(end, stream).expect("cuEventRecord");
    driver
        .stream_synchronize(stream)
        .expect("cuStreamSynchronize");
    let wrong = driver
        .read(data, ELEMENTS * 4)
        .chunks_exact(4)
        .filter(|bytes| **bytes != 0.5_f32.to_ne_bytes())
        .count();
    assert_eq!(wrong, 0);
    let elapsed = driver.elapsed(start, end).expect("cuEventElapsedTime");
    assert!((0.001..0.1).contains(&elapsed), "{elapsed} ms");
}

#[test]
fn an_unknown_profile_is_refused_and_the_known_ones_are_listed() {
    if child::is_this() {
        for _ in 0..2 {
            assert_eq!(cu!(cuInit(0 => c_uint)), Err(INVALID_VALUE));
        }
        assert!(profile().is_err());
        return;
    }
    let test = "an_unknown_profile_is_refused_and_the_known_ones_are_listed";
    let output = child::passes(module_path!(), test, &[(VARIABLE, &"abacus")]);
    let said = String::from_utf8_lossy(&output.stderr);
    let sentence = "software GPU: SOFTWARE_GPU: unknown profile \"abacus\": use h200, b200, h100";
    assert!(said.contains(sentence), "{said}");
}
