//! The matrix products on tensor cores beside cuBLAS, in one run: `gemm CUBLAS.so`.
//!
//! For each shape every product is checked, element by element; then all are timed in turn, several launches between two events. Exit code 1
//! when an element is wrong, or when at 8192 x 8192 x 8192 a kernel reaches less of cuBLAS's rate than it is to reach on an H200.
//!
//! Tensor cores at full speed take all the power that a board may draw, and some tens of milliseconds later the board lowers its clock. In short
//! bursts, the kernel after cuBLAS is slower: on an H200 the same kernel then took 2.29 instead of 2.10 ms, and cuBLAS, behind others, 1.29 instead
//! of the 1.44 ms that it takes for long. So each runs for [`SETTLING`] before it is timed, and is timed at the clock that it has earned.

use anyhow::{Context as _, Result, ensure};
use bench::{device_time, median, open};
use comfy_table::Table;
use cuda_host::launch_attributes::Attribute;
use cuda_host::tensor_map::{Element, Swizzle, TensorMap, encode_tiled};
use cuda_host::{kernels, launch};
use cust::device::DeviceAttribute;
use cust::memory::CopyDestination as _;
use cust::{prelude::*, sys};
use examples_host::check;
use examples_host::periodic::PeriodicProducts;
use gpu_kernels::{
    GEMM_MMA_SHARED_BYTES, GEMM_MMA_THREADS, GEMM_MMA_TILE, GEMM_MMA_WIDE_SHARED_BYTES,
    GEMM_MMA_WIDE_THREADS, GEMM_WGMMA_BOX, GEMM_WGMMA_OUTPUT_BOX, GEMM_WGMMA_SHARED_BYTES,
    GEMM_WGMMA_THREADS, SM_80, SM_90A,
};
use half::bf16;
use libloading::{Library, Symbol};
use std::ffi::{c_int, c_void};
use std::process::ExitCode;
use std::time::{Duration, Instant};

kernels! { struct Ampere; use gpu_kernels::{gemm_mma_sync, gemm_mma_sync_wide}; }
kernels! { struct Hopper; use gpu_kernels::gemm_wgmma; }

/// Products, rows, columns, terms, and launches between two events.
const SHAPES: [([usize; 4], usize); 4] = [
    ([1, 8192, 8192, 8192], 20),
    ([1, 4096, 4096, 4096], 50),
    ([16, 1024, 1024, 1024], 100),
    ([1, 1024, 1024, 1024], 200),
];
const ROUNDS: usize = 5;
/// How long a contestant runs before it is timed, until the board's clock is the one for its power.
const SETTLING: Duration = Duration::from_millis(400);
/// At the first shape: the share of cuBLAS's rate that each kernel must reach.
const LEAST: [(&str, f64); 2] = [("mma.sync, wide", 0.65), ("wgmma, clusters of 2", 0.9)];

type Create = unsafe extern "C" fn(*mut *mut c_void, sys::CUstream) -> c_int;
type Gemm = unsafe extern "C" fn(*mut c_void, u64, u64, u64, c_int, c_int, c_int, c_int) -> c_int;

/// cuBLAS, with a handle for a stream.
struct Cublas<'l> {
    gemm: Symbol<'l, Gemm>,
    handle: *mut c_void,
}

impl<'l> Cublas<'l> {
    fn new(library: &'l Library, stream: &Stream) -> Result<Self> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the types are those in proof/bench/cuda/cublas.cpp, and the handle outlives the call.
        unsafe {
            let create = library.get::<Create>(b"cublas_create\0")?;
            let code = create(&mut handle, stream.as_inner());
            ensure!(code == 0, "cublasCreate gave {code}");
            Ok(Self {
                gemm: library.get(b"cublas_gemm\0")?,
                handle,
            })
        }
    }
}

/// The operands of a shape on the device, and the kernels.
struct GemmOperands<'l> {
    shape: [usize; 4],
    stream: &'l Stream,
    multiprocessors: u32,
    ampere: &'l Ampere,
    hopper: Option<&'l Hopper>,
    cublas: &'l Cublas<'l>,
    a: DeviceBuffer<u16>,
    b: DeviceBuffer<u16>,
    c: DeviceBuffer<u16>,
    maps: Option<DeviceBuffer<TensorMap>>,
    expected: Vec<PeriodicProducts>,
}

fn bits(values: Vec<f32>) -> impl Iterator<Item = u16> {
    values
        .into_iter()
        .map(|value| bf16::from_f32(value).to_bits())
}

