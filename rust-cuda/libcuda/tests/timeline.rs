//! The file that `SOFTWARE_GPU_TIMELINE` names: it has what a program did, also when that ended by a crash.

// The symbols come from it.
use libcuda as _;

use chapter_results::Results;
use chapter_results::intervals::{Dependency, Engine, Recording};
use cust::sys::{self, CUstream, cudaError_enum as Code};
use std::env;
use std::ffi::c_char;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::ptr;
use tempfile::TempDir;

const CHILD: &str = "LIBCUDA_TEST_TIMELINE";

/// Stores to address 0.
const STRAY: &[u8] = b".version 6.0\n.target sm_70\n.address_size 64\n\
    .visible .entry stray()\n{\n.reg .b64 %to; mov.u64 %to, 0; st.global.u32 [%to], 1; ret;\n}\n\0";

/// A copy from pageable memory in one stream, and a memset behind it in another; then a race of two memsets.
fn pipeline() -> CUstream {
    const BYTES: usize = 1 << 20;
    let host = vec![7_u8; BYTES];
    let (mut context, mut memory, mut event) = (ptr::null_mut(), 0, ptr::null_mut());
    let [mut first, mut second] = [ptr::null_mut(); 2];
    // SAFETY: the pointers address writable memory; the host's memory lives until the copy is over.
    let codes = unsafe {
        [
            sys::cuInit(0),
            sys::cuCtxCreate_v2(&mut context, 0, 0),
            sys::cuMemAlloc_v2(&mut memory, BYTES),
            sys::cuStreamCreate(&mut first, 1),
            sys::cuStreamCreate(&mut second, 1),
            sys::cuEventCreate(&mut event, 2),
            sys::cuMemcpyHtoDAsync_v2(memory, host.as_ptr().cast(), BYTES, first),
            sys::cuEventRecord(event, first),
            sys::cuStreamWaitEvent(second, event, 0),
            sys::cuMemsetD8Async(memory, 1, BYTES, second),
            sys::cuMemsetD8Async(memory, 2, BYTES, first),
            sys::cuStreamSynchronize(first),
        ]
    };
    assert_eq!(codes, [Code::CUDA_SUCCESS; 12]);
    second
}

/// A kernel that stores out of bounds.
fn fault() {
    let (mut module, mut stray) = (ptr::null_mut(), ptr::null_mut());
    let (stream, none) = (pipeline(), ptr::null_mut::<*mut std::ffi::c_void>());
    // SAFETY: the pointers address writable memory; the strings end with a zero byte; the kernel takes nothing.
    let last = unsafe {
        sys::cuModuleLoadData(&mut module, STRAY.as_ptr().cast());
        sys::cuModuleGetFunction(&mut stray, module, c"stray".as_ptr().cast::<c_char>());
        sys::cuLaunchKernel(stray, 1, 1, 1, 1, 1, 1, 0, stream, none, none);
        sys::cuCtxSynchronize()
    };
    assert_eq!(last, Code::CUDA_ERROR_ILLEGAL_ADDRESS);
}

/// A synchronous copy from an address that is no memory.
fn crash() {
    let stream = pipeline();
    let mut memory = 0;
    let nowhere = ptr::without_provenance(0x10_0000);
    // SAFETY: it is not safe, and the process ends.
    unsafe {
        sys::cuMemAlloc_v2(&mut memory, 64);
        sys::cuMemcpyHtoD_v2(memory, nowhere, 64);
        sys::cuStreamSynchronize(stream);
    }
}

fn main() {
    match env::var(CHILD).as_deref() {
        Ok("ends") => drop(pipeline()),
        Ok("exits") => {
            pipeline();
            std::process::exit(4);
        }
        Ok("faults") => fault(),
        Ok("crashes") => crash(),
        Ok("aborts") => {
            pipeline();
            std::process::abort();
        }
        _ => {
            the_file_has_operations_calls_edges_and_reports();
            a_fault_is_in_it();
            #[cfg(unix)]
            a_crash_leaves_it_too();
            a_file_that_cannot_be_written_is_reported();
        }
    }
}

