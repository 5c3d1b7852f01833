//! The table of mistakes in rust-cuda/README.md: each row of a launch is made here, and what the software GPU prints is what the row
//! says. Each case runs this very program again, because a context is unusable after a fault.

use std::ffi::c_void;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use cust::error::CudaResult;
use cust::function::Function;
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use left_out::Missing;
use libcuda::Choice;

/// Set in the process that makes the mistake of this name.
const MISTAKE: &str = "MAKES_MISTAKE";

/// The kernels of `mistakes`; nothing where there was no device toolchain.
const MISTAKES: &str = include_str!(concat!(env!("OUT_DIR"), "/mistakes.ptx"));

const SOURCE: &str = include_str!("../kernels/mistakes/src/lib.rs");

const README: &str = include_str!("../../../rust-cuda/README.md");

/// (the row's mistake, what is printed, the marks of the lines of the kernel that are named)
const ROWS: [(&str, &str, &[&str]); 18] = [
    (
        "fewer arguments than parameters",
        "takes 3 parameters (8, 8 and 4 bytes): argument 3 lies at",
        &[],
    ),
    (
        "no arguments",
        "takes 3 parameters (8, 8 and 4 bytes): the launch passes no arguments",
        &[],
    ),
    (
        "2,048 threads in a block",
        "a block of [2048, 1, 1] threads is outside of the device's limits",
        &[],
    ),
    (
        "a grid of 0 blocks",
        "a grid of [0, 1, 1] blocks is outside of the device's limits",
        &[],
    ),
    (
        "300,000 bytes of dynamic shared memory",
        "it requests 300000 dynamic bytes, the function may have 49152, and the device allows at most",
        &[],
    ),
    (
        "60,000 bytes without raising the limit",
        "raise the function's limit: cuFuncSetAttribute",
        &[],
    ),
    ("another name for a kernel", "did you mean `scale`?", &[]),
    (
        "another name for a variable",
        "the module has no variable `panics`",
        &[],
    ),
    (
        "all threads add to `data[0]`",
        "load and store the same 4 bytes",
        &["lost update"],
    ),
    (
        "a pointer beyond the end",
        "is out of bounds; the nearest allocation",
        &["near out of bounds"],
    ),
    (
        "a pointer to the middle of an element",
        "is misaligned",
        &["misaligned"],
    ),
    (
        "a pointer to memory of the host",
        "the program's own memory",
        &["read before it is written"],
    ),
    (
        "a buffer that was dropped",
        "of an allocation of 4096 bytes",
        &["read before it is written"],
    ),
    (
        "a buffer that was never written",
        "load of memory that was never written",
        &["read before it is written"],
    ),
    (
        "no `thread::sync_threads()` between a store and a load",
        "a barrier of the block (bar.sync, `thread::sync_threads`)",
        &["store without a barrier", "load without a barrier"],
    ),
    (
        "a barrier that half of the block skips",
        "two threads touch shared memory",
        &["store before half a barrier", "load after half a barrier"],
    ),
    (
        "a barrier in both branches of an `if` that divides a warp",
        "all threads of a warp must execute this barrier together",
        &[],
    ),
    (
        "a loop that waits for ever",
        "an endless loop, or a wait for what never comes?",
        &["endless loop"],
    ),
];

/// Elsewhere the driver cannot find out whether the program may read an address.
const ON_LINUX: [&str; 2] = [
    "fewer arguments than parameters",
    "a pointer to memory of the host",
];

/// A launch by pointers to the arguments.
fn launch(
    kernel: &Function<'_>,
    stream: &Stream,
    (grid, block, shared_bytes): (u32, u32, u32),
    arguments: &[*mut c_void],
) -> CudaResult<()> {
    // SAFETY: the software GPU reports what is wrong.
    unsafe { stream.launch(kernel, grid, block, shared_bytes, arguments) }
}

fn address<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// The arguments of a slice: pointer and length.
fn slice<T: DeviceCopy>(data: &DeviceBuffer<T>) -> (u64, usize) {
    (data.as_device_ptr().as_raw(), data.len())
}

