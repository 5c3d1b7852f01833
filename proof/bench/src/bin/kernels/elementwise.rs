//! Updates of single elements, and reductions.

use super::memory::Array;
use super::pair::{Agreement::*, Pair};
use super::{Purpose, blocks, some};
use anyhow::Result;
use cust::device::Device;
use gpu_kernels::names;

const BLOCK: u32 = 256;
/// So many blocks as an H200 has multiprocessors.
const ONE_EACH: u32 = 132;
/// By how much sums may differ to which blocks add in any order.
const ANY_ORDER: f32 = 1e-3;

pub fn pairs(_: Device, purpose: Purpose) -> Result<Vec<Pair>> {
    let n = purpose.choose(64 << 20, 70_001);
    let (x, y) = (Array::numbers(n, 1.0)?, Array::numbers(n, 1.0)?);
    let total = Array::new(vec![0])?;
    let each = blocks(n.div_ceil(BLOCK as usize))?;
    let fours = each.div_ceil(4);
    let at = |name, blocks| Pair::new(name, [blocks, 1, 1], BLOCK);
    let affine = |name, blocks| {
        at(name, blocks)
            .writes(&x, Bits)
            .length(n)
            .float(0.5)
            .float(0.25)
    };
    let chain = n.min((ONE_EACH * BLOCK) as usize);
    let rounds = purpose.choose(10_000, 100);
    let mut pairs = vec![affine(names::AFFINE, each), affine(names::AFFINE_X4, fours)];
    for rounds in [1, 16] {
        for (name, blocks) in [
            (names::AFFINE_ROUNDS, each),
            (names::AFFINE_ROUNDS_X4, fours),
        ] {
            let label = format!("{rounds} rounds");
            pairs.push(affine(name, blocks).number(rounds).labelled(label));
        }
    }
    pairs.extend([
        at(names::FMA_CHAIN, ONE_EACH)
            .reads(&x)
            .length(chain)
            .writes(&y, Bits)
            .number(rounds),
        at(names::FILL, each).writes(&x, Bits).length(n).float(0.5),
        at(names::IOTA, each).writes(&x, Bits).length(n).number(7),
        at(names::SCALE, each).writes(&x, Bits).length(n).float(0.5),
        at(names::SAXPY, each)
            .float(0.5)
            .reads(&x)
            .length(n)
            .writes(&y, Bits),
        at(names::SUM, ONE_EACH * 8)
            .reads(&x)
            .length(n)
            .writes(&total, Share(ANY_ORDER)),
        at(names::DOT, ONE_EACH * 8)
            .reads(&x)
            .length(n)
            .reads(&y)
            .writes(&total, Share(ANY_ORDER)),
    ]);
    some(pairs)
}
