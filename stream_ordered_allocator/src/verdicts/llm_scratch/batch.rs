//! The batches, and the expected results.

use super::reference;
use crate::layer::D;
use cuda_host::prelude::*;
use examples_host::prelude::*;

/// How far an element may be from the reference. The outputs are of the order of 1.
pub const TOLERANCE: f64 = 1e-4;

/// Rows of [`D`] features, in page-locked memory.
pub struct Batch {
    pub input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub expected: Vec<f64>,
}

impl Batch {
    /// Batches of this many tokens each, with data of their own.
    pub fn all(lengths: &[usize]) -> anyhow::Result<Vec<Self>> {
        let batch = |(number, &length): (usize, &usize)| {
            let mut input = LockedBuffer::new(&0.0, length * D)?;
            Seed::new(600 + number as u64).fill_f32(0, &mut input);
            Ok(Self {
                output: LockedBuffer::new(&0.0, length * D)?,
                expected: reference::forward(&input),
                input,
            })
        };
        lengths.iter().enumerate().map(batch).collect()
    }

    pub fn data(&mut self) -> (&LockedBuffer<f32>, &mut LockedBuffer<f32>) {
        (&self.input, &mut self.output)
    }

    pub fn tokens(&self) -> usize {
        self.input.len() / D
    }

    /// Compares every element with the reference.
    pub fn check(&self) -> anyhow::Result<Checked> {
        let expected = |index: usize| self.expected[index] as f32;
        let close = |got: &f32, expected: &f32| f64::from((got - expected).abs()) <= TOLERANCE;
        Ok(check::matching("the output", 0, &self.output, expected, close)?)
    }
}