/// Makes the mistake of a row.
fn make(mistake: &str) -> Result<()> {
    libcuda::select(Choice::Software)?;
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(MISTAKES, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let data = DeviceBuffer::from_slice(&[1.0_f32; 1024])?;
    let (pointer, length) = slice(&data);
    let factor = 2.0_f32;
    let of_data = [address(&pointer), address(&length), address(&factor)];
    let shape = (4, 256, 0);
    let by_name = |name: &str, shape, arguments: &[*mut c_void]| -> Result<()> {
        let kernel = module.get_function(name)?;
        launch(&kernel, &stream, shape, arguments)?;
        Ok(stream.synchronize()?)
    };
    let scale = |pointer: u64| {
        let arguments = [address(&pointer), of_data[1], of_data[2]];
        by_name("scale", shape, &arguments)
    };
    match mistake {
        "fewer arguments than parameters" => {
            // The array has two, and this stands behind it.
            let array = [
                of_data[0],
                of_data[1],
                std::ptr::without_provenance_mut(0x40),
            ];
            by_name("scale", shape, &array)
        }
        "no arguments" => {
            let kernel = module.get_function("scale")?;
            // SAFETY: the driver refuses a null array.
            let code = unsafe {
                cust::sys::cuLaunchKernel(
                    kernel.to_raw(),
                    1,
                    1,
                    1,
                    32,
                    1,
                    1,
                    0,
                    stream.as_inner(),
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                )
            };
            anyhow::bail!("{code:?}")
        }
        "2,048 threads in a block" => by_name("scale", (1, 2048, 0), &of_data),
        "a grid of 0 blocks" => by_name("scale", (0, 256, 0), &of_data),
        "300,000 bytes of dynamic shared memory" => by_name("scale", (1, 256, 300_000), &of_data),
        "60,000 bytes without raising the limit" => by_name("scale", (1, 256, 60_000), &of_data),
        "another name for a kernel" => by_name("scal", shape, &of_data),
        "another name for a variable" => {
            module.get_global::<u64>(c"panics")?;
            Ok(())
        }
        "all threads add to `data[0]`" => by_name("total", shape, &of_data),
        "a pointer beyond the end" => by_name("beyond", shape, &of_data),
        "a pointer to the middle of an element" => by_name("askew", shape, &of_data),
        "a pointer to memory of the host" => {
            let host = vec![1.0_f32; 1024];
            scale(host.as_ptr().expose_provenance() as u64)
        }
        "a buffer that was dropped" => {
            let dropped = slice(&DeviceBuffer::from_slice(&[1.0_f32; 1024])?).0;
            scale(dropped)
        }
        "a buffer that was never written" => {
            // SAFETY: the software GPU reports the load.
            let unwritten = unsafe { DeviceBuffer::<f32>::uninitialized(1024)? };
            scale(slice(&unwritten).0)
        }
        "no `thread::sync_threads()` between a store and a load" => {
            by_name("reverse", (1, 256, 0), &of_data)
        }
        "a barrier that half of the block skips" => by_name("half", (1, 256, 0), &of_data),
        "a barrier in both branches of an `if` that divides a warp" => {
            by_name("diverged", (1, 256, 0), &of_data)
        }
        "a loop that waits for ever" => {
            let flag = DeviceBuffer::from_slice(&[0_u32])?;
            let flag = slice(&flag).0;
            by_name("endless", (1, 32, 0), &[address(&flag)])
        }
        _ => anyhow::bail!("an unknown mistake: {mistake}"),
    }
}

/// What the other test starts.
#[test]
fn make_the_mistake() -> Result<()> {
    match std::env::var(MISTAKE) {
        Ok(mistake) => make(&mistake),
        Err(_) => Ok(()),
    }
}

/// `mistakes/src/lib.rs:17`, for the line with that mark.
fn place(mark: &str) -> Result<String> {
    let is_marked = |line: &str| {
        let marks = line.split_once("// mistake: ").map(|(_, marks)| marks);
        marks.is_some_and(|marks| marks.split(", ").any(|known| known == mark))
    };
    let line = SOURCE
        .lines()
        .position(is_marked)
        .context(mark.to_owned())?;
    Ok(format!("mistakes/src/lib.rs:{})", line + 1))
}

#[test]
fn each_row_of_the_table_is_printed() -> Result<()> {
    if MISTAKES.is_empty() {
        left_out::note(Missing::DeviceToolchain);
        return Ok(());
    }
    for (mistake, sentence, marks) in ROWS {
        if ON_LINUX.contains(&mistake) && !cfg!(target_os = "linux") {
            continue;
        }
        let output = Command::new(std::env::current_exe()?)
            .args(["--exact", "make_the_mistake", "--nocapture"])
            .env(MISTAKE, mistake)
            .env("SOFTWARE_GPU_INSTRUCTION_BUDGET", "100000")
            .output()?;
        // A signal would end it without a code.
        ensure!(
            output.status.code().is_some(),
            "{mistake}: {}",
            output.status
        );
        let text = String::from_utf8_lossy(&output.stderr);
        ensure!(
            text.contains(sentence),
            "{mistake}: {sentence:?} is not in\n{text}"
        );
        for mark in marks {
            let place = place(mark)?;
            ensure!(
                text.contains(&place),
                "{mistake}: {place:?} is not in\n{text}"
            );
        }
    }
    Ok(())
}

#[test]
fn the_readme_has_each_row() -> Result<()> {
    for (mistake, sentence, _) in ROWS {
        let row = README
            .lines()
            .find(|line| line.starts_with(&format!("| {mistake} |")));
        let row = row.with_context(|| format!("the README has no row for {mistake}"))?;
        ensure!(row.contains(sentence), "{sentence:?} is not in {row}");
    }
    Ok(())
}
