//! The model whose tokens are decoded: its shape, its numbers, and its attention on the CPU.
//!
//! Keys and values are projections of what the layer before has computed. The projections are left out; numbers that
//! differ for every layer, token, head and element stand in for what they give. So the cache can be compared bit for
//! bit, and a token that is stale, half-written or another's has values that no other token has.

use examples_host::prelude::*;
use gpu_kernels::kv_offset;
use rayon::prelude::*;

/// Layers.
pub const LAYERS: usize = 4;
/// Heads of keys and values.
pub const HEADS: u32 = 8;
/// Elements of a head.
pub const HEAD_DIM: u32 = 128;
/// Elements of a token's keys in a layer, of its values, of a query, and of an output.
pub const WIDTH: usize = HEADS as usize * HEAD_DIM as usize;
/// Bytes of a token in one layer: keys and values.
pub const TOKEN_BYTES: usize = 2 * WIDTH * size_of::<f32>();

/// Attention's outputs are the next layer's queries: values are so large that these do not vanish.
const VALUES: f32 = 16.0;
/// What multiplies the products of queries and keys.
pub const SCALE: f32 = 0.125;

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

/// Elements of a page: keys and values of so many tokens.
pub fn page_len(page_tokens: usize) -> usize {
    2 * WIDTH * page_tokens
}

/// The steps and layers, in the order in which a model takes them.
pub fn in_order(steps: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..steps).flat_map(|step| (0..LAYERS).map(move |layer| (step, layer)))
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

    /// Its tokens.
    pub fn tokens(&self) -> usize {
        self.keys.len() / WIDTH
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

    /// What a page must hold when the cache holds `tokens` tokens: each token in its place, and poison elsewhere.
    pub fn page(&self, page: usize, page_tokens: usize, tokens: usize) -> Vec<f32> {
        let half = WIDTH * page_tokens;
        let mut expected = vec![f32::from_bits(u32::MAX); 2 * half];
        let first = page * page_tokens;
        for token in first..(first + page_tokens).min(tokens) {
            for head in 0..HEADS {
                let slot = (token - first) as u32;
                let place = kv_offset(head, slot, HEAD_DIM, page_tokens as u32);
                let from = token * WIDTH + (head * HEAD_DIM) as usize;
                let of_head = from..from + HEAD_DIM as usize;
                let places = place..place + HEAD_DIM as usize;
                expected[places.clone()].copy_from_slice(&self.keys[of_head.clone()]);
                expected[half + places.start..half + places.end]
                    .copy_from_slice(&self.values[of_head]);
            }
        }
        expected
    }
}

/// Whether an output is right: the kernel adds single-precision numbers in another order, in every layer.
pub fn close(got: f32, expected: f64) -> bool {
    (f64::from(got) - expected).abs() <= TOLERANCE * f64::from(VALUES)
}

/// The share of the largest value by which outputs may be off.
pub const TOLERANCE: f64 = 1e-5;

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: usize = 600;

    fn output(layer: &Layer) -> Vec<f64> {
        let query: Vec<f64> = (0..WIDTH).map(|index| f64::from(query(index))).collect();
        layer.attention(TOKENS, &query)
    }

    /// How many outputs of a layer are not those of the right cache, when a token has another's keys or values.
    fn seen(layer: usize, token: usize, of: impl Fn(&mut Layer) -> &mut Vec<f32>) -> usize {
        let right = output(&Layer::new(layer, TOKENS));
        let mut torn = Layer::new(layer, TOKENS);
        let (here, other) = (token * WIDTH, (token + 1) % TOKENS * WIDTH);
        of(&mut torn).copy_within(other..other + WIDTH, here);
        let pairs = output(&torn).into_iter().zip(right);
        pairs.filter(|(got, right)| !close(*got as f32, *right)).count()
    }

    #[test]
    fn a_token_that_is_half_another_changes_most_outputs_beyond_the_tolerance() {
        for layer in 0..LAYERS {
            for token in [0, TOKENS / 2, TOKENS - 1] {
                let keys = seen(layer, token, |layer| &mut layer.keys);
                let values = seen(layer, token, |layer| &mut layer.values);
                let least = WIDTH * 3 / 4;
                assert!(keys > least && values > least, "{layer} {token}: {keys}, {values}");
            }
        }
    }

    #[test]
    fn attention_over_one_token_is_its_value() {
        let layer = Layer::new(2, 1);
        let query = vec![1.0; WIDTH];
        let found = layer.attention(1, &query);
        assert!((0..WIDTH).all(|index| found[index] == f64::from(value(2, index))));
    }

    #[test]
    fn a_page_holds_its_tokens_and_poison() {
        let layer = Layer::new(1, 5);
        let page = layer.page(1, 4, 5);
        let (dim, half) = (HEAD_DIM as usize, WIDTH * 4);
        assert_eq!(page[0], key(1, 4 * WIDTH));
        assert_eq!(page[half + 4 * dim], value(1, 4 * WIDTH + dim));
        assert_eq!(page[dim].to_bits(), u32::MAX);
        assert_eq!(page.iter().filter(|x| !x.is_nan()).count(), 2 * WIDTH);
    }
}
