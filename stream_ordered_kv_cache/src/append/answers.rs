//! What must come out, computed by the CPU.

use super::decode::Shape;
use crate::data::download;
use crate::model::{self, LAYERS, Layer, WIDTH};
use crate::pages::Pages;
use examples_host::prelude::*;

/// The CPU's cache and outputs, and the outputs of the first run on the device.
pub struct Answers {
    layers: Vec<Layer>,
    page_tokens: usize,
    /// Per step and layer.
    outputs: Vec<f64>,
    /// Outputs of the run that was checked first.
    first: Option<Vec<f32>>,
}

impl Answers {
    /// Decodes on the CPU, in double precision.
    pub fn new(shape: Shape) -> Self {
        let layers: Vec<Layer> = (0..LAYERS)
            .map(|layer| Layer::new(layer, shape.tokens()))
            .collect();
        let mut outputs = Vec::new();
        for step in 0..shape.steps {
            let query = step * WIDTH..(step + 1) * WIDTH;
            let mut query: Vec<f64> = query.map(|index| f64::from(model::query(index))).collect();
            for layer in &layers {
                query = layer.attention(shape.prompt + step, &query);
                outputs.extend(&query);
            }
        }
        Self {
            layers,
            page_tokens: shape.page_tokens,
            outputs,
            first: None,
        }
    }

    /// Compares a layer's pages bit for bit; where no token is, there must be poison.
    pub fn check_pages(
        &self,
        layer: usize,
        pages: &Pages,
        tokens: usize,
    ) -> anyhow::Result<Checked> {
        let mut checked = Checked::default();
        for (number, page) in pages.pages().iter().enumerate() {
            let expected = self.layers[layer].page(number, self.page_tokens, tokens);
            let what = format!("page {number} of layer {layer}");
            checked = checked.and(check::equal(&what, 0, &download(page)?, |at| expected[at])?);
        }
        Ok(checked)
    }

    /// Compares outputs with the CPU's, and bit for bit with those of the first run.
    pub fn check_outputs(&mut self, outputs: Vec<f32>) -> anyhow::Result<Checked> {
        let checked = check::matching(
            "attention's outputs",
            0,
            &outputs,
            |index| self.outputs[index] as f32,
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
