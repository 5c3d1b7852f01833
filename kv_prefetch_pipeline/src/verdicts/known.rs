//! The keys, values and queries, and what attention gives of them.

use crate::stages::{Attention, HEADS, PAGE};
use anyhow::Result;
use examples_host::prelude::*;
use gpu_kernels::{KV_HEAD_DIM, KV_MAX_PAGES};

const DIM: usize = KV_HEAD_DIM as usize;
/// Elements of a head's keys in a page, and of its values.
const TILE: usize = PAGE / HEADS / 2;
const KEYS_AND_VALUES: Seed = Seed::new(91);
const QUERIES: Seed = Seed::new(92);
/// Errors of sums of floats and of the approximate exponential. One token of another page would change an element by ten times as much.
const TOLERANCE: f32 = 1e-5;

/// Attention, and the expected results.
pub struct CheckedAttention {
    pub attention: Attention,
    pub sequences: usize,
    /// Tokens of each sequence.
    pub pages: usize,
    expected: Vec<f32>,
}

impl CheckedAttention {
    /// A block for each multiprocessor: that is what its heads and sequences make. On a GPU each sequence has 4096 tokens; on a model
    /// fewer, as many as are soon interpreted.
    pub fn new(part: &Part) -> Result<Self> {
        let pages = part.by_times(KV_MAX_PAGES as usize, 32);
        let sequences = part.device().multiprocessors()? as usize / HEADS;
        let mut pool = vec![0.0; sequences * pages * PAGE];
        KEYS_AND_VALUES.fill_f32(0, &mut pool);
        let mut queries = vec![0.0; sequences * HEADS * DIM];
        QUERIES.fill_f32(0, &mut queries);
        // Pages are allocated as sequences grow: neighbours in a sequence are not neighbours in memory.
        let place = |page: usize| page * 7919 % (sequences * pages);
        let order: Vec<usize> = (0..sequences * pages).map(place).collect();
        let row = |row: usize| {
            let (sequence, head) = (row / HEADS, row % HEADS);
            let pages = order[sequence * pages..][..pages].iter().map(|page| {
                let keys = page * PAGE + head * TILE;
                let values = keys + HEADS * TILE;
                (&pool[keys..keys + TILE], &pool[values..values + TILE])
            });
            attend(&queries[row * DIM..][..DIM], pages)
        };
        let expected = (0..sequences * HEADS).flat_map(row).collect();
        let attention = Attention::new(&pool, &order, &queries)?;
        Ok(Self { attention, sequences, pages, expected })
    }

    /// Bytes of all keys and values, each of which is read once.
    pub fn bytes(&self) -> usize {
        self.attention.pool.len() * size_of::<f32>()
    }
}

impl Workload for CheckedAttention {
    fn poison(&mut self) -> Result<()> {
        Ok(self.attention.output.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let found = self.attention.output.as_host_vec()?;
        let close = |got: &f32, expected: &f32| (got - expected).abs() <= TOLERANCE;
        Ok(check::matching("the output", 0, &found, |index| self.expected[index], close)?)
    }
}

/// The mean of the values, weighted by the softmax of the scaled products of the query and the keys.
fn attend<'p>(query: &[f32], pages: impl Iterator<Item = (&'p [f32], &'p [f32])>) -> Vec<f32> {
    let (mut total, mut sums) = (0.0, vec![0.0; DIM]);
    let scale = f64::from(1.0 / (DIM as f32).sqrt());
    for (keys, values) in pages {
        for (key, value) in keys.chunks(DIM).zip(values.chunks(DIM)) {
            let products = query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k));
            // Scores of such queries and keys are small: no maximum has to be taken off.
            let weight = (products.sum::<f64>() * scale).exp();
            total += weight;
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum += weight * f64::from(*value);
            }
        }
    }
    sums.into_iter().map(|sum| (sum / total) as f32).collect()
}
