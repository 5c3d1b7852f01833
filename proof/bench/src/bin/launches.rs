//! The cost of a launch through this project's route beside a C++ loop linked to NVIDIA's library, in one run:
//! `launches LAUNCHES.so`.
//!
//! Both loops launch the same kernel with the same parameters on the same stream, alternating, 20,000 launches each;
//! a batch is short enough never to fill the driver's queue. Exit code 1 above [`ALLOWED`]. Then both once more while
//! the calls are observed, as the examples' are: counted, and passed on. The cost is printed and not judged.

use anyhow::{Context as _, Result, ensure};
use bench::{median, open};
use cust::{prelude::*, sys};
use gpu_kernels::{SM_70, Signature as _};
use std::{
    ffi::{c_int, c_void},
    process::ExitCode,
    time::Instant,
};

const BATCH: c_int = 100;
const BATCHES: usize = 200;
const ALLOWED: f64 = 1.02;

type CudaLaunches =
    unsafe extern "C" fn(sys::CUfunction, sys::CUstream, *mut *mut c_void, c_int) -> c_int;

fn main() -> Result<ExitCode> {
    let path = std::env::args()
        .nth(1)
        .context("usage: launches LAUNCHES.so")?;
    let _context = open()?;
    let module = Module::from_ptx(SM_70, &[]).context("load gpu-kernels' PTX")?;
    let function = module.get_function(gpu_kernels::affine::NAME)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // SAFETY: the library's initialisers do nothing.
    let library =
        unsafe { libloading::Library::new(&path) }.with_context(|| format!("load {path}"))?;
    // SAFETY: the type is the one in proof/bench/cuda/launches.cpp.
    let cuda_launches = unsafe { library.get::<CudaLaunches>(b"cuda_launches\0") }?;
    // SAFETY: as above.
    let address = unsafe {
        library.get::<unsafe extern "C" fn() -> *const c_void>(b"cuda_launch_address\0")
    }?;
    // SAFETY: the function only returns an address.
    let theirs = unsafe { address() };
    ensure!(
        theirs != sys::cuLaunchKernel as *const c_void,
        "{path} was bound to this program's own cuLaunchKernel: there is nothing to compare"
    );

    let data = DeviceBuffer::<f32>::zeroed(32)?;
    let (pointer, n, a, b) = (data.as_device_ptr(), 32_usize, 1.0_f32, 0.0_f32);
    let mut rust = || -> Result<()> {
        for _ in 0..BATCH {
            // SAFETY: `affine` takes these four parameters, and `data` has `n` elements.
            unsafe { launch!(function<<<1, 32, 0, stream>>>(pointer, n, a, b)) }?;
        }
        Ok(())
    };
    let mut cpp = || -> Result<()> {
        let mut parameters = [
            (&raw const pointer).cast_mut().cast::<c_void>(),
            (&raw const n).cast_mut().cast(),
            (&raw const a).cast_mut().cast(),
            (&raw const b).cast_mut().cast(),
        ];
        // SAFETY: as above; the parameters outlive the call, which copies them.
        let result = unsafe {
            cuda_launches(
                function.to_raw(),
                stream.as_inner(),
                parameters.as_mut_ptr(),
                BATCH,
            )
        };
        ensure!(result == 0, "cuLaunchKernel in {path} gave {result}");
        Ok(())
    };
    let plain = compare("calls lead into the driver", &stream, [&mut rust, &mut cpp])?;
    examples_host::recording::count_calls();
    compare("calls are observed", &stream, [&mut rust, &mut cpp])?;
    Ok(match plain <= ALLOWED {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// A batch of launches.
type LaunchBatch<'a> = &'a mut dyn FnMut() -> Result<()>;

/// Runs the batches of both loops alternately, prints what a launch costs in each, and returns the ratio.
fn compare(how: &str, stream: &Stream, loops: [LaunchBatch; 2]) -> Result<f64> {
    let mut times = [Vec::new(), Vec::new()];
    for batch in 0..=BATCHES {
        for turn in [batch % 2, 1 - batch % 2] {
            let time = time(stream, &mut *loops[turn])?;
            if batch > 0 {
                times[turn].push(time);
            }
        }
    }
    // Batch by batch: a disturbance of the host affects neighbours equally.
    let ratios = times[0].iter().zip(&times[1]).map(|(rust, cpp)| rust / cpp);
    let ratio = median(ratios.collect());
    let [rust, cpp] = times.map(median);
    println!(
        "a launch, back to back, {} each, interleaved (measured), {how}: Rust {rust:.3} µs, C++ {cpp:.3} µs, ratio {ratio:.3}",
        BATCH as usize * BATCHES
    );
    Ok(ratio)
}

/// Host µs per launch of one batch; the stream is empty before and after.
fn time(stream: &Stream, batch: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    batch()?;
    let time = start.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH);
    stream.synchronize()?;
    Ok(time)
}