impl GemmOperands<'_> {
    fn mma_sync(&mut self) -> Result<()> {
        let [products, m, n, k] = self.shape.map(|len| len as u32);
        let grid = m.div_ceil(GEMM_MMA_TILE[0]) * n.div_ceil(GEMM_MMA_TILE[1]) * products;
        let (stream, gemm) = (self.stream, &self.ampere.gemm_mma_sync);
        let (threads, shared) = (GEMM_MMA_THREADS, GEMM_MMA_SHARED_BYTES);
        // SAFETY: operands of this shape, which outlive the launch.
        unsafe {
            launch!(gemm<<<grid, threads, shared, stream>>>(&self.a, &self.b, &mut self.c, m, n, k))?;
        }
        Ok(())
    }

    fn mma_sync_wide(&mut self) -> Result<()> {
        let [products, m, n, k] = self.shape.map(|len| len as u32);
        let grid = (self.multiprocessors, products);
        let (stream, gemm) = (self.stream, &self.ampere.gemm_mma_sync_wide);
        let (threads, shared) = (GEMM_MMA_WIDE_THREADS, GEMM_MMA_WIDE_SHARED_BYTES);
        // SAFETY: operands of this shape, which outlive the launch.
        unsafe {
            launch!(gemm<<<grid, threads, shared, stream>>>(&self.a, &self.b, &mut self.c, m, n, k))?;
        }
        Ok(())
    }

    fn wgmma(&mut self, cluster: u32) -> Result<()> {
        let [products, m, n, k] = self.shape.map(|len| len as u32);
        let hopper = self.hopper.context("this GPU has no wgmma")?;
        let maps = self.maps.as_ref().context("this GPU has no tensor maps")?;
        let clusters = [Attribute::cluster([cluster, 1, 1])];
        let grid = self.multiprocessors / cluster * cluster;
        let (threads, shared) = (GEMM_WGMMA_THREADS, GEMM_WGMMA_SHARED_BYTES);
        let (kernel, all) = (&hopper.gemm_wgmma, (maps, m, n, k, products));
        // SAFETY: the maps of operands of this shape, which outlive the launch.
        unsafe { kernel.launch_with(&clusters, grid, threads, shared, self.stream, all)? };
        Ok(())
    }

    fn cublas(&mut self) -> Result<()> {
        let [products, m, n, k] = self.shape.map(|len| len as c_int);
        let [a, b, c] = [&self.a, &self.b, &self.c].map(|x| x.as_device_ptr().as_raw());
        // SAFETY: operands of this shape, which outlive the launch.
        let code = unsafe { (self.cublas.gemm)(self.cublas.handle, a, b, c, m, n, k, products) };
        ensure!(code == 0, "cuBLAS gave {code}");
        Ok(())
    }

    /// Compares every element with the rounded sum, which is exact before.
    fn check(&mut self, what: &str, multiply: fn(&mut Self) -> Result<()>) -> Result<()> {
        let [_, m, n, _] = self.shape;
        self.c.set_8(0xFF)?;
        multiply(self)?;
        self.stream.synchronize()?;
        let mut found = vec![0; self.c.len()];
        self.c.copy_to(&mut found)?;
        let expected = |index: usize| {
            let (product, index) = (index / (m * n), index % (m * n));
            bf16::from_f32(self.expected[product].at(index / n, index % n)).to_bits()
        };
        let checked = check::equal(what, 0, &found, expected)?;
        println!("{what}: all {} elements are right", checked.elements);
        Ok(())
    }
}

