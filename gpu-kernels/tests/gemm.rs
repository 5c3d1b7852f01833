//! The matrix products on tensor cores, against the CPU: shapes that tiles divide and shapes that they do not.

mod support;

use anyhow::{Result, ensure};
use cuda_host::tensor_map::{Element, Swizzle, encode_tiled};
use cust::memory::DeviceBuffer;
use gpu_kernels::{
    GEMM_MMA_SHARED_BYTES, GEMM_MMA_THREADS, GEMM_MMA_TILE, GEMM_MMA_WIDE_SHARED_BYTES,
    GEMM_MMA_WIDE_THREADS, GEMM_WGMMA_BOX, GEMM_WGMMA_OUTPUT_BOX, GEMM_WGMMA_SHARED_BYTES,
    GEMM_WGMMA_THREADS, SM_80, SM_90A, Signature as _,
};
use support::LaunchArgument::U32;
use support::{LaunchExtents, TestDevice, download, numbers, pointer, upload};

/// Products, rows, columns, terms.
type GemmExtents = [usize; 4];

/// A tile and less than one, one more than a tile, several products, and fewer terms than stages, or than a tile.
const CASES: [GemmExtents; 7] = [
    [1, 128, 256, 64],
    [2, 256, 256, 256],
    [1, 129, 264, 136],
    [3, 100, 8, 64],
    [2, 7, 72, 8],
    [1, 1, 520, 200],
    [1, 300, 128, 448],
];

/// More tiles down than `gemm_mma_sync_wide` computes together: 9, and 3 along.
const TALL: [GemmExtents; 1] = [[1, 2100, 400, 8]];

/// Elements behind C, which no kernel may touch.
const BEHIND: usize = 4096;
const UNTOUCHED: u16 = 0xFFFF;

fn from_bits(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// The nearest `bf16`, of two the even one.
fn to_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) as u16
}

/// Operands of a case.
struct Operands {
    a: Vec<u16>,
    b: Vec<u16>,
}

impl Operands {
    fn new([products, m, n, k]: GemmExtents, number: impl Fn(u32, usize) -> Vec<f32>) -> Self {
        let bits = |seed, count| number(seed, count).into_iter().map(to_bits).collect();
        Self {
            a: bits(1, products * m * k),
            b: bits(2, products * n * k),
        }
    }

    /// Compares every element of C with the sum in `f64`.
    ///
    /// A product of two `bf16` is exact in `f32`. Each of the `k` additions, in whichever order, is off by at most 2^-23 of what has been
    /// added so far, which is at most the sum of the absolute values; then the sum is rounded to `bf16`, by at most 2^-8 of it.
    fn check(&self, what: &str, [_, m, n, k]: GemmExtents, c: &[u16]) -> Result<()> {
        for (i, &found) in c.iter().enumerate() {
            let (product, row, column) = (i / (m * n), i / n % m, i % n);
            let a = &self.a[(product * m + row) * k..][..k];
            let b = &self.b[(product * n + column) * k..][..k];
            let terms = a.iter().zip(b).map(|(&a, &b)| from_bits(a) * from_bits(b));
            let (sum, all) = terms.fold((0.0, 0.0), |(sum, all), x| (sum + x, all + x.abs()));
            let added = k as f64 * all / f64::from(1u32 << 23);
            let tolerated = added + (sum.abs() + added) / 256.0;
            let error = (from_bits(found) - sum).abs();
            ensure!(
                error <= tolerated,
                "{what}: element {i} is {}, the sum is {sum}, off by {error} and not by {tolerated}",
                from_bits(found)
            );
        }
        Ok(())
    }
}

/// Whole numbers from -3 to 3: all sums are exact, and the tolerance of a small sum is less than a unit.
fn whole(seed: u32, count: usize) -> Vec<f32> {
    numbers(seed, count)
        .into_iter()
        .map(|x| (x * 3.0).round())
        .collect()
}

/// Runs `launch` with A, B and C on the device for each case and both kinds of numbers, and checks what it leaves.
fn check_all(
    what: &str,
    cases: &[GemmExtents],
    mut launch: impl FnMut(GemmExtents, [&DeviceBuffer<u16>; 2], &DeviceBuffer<u16>) -> Result<()>,
) -> Result<()> {
    for &case in cases {
        for operands in [Operands::new(case, numbers), Operands::new(case, whole)] {
            let [products, m, n, _] = case;
            let len = products * m * n;
            let (a, b) = (upload(&operands.a)?, upload(&operands.b)?);
            let c = upload(&vec![UNTOUCHED; len + BEHIND])?;
            launch(case, [&a, &b], &c)?;
            let found = download(&c)?;
            operands.check(&format!("{what} of {case:?}"), case, &found[..len])?;
            let behind = found[len..].iter().all(|&element| element == UNTOUCHED);
            ensure!(behind, "{what} of {case:?} writes behind C");
        }
    }
    Ok(())
}

