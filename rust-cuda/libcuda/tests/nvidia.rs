//! What happens with NVIDIA's library in its different states, played by a fake one.

#![cfg(target_os = "linux")]

mod common;

use common::isolated;
use cust::sys::{self, cudaError_enum as Code};
use libcuda::{Choice, Driver, SelectError, select, symbols};
use std::env;
use std::ffi::{c_int, c_void};
use std::fs;
use std::mem::transmute;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;

#[test]
fn the_library_is_loaded_by_the_choice_alone() {
    with_fake_driver("the_library_is_loaded_by_the_choice_alone", &[], || {
        let is_loaded = || {
            let mappings = fs::read_to_string("/proc/self/maps").unwrap();
            mappings.contains("libcuda.so.1")
        };
        assert!(!is_loaded());
        select(Choice::Auto).unwrap();
        assert!(is_loaded());
    });
}

#[test]
fn calls_are_forwarded() {
    with_fake_driver("calls_are_forwarded", &[], || {
        let selected = select(Choice::Auto).unwrap();
        assert_eq!(selected.driver, Driver::Nvidia);
        assert_eq!(selected.reason, "libcuda.so.1 of CUDA 13.2, 2 devices");

        let mut count = 0;
        // SAFETY: `count` may be written to.
        let result = unsafe { sys::cuDeviceGetCount(&mut count) };
        assert_eq!((result, count), (Code::CUDA_SUCCESS, 2));
    });
}

#[test]
fn arguments_on_the_stack_arrive() {
    with_fake_driver("arguments_on_the_stack_arrive", &[], || {
        select(Choice::Nvidia).unwrap();
        let address = symbols::entry("cuLaunchKernel").unwrap();
        // SAFETY: the signature is that of the fake driver; pointers are as wide as usize.
        let launch: LaunchKernel = unsafe { transmute(address) };
        // SAFETY: the fake driver only adds its arguments.
        let sum = unsafe { launch(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) };
        let squares = (1..=11).map(|number| number * number).sum::<c_int>();
        assert_eq!(sum, squares);
    });
}

type LaunchKernel =
    unsafe extern "C" fn(usize, u32, u32, u32, u32, u32, u32, u32, usize, usize, usize) -> c_int;

#[test]
fn functions_that_the_driver_lacks_are_not_supported() {
    with_fake_driver(
        "functions_that_the_driver_lacks_are_not_supported",
        &[],
        || {
            select(Choice::Auto).unwrap();
            // SAFETY: neither call has arguments to be wrong about.
            let results = unsafe { [sys::cuCtxSynchronize(), sys::cuProfilerStart()] };
            assert_eq!(results, [Code::CUDA_ERROR_NOT_SUPPORTED; 2]);
            assert_eq!(
                libcuda::unsupported_calls(),
                ["cuCtxSynchronize", "cuProfilerStart"]
            );
            assert!(!symbols::is_supported("cuCtxSynchronize"));
            assert!(symbols::is_supported("cuDeviceGetCount"));
        },
    );
}

#[test]
fn the_driver_s_own_calls_stay_inside_it() {
    with_fake_driver("the_driver_s_own_calls_stay_inside_it", &[], || {
        select(Choice::Auto).unwrap();
        type CuCtxGetId = unsafe extern "C" fn(*mut c_void, *mut u64) -> c_int;
        let address = symbols::entry("cuCtxGetId").unwrap();
        // SAFETY: the signature is that of cuda.h.
        let cu_ctx_get_id: CuCtxGetId = unsafe { transmute(address) };
        let mut reached = 0;
        // SAFETY: `reached` may be written to.
        assert_eq!(unsafe { cu_ctx_get_id(ptr::null_mut(), &mut reached) }, 0);
        let exported = symbols::entry("cuDriverGetVersion").unwrap();
        assert_ne!(reached, exported as usize as u64);
        assert_ne!(reached, 0);
    });
}

#[test]
fn the_first_call_of_a_program_selects_by_the_environment() {
    let test = "the_first_call_of_a_program_selects_by_the_environment";
    let said = with_fake_driver(test, &[("CUDA_DRIVER", "nvidia")], || {
        // SAFETY: no arguments to be wrong about.
        let early = unsafe { sys::cuCtxSynchronize() };
        assert_eq!(early, Code::CUDA_ERROR_NOT_INITIALIZED);
        assert_eq!(libcuda::selected(), None);

        let mut version = 0;
        // SAFETY: `version` may be written to.
        let result = unsafe { sys::cuDriverGetVersion(&mut version) };
        assert_eq!((result, version), (Code::CUDA_SUCCESS, 13020));
        assert_eq!(libcuda::selected().unwrap().driver, Driver::Nvidia);
    });
    assert!(said.is_none_or(|stderr| !stderr.contains("libcuda:")));
}

#[test]
fn auto_falls_back_with_the_reason() {
    let test = "auto_falls_back_with_the_reason";
    with_fake_driver(test, &[("FAKE_CUDA_INIT", "100")], || {
        let selected = select(Choice::Auto).unwrap();
        assert_eq!(selected.driver, Driver::Software);
        assert_eq!(
            selected.reason,
            "NVIDIA's driver: cuInit of libcuda.so.1 gave 100 CUDA_ERROR_NO_DEVICE"
        );
    });
}

