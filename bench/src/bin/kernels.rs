//! The Rust kernels beside the same kernels compiled by `nvcc -O3`, in one run: `kernels TWINS.cubin`.
//!
//! Exit code 1 when a Rust kernel is slower than its share [`REQUIRED`] of the C++ twin's speed.

use anyhow::{Context as _, Result, ensure};
use bench::{device_time, median, open};
use comfy_table::Table;
use cust::{function::Function, memory::CopyDestination as _, prelude::*, sys};
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

    let mut buffers = Buffers::new()?;
    let arguments = Arguments::new(&buffers);

    let mut table = Table::new();
    table.set_header([
        "kernel",
        "Rust µs",
        "nvcc -O3 µs",
        "Rust speed / nvcc speed",
    ]);
    let mut holds = true;
    for pair in pairs(&arguments) {
        compare_results(&pair, &mut buffers, [&rust, &cpp], &stream)?;
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

/// What the kernels work on: two arrays, and one number for the reductions.
struct Buffers {
    data: Vec<f32>,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    total: DeviceBuffer<f32>,
}

impl Buffers {
    /// Numbers between 0 and 1 that repeat only after millions: kernels may run faster on zeros.
    fn new() -> Result<Self> {
        let data: Vec<f32> = (0..ELEMENTS as u32)
            .map(|i| (i.wrapping_mul(0x9e37_79b1) >> 8) as f32 / (1 << 24) as f32)
            .collect();
        Ok(Self {
            x: DeviceBuffer::from_slice(&data)?,
            y: DeviceBuffer::from_slice(&data)?,
            total: DeviceBuffer::zeroed(1)?,
            data,
        })
    }

    fn reset(&mut self) -> Result<()> {
        self.x.copy_from(&self.data)?;
        self.y.copy_from(&self.data)?;
        Ok(self.total.copy_from(&[0.0])?)
    }

    fn results(&self) -> Result<[Vec<f32>; 3]> {
        Ok([
            self.x.as_host_vec()?,
            self.y.as_host_vec()?,
            self.total.as_host_vec()?,
        ])
    }
}

/// The values whose addresses the launches pass.
struct Arguments {
    x: sys::CUdeviceptr,
    y: sys::CUdeviceptr,
    total: sys::CUdeviceptr,
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
    fn new(buffers: &Buffers) -> Self {
        Self {
            x: buffers.x.as_device_ptr().as_raw(),
            y: buffers.y.as_device_ptr().as_raw(),
            total: buffers.total.as_device_ptr().as_raw(),
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
        at("sum", 132 * 8, &[x, n, address(&v.total)]),
        at("dot", 132 * 8, &[x, n, y, address(&v.total)]),
    ]
}

fn address<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

/// Fails unless one launch of each leaves the same numbers: bit for bit in the arrays, to rounding in the total, to which
/// blocks add in any order.
fn compare_results(
    pair: &Pair,
    buffers: &mut Buffers,
    modules: [&Module; 2],
    stream: &Stream,
) -> Result<()> {
    let mut results = Vec::new();
    for module in modules {
        buffers.reset()?;
        launch(pair, find(pair, module)?, 1, stream)?;
        stream.synchronize()?;
        results.push(buffers.results()?);
    }
    let [x, y, total] = &results[0];
    let [their_x, their_y, their_total] = &results[1];
    let same = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
    let near = (total[0] - their_total[0]).abs() <= 1e-3 * total[0].abs();
    ensure!(
        same(x, their_x) && same(y, their_y) && near,
        "{} and its twin compute different numbers",
        pair.name
    );
    let untouched = same(x, &buffers.data) && same(y, &buffers.data) && total[0] == 0.0;
    ensure!(!untouched, "{} changes nothing", pair.name);
    Ok(())
}

fn find(pair: &Pair, module: &Module) -> Result<sys::CUfunction> {
    let function: Function = module
        .get_function(pair.name)
        .with_context(|| format!("find {} in both modules", pair.name))?;
    Ok(function.to_raw())
}

/// Median µs per launch of the Rust kernel and of its twin, in turn, the order changing each round.
fn time_pair(pair: &Pair, rust: &Module, cpp: &Module, stream: &Stream) -> Result<(f64, f64)> {
    let functions = [find(pair, rust)?, find(pair, cpp)?];
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        for turn in [round % 2, 1 - round % 2] {
            let time = device_time(stream, || launch(pair, functions[turn], LAUNCHES, stream))?;
            if round > 0 {
                times[turn].push(time / f64::from(LAUNCHES));
            }
        }
    }
    let [ours, theirs] = times;
    Ok((median(ours), median(theirs)))
}

fn launch(pair: &Pair, function: sys::CUfunction, launches: u32, stream: &Stream) -> Result<()> {
    for _ in 0..launches {
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
        ensure!(
            result == sys::cudaError_enum::CUDA_SUCCESS,
            "cuLaunchKernel of {} gave {result:?}",
            pair.name
        );
    }
    Ok(())
}
