//! What a mistake in a kernel says, and what a kernel prints: each case runs this very program again.

use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail, ensure};
use cust::context::{CurrentContext, ResourceLimit};
use cust::error::CudaError;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use left_out::Missing;
use libcuda::Choice;

/// Set in the process that launches the kernel of this name.
const KERNEL: &str = "LAUNCHES_KERNEL";
/// Set there, too, to give each thread this many bytes of stack.
const STACK: &str = "STACK_BYTES";

/// Enough for a float with all its digits. `core::fmt` calls through pointers, so the driver cannot know what it needs and gives
/// a thread 1,024 bytes. The local variables of `measure` alone take 2,480; registers that frames save come on top, of about
/// ten frames on the way.
const ENOUGH: usize = 8 << 10;

/// The kernels that print and panic.
const PRINTING: &str = include_str!("../ptx/printing.ptx");
/// The kernel that prints floats; nothing where there was no device toolchain.
const FLOATS: &str = include_str!(concat!(env!("OUT_DIR"), "/floats.ptx"));

/// Launches two blocks of eight threads.
#[test]
fn launch_kernel() -> Result<()> {
    let Some(name) = std::env::var_os(KERNEL) else {
        return Ok(());
    };
    libcuda::select(Choice::from_environment_or(Choice::Software)?)?;
    let _context = cust::quick_init()?;
    if let Some(bytes) = std::env::var_os(STACK) {
        let bytes = bytes.to_str().context("a number")?.parse()?;
        CurrentContext::set_resource_limit(ResourceLimit::StackSize, bytes)?;
    }
    let ptx = if name == "measure" { FLOATS } else { PRINTING };
    let module = Module::from_ptx(ptx, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let kernel = module.get_function(name.to_str().context("a name")?)?;
    let values = DeviceBuffer::from_slice(&[7_u32, 6, 5, 4, 3, 2, 1, 0, 7, 6, 5, 4, 3])?;
    let floats = DeviceBuffer::from_slice(&[0.5_f32, 1.25])?;
    let out = DeviceBuffer::from_slice(&[0_u32; 16])?;
    // SAFETY: the parameters are the kernels'; `out` has an element for each thread.
    unsafe {
        match name.to_str() {
            Some("greet") => {
                launch!(kernel<<<2, 8, 0, stream>>>(values.as_device_ptr(), values.len()))?
            }
            Some("measure") => {
                launch!(kernel<<<2, 8, 0, stream>>>(floats.as_device_ptr(), floats.len()))?
            }
            Some("compare") => {
                launch!(kernel<<<2, 8, 0, stream>>>(values.as_device_ptr(), values.len(), 7_u32))?
            }
            _ => {
                launch!(kernel<<<2, 8, 0, stream>>>(values.as_device_ptr(), values.len(), out.as_device_ptr()))?
            }
        }
    }
    match stream.synchronize() {
        Ok(()) => Ok(()),
        Err(CudaError::AssertError) => bail!("the kernel asserted"),
        Err(error) => bail!("another error: {error:?}"),
    }
}

fn run(kernel: &str) -> Result<(Output, String)> {
    run_with(kernel, Some(ENOUGH))
}

fn run_with(kernel: &str, stack: Option<usize>) -> Result<(Output, String)> {
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(bytes) = stack {
        command.env(STACK, bytes.to_string());
    }
    let output = command
        .args(["--exact", "launch_kernel", "--nocapture"])
        .env(KERNEL, kernel)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    Ok((output, text))
}

/// The kernel succeeds and prints these lines.
fn prints(kernel: &str, lines: [&str; 2]) -> Result<()> {
    let (output, text) = run(kernel)?;
    ensure!(output.status.success(), "{text}");
    for line in lines {
        ensure!(text.contains(line), "{line:?} is not in\n{text}");
    }
    Ok(())
}

#[test]
fn kernels_print() -> Result<()> {
    prints(
        "greet",
        ["block 0 of 2 has 0007\n", "block 1 of 2 has 0006\n"],
    )
}

#[track_caller]
fn floats_are_there() -> bool {
    if FLOATS.is_empty() {
        left_out::note(Missing::DeviceToolchain);
    }
    !FLOATS.is_empty()
}

#[test]
fn kernels_print_floats() -> Result<()> {
    if !floats_are_there() {
        return Ok(());
    }
    prints(
        "measure",
        [
            "block 0 measures Some(0.5) and 0.50\n",
            "block 1 measures Some(0.5) and 1.25\n",
        ],
    )
}

#[test]
fn a_float_does_not_fit_the_usual_stack() -> Result<()> {
    if !floats_are_there() {
        return Ok(());
    }
    let (output, text) = run_with("measure", None)?;
    ensure!(!output.status.success(), "{text}");
    ensure!(text.contains("IllegalAddress"), "{text}");
    if std::env::var("CUDA_DRIVER").as_deref() != Ok("nvidia") {
        for part in [
            "float_to_decimal",
            "has 1024",
            "cuCtxSetLimit(CU_LIMIT_STACK_SIZE)",
        ] {
            ensure!(text.contains(part), "{part} is not in\n{text}");
        }
    }
    Ok(())
}

/// (kernel, message, the source line that is to blame, block and thread)
const MISTAKES: [(&str, &str, &str, (u32, u32)); 4] = [
    (
        "index",
        "index out of bounds: the len is 13 but the index is 13",
        "= values[i] };",
        (1, 5),
    ),
    (
        "divide",
        "attempt to divide by zero",
        "numbers[i] / numbers[i + 1]",
        (0, 6),
    ),
    (
        "unwrap",
        "values are at least 2",
        "checked_sub(2).expect",
        (0, 6),
    ),
    (
        "compare",
        "assertion `left == right` failed",
        "assert_eq!(value, expected)",
        (0, 1),
    ),
];

#[test]
fn a_panic_names_its_source_line_and_thread() -> Result<()> {
    let source = include_str!("../kernels/printing/src/lib.rs");
    for (kernel, message, at, (block, thread)) in MISTAKES {
        let (output, text) = run(kernel)?;
        ensure!(!output.status.success(), "{kernel} succeeds");
        ensure!(text.contains("the kernel asserted"), "{kernel}:\n{text}");
        let line = source
            .lines()
            .position(|line| line.contains(at))
            .context(at)?
            + 1;
        let mut expected = vec![message.to_owned(), format!("printing/src/lib.rs:{line}")];
        if std::env::var("CUDA_DRIVER").as_deref() != Ok("nvidia") {
            expected.push(format!(
                "kernel `{kernel}`, block ({block}, 0, 0), thread ({thread}, 0, 0)"
            ));
        }
        for expected in expected {
            ensure!(
                text.contains(&expected),
                "{kernel}: {expected:?} is not in\n{text}"
            );
        }
    }
    Ok(())
}

/// The first line of each mistake, with `…` for the line of the PTX, is in the README.
#[test]
fn the_readme_shows_the_messages() -> Result<()> {
    if std::env::var("CUDA_DRIVER").as_deref() == Ok("nvidia") {
        left_out::note(Missing::SoftwareGpu);
        return Ok(());
    }
    let mut expected = String::new();
    for (kernel, ..) in MISTAKES {
        let (_, text) = run(kernel)?;
        let line = text.lines().find(|line| line.starts_with("software GPU: "));
        let line = line.with_context(|| text.clone())?;
        let (place, message) = line.split_once(", PTX line ").context("a line of PTX")?;
        let (_, message) = message.split_once(": ").context("a message")?;
        expected += &format!("{place}, PTX line …: {message}\n");
    }
    let readme = include_str!("../../../rust-cuda/README.md");
    ensure!(readme.contains(&expected), "not in the README:\n{expected}");
    Ok(())
}
