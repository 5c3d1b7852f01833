//! What a program leaves to run when it ends is checked, and decides its exit code.

// The symbols come from it.
use libcuda as _;

use cust::sys::{self, CUstream, cudaError_enum as Code};
use std::env;
use std::process::{Command, Output};

const CHILD: &str = "LIBCUDA_TEST_EXIT";

/// Two memsets of the same bytes, and no wait: in one stream or in two.
fn leave_work(streams: usize) {
    let mut handles = [std::ptr::null_mut::<std::ffi::c_void>() as CUstream; 2];
    let (mut context, mut memory) = (std::ptr::null_mut(), 0);
    // SAFETY: what the pointers lead to may be written to, and the memory has that many bytes.
    unsafe {
        let created = [
            sys::cuInit(0),
            sys::cuCtxCreate_v2(&mut context, 0, 0),
            sys::cuMemAlloc_v2(&mut memory, 64),
            sys::cuStreamCreate(&mut handles[0], 1),
            sys::cuStreamCreate(&mut handles[1], 1),
        ];
        assert_eq!(created, [Code::CUDA_SUCCESS; 5]);
        let sets =
            [0, streams - 1].map(|index| sys::cuMemsetD8Async(memory, 1, 64, handles[index]));
        assert_eq!(sets, [Code::CUDA_SUCCESS; 2]);
    }
}

fn end_of_a_program(streams: &str) -> Output {
    Command::new(env::current_exe().expect("the test program has a path"))
        .args(["the_program", "--exact", "--nocapture", "--ignored"])
        .env(CHILD, streams)
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU_RACES", "fail")
        .output()
        .expect("the test program starts")
}

#[test]
#[ignore = "the program that the test starts"]
fn the_program() {
    if let Ok(streams) = env::var(CHILD) {
        leave_work(streams.parse().expect("a number"));
    }
}

#[test]
fn what_is_left_to_run_is_checked() {
    let output = end_of_a_program("2");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in ["race: the memset of 64 bytes", "1 report, and"] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
}

#[test]
fn what_is_left_in_order_is_no_mistake() {
    let output = end_of_a_program("1");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}
