//! Choosing a driver, and what calls do before and after.

mod common;

use common::isolated;
use cust::sys::{self, cudaError_enum as Code};
use libcuda::{Choice, Driver, SelectError, host, select, selected, symbols};
use std::error::Error;
use std::ffi::{CStr, c_char};
use std::time::Duration;

#[test]
fn before_selection_calls_are_not_initialized() {
    isolated("before_selection_calls_are_not_initialized", &[], || {
        let mut count = 7;
        let mut address = 0;
        // SAFETY: the pointers address writable memory.
        let results = unsafe {
            [
                sys::cuDeviceGetCount(&mut count),
                sys::cuMemAlloc_v2(&mut address, 4),
                sys::cuCtxSynchronize(),
                sys::cuProfilerStop(),
            ]
        };
        assert_eq!(results, [Code::CUDA_ERROR_NOT_INITIALIZED; 4]);
        assert_eq!((count, address), (7, 0));
        assert_eq!(selected(), None);
        assert!(!symbols::is_supported("cuInit"));
        assert!(libcuda::unsupported_calls().is_empty());
    });
}

#[test]
fn the_software_gpu_answers_calls_of_cust_s_bindings() {
    isolated(
        "the_software_gpu_answers_calls_of_cust_s_bindings",
        &[],
        || {
            let chosen = select(Choice::Software).unwrap();
            assert_eq!(chosen.driver, Driver::Software);
            assert_eq!(chosen.reason, "requested");
            let mut version = 0;
            // SAFETY: `version` may be written to.
            let result = unsafe { sys::cuDriverGetVersion(&mut version) };
            assert_eq!(result, Code::CUDA_SUCCESS);
            assert!(version >= 11040, "{version}");
            assert_eq!(
                error_name(Code::CUDA_ERROR_NO_DEVICE),
                "CUDA_ERROR_NO_DEVICE"
            );
        },
    );
}

#[test]
fn what_the_software_gpu_lacks_is_named() {
    let lacking: Vec<_> = symbols::names()
        .filter(|name| software_gpu::driver::entry_point(name).is_none())
        .collect();
    assert!(lacking.contains(&"cuCtxAttach"));
    let said = isolated("what_the_software_gpu_lacks_is_named", &[], || {
        select(Choice::Software).unwrap();
        for name in &lacking {
            assert!(!symbols::is_supported(name), "{name}");
            let address = symbols::entry(name).unwrap();
            // SAFETY: the stand-in for a function that does not exist reads no argument.
            let result = unsafe {
                let function: unsafe extern "C" fn() -> Code = std::mem::transmute(address);
                function()
            };
            assert_eq!(result, Code::CUDA_ERROR_NOT_SUPPORTED, "{name}");
        }
        assert_eq!(libcuda::unsupported_calls(), lacking);
    });
    let Some(said) = said else { return };
    for name in lacking {
        let line = format!("libcuda: {name} is not supported by the chosen driver");
        assert!(said.lines().any(|said| said == line), "{name}");
    }
}

#[test]
fn the_environment_chooses_the_software_gpu() {
    let said = isolated(
        "the_environment_chooses_the_software_gpu",
        &[("CUDA_DRIVER", "software")],
        || {
            assert_eq!(
                error_name(Code::CUDA_ERROR_INVALID_VALUE),
                "CUDA_ERROR_INVALID_VALUE"
            );
            assert!(selected().is_none(), "an error's name needs no driver");
            // SAFETY: cuInit may be called at any time.
            assert_eq!(unsafe { sys::cuInit(0) }, Code::CUDA_SUCCESS);
            assert_eq!(selected().unwrap().choice, Choice::Software);
        },
    );
    assert!(said.is_none_or(|stderr| !stderr.contains("libcuda:")));
}

#[test]
fn a_word_that_is_no_choice_is_an_error() {
    let said = isolated(
        "a_word_that_is_no_choice_is_an_error",
        &[("CUDA_DRIVER", "gpu")],
        || {
            // SAFETY: cuInit may be called at any time.
            let results = unsafe { [sys::cuInit(0), sys::cuInit(0)] };
            assert_eq!(results, [Code::CUDA_ERROR_INVALID_VALUE; 2]);
            let error = Choice::from_environment().unwrap_err();
            assert!(matches!(error, SelectError::Environment(_)));
            assert!(error.source().is_none(), "the word would be said twice");
            assert_eq!(selected(), None);
        },
    );
    if let Some(stderr) = said {
        let sentence =
            "libcuda: CUDA_DRIVER: unknown driver \"gpu\": expected auto, nvidia or software\n";
        assert_eq!(stderr.matches(sentence).count(), 1, "{stderr}");
    }
}

#[test]
fn an_empty_word_is_no_choice() {
    let empty = [("CUDA_DRIVER", "")];
    isolated("an_empty_word_is_no_choice", &empty, || {
        assert_eq!(Choice::from_environment(), Ok(Choice::Auto));
        let or_software = Choice::from_environment_or(Choice::Software);
        assert_eq!(or_software, Ok(Choice::Software));
    });
}

#[test]
fn a_word_goes_before_the_programs_own_choice() {
    let named = [("CUDA_DRIVER", "nvidia")];
    isolated("a_word_goes_before_the_programs_own_choice", &named, || {
        let or_software = Choice::from_environment_or(Choice::Software);
        assert_eq!(or_software, Ok(Choice::Nvidia));
    });
}

#[test]
fn a_second_choice_must_be_the_first() {
    isolated("a_second_choice_must_be_the_first", &[], || {
        let first = select(Choice::Software).unwrap();
        assert!(std::ptr::eq(first, select(Choice::Software).unwrap()));
        for asked in [Choice::Auto, Choice::Nvidia] {
            let made = Choice::Software;
            let refused = SelectError::AlreadySelected { made, asked };
            assert_eq!(select(asked), Err(refused));
        }
        assert_eq!(selected(), Some(first));
    });
}

#[test]
fn without_a_modelled_host_work_takes_what_it_takes() {
    isolated(
        "without_a_modelled_host_work_takes_what_it_takes",
        &[],
        || {
            let day = Duration::from_secs(24 * 3600);
            let start = host::now();
            assert_eq!(host::work(day, || 5), 5);
            assert_eq!(host::memory_work(u64::MAX, || 6), 6);
            assert!(host::now() - start < day);
            assert_eq!(host::threads(4, |index| index * index), [0, 1, 4, 9]);
        },
    );
}

#[test]
fn with_the_software_gpu_work_takes_what_it_says() {
    isolated("with_the_software_gpu_work_takes_what_it_says", &[], || {
        select(Choice::Software).unwrap();
        let day = Duration::from_secs(24 * 3600);
        let start = host::now();
        assert_eq!(host::now(), start);
        assert_eq!(host::work(day, || 5), 5);
        assert_eq!(host::now() - start, day);
        assert_eq!(host::memory_work(1 << 30, || 6), 6);
        assert!(host::now() - start > day);

        let start = host::now();
        let ends = host::threads(3, |index| {
            host::work(day * index as u32, || ());
            host::now() - start
        });
        let first = ends[0];
        assert!(
            first < Duration::from_millis(1),
            "a thread takes {first:?} to start"
        );
        assert_eq!(ends, [first, first + day, first + 2 * day]);
        assert_eq!(host::now() - start, first + 2 * day);
    });
}

fn error_name(error: sys::cudaError_enum) -> String {
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: `name` may be written to.
    let result = unsafe { sys::cuGetErrorName(error, &mut name) };
    assert_eq!(result, Code::CUDA_SUCCESS);
    // SAFETY: on success the name is a C string.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_string_lossy().into_owned()
}
