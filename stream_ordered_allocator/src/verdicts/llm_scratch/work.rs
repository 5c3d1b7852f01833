//! The weights, and what a batch takes: scratch memory, launches, elements.

use crate::layer::{D, HIDDEN, Weight};
use examples_host::prelude::Seed;

/// The weights, in the order of their numbers.
pub const WEIGHTS: [Weight; 9] = [
    Weight::Query,
    Weight::Key,
    Weight::Value,
    Weight::Output,
    Weight::BiasOutput,
    Weight::Up,
    Weight::BiasUp,
    Weight::Down,
    Weight::BiasDown,
];

/// The elements of a weight: large enough for softmax to prefer some tokens, and for GELU to bend.
pub fn elements(weight: Weight) -> Vec<f32> {
    let size = match weight {
        Weight::Query | Weight::Key => 0.5,
        Weight::Down => 0.125,
        _ => 0.25,
    };
    let (rows, columns) = weight.shape();
    let seed = Seed::new(500 + weight as u64);
    (0..rows * columns).map(|index| size * seed.f32(index)).collect()
}

/// Lengths of the scratch memory that a batch of `s` tokens takes, in the order in which it does.
pub fn scratch_lengths(s: usize) -> [usize; 7] {
    [s * D, s * D, s * D, s * D, s * s, s * D, s * HIDDEN]
}

/// Launches for a batch.
pub const LAUNCHES: usize = 12;

/// Elements that the launches for a batch of `s` tokens work on: the longest matrix of each.
pub fn launch_elements(s: usize) -> usize {
    let projection = (s * D).max(D * D);
    let network = (s * HIDDEN).max(D * HIDDEN);
    let attention = (s * s).max(s * D);
    4 * projection + 2 * attention + s * s + 2 * s * D + 2 * network + s * HIDDEN
}