#[test]
fn a_driver_without_devices_is_not_taken() {
    let test = "a_driver_without_devices_is_not_taken";
    with_fake_driver(test, &[("FAKE_CUDA_DEVICES", "0")], || {
        let selected = select(Choice::Auto).unwrap();
        assert_eq!(selected.driver, Driver::Software);
        assert_eq!(
            selected.reason,
            "NVIDIA's driver: cuDeviceGetCount of libcuda.so.1 counts no device"
        );
    });
}

#[test]
fn demanding_a_driver_that_fails_is_an_error() {
    let test = "demanding_a_driver_that_fails_is_an_error";
    with_fake_driver(test, &[("FAKE_CUDA_INIT", "999")], || {
        let error = select(Choice::Nvidia).unwrap_err();
        let SelectError::Absent { reason } = error else {
            panic!("{error:?}");
        };
        assert_eq!(reason, "cuInit of libcuda.so.1 gave 999");
        assert_eq!(libcuda::selected(), None);
        assert!(select(Choice::Software).is_ok());
    });
}

#[test]
fn a_program_that_demands_a_failing_driver_gets_its_error() {
    let variables = [("CUDA_DRIVER", "nvidia"), ("FAKE_CUDA_INIT", "100")];
    let test = "a_program_that_demands_a_failing_driver_gets_its_error";
    let said = with_fake_driver(test, &variables, || {
        // SAFETY: cuInit may be called at any time.
        let results = unsafe { [sys::cuInit(0), sys::cuInit(0)] };
        assert_eq!(results, [Code::CUDA_ERROR_NO_DEVICE; 2]);
    });
    if let Some(stderr) = said {
        let sentence = "libcuda: NVIDIA's driver is not available: cuInit of libcuda.so.1 gave 100";
        assert_eq!(stderr.matches(sentence).count(), 1, "{stderr}");
    }
}

#[test]
fn a_broken_library_is_distinguished_from_an_absent_one() {
    let folder = folder("broken");
    fs::write(folder.join("libcuda.so.1"), "not a library").unwrap();
    let variables = [("LD_LIBRARY_PATH", folder.to_str().unwrap())];
    let test = "a_broken_library_is_distinguished_from_an_absent_one";
    isolated(test, &variables, || {
        let reason = &select(Choice::Auto).unwrap().reason;
        assert!(reason.contains("libcuda.so.1 did not load"), "{reason}");
    });
}

/// A library under NVIDIA's name that forwards to this one, as a tracer does, used to wait for itself.
#[test]
fn a_wrapper_that_forwards_here_is_not_taken() {
    let forwards = "the libcuda.so.1 found first forwards to this very library; CUDA_DRIVER_LIBRARY can name NVIDIA's by its path";
    with_wrapper("a_wrapper_that_forwards_here_is_not_taken", || {
        // SAFETY: cuInit may be called at any time.
        assert_eq!(unsafe { sys::cuInit(0) }, Code::CUDA_SUCCESS);
        let selected = libcuda::selected().unwrap();
        assert_eq!(selected.driver, Driver::Software);
        assert_eq!(selected.reason, format!("NVIDIA's driver: {forwards}"));
        let mut count = 0;
        // SAFETY: `count` may be written to.
        let result = unsafe { sys::cuDeviceGetCount(&mut count) };
        assert_eq!((result, count), (Code::CUDA_SUCCESS, 1));
    });
}

#[test]
fn demanding_nvidia_s_driver_through_a_wrapper_is_an_error() {
    with_wrapper(
        "demanding_nvidia_s_driver_through_a_wrapper_is_an_error",
        || {
            let error = select(Choice::Nvidia).unwrap_err().to_string();
            assert!(error.contains("forwards to this very library"), "{error}");
            assert!(select(Choice::Software).is_ok());
        },
    );
}

/// [`isolated`] in a process that finds the wrapper as libcuda.so.1, which forwards to this library.
fn with_wrapper(test: &str, body: impl FnOnce()) {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| build("wrapper"));
    isolated(
        test,
        &[("LD_LIBRARY_PATH", folder.to_str().unwrap())],
        || {
            for (variable, name) in [
                ("WRAPPED_CU_INIT", "cuInit"),
                ("WRAPPED_CU_DEVICE_GET_COUNT", "cuDeviceGetCount"),
            ] {
                let address = symbols::entry(name).unwrap().addr().to_string();
                // SAFETY: the process has one thread that reads the environment: this one.
                unsafe { env::set_var(variable, address) };
            }
            body();
        },
    );
}

/// [`isolated`] in a process that finds the fake driver as libcuda.so.1.
fn with_fake_driver(test: &str, variables: &[(&str, &str)], body: impl FnOnce()) -> Option<String> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| build("fake_driver"));
    let mut variables = variables.to_vec();
    variables.push(("LD_LIBRARY_PATH", folder.to_str().unwrap()));
    isolated(test, &variables, body)
}

/// Compiles a library that is found as libcuda.so.1, once per run of the tests, and returns its folder.
fn build(name: &str) -> PathBuf {
    let folder = folder(name);
    if env::var_os("LD_LIBRARY_PATH").is_some_and(|path| path == folder.as_path()) {
        return folder;
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args([
            "--edition=2024",
            "--crate-name=driver",
            "--crate-type=cdylib",
        ])
        .args(["-Cpanic=abort", "-Clink-arg=-Wl,-soname,libcuda.so.1"])
        .arg("--allow=non_snake_case")
        .arg(format!("tests/{name}/libcuda.rs"))
        .arg("-o")
        .arg(folder.join("libcuda.so.1"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("rustc starts");
    assert!(status.success(), "{name} does not compile");
    folder
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}