/// Launches a kernel with `mma.sync`, by this many blocks along x and y.
fn mma_sync(
    device: &TestDevice,
    (kernel, threads, shared_bytes): (&str, u32, u32),
    [x, y]: [u32; 2],
    [_, m, n, k]: GemmExtents,
    [a, b]: [&DeviceBuffer<u16>; 2],
    c: &DeviceBuffer<u16>,
) -> Result<()> {
    let shape = LaunchExtents {
        grid: [x, y, 1],
        threads,
        shared_bytes,
    };
    device.allow_shared_bytes(kernel, shared_bytes)?;
    let [m, n, k] = [m, n, k].map(|len| U32(len as u32));
    let arguments = [pointer(a), pointer(b), pointer(c), m, n, k];
    // SAFETY: the kernel's parameters, and operands of this shape.
    unsafe { device.run(kernel, shape, &arguments) }
}

/// A block for each tile.
fn narrow(
    device: &TestDevice,
    case: GemmExtents,
    operands: [&DeviceBuffer<u16>; 2],
    c: &DeviceBuffer<u16>,
) -> Result<()> {
    let kernel = (
        gpu_kernels::gemm_mma_sync::NAME,
        GEMM_MMA_THREADS,
        GEMM_MMA_SHARED_BYTES,
    );
    let [products, m, n, _] = case.map(|len| len as u32);
    let tiles = m.div_ceil(GEMM_MMA_TILE[0]) * n.div_ceil(GEMM_MMA_TILE[1]);
    mma_sync(device, kernel, [tiles * products, 1], case, operands, c)
}

#[test]
fn mma_sync_multiplies_matrices_of_any_shape() -> Result<()> {
    let device = TestDevice::open(SM_80)?;
    let kernel = gpu_kernels::gemm_mma_sync::NAME;
    check_all(kernel, &CASES, |case, operands, c| {
        narrow(&device, case, operands, c)
    })
}

/// By one block; by several, for whom halves of tiles are left at the end, or whole ones; and by more than there are halves. The bits are those of
/// `gemm_mma_sync`, which adds in the same order.
#[test]
fn wide_mma_sync_gives_the_bits_of_mma_sync() -> Result<()> {
    let device = TestDevice::open(SM_80)?;
    let name = gpu_kernels::gemm_mma_sync_wide::NAME;
    let kernel = (name, GEMM_MMA_WIDE_THREADS, GEMM_MMA_WIDE_SHARED_BYTES);
    for (blocks, cases) in [(1, &CASES[..]), (5, &CASES), (4, &TALL), (60, &TALL)] {
        check_all(name, cases, |case, operands, c| {
            let expected = upload(&vec![UNTOUCHED; c.len()])?;
            narrow(&device, case, operands, &expected)?;
            mma_sync(&device, kernel, [blocks, case[0] as u32], case, operands, c)?;
            let is_same = download(c)? == download(&expected)?;
            ensure!(is_same, "{name} of {case:?} by {blocks} blocks: other bits");
            Ok(())
        })?;
    }
    Ok(())
}

/// By one block and by several, alone and in clusters of two.
#[test]
fn wgmma_multiplies_matrices_of_any_shape() -> Result<()> {
    let kernel = gpu_kernels::gemm_wgmma::NAME;
    let device = TestDevice::open(SM_90A)?;
    device.allow_shared_bytes(kernel, GEMM_WGMMA_SHARED_BYTES)?;
    for (cluster, blocks) in [(1, 1), (1, 5), (2, 2), (2, 6)] {
        check_all(kernel, &CASES, |[products, m, n, k], [a, b], c| {
            let (terms, rows) = (GEMM_WGMMA_BOX[0], GEMM_WGMMA_BOX[1]);
            let [wide, high] = GEMM_WGMMA_OUTPUT_BOX;
            let map = |tensor: &_, dimensions, box_of: [u32; 2]| {
                let [x, y] = box_of;
                encode_tiled(
                    tensor,
                    Element::Bf16,
                    dimensions,
                    [x, y, 1],
                    Swizzle::Bytes128,
                )
            };
            let result = c.index(..products * m * n);
            let maps = [
                map(a, [k, m, products], [terms, rows])?,
                map(b, [k, n, products], [terms, rows])?,
                map(&result, [n, m, products], [wide, high])?,
            ];
            let maps = upload(maps.as_flattened())?;
            let shape = LaunchExtents {
                grid: [blocks, 1, 1],
                threads: GEMM_WGMMA_THREADS,
                shared_bytes: GEMM_WGMMA_SHARED_BYTES,
            };
            let [m, n, k, products] = [m, n, k, products].map(|len| U32(len as u32));
            let arguments = [pointer(&maps), m, n, k, products];
            // SAFETY: the kernel's parameters, and maps of operands of this shape.
            unsafe { device.run_in_clusters(kernel, shape, cluster, &arguments) }
        })?;
    }
    Ok(())
}
