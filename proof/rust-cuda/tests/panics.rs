//! Panics of a module that formats nothing on a GPU: the software GPU shows the whole message all the same, and a host that asks
//! learns file, line and kind.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use cuda_host::panics::Panics;
use cust::error::{CudaError, CudaResult};
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use left_out::Missing;
use libcuda::Choice;

/// Set in the process that launches the kernel of this name.
const KERNEL: &str = "PANICS_IN_KERNEL";

/// The kernels of `printing`; nothing where there was no device toolchain.
const LOCATED: &str = include_str!(concat!(env!("OUT_DIR"), "/located.ptx"));

const SOURCE: &str = include_str!("../kernels/printing/src/lib.rs");

/// (kernel, message, kind, the source line that is to blame)
const PANICS: [(&str, &str, &str, &str); 4] = [
    (
        "index",
        "index out of bounds: the len is 13 but the index is 13",
        "index out of bounds",
        "= values[i] };",
    ),
    (
        "divide",
        "attempt to divide by zero",
        "attempt to divide by zero",
        "numbers[i] / numbers[i + 1]",
    ),
    (
        "unwrap",
        "values are at least 2",
        "`expect` of nothing",
        "checked_sub(2).expect",
    ),
    (
        "compare",
        "assertion `left == right` failed",
        "assertion failed",
        "assert_eq!(value, expected)",
    ),
];

#[track_caller]
fn can_run() -> bool {
    let on_gpu = std::env::var("CUDA_DRIVER").as_deref() == Ok("nvidia");
    if LOCATED.is_empty() {
        left_out::note(Missing::DeviceToolchain);
    } else if on_gpu {
        left_out::note(Missing::SoftwareGpu);
    }
    !LOCATED.is_empty() && !on_gpu
}

/// Launches two blocks of eight threads.
fn launch(module: &Module, name: &str) -> Result<CudaResult<()>> {
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let kernel = module.get_function(name)?;
    let values = DeviceBuffer::from_slice(&[7_u32, 6, 5, 4, 3, 2, 1, 0, 7, 6, 5, 4, 3])?;
    let out = DeviceBuffer::from_slice(&[0_u32; 16])?;
    let (pointer, length) = (values.as_device_ptr(), values.len());
    // SAFETY: the parameters are the kernels'; `out` has an element for each thread.
    unsafe {
        match name {
            "compare" => launch!(kernel<<<2, 8, 0, stream>>>(pointer, length, 7_u32))?,
            _ => launch!(kernel<<<2, 8, 0, stream>>>(pointer, length, out.as_device_ptr()))?,
        }
    }
    Ok(stream.synchronize())
}

/// What the other test starts: one kernel, with the stack that a thread has.
#[test]
fn launch_kernel() -> Result<()> {
    let Ok(name) = std::env::var(KERNEL) else {
        return Ok(());
    };
    libcuda::select(Choice::Software)?;
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(LOCATED, &[])?;
    let ended = launch(&module, &name)?;
    ensure!(ended == Err(CudaError::AssertError), "{ended:?}");
    Ok(())
}

#[test]
fn the_software_gpu_shows_the_whole_message() -> Result<()> {
    if !can_run() {
        return Ok(());
    }
    for (kernel, message, _, at) in PANICS {
        let output = Command::new(std::env::current_exe()?)
            .args(["--exact", "launch_kernel", "--nocapture"])
            .env(KERNEL, kernel)
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{kernel}: {text}");
        let expected = format!("printing/src/lib.rs:{}: {message}", line_of(at)?);
        ensure!(
            text.contains(&expected),
            "{kernel}: {expected:?} is not in\n{text}"
        );
    }
    Ok(())
}

/// What a GPU executes, except the traps, which would end the context.
#[test]
fn a_host_that_asks_learns_the_place() -> Result<()> {
    if !can_run() {
        return Ok(());
    }
    let on_gpu: String = LOCATED
        .lines()
        .filter(|line| !line.starts_with("//software-gpu:") && line.trim() != "trap;")
        .map(|line| line.replace("trap; exit;", "exit;") + "\n")
        .collect();
    ensure!(!on_gpu.contains("panic_bounds_check"), "{on_gpu}");
    libcuda::select(Choice::Software)?;
    let _context = cust::quick_init()?;
    for (kernel, _, kind, at) in PANICS {
        let module = Module::from_ptx(&on_gpu, &[])?;
        let panics = Panics::of(&module)?;
        ensure!(panics.place(LOCATED).is_none(), "before the launch");
        launch(&module, kernel)??;
        let place = panics.place(LOCATED).context(kernel)?;
        let (file, kind_found) = place.split_once(": ").context("a place")?;
        let expected = format!("printing/src/lib.rs:{}:", line_of(at)?);
        ensure!(file.starts_with(&expected), "{kernel}: {place}");
        ensure!(kind_found == kind, "{kernel}: {place}");
    }
    Ok(())
}

fn line_of(code: &str) -> Result<usize> {
    let line = SOURCE.lines().position(|line| line.contains(code));
    Ok(line.context(code.to_owned())? + 1)
}
