//! The kernels over tiles, specialised and not: speed by rounds of arithmetic per element and by blocks per SM.
//!
//! `tiles [BASELINE.ptx HOPPER.ptx]`: other modules with the same kernels, to compare sizes of tiles and numbers of
//! stages. Exit code 1 when a kernel's results differ from those of the simple kernel without shared memory.

use anyhow::{Context as _, Result, ensure};
use bench::{argument, device_time, median, open};
use comfy_table::Table;
use cust::device::DeviceAttribute;
use cust::memory::CopyDestination as _;
use cust::{function::Function, prelude::*, sys};
use gpu_kernels::{CONSUMERS, PLAIN_PRODUCERS, SM_70, SM_90, Signature as _};

const ELEMENTS: usize = 64 << 20;
const ROUNDS: [u32; 9] = [1, 16, 32, 48, 64, 80, 96, 128, 256];
const BLOCKS_PER_SM: [u32; 7] = [1, 2, 3, 4, 5, 6, 7];
const TIMES: usize = 7;

/// A kernel, its threads per block, and whether a fixed grid strides over the array.
struct Contestant<'a> {
    name: &'static str,
    function: Function<'a>,
    threads: u32,
    strides: bool,
}

struct Buffers {
    input: DeviceBuffer<f32>,
    output: DeviceBuffer<f32>,
}

fn main() -> Result<()> {
    let mut files = std::env::args().skip(1);
    let mut module = |built_in: &str| match files.next() {
        Some(path) => std::fs::read_to_string(&path).with_context(|| format!("read {path}")),
        None => Ok(built_in.to_owned()),
    };
    let (baseline, hopper) = (module(SM_70)?, module(SM_90)?);
    let _context = open()?;
    let multiprocessors =
        Device::get_device(0)?.get_attribute(DeviceAttribute::MultiprocessorCount)? as u32;
    let baseline = Module::from_ptx(&baseline, &[]).context("load the baseline module")?;
    let hopper = Module::from_ptx(&hopper, &[]).context("load the sm_90 module")?;
    let contestants = contestants(&baseline, &hopper)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let data: Vec<f32> = (0..ELEMENTS as u32)
        .map(|i| (i.wrapping_mul(0x9e37_79b1) >> 8) as f32 / (1 << 24) as f32)
        .collect();
    let buffers = Buffers {
        input: DeviceBuffer::from_slice(&data)?,
        output: DeviceBuffer::from_slice(&data)?,
    };
    println!("{ELEMENTS} floats, {multiprocessors} SMs, medians of {TIMES} launches (measured)");
    for contestant in &contestants {
        let occupancy = contestant
            .function
            .max_active_blocks_per_multiprocessor(contestant.threads.into(), 0)?;
        println!("{}: at most {occupancy} blocks per SM", contestant.name);
    }
    check(&contestants, &buffers, multiprocessors, &stream)?;

    let mut table = Table::new();
    let mut header = vec!["rounds".to_owned(), "blocks per SM".to_owned()];
    header.extend(
        contestants
            .iter()
            .map(|c| format!("{} µs, GB/s, TFLOP/s", c.name)),
    );
    table.set_header(header);
    for rounds in ROUNDS {
        for blocks in BLOCKS_PER_SM {
            let mut row = vec![rounds.to_string(), blocks.to_string()];
            for contestant in &contestants {
                if !contestant.strides && blocks > 1 {
                    row.push(String::new());
                    continue;
                }
                let grid = grid(contestant, blocks * multiprocessors);
                row.push(figures(
                    time(contestant, &buffers, grid, rounds, &stream)?,
                    rounds,
                ));
            }
            table.add_row(row);
        }
    }
    println!("{table}");
    Ok(())
}

fn contestants<'a>(baseline: &'a Module, hopper: &'a Module) -> Result<Vec<Contestant<'a>>> {
    [
        (baseline, gpu_kernels::fma_chain::NAME, 256, false),
        (
            baseline,
            gpu_kernels::fma_tiles_unspecialised::NAME,
            CONSUMERS,
            true,
        ),
        (
            baseline,
            gpu_kernels::fma_tiles_named_barriers::NAME,
            CONSUMERS + PLAIN_PRODUCERS,
            true,
        ),
        (
            hopper,
            gpu_kernels::fma_tiles_cp_async::NAME,
            CONSUMERS + 32,
            true,
        ),
        (
            hopper,
            gpu_kernels::fma_tiles_bulk::NAME,
            CONSUMERS + 32,
            true,
        ),
    ]
    .into_iter()
    .map(|(module, name, threads, strides)| {
        let function = module
            .get_function(name)
            .with_context(|| format!("find {name}"))?;
        Ok(Contestant {
            name,
            function,
            threads,
            strides,
        })
    })
    .collect()
}

fn grid(contestant: &Contestant, blocks: u32) -> u32 {
    if contestant.strides {
        blocks
    } else {
        (ELEMENTS as u32).div_ceil(contestant.threads)
    }
}

fn figures(us: f64, rounds: u32) -> String {
    let bytes = 8.0 * ELEMENTS as f64;
    let flops = 2.0 * f64::from(rounds) * ELEMENTS as f64;
    format!("{us:.1}, {:.0}, {:.1}", bytes / us / 1e3, flops / us / 1e6)
}

/// Fails unless all contestants leave the bits that the first one leaves.
fn check(contestants: &[Contestant], buffers: &Buffers, sms: u32, stream: &Stream) -> Result<()> {
    let mut expected = Vec::new();
    for contestant in contestants {
        // SAFETY: the length of the buffer.
        unsafe {
            sys::cuMemsetD8_v2(buffers.output.as_device_ptr().as_raw(), 0xff, ELEMENTS * 4)
                .eq(&sys::cudaError_enum::CUDA_SUCCESS)
                .then_some(())
                .context("cuMemsetD8")?;
        }
        launch(contestant, buffers, grid(contestant, 2 * sms), 37, stream)?;
        stream.synchronize()?;
        let mut found = vec![0.0_f32; ELEMENTS];
        buffers.output.copy_to(&mut found)?;
        if expected.is_empty() {
            expected = found;
            continue;
        }
        let same = found
            .iter()
            .zip(&expected)
            .all(|(a, b)| a.to_bits() == b.to_bits());
        ensure!(same, "{} computes other bits", contestant.name);
        println!(
            "{}: the same bits as {}",
            contestant.name, contestants[0].name
        );
    }
    Ok(())
}

fn time(c: &Contestant, buffers: &Buffers, grid: u32, rounds: u32, stream: &Stream) -> Result<f64> {
    launch(c, buffers, grid, rounds, stream)?;
    let times = (0..TIMES)
        .map(|_| device_time(stream, || launch(c, buffers, grid, rounds, stream)))
        .collect::<Result<_>>()?;
    Ok(median(times))
}

fn launch(
    c: &Contestant,
    buffers: &Buffers,
    grid: u32,
    rounds: u32,
    stream: &Stream,
) -> Result<()> {
    let (input, output) = (
        buffers.input.as_device_ptr(),
        buffers.output.as_device_ptr(),
    );
    let arguments = [
        argument(&input),
        argument(&ELEMENTS),
        argument(&output),
        argument(&rounds),
    ];
    // SAFETY: all contestants have these parameters, and the buffers have this many elements.
    unsafe { bench::launch(&c.function, [grid, 1, 1], c.threads, &arguments, stream) }
        .with_context(|| format!("launch {}", c.name))
}