type Contestant<'l> = (&'static str, fn(&mut GemmOperands<'l>) -> Result<()>);

fn main() -> Result<ExitCode> {
    let path = std::env::args().nth(1).context("usage: gemm CUBLAS.so")?;
    let _context = open()?;
    let device = Device::get_device(0)?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    // SAFETY: the library's initialisers are cuBLAS's.
    let library = unsafe { Library::new(&path) }.with_context(|| format!("load {path}"))?;
    let cublas = Cublas::new(&library, &stream)?;
    let ampere = Ampere::load(SM_80)?;
    ampere
        .gemm_mma_sync
        .allow_dynamic_shared_bytes(GEMM_MMA_SHARED_BYTES)?;
    let is_hopper = device.get_attribute(DeviceAttribute::ComputeCapabilityMajor)? == 9;
    let hopper = is_hopper.then(|| Hopper::load(SM_90A)).transpose()?;
    if let Some(hopper) = &hopper {
        hopper
            .gemm_wgmma
            .allow_dynamic_shared_bytes(GEMM_WGMMA_SHARED_BYTES)?;
    }
    let mut contestants: Vec<Contestant> = vec![
        ("cuBLAS", |work| work.cublas()),
        ("mma.sync", |work| work.mma_sync()),
    ];
    if is_hopper {
        ampere
            .gemm_mma_sync_wide
            .allow_dynamic_shared_bytes(GEMM_MMA_WIDE_SHARED_BYTES)?;
        contestants.push(("mma.sync, wide", |work| work.mma_sync_wide()));
        contestants.push(("wgmma", |work| work.wgmma(1)));
        contestants.push(("wgmma, clusters of 2", |work| work.wgmma(2)));
    }
    println!(
        "{}, medians of {ROUNDS} rounds in turn, each after {} ms of the same (measured)",
        device.name()?,
        SETTLING.as_millis()
    );
    let mut table = Table::new();
    table.set_header(["products", "by", "µs", "TFLOP/s", "of cuBLAS"]);
    let mut below = Vec::new();
    for (index, (shape, launches)) in SHAPES.into_iter().enumerate() {
        let mut work = operands(shape, &stream, device, &ampere, hopper.as_ref(), &cublas)?;
        for (name, multiply) in &contestants {
            work.check(name, *multiply)?;
        }
        let times = time(&mut work, &contestants, launches)?;
        let [products, m, n, k] = shape;
        for ((name, _), &time) in contestants.iter().zip(&times) {
            let of_cublas = times[0] / time;
            let rate = 2.0 * (products * m * n * k) as f64 / time / 1e6;
            let cells = [
                format!("{time:.1}"),
                format!("{rate:.1}"),
                format!("{of_cublas:.3}"),
            ];
            let [time, rate, share] = cells;
            table.add_row([
                format!("{products} x {m}x{n}x{k}"),
                (*name).to_owned(),
                time,
                rate,
                share,
            ]);
            let least = LEAST.iter().find(|least| least.0 == *name);
            below.extend(least.filter(|least| index == 0 && of_cublas < least.1));
        }
    }
    println!("{table}");
    for (name, least) in &below {
        println!("{name} reaches less than {least} of cuBLAS");
    }
    Ok(if below.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The operands of a shape, and what multiplies them.
fn operands<'l>(
    shape: [usize; 4],
    stream: &'l Stream,
    device: Device,
    ampere: &'l Ampere,
    hopper: Option<&'l Hopper>,
    cublas: &'l Cublas<'l>,
) -> Result<GemmOperands<'l>> {
    let [products, m, n, k] = shape;
    let expected: Vec<_> = (0..products as u64)
        .map(|i| PeriodicProducts::new(100 + i, 200 + i, k))
        .collect();
    let a: Vec<u16> = expected.iter().flat_map(|of| bits(of.left(m))).collect();
    let b: Vec<u16> = expected
        .iter()
        .flat_map(|of| bits(of.right_by_columns(n)))
        .collect();
    let (a, b) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
    let c = DeviceBuffer::zeroed(products * m * n)?;
    let map = |tensor: &DeviceBuffer<u16>, dimensions, [x, y]: [u32; 2]| {
        encode_tiled(
            tensor,
            Element::Bf16,
            dimensions,
            [x, y, 1],
            Swizzle::Bytes128,
        )
    };
    let encode = || -> Result<_> {
        Ok(DeviceBuffer::from_slice(&[
            map(&a, [k, m, products], GEMM_WGMMA_BOX)?,
            map(&b, [k, n, products], GEMM_WGMMA_BOX)?,
            map(&c, [n, m, products], GEMM_WGMMA_OUTPUT_BOX)?,
        ])?)
    };
    Ok(GemmOperands {
        shape,
        stream,
        multiprocessors: device.get_attribute(DeviceAttribute::MultiprocessorCount)? as u32,
        ampere,
        hopper,
        cublas,
        maps: hopper.map(|_| encode()).transpose()?,
        a,
        b,
        c,
        expected,
    })
}

/// The median time of each contestant's launch in µs; the first contestant changes from round to round.
fn time<'l>(
    work: &mut GemmOperands<'l>,
    contestants: &[Contestant<'l>],
    launches: usize,
) -> Result<Vec<f64>> {
    let mut times = vec![Vec::new(); contestants.len()];
    for round in 0..ROUNDS {
        for turn in 0..contestants.len() {
            let index = (turn + round) % contestants.len();
            let multiply = contestants[index].1;
            let stream = work.stream;
            let start = Instant::now();
            while start.elapsed() < SETTLING {
                (0..launches).try_for_each(|_| multiply(work))?;
                stream.synchronize()?;
            }
            let time = device_time(stream, || (0..launches).try_for_each(|_| multiply(work)))?;
            times[index].push(time / launches as f64);
        }
    }
    Ok(times.into_iter().map(median).collect())
}