/// Runs one of the programs above, whose timeline goes to this file. How it ends, and what it says.
fn run(program: &str, file: &Path) -> (ExitStatus, String) {
    let output = Command::new(env::current_exe().expect("it has a path"))
        .env(CHILD, program)
        .env("CUDA_DRIVER", "software")
        .env("SOFTWARE_GPU_TIMELINE", file)
        .env_remove("SOFTWARE_GPU_RACES")
        .env_remove("SOFTWARE_GPU")
        .output()
        .expect("the program starts");
    (
        output.status,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn recording(program: &str) -> (ExitStatus, Recording) {
    let folder = TempDir::new().expect("a folder");
    let (status, said) = run(program, &folder.path().join("of-%p.json"));
    let mut files = folder.path().read_dir().expect("it is there");
    let file = files.next().unwrap_or_else(|| panic!("no file: {said}"));
    let file = file.expect("it can be read").path();
    let name = file.file_name().expect("it has a name").to_string_lossy();
    let number = name.trim_start_matches("of-").trim_end_matches(".json");
    assert!(number.parse::<u32>().is_ok(), "{name}");
    let mut results = Results::read(&file).expect("it is in the form of results");
    assert_eq!(results.device.name, "NVIDIA H200");
    assert!(
        results.example.starts_with("timeline"),
        "{}",
        results.example
    );
    (
        status,
        results.parts.remove(0).timelines.remove(0).recording,
    )
}

fn the_file_has_operations_calls_edges_and_reports() {
    let (_, first) = recording("ends");
    let operations: Vec<(Engine, &str, u64)> = (first.intervals.iter())
        .map(|interval| (interval.engine, interval.name.as_str(), interval.bytes))
        .collect();
    let set = (Engine::Set, "set", 1 << 20);
    assert_eq!(
        operations,
        [
            (Engine::HostToDevice, "pageable copy in", 1 << 20),
            set,
            set
        ]
    );
    let of = |stream: &str| {
        first
            .intervals
            .iter()
            .position(|i| i.name == "set" && i.stream == stream)
    };
    let behind = first
        .intervals
        .iter()
        .map(|i| i.stream.clone())
        .max()
        .expect("two streams");
    let to = of(&behind).expect("a memset there");
    assert_eq!(first.dependencies, [Dependency { from: 0, to }]);
    let calls: Vec<(&str, Option<usize>)> = (first.calls.iter())
        .map(|call| (call.name.as_str(), call.interval))
        .collect();
    assert!(calls.contains(&("cuMemcpyHtoDAsync", Some(0))), "{calls:?}");
    assert!(calls.contains(&("cuMemAlloc", None)), "{calls:?}");
    let last = first.calls.last().expect("calls");
    assert_eq!(
        (last.name.as_str(), last.thread.as_str()),
        ("cuStreamSynchronize", "main")
    );
    let [race] = &first.findings[..] else {
        panic!("{:?}", first.findings)
    };
    assert!(
        race.text.starts_with("race: the memset of 1048576 bytes"),
        "{}",
        race.text
    );
    assert_eq!(race.intervals.len(), 2);
    let (status, second) = recording("exits");
    assert_eq!(
        (status.code(), second.intervals),
        (Some(4), first.intervals)
    );
}

fn a_fault_is_in_it() {
    let (_, recording) = recording("faults");
    let texts: Vec<&str> = recording.findings.iter().map(|f| f.text.as_str()).collect();
    assert!(
        texts.iter().any(|text| text.contains("kernel `stray`")),
        "{texts:?}"
    );
    assert!(
        recording
            .intervals
            .iter()
            .any(|interval| interval.name == "stray")
    );
}

#[cfg(unix)]
fn a_crash_leaves_it_too() {
    use std::os::unix::process::ExitStatusExt as _;
    for (program, signal, end) in [
        (
            "crashes",
            libc::SIGSEGV,
            "a segmentation fault: thread main was in cuMemcpyHtoD",
        ),
        ("aborts", libc::SIGABRT, "abort, outside of the driver"),
    ] {
        let (status, recording) = recording(program);
        assert_eq!(status.signal(), Some(signal), "{program}");
        let said = format!("the program was ended by {end}");
        let texts: Vec<&str> = recording.findings.iter().map(|f| f.text.as_str()).collect();
        assert!(texts.contains(&said.as_str()), "{program}: {texts:?}");
        assert!(recording.intervals.len() >= 2, "{program}");
    }
}

fn a_file_that_cannot_be_written_is_reported() {
    let folder = TempDir::new().expect("a folder");
    let (status, said) = run("ends", &folder.path().join("absent/file"));
    assert!(status.success(), "{said}");
    assert!(
        said.contains("SOFTWARE_GPU_TIMELINE: cannot write"),
        "{said}"
    );
}
