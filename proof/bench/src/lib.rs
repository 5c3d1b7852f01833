//! What the comparisons share: one context, interleaved timing, medians.
//!
//! The comparisons take something that `nvcc` made from `proof/bench/cuda/`, and run it alternately with this project's code: A B
//! A B, so that clock and temperature changes affect both equally. Kernels and launches do so in one process, one context
//! and one stream.

use anyhow::{Context as _, Result, ensure};
use cust::{
    context::Context,
    event::{Event, EventFlags},
    function::Function,
    prelude::*,
    sys,
};
use std::{ffi::c_void, process::ExitCode};

/// A context on the first NVIDIA device. The comparisons mean nothing on the software GPU.
pub fn open() -> Result<Context> {
    libcuda::select(libcuda::Choice::Nvidia)?;
    cust::quick_init().context("cuInit and cuCtxCreate on device 0")
}

/// A context on the device that `CUDA_DRIVER` chooses, to check results.
pub fn open_any() -> Result<Context> {
    libcuda::select(libcuda::Choice::from_environment()?)?;
    cust::quick_init().context("cuInit and cuCtxCreate on device 0")
}

/// The most that the time of Rust may be of the time of C++.
pub const LIMIT: f64 = 1.02;

/// Says whether all of `count` ratios are within the [`LIMIT`], and names those `above`.
pub fn verdict(count: usize, above: &[String]) -> ExitCode {
    if above.is_empty() {
        println!("all {count} ratios are at most {LIMIT}");
        return ExitCode::SUCCESS;
    }
    println!(
        "{} of {count} ratios are above {LIMIT}: {}",
        above.len(),
        above.join("; ")
    );
    ExitCode::FAILURE
}

/// The median of a list of figures; zero for an empty list.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => 0.0,
        n if n % 2 == 1 => figures[middle],
        _ => 0.5 * (figures[middle - 1] + figures[middle]),
    }
}

/// Device time of `work` in µs, between two events on `stream`.
pub fn device_time(stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let (start, end) = (
        Event::new(EventFlags::DEFAULT)?,
        Event::new(EventFlags::DEFAULT)?,
    );
    start.record(stream)?;
    work()?;
    end.record(stream)?;
    end.synchronize()?;
    Ok(f64::from(end.elapsed_time_f32(&start)?) * 1e3)
}

/// A kernel's argument in memory.
pub fn argument<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Launches blocks of `threads` threads.
///
/// # Safety
/// The arguments are of the kernel's parameter types, and what it accesses through them exists.
///
/// # Errors
/// What `cuLaunchKernel` says.
pub unsafe fn launch(
    function: &Function,
    [x, y, z]: [u32; 3],
    threads: u32,
    arguments: &[*mut c_void],
    stream: &Stream,
) -> Result<()> {
    // SAFETY: the caller's.
    let code = unsafe {
        sys::cuLaunchKernel(
            function.to_raw(),
            x,
            y,
            z,
            threads,
            1,
            1,
            0,
            stream.as_inner(),
            arguments.as_ptr().cast_mut(),
            std::ptr::null_mut(),
        )
    };
    ensure!(
        code == sys::cudaError_enum::CUDA_SUCCESS,
        "cuLaunchKernel gave {code:?}"
    );
    Ok(())
}
