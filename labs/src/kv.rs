//! A small model's cache of keys and values: its shape, its numbers, and its attention on the CPU.
//!
//! A layer's cache is one page of `[2][head][token][element]`: all keys, then all values.

/// Layers.
pub const LAYERS: usize = 4;
/// Heads of keys and values.
pub const HEADS: u32 = 8;
/// Elements of a head.
pub const HEAD_DIM: u32 = 128;
/// Elements of a token's keys, of its values, of a query, and of an output.
pub const WIDTH: usize = HEADS as usize * HEAD_DIM as usize;
/// Tokens that a page has room for.
pub const PAGE_TOKENS: u32 = 256;
/// Elements of a page.
pub const PAGE_LEN: usize = 2 * WIDTH * PAGE_TOKENS as usize;
/// Tokens of the prompt.
pub const PROMPT: usize = 248;
/// Tokens that are decoded, and sequences that share a prompt.
pub const STEPS: usize = 8;
/// What multiplies the products of queries and keys.
pub const SCALE: f32 = 0.125;

/// A number in -1 .. 1 that is different for every place.
fn number(seed: usize, index: usize) -> f32 {
    let mixed = (index as u64 ^ (seed as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> 40) as f32) / (1 << 23) as f32 - 1.0
}

/// A layer's keys: of all tokens, the decoded ones included, `[token][head][element]`.
pub fn keys(layer: usize) -> Vec<f32> {
    (0..(PROMPT + STEPS) * WIDTH).map(|index| number(2 * layer, index)).collect()
}

/// A layer's values, in the same order.
pub fn values(layer: usize) -> Vec<f32> {
    (0..(PROMPT + STEPS) * WIDTH).map(|index| 4.0 * number(2 * layer + 1, index)).collect()
}

/// The queries: `[step][head][element]`.
pub fn queries() -> Vec<f32> {
    (0..STEPS * WIDTH).map(|index| number(100, index)).collect()
}

/// A layer's page when it holds so many tokens.
pub fn page(layer: usize, tokens: usize) -> Vec<f32> {
    let mut page = vec![0.0; PAGE_LEN];
    let dim = HEAD_DIM as usize;
    for (part, numbers) in [keys(layer), values(layer)].iter().enumerate() {
        for token in 0..tokens {
            for head in 0..HEADS as usize {
                let to = part * PAGE_LEN / 2 + (head * PAGE_TOKENS as usize + token) * dim;
                let from = token * WIDTH + head * dim;
                page[to..to + dim].copy_from_slice(&numbers[from..from + dim]);
            }
        }
    }
    page
}

/// Attention of the query of a step over the first `tokens` tokens of a layer, on the CPU and in double precision.
pub(crate) fn attention(layer: usize, step: usize, tokens: usize) -> Vec<f32> {
    let (keys, values, queries) = (keys(layer), values(layer), queries());
    let dim = HEAD_DIM as usize;
    let mut output = Vec::with_capacity(WIDTH);
    for head in 0..HEADS as usize {
        let of = |numbers: &[f32], token: usize, element: usize| {
            f64::from(numbers[token * WIDTH + head * dim + element])
        };
        let score = |token: usize| {
            let products =
                (0..dim).map(|element| of(&queries, step, element) * of(&keys, token, element));
            products.sum::<f64>() * f64::from(SCALE)
        };
        let scores: Vec<f64> = (0..tokens).map(score).collect();
        let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
        let all: f64 = weights.iter().sum();
        output.extend((0..dim).map(|element| {
            let weighted = weights
                .iter()
                .enumerate()
                .map(|(token, weight)| weight * of(&values, token, element));
            (weighted.sum::<f64>() / all) as f32
        }));
    }
    output
}
