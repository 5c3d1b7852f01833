//! The kernels over tiles of an array, in all forms.

use super::memory::Array;
use super::pair::{Agreement::Bits, KernelPair};
use super::{Purpose, some};
use anyhow::Result;
use cust::device::{Device, DeviceAttribute};
use gpu_kernels::{CONSUMERS, PLAIN_PRODUCERS, Signature as _};

/// The kernels and their threads per block.
const FORMS: [(&str, u32); 4] = [
    (gpu_kernels::fma_tiles_unspecialised::NAME, CONSUMERS),
    (
        gpu_kernels::fma_tiles_named_barriers::NAME,
        CONSUMERS + PLAIN_PRODUCERS,
    ),
    (gpu_kernels::fma_tiles_cp_async::NAME, CONSUMERS + 32),
    (gpu_kernels::fma_tiles_bulk::NAME, CONSUMERS + 32),
];

pub fn pairs(device: Device, purpose: Purpose) -> Result<Vec<KernelPair>> {
    let n = purpose.choose(64 << 20, 50_004);
    let (input, output) = (Array::numbers(n, 1.0)?, Array::unwritten(n)?);
    let multiprocessors = device.get_attribute(DeviceAttribute::MultiprocessorCount)? as u32;
    let grids = purpose.choose([1, 4].map(|blocks| blocks * multiprocessors), [1, 7]);
    let mut pairs = Vec::new();
    // Memory, both, arithmetic.
    for (rounds, blocks) in [
        (1, grids[1]),
        (64, grids[0]),
        (64, grids[1]),
        (256, grids[1]),
    ] {
        for (name, threads) in FORMS {
            let pair = KernelPair::new(name, [blocks, 1, 1], threads)
                .reads(&input)
                .length(n)
                .writes(&output, Bits)
                .number(rounds);
            pairs.push(pair.labelled(format!("{blocks} blocks, {rounds} rounds")));
        }
    }
    some(pairs)
}
