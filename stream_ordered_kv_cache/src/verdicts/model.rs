//! The numbers of the model whose tokens are decoded, and its attention on the CPU.
//!
//! Keys and values are projections of what the layer before has computed. The projections are left out; numbers that
//! differ for every layer, token, head and element stand in for what they give. So the cache can be compared bit for
//! bit, and a token that is stale, half-written or another's has values that no other token has.

use crate::cache::{HEAD_DIM, HEADS, SCALE, WIDTH};
use examples_host::prelude::*;
use rayon::prelude::*;

/// Bytes of a token in one layer: keys and values.
pub const TOKEN_BYTES: usize = 2 * WIDTH * size_of::<f32>();

/// Attention's outputs are the next layer's queries: values are so large that these do not vanish.
const VALUES: f32 = 16.0;

const KEYS: u64 = 1 << 32;
const QUERIES: u64 = 2 << 32;

/// Element `index` of all keys of a layer, `[token][head][element]`.
pub fn key(layer: usize, index: usize) -> f32 {
    Seed::new(KEYS + layer as u64).f32(index)
}

/// Element `index` of all values of a layer.
pub fn value(layer: usize, index: usize) -> f32 {
    Seed::new(layer as u64).f32(index) * VALUES
}

/// Element `index` of the first layer's queries, `[number][head][element]`.
pub fn query(index: usize) -> f32 {
    Seed::new(QUERIES).f32(index)
}

/// One layer's cache on the CPU: keys and values of all tokens, `[token][head][element]`.
pub struct Layer {
    pub keys: Vec<f32>,
    pub values: Vec<f32>,
}

impl Layer {
    /// The cache of a layer when it holds `tokens` tokens.
    pub fn new(layer: usize, tokens: usize) -> Self {
        Self::beginning_at(0, layer, tokens)
    }

    /// The same with the numbers of `tokens` tokens from token `first` on.
    pub fn beginning_at(first: usize, layer: usize, tokens: usize) -> Self {
        let elements = first * WIDTH..(first + tokens) * WIDTH;
        Self {
            keys: elements.clone().map(|index| key(layer, index)).collect(),
            values: elements.map(|index| value(layer, index)).collect(),
        }
    }

    /// Keys and values.
    pub fn data(&self) -> [&[f32]; 2] {
        [&self.keys, &self.values]
    }

    /// Attention over the first `tokens` tokens, of one query per head.
    pub fn attention(&self, tokens: usize, query: &[f64]) -> Vec<f64> {
        let heads = (0..HEADS as usize).into_par_iter();
        heads.flat_map_iter(|head| self.head(head, tokens, query)).collect()
    }

    /// The softmax of the scaled products of query and keys, and with it the mean of the values.
    fn head(&self, head: usize, tokens: usize, query: &[f64]) -> Vec<f64> {
        let dim = HEAD_DIM as usize;
        let query = &query[head * dim..][..dim];
        let row = |of: &'_ [f32], token: usize| -> [f32; HEAD_DIM as usize] {
            std::array::from_fn(|element| of[token * WIDTH + head * dim + element])
        };
        let score = |token| {
            let key = row(&self.keys, token);
            let products = query.iter().zip(key).map(|(q, k)| q * f64::from(k));
            products.sum::<f64>() * f64::from(SCALE)
        };
        let scores: Vec<f64> = (0..tokens).map(score).collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut mean = vec![0.0; dim];
        for (token, weight) in weights.iter().enumerate() {
            for (mean, value) in mean.iter_mut().zip(row(&self.values, token)) {
                *mean += weight / total * f64::from(value);
            }
        }
        mean
    }
}

/// Whether an output is right: the kernel adds single-precision numbers in another order, in every layer.
pub fn close(got: f32, expected: f64) -> bool {
    (f64::from(got) - expected).abs() <= TOLERANCE * f64::from(VALUES)
}

/// The share of the largest value by which outputs may be off.
pub const TOLERANCE: f64 = 1e-5;

#[cfg(test)]
mod tests;
