//! Updates of single elements, and reductions.

use super::memory::Array;
use super::pair::{Agreement::*, KernelPair};
use super::{Purpose, blocks, some};
use anyhow::Result;
use cust::device::Device;
use gpu_kernels::Signature as _;

const BLOCK: u32 = 256;
/// As many blocks as an H200 has multiprocessors.
const ONE_EACH: u32 = 132;
/// The allowed error of sums to which blocks add in any order.
const ANY_ORDER: f32 = 1e-3;

pub fn pairs(_: Device, purpose: Purpose) -> Result<Vec<KernelPair>> {
    let n = purpose.choose(64 << 20, 70_001);
    let (x, y) = (Array::numbers(n, 1.0)?, Array::numbers(n, 1.0)?);
    let total = Array::new(vec![0])?;
    let each = blocks(n.div_ceil(BLOCK as usize))?;
    let fours = each.div_ceil(4);
    let at = |name, blocks| KernelPair::new(name, [blocks, 1, 1], BLOCK);
    let affine = |name, blocks| {
        at(name, blocks)
            .writes(&x, Bits)
            .length(n)
            .float(0.5)
            .float(0.25)
    };
    let chain = n.min((ONE_EACH * BLOCK) as usize);
    let rounds = purpose.choose(10_000, 100);
    let mut pairs = vec![
        affine(gpu_kernels::affine::NAME, each),
        affine(gpu_kernels::affine_x4::NAME, fours),
    ];
    for rounds in [1, 16] {
        for (name, blocks) in [
            (gpu_kernels::affine_rounds::NAME, each),
            (gpu_kernels::affine_rounds_x4::NAME, fours),
        ] {
            let label = format!("{rounds} rounds");
            pairs.push(affine(name, blocks).number(rounds).labelled(label));
        }
    }
    pairs.extend([
        at(gpu_kernels::fma_chain::NAME, ONE_EACH)
            .reads(&x)
            .length(chain)
            .writes(&y, Bits)
            .number(rounds),
        at(gpu_kernels::fill::NAME, each)
            .writes(&x, Bits)
            .length(n)
            .float(0.5),
        at(gpu_kernels::iota::NAME, each)
            .writes(&x, Bits)
            .length(n)
            .number(7),
        at(gpu_kernels::scale::NAME, each)
            .writes(&x, Bits)
            .length(n)
            .float(0.5),
        at(gpu_kernels::saxpy::NAME, each)
            .float(0.5)
            .reads(&x)
            .length(n)
            .writes(&y, Bits),
        at(gpu_kernels::sum::NAME, ONE_EACH * 8)
            .reads(&x)
            .length(n)
            .writes(&total, Share(ANY_ORDER)),
        at(gpu_kernels::dot::NAME, ONE_EACH * 8)
            .reads(&x)
            .length(n)
            .reads(&y)
            .writes(&total, Share(ANY_ORDER)),
    ]);
    some(pairs)
}
