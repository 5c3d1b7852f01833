//! The kernels of a small transformer layer against references in `f64`, for sizes that are no multiples of a tile.

mod support;

use anyhow::Result;
use gpu_kernels::{SM_70, Signature as _};
use support::LaunchArgument::{F32, U32};
use support::{LaunchExtents, TestDevice, blocks, download, near, numbers, pointer, upload};

/// Extents of a product, distances of rows, and batches.
#[derive(Clone, Copy)]
struct ProductExtents {
    m: u32,
    n: u32,
    k: u32,
    pad: u32,
    batches: u32,
}

impl ProductExtents {
    /// Distances of rows in A, B and C, and of matrices.
    fn layout(self, transposed: bool) -> ([u32; 3], [u32; 3]) {
        let Self { m, n, k, pad, .. } = self;
        let (b_rows, b_columns) = if transposed { (n, k) } else { (k, n) };
        let ld = [k + pad, b_columns + pad, n + pad];
        (ld, [m * ld[0], b_rows * ld[1], m * ld[2]])
    }
}

/// Sums have at most 200 terms below 1: each rounding is at most 2^-24 of 200.
const TOLERANCE: f64 = 200.0 * 200.0 / (1 << 24) as f64;
/// The value that must remain in C's padding.
const UNTOUCHED: f32 = -7.0;

fn multiply(device: &TestDevice, product: ProductExtents, transposed: bool) -> Result<()> {
    let ProductExtents {
        m, n, k, batches, ..
    } = product;
    let (ld, batch) = product.layout(transposed);
    let [a, b] = [0, 1].map(|i| numbers(i + 1, (batch[i as usize] * batches) as usize));
    let alpha = 0.75_f32;
    let (da, db) = (upload(&a)?, upload(&b)?);
    let dc = upload(&vec![UNTOUCHED; (batch[2] * batches) as usize])?;
    let name = if transposed {
        gpu_kernels::matmul_transposed::NAME
    } else {
        gpu_kernels::matmul::NAME
    };
    let shape = LaunchExtents {
        grid: [
            n.div_ceil(gpu_kernels::MATMUL_TILE),
            m.div_ceil(gpu_kernels::MATMUL_TILE),
            batches,
        ],
        threads: gpu_kernels::MATMUL_THREADS,
        shared_bytes: 0,
    };
    let mut arguments = vec![pointer(&da), pointer(&db), pointer(&dc)];
    arguments.extend([[m, n, k], ld, batch].concat().into_iter().map(U32));
    arguments.push(F32(alpha));
    // SAFETY: the kernel's parameters, and matrices of these extents.
    unsafe { device.run(name, shape, &arguments)? };

    let mut expected = vec![f64::from(UNTOUCHED); (batch[2] * batches) as usize];
    for z in 0..batches {
        for row in 0..m {
            for column in 0..n {
                let term = |i| {
                    let a = a[(z * batch[0] + row * ld[0] + i) as usize];
                    let place = if transposed {
                        column * ld[1] + i
                    } else {
                        i * ld[1] + column
                    };
                    f64::from(a) * f64::from(b[(z * batch[1] + place) as usize])
                };
                let sum: f64 = (0..k).map(term).sum();
                expected[(z * batch[2] + row * ld[2] + column) as usize] = sum * f64::from(alpha);
            }
        }
    }
    near(
        &format!("{name} {m} {n} {k}"),
        &download(&dc)?,
        &expected,
        TOLERANCE,
    )
}

#[test]
fn products_are_those_of_the_reference() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    for (m, n, k) in [
        (1, 1, 1),
        (64, 64, 16),
        (65, 63, 17),
        (100, 130, 33),
        (7, 200, 200),
    ] {
        for transposed in [false, true] {
            let product = |pad, batches| ProductExtents {
                m,
                n,
                k,
                pad,
                batches,
            };
            multiply(&device, product(0, 1), transposed)?;
            multiply(&device, product(3, 3), transposed)?;
        }
    }
    Ok(())
}

fn softmax(x: &[f32], seen: usize) -> Vec<f64> {
    let max = x[..seen]
        .iter()
        .fold(f32::NEG_INFINITY, |max, &x| max.max(x));
    let weight = |x: &f32| (f64::from(*x) - f64::from(max)).exp();
    let sum: f64 = x[..seen].iter().map(weight).sum();
    let of = |(i, x): (usize, &f32)| if i < seen { weight(x) / sum } else { 0.0 };
    x.iter().enumerate().map(of).collect()
}

#[test]
fn softmax_is_that_of_the_reference() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    for (rows, columns, pad) in [(1, 1, 0), (5, 31, 2), (66, 33, 0), (9, 300, 4)] {
        for causal in [false, true] {
            let pitch = columns + pad;
            // From -40 to 40: without the maximum's subtraction the exponentials would be out of range.
            let x: Vec<f32> = numbers(5, rows * pitch).iter().map(|x| 40.0 * x).collect();
            let data = upload(&x)?;
            let arguments = [rows, columns, pitch, usize::from(causal)].map(|n| U32(n as u32));
            let arguments = [vec![pointer(&data)], arguments.to_vec()].concat();
            // SAFETY: the kernel's parameters, and a matrix of this shape.
            unsafe {
                device.run(
                    gpu_kernels::softmax_rows::NAME,
                    blocks(rows.div_ceil(4) as u32, 128),
                    &arguments,
                )?;
            }
            let mut expected: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            for row in 0..rows {
                let from = row * pitch;
                let seen = if causal { row % columns + 1 } else { columns };
                let row = from..from + columns;
                expected[row.clone()].copy_from_slice(&softmax(&x[row], seen));
            }
            // The arguments of the exponentials have errors of up to 80 times 2^-23.
            near(
                &format!("{rows} {columns} {causal}"),
                &download(&data)?,
                &expected,
                2e-5,
            )?;
        }
    }
    Ok(())
}

#[test]
fn bias_gelu_and_residual_are_those_of_the_reference() -> Result<()> {
    let device = TestDevice::open(SM_70)?;
    let (n, columns) = (1000, 77);
    let x: Vec<f32> = numbers(6, n).iter().map(|x| 9.0 * x).collect();
    let (bias, residual) = (numbers(7, columns), numbers(8, n));
    let (bias_there, residual_there) = (upload(&bias)?, upload(&residual)?);
    let shape = blocks((n as u32).div_ceil(128), 128);

    let data = upload(&x)?;
    let common = [
        pointer(&data),
        U32(n as u32),
        pointer(&bias_there),
        U32(columns as u32),
    ];
    // SAFETY: the kernel's parameters, and buffers of these lengths.
    unsafe { device.run(gpu_kernels::bias_gelu::NAME, shape, &common)? };
    let biased = |i: usize| f64::from(x[i]) + f64::from(bias[i % columns]);
    let gelu = |x: f64| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
        0.5 * x * (1.0 + inner.tanh())
    };
    let expected: Vec<f64> = (0..n).map(|i| gelu(biased(i))).collect();
    near("bias_gelu", &download(&data)?, &expected, 1e-5)?;

    let data = upload(&x)?;
    let common = [
        pointer(&data),
        U32(n as u32),
        pointer(&bias_there),
        U32(columns as u32),
    ];
    let arguments = [common.to_vec(), vec![pointer(&residual_there)]].concat();
    // SAFETY: the kernel's parameters, and buffers of these lengths.
    unsafe { device.run(gpu_kernels::bias_residual::NAME, shape, &arguments)? };
    let expected: Vec<f64> = (0..n).map(|i| biased(i) + f64::from(residual[i])).collect();
    near("bias_residual", &download(&data)?, &expected, 2e-6)
}
