//! The layer in double precision on the CPU, written from the formulas and not from the kernels.

use super::work;
use crate::layer::{D, HIDDEN, Weight};
use rayon::prelude::*;

/// The output for the tokens `x`, rows of [`D`] features.
pub fn forward(x: &[f32]) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let [query, key, value] = [Weight::Query, Weight::Key, Weight::Value].map(|w| product(&x, w));
    let s = x.len() / D;
    let attended: Vec<f64> = (0..s)
        .into_par_iter()
        .flat_map_iter(|row| attend(&query[row * D..][..D], &key[..(row + 1) * D], &value))
        .collect();
    let after = plus(product(&attended, Weight::Output), Weight::BiasOutput, &x);
    let bias = elements(Weight::BiasUp);
    let mut hidden = product(&after, Weight::Up);
    for row in hidden.chunks_mut(HIDDEN) {
        for (x, bias) in row.iter_mut().zip(&bias) {
            *x = gelu(*x + bias);
        }
    }
    plus(product(&hidden, Weight::Down), Weight::BiasDown, &after)
}

/// What one token sees of itself and the tokens before it.
fn attend(query: &[f64], keys: &[f64], values: &[f64]) -> Vec<f64> {
    let dot = |key: &[f64]| key.iter().zip(query).map(|(a, b)| a * b).sum::<f64>();
    let scores: Vec<f64> = keys.chunks(D).map(|key| dot(key) / (D as f64).sqrt()).collect();
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mut seen = vec![0.0; D];
    for (weight, value) in weights.iter().zip(values.chunks(D)) {
        for (seen, value) in seen.iter_mut().zip(value) {
            *seen += weight / sum * value;
        }
    }
    seen
}

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

fn elements(weight: Weight) -> Vec<f64> {
    work::elements(weight).into_iter().map(f64::from).collect()
}

/// A W, row by row of A.
fn product(a: &[f64], weight: Weight) -> Vec<f64> {
    let ((k, n), w) = (weight.shape(), elements(weight));
    let row = |a: &[f64]| {
        let mut row = vec![0.0; n];
        for (a, w) in a.iter().zip(w.chunks(n)) {
            for (sum, w) in row.iter_mut().zip(w) {
                *sum += a * w;
            }
        }
        row
    };
    a.par_chunks(k).flat_map_iter(row).collect()
}

/// Each row plus the bias, plus the residual.
fn plus(mut rows: Vec<f64>, bias: Weight, residual: &[f64]) -> Vec<f64> {
    let bias = elements(bias);
    for (index, (x, residual)) in rows.iter_mut().zip(residual).enumerate() {
        *x += bias[index % D] + residual;
    }
    rows
}
