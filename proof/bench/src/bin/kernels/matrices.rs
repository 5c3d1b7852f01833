//! Products, softmax, GELU.

use super::memory::Array;
use super::pair::{Agreement::Bits, KernelPair};
use super::{Purpose, blocks, some};
use anyhow::Result;
use cust::device::Device;
use gpu_kernels::Signature as _;
use std::rc::Rc;

pub fn pairs(_: Device, purpose: Purpose) -> Result<Vec<KernelPair>> {
    let mut pairs = Vec::new();
    // One of them is no multiple of the tile; the last is as narrow as those of a small transformer's layer.
    for [m, n, k] in purpose.choose(
        [[1000; 3], [1024; 3], [2048; 3], [1024, 64, 1024]],
        [[65; 3], [128; 3], [100, 70, 33], [128, 64, 128]],
    ) {
        let operands = [
            Array::numbers((m * k) as usize, 1.0)?,
            Array::numbers((k * n) as usize, 1.0)?,
            Array::unwritten((m * n) as usize)?,
        ];
        for name in [
            gpu_kernels::matmul::NAME,
            gpu_kernels::matmul_transposed::NAME,
        ] {
            pairs.push(product(name, [m, n, k], &operands));
        }
    }

    let elements: u32 = purpose.choose(16 << 20, 1 << 14);
    let bias = Array::numbers(elements as usize, 1.0)?;
    let residual = Array::numbers(elements as usize, 1.0)?;
    for columns in purpose.choose([256, 1024], [32, 100]) {
        let (rows, data) = (elements / columns, Array::numbers(elements as usize, 8.0)?);
        for causal in [0, 1] {
            let softmax = KernelPair::new(
                gpu_kernels::softmax_rows::NAME,
                [rows.div_ceil(4), 1, 1],
                128,
            )
            .writes(&data, Bits)
            .number(rows)
            .number(columns)
            .number(columns)
            .number(causal);
            let kind = ["", ", causal"][causal as usize];
            pairs.push(softmax.labelled(format!("{columns} columns{kind}")));
        }
    }
    let data = Array::numbers(elements as usize, 1.0)?;
    let columns = 256;
    let at = |name| -> Result<KernelPair> {
        let grid = [blocks(elements.div_ceil(256) as usize)?, 1, 1];
        let pair = KernelPair::new(name, grid, 256).writes(&data, Bits);
        Ok(pair.number(elements).reads(&bias).number(columns))
    };
    pairs.push(at(gpu_kernels::bias_gelu::NAME)?);
    pairs.push(at(gpu_kernels::bias_residual::NAME)?.reads(&residual));
    some(pairs)
}

/// A product of contiguous matrices.
fn product(name: &'static str, [m, n, k]: [u32; 3], [a, b, c]: &[Rc<Array>; 3]) -> KernelPair {
    let tiles = |extent: u32| extent.div_ceil(gpu_kernels::MATMUL_TILE);
    let ld_b = if name == gpu_kernels::matmul::NAME {
        n
    } else {
        k
    };
    let pair = KernelPair::new(name, [tiles(n), tiles(m), 1], gpu_kernels::MATMUL_THREADS)
        .reads(a)
        .reads(b)
        .writes(c, Bits);
    let numbers = [m, n, k, k, ld_b, n, 0, 0, 0];
    let pair = numbers.into_iter().fold(pair, KernelPair::number);
    pair.float(0.5).labelled(format!("{m} x {n} x {k}"))
}
