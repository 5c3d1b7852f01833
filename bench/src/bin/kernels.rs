//! The Rust kernels beside the same kernels compiled by `nvcc -O3`, in one run: `kernels TWINS.cubin`.
//!
//! Exit code 1 when a Rust kernel is slower than its share [`REQUIRED`] of the C++ twin's speed.

use anyhow::{Context as _, Result};
use bench::{device_time, median, open};
use comfy_table::Table;
use cust::{function::Function, prelude::*, sys};
use gpu_kernels::SM_70;
use std::{ffi::c_void, process::ExitCode};

const ELEMENTS: usize = 64 << 20;
const BLOCK: u32 = 256;
const LAUNCHES: u32 = 20;
const ROUNDS: usize = 15;
const REQUIRED: f64 = 0.98;

/// One kernel of both modules: its name, blocks of a launch, and where its parameters lie.
struct Pair<'a> {
    name: &'a str,
    blocks: u32,
    parameters: Vec<*mut c_void>,
}

fn main() -> Result<ExitCode> {
    let path = std::env::args()
        .nth(1)
        .context("usage: kernels TWINS.cubin")?;
    let _context = open()?;
    let rust = Module::from_ptx(SM_70, &[]).context("load gpu-kernels' PTX")?;
    let cubin = std::fs::read(&path).with_context(|| format!("read {path}"))?;
    let cpp = Module::from_cubin(&cubin, &[]).with_context(|| format!("load {path}"))?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;

    let x = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    let y = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    let arguments = Arguments::new(&x, &y);

    let mut table = Table::new();
    table.set_header([
        "kernel",
        "Rust µs",
        "nvcc -O3 µs",
        "Rust speed / nvcc speed",
    ]);
    let mut holds = true;
    for pair in pairs(&arguments) {
        let (ours, theirs) = time_pair(&pair, &rust, &cpp, &stream)?;
        let ratio = theirs / ours;
        holds &= ratio >= REQUIRED;
        table.add_row([
            pair.name.to_owned(),
            format!("{ours:.2}"),
            format!("{theirs:.2}"),
            format!("{ratio:.3}"),
        ]);
    }
    println!(
        "{ELEMENTS} floats, {LAUNCHES} launches each, {ROUNDS} rounds in turn, medians (measured)\n{table}"
    );
    Ok(if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The values whose addresses the launches pass.
struct Arguments {
    x: sys::CUdeviceptr,
    y: sys::CUdeviceptr,
    n: usize,
    a: f32,
    b: f32,
    one_round: u32,
    many_rounds: u32,
    chain_rounds: u32,
    chain_length: usize,
    first: u32,
}

impl Arguments {
    fn new(x: &DeviceBuffer<f32>, y: &DeviceBuffer<f32>) -> Self {
        Self {
            x: x.as_device_ptr().as_raw(),
            y: y.as_device_ptr().as_raw(),
            n: ELEMENTS,
            a: 0.5,
            b: 0.25,
            one_round: 1,
            many_rounds: 16,
            chain_rounds: 10_000,
            chain_length: 132 * 256,
            first: 7,
        }
    }
}

fn pairs(v: &Arguments) -> Vec<Pair<'static>> {
    let elements = (ELEMENTS as u32).div_ceil(BLOCK);
    let fours = elements.div_ceil(4);
    let at = |name, blocks, parameters: &[*const c_void]| Pair {
        name,
        blocks,
        parameters: parameters.iter().map(|p| p.cast_mut()).collect(),
    };
    let (x, y) = (address(&v.x), address(&v.y));
    let (n, a, b) = (address(&v.n), address(&v.a), address(&v.b));
    let (one, many) = (address(&v.one_round), address(&v.many_rounds));
    vec![
        at("affine", elements, &[x, n, a, b]),
        at("affine_x4", fours, &[x, n, a, b]),
        at("affine_rounds", elements, &[x, n, a, b, one]),
        at("affine_rounds", elements, &[x, n, a, b, many]),
        at("affine_rounds_x4", fours, &[x, n, a, b, one]),
        at("affine_rounds_x4", fours, &[x, n, a, b, many]),
        at(
            "fma_chain",
            132,
            &[x, address(&v.chain_length), y, address(&v.chain_rounds)],
        ),
        at("fill", elements, &[x, n, a]),
        at("iota", elements, &[x, n, address(&v.first)]),
        at("scale", elements, &[x, n, a]),
        at("saxpy", elements, &[a, x, n, y]),
        at("sum", 132 * 8, &[x, n, y]),
        at("dot", 132 * 8, &[x, n, y, y]),
    ]
}

fn address<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

/// Median µs per launch of the Rust kernel and of its twin, in turn.
fn time_pair(pair: &Pair, rust: &Module, cpp: &Module, stream: &Stream) -> Result<(f64, f64)> {
    let find = |module: &Module, whose| -> Result<sys::CUfunction> {
        let function: Function = module
            .get_function(pair.name)
            .with_context(|| format!("find {} in the {whose} module", pair.name))?;
        Ok(function.to_raw())
    };
    let functions = [find(rust, "Rust")?, find(cpp, "C++")?];
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        for (function, times) in functions.iter().zip(&mut times) {
            let time = device_time(stream, || launch(pair, *function, stream))?;
            if round > 0 {
                times.push(time / f64::from(LAUNCHES));
            }
        }
    }
    let [ours, theirs] = times;
    Ok((median(ours), median(theirs)))
}

fn launch(pair: &Pair, function: sys::CUfunction, stream: &Stream) -> Result<()> {
    for _ in 0..LAUNCHES {
        // SAFETY: the parameters point to values of the types that both kernels declare, and the buffers are as
        // long as the length that is passed.
        let result = unsafe {
            sys::cuLaunchKernel(
                function,
                pair.blocks,
                1,
                1,
                BLOCK,
                1,
                1,
                0,
                stream.as_inner(),
                pair.parameters.as_ptr().cast_mut(),
                std::ptr::null_mut(),
            )
        };
        anyhow::ensure!(
            result == sys::cudaError_enum::CUDA_SUCCESS,
            "cuLaunchKernel of {} gave {result:?}",
            pair.name
        );
    }
    Ok(())
}
