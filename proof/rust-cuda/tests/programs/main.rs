//! Each program's results against a CPU's, on the driver that `CUDA_DRIVER` names; the software GPU when it is not set.

mod blocks;
mod simulation;

use anyhow::{Context as _, Result, ensure};
use cust::launch;
use cust::memory::{CopyDestination as _, DeviceBuffer, DeviceCopy};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use libcuda::Choice;
use sha2::Digest as _;

/// A module and a stream on device 0.
struct TestDevice {
    module: Module,
    stream: Stream,
    _context: cust::context::Context,
}

fn open(ptx: &str) -> Result<TestDevice> {
    libcuda::select(Choice::from_environment_or(Choice::Software)?)?;
    let context = cust::quick_init()?;
    Ok(TestDevice {
        module: Module::from_ptx(ptx, &[]).context("load PTX")?,
        stream: Stream::new(StreamFlags::NON_BLOCKING, None)?,
        _context: context,
    })
}

fn download<T: DeviceCopy + Clone>(buffer: &DeviceBuffer<T>, blank: T) -> Result<Vec<T>> {
    let mut values = vec![blank; buffer.len()];
    buffer.copy_to(&mut values)?;
    Ok(values)
}

/// Numbers between -1 and 1.
fn numbers(seed: u32, count: usize) -> Vec<f32> {
    let mut numbers = fastrand::Rng::with_seed(seed.into());
    (0..count).map(|_| 2.0 * numbers.f32() - 1.0).collect()
}

