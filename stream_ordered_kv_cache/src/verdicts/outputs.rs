//! The expected results of the sequences, computed by the CPU.

use super::model::{self, Layer};
use crate::cache::{LAYERS, WIDTH};
use crate::sequences::Sequences;
use examples_host::prelude::{Checked, check};

/// The queries of this many sequences in this many steps.
pub fn queries(steps: usize, count: usize) -> Vec<f32> {
    (0..steps * count * WIDTH).map(model::query).collect()
}

/// The outputs of sequences.
pub struct Outputs {
    expected: Vec<f64>,
    /// The outputs of the first run on the device.
    first: Option<Vec<f32>>,
}

impl Outputs {
    /// The outputs for these queries of `count` sequences when each layer holds `tokens(step)` tokens: the CPU decodes in double
    /// precision.
    pub fn new(
        layers: &[Layer],
        queries: &[f32],
        count: usize,
        tokens: impl Fn(usize) -> usize,
    ) -> Self {
        let mut expected = vec![0.0; LAYERS * queries.len()];
        for (number, query) in queries.chunks(WIDTH).enumerate() {
            let (step, sequence) = (number / count, number % count);
            let mut query: Vec<f64> = query.iter().map(|&x| f64::from(x)).collect();
            for (index, layer) in layers.iter().enumerate() {
                query = layer.attention(tokens(step), &query);
                let place = ((step * LAYERS + index) * count + sequence) * WIDTH;
                expected[place..place + WIDTH].copy_from_slice(&query);
            }
        }
        Self { expected, first: None }
    }

    /// Compares the outputs with the CPU's, and bit for bit with those of the first run.
    pub fn check(&mut self, sequences: &Sequences) -> anyhow::Result<Checked> {
        let outputs = sequences.outputs.as_host_vec()?;
        let checked = check::matching(
            "attention's outputs",
            0,
            &outputs,
            |index| self.expected[index] as f32,
            |got, expected| model::close(*got, f64::from(*expected)),
        )?;
        match &self.first {
            None => self.first = Some(outputs),
            Some(first) => {
                check::equal("the first run's outputs", 0, &outputs, |index| first[index])?;
            }
        }
        Ok(checked)
    }
}
