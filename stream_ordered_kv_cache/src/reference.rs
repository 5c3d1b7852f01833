//! What must come out, computed by the CPU, and the comparison with what the device has.

use crate::model::{self, LAYERS, Layer, WIDTH};
use cust::memory::{DeviceBuffer, DeviceSlice};
use examples_host::prelude::{Checked, check};

/// The outputs of attention that decode steps must give, and those of the first run on the device.
pub struct Outputs {
    /// Per step, layer and sequence.
    expected: Vec<f64>,
    first: Option<Vec<f32>>,
}

impl Outputs {
    /// Decodes on the CPU, in double precision: in each step, each of `sequences` sequences passes through all layers, whose
    /// caches then hold `tokens(step)` tokens.
    pub fn new<'l>(
        layers: impl Iterator<Item = &'l Layer> + Clone,
        steps: usize,
        sequences: usize,
        tokens: impl Fn(usize) -> usize,
    ) -> Self {
        let mut expected = vec![0.0; steps * LAYERS * sequences * WIDTH];
        for number in 0..steps * sequences {
            let (step, sequence) = (number / sequences, number % sequences);
            let first = number * WIDTH..(number + 1) * WIDTH;
            let mut query: Vec<f64> = first.map(|index| f64::from(model::query(index))).collect();
            for (index, layer) in layers.clone().enumerate() {
                query = layer.attention(tokens(step), &query);
                let place = ((step * LAYERS + index) * sequences + sequence) * WIDTH;
                expected[place..place + WIDTH].copy_from_slice(&query);
            }
        }
        Self { expected, first: None }
    }

    /// Compares the device's outputs with these, and bit for bit with those of the first run.
    pub fn check(&mut self, outputs: &DeviceSlice<f32>) -> anyhow::Result<Checked> {
        let outputs = outputs.as_host_vec()?;
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

/// Compares a layer's pages bit for bit with the CPU's first `tokens` tokens; where no token is, there must be poison.
pub fn check_pages(
    layer: &Layer,
    pages: &[DeviceBuffer<f32>],
    page_tokens: usize,
    tokens: usize,
) -> anyhow::Result<Checked> {
    let mut checked = Checked::default();
    for (page, buffer) in pages.iter().enumerate() {
        let expected = layer.page(page, page_tokens, tokens);
        let (what, got) = (format!("page {page}"), buffer.as_host_vec()?);
        checked = checked.and(check::equal(&what, 0, &got, |at| expected[at])?);
    }
    Ok(checked)
}