#[test]
fn vecadd() -> Result<()> {
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/vecadd.ptx"))?;
    let (left, right) = (numbers(1, 1000), numbers(2, 1000));
    let (a, b) = (
        DeviceBuffer::from_slice(&left)?,
        DeviceBuffer::from_slice(&right)?,
    );
    let sum = DeviceBuffer::from_slice(&vec![f32::NAN; left.len()])?;
    let kernel = module.get_function("vecadd")?;
    // SAFETY: the parameters are the kernel's, and `sum` is as long as the others.
    unsafe {
        launch!(kernel<<<4, 256, 0, stream>>>(
            a.as_device_ptr(), a.len(), b.as_device_ptr(), b.len(), sum.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let expected: Vec<f32> = left.iter().zip(&right).map(|(a, b)| a + b).collect();
    ensure!(download(&sum, 0.0)? == expected);
    Ok(())
}

/// (kernel, threads in x and y, columns of a block)
const PRODUCTS: [(&str, u32, u32); 3] = [("naive", 16, 16), ("tiled", 16, 16), ("wide", 8, 16)];

#[test]
fn products_are_contracted_and_sums_stay() {
    let (gemm, vecadd) = (
        include_str!("../../ptx/gemm.ptx"),
        include_str!("../../ptx/vecadd.ptx"),
    );
    assert!(gemm.contains("fma.rn.f32"));
    let is_sum = |line: &str| line.contains("add.rn.f32") || line.contains("add.f32");
    assert!(vecadd.lines().any(is_sum) && !vecadd.contains("fma.rn.f32"));
}

/// Loads and stores that name no state space.
fn generic_accesses(kernel: &str) -> Vec<&str> {
    let is_access = |line: &&str| line.starts_with("ld.") || line.starts_with("st.");
    let is_placed = |line: &str| {
        let operation = line.split_whitespace().next().unwrap_or_default();
        let spaces = ["global", "shared", "param", "local", "const"];
        operation.split('.').any(|part| spaces.contains(&part))
    };
    let lines = kernel.lines().map(str::trim).filter(is_access);
    lines.filter(|line| !is_placed(line)).collect()
}

#[test]
fn tiles_are_accessed_as_shared_memory() {
    let gemm = include_str!("../../ptx/gemm.ptx");
    for kernel in ["tiled", "wide"] {
        let start = gemm.find(&format!(".visible .entry {kernel}(")).unwrap();
        let (body, _) = gemm[start..].split_once("\n}").unwrap();
        assert!(
            body.contains("ld.shared.") && body.contains("st.shared."),
            "{kernel}"
        );
        assert_eq!(generic_accesses(body), [""; 0], "{kernel}");
    }
}

/// The name of a source file of `core` or `alloc` in a panic's message begins with `/rustc`, on whichever machine it was compiled.
#[test]
fn modules_name_no_folder_of_the_compiler() {
    let bytes = |text: &str| -> String {
        let bytes: Vec<_> = text.bytes().map(|byte| byte.to_string()).collect();
        bytes.join(", ")
    };
    for ptx in [
        include_str!("../../ptx/histogram.ptx"),
        include_str!("../../ptx/path_tracer.ptx"),
        include_str!("../../ptx/printing.ptx"),
        include_str!("../../ptx/sha2.ptx"),
    ] {
        assert!(!ptx.contains(&bytes("rustlib")));
    }
    assert!(
        include_str!("../../ptx/path_tracer.ptx").contains(&bytes("/rustc/library/alloc/src/"))
    );
}

#[test]
fn gemm() -> Result<()> {
    const N: usize = 50;
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/gemm.ptx"))?;
    let (a, b, c) = (numbers(3, N * N), numbers(4, N * N), numbers(5, N * N));
    let expected: Vec<f64> = (0..N * N)
        .map(|i| {
            let (row, column) = (i / N, i % N);
            let products = (0..N).map(|k| f64::from(a[row * N + k]) * f64::from(b[k * N + column]));
            1.5 * products.sum::<f64>() + 0.25 * f64::from(c[i])
        })
        .collect();
    for (name, side, columns) in PRODUCTS {
        let (a, b, c) = (
            DeviceBuffer::from_slice(&a)?,
            DeviceBuffer::from_slice(&b)?,
            DeviceBuffer::from_slice(&c)?,
        );
        let kernel = module.get_function(name)?;
        let grid = ((N as u32).div_ceil(columns), (N as u32).div_ceil(side));
        // SAFETY: the parameters are the kernel's; all matrices have N rows and columns.
        unsafe {
            launch!(kernel<<<grid, (side, side), 0, stream>>>(
                a.as_device_ptr(), a.len(), b.as_device_ptr(), b.len(), c.as_device_ptr(), N, 1.5_f32, 0.25_f32
            ))?;
        }
        stream.synchronize()?;
        for (i, (found, expected)) in download(&c, 0.0)?.into_iter().zip(&expected).enumerate() {
            ensure!(
                (f64::from(found) - expected).abs() < 1e-4,
                "{name}, element {i}: {found}, expected {expected}"
            );
        }
    }
    Ok(())
}

#[test]
fn sha2() -> Result<()> {
    const LENGTH: usize = 119;
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/sha2.ptx"))?;
    let messages: Vec<u8> = (0..LENGTH * 5).map(|i| (i * i / 7) as u8).collect();
    let input = DeviceBuffer::from_slice(&messages)?;
    let (short, long) = (
        DeviceBuffer::from_slice(&[0_u8; 5 * 32])?,
        DeviceBuffer::from_slice(&[0_u8; 5 * 64])?,
    );
    let (sha256, sha512) = (
        module.get_function("sha256")?,
        module.get_function("sha512")?,
    );
    // SAFETY: the parameters are the kernels'; there is room for five digests.
    unsafe {
        launch!(sha256<<<1, 32, 0, stream>>>(input.as_device_ptr(), input.len(), LENGTH, short.as_device_ptr()))?;
        launch!(sha512<<<1, 32, 0, stream>>>(input.as_device_ptr(), input.len(), LENGTH, long.as_device_ptr()))?;
    }
    stream.synchronize()?;
    let expected: Vec<u8> = messages
        .chunks(LENGTH)
        .flat_map(sha2::Sha256::digest)
        .collect();
    ensure!(download(&short, 0)? == expected, "SHA-256");
    let expected: Vec<u8> = messages
        .chunks(LENGTH)
        .flat_map(sha2::Sha512::digest)
        .collect();
    ensure!(download(&long, 0)? == expected, "SHA-512");
    Ok(())
}

/// The sources of the kernel, whose function the host calls as well.
#[path = "../../kernels/i128/src/compute.rs"]
mod compute;

#[test]
fn arithmetic_of_128_bits() -> Result<()> {
    let values = [
        0,
        1,
        -1,
        7,
        -40,
        1 << 100,
        -(1 << 99) + 12_345,
        i128::MAX,
        i128::MIN,
        0x1234_5678_9abc_def0_0fed_cba9_8765_4321,
    ];
    let pairs: Vec<(i128, i128)> = values
        .iter()
        .flat_map(|&a| values.map(|b| (a, b)))
        .collect();
    let words = |select: fn(&(i128, i128)) -> i128| -> Vec<u64> {
        let values = pairs.iter().map(select);
        values
            .flat_map(|value| [value as u64, (value >> 64) as u64])
            .collect()
    };
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/i128.ptx"))?;
    let (a, b) = (
        DeviceBuffer::from_slice(&words(|pair| pair.0))?,
        DeviceBuffer::from_slice(&words(|pair| pair.1))?,
    );
    let size = size_of::<compute::Results>() / 8;
    let results = DeviceBuffer::from_slice(&vec![0_u64; size * pairs.len()])?;
    let kernel = module.get_function("arithmetic")?;
    // SAFETY: the parameters are the kernel's; there is room for one result for each pair.
    unsafe {
        launch!(kernel<<<1, 128, 0, stream>>>(
            a.as_device_ptr(), pairs.len(), b.as_device_ptr(), pairs.len(), results.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let words = download(&results, 0)?;
    for (&(a, b), found) in pairs.iter().zip(words.chunks(size)) {
        let wide = |at: usize| i128::from(found[at]) | i128::from(found[at + 1]) << 64;
        let found = compute::Results {
            sum: wide(0),
            product: wide(2),
            quotient: wide(4),
            remainder: wide(6),
            shifted: wide(8),
            bits: found[10] as u32,
        };
        ensure!(found == compute::compute(a, b), "{a}, {b}: {found:?}");
    }
    Ok(())
}

/// The kernel's sources, whose scene the host computes as well.
#[path = "../reference/path_tracer.rs"]
mod path_tracer;

#[test]
fn path_tracing() -> Result<()> {
    use path_tracer::{HEIGHT, WIDTH, colours, scene, view};
    let TestDevice { module, stream, .. } = &open(include_str!("../../ptx/path_tracer.ptx"))?;
    let shapes = DeviceBuffer::from_slice(&scene())?;
    let words = [
        shapes.as_device_ptr().as_raw(),
        path_tracer::SHAPES,
        path_tracer::BOUNCES,
    ];
    let scene = DeviceBuffer::from_slice(&words)?;
    let pixels = DeviceBuffer::from_slice(&vec![f32::NAN; 3 * WIDTH * HEIGHT])?;
    let bytes = DeviceBuffer::from_slice(&vec![0_u8; 3 * WIDTH * HEIGHT])?;
    let (render, to_bytes) = (
        module.get_function("render")?,
        module.get_function("to_bytes")?,
    );
    let grid = (WIDTH.div_ceil(8) as u32, HEIGHT.div_ceil(8) as u32);
    // SAFETY: the parameters are the kernels'; there is room for all pixels.
    unsafe {
        launch!(render<<<grid, (8, 8), 0, stream>>>(pixels.as_device_ptr(), view(), scene.as_device_ptr()))?;
        launch!(to_bytes<<<(WIDTH * HEIGHT).div_ceil(64) as u32, 64, 0, stream>>>(
            pixels.as_device_ptr(), WIDTH * HEIGHT, bytes.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let (found, bytes) = (download(&pixels, 0.0)?, download(&bytes, 0)?);
    let expected = colours();
    let mut different = 0;
    for (i, (&found, expected)) in found.iter().zip(&expected).enumerate() {
        ensure!(bytes[i] == (found.sqrt() * 255.0) as u8, "byte {i}");
        different += usize::from((f64::from(found) - expected).abs() > 1e-3);
    }
    // A ray that grazes a shape may hit it on one side and miss it on the other.
    ensure!(
        different < found.len() / 200,
        "{different} of {} channels differ",
        found.len()
    );
    Ok(())
}
