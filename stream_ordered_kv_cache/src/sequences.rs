//! Sequences that attend to a cache: their queries and outputs on the device, and what must come out, computed by the CPU.

use crate::model::{self, LAYERS, Layer, WIDTH};
use cust::error::CudaResult;
use cust::memory::{DeviceBuffer, DeviceSlice};
use examples_host::prelude::{Checked, check};

/// Sequences that pass through all layers in each step.
pub struct Sequences {
    pub count: usize,
    /// By step and sequence, for the first layer.
    queries: DeviceBuffer<f32>,
    /// By step, layer and sequence. The outputs of a layer are the queries of the next.
    outputs: DeviceBuffer<f32>,
    expected: Vec<f64>,
    /// The outputs of the first run on the device.
    first: Option<Vec<f32>>,
}

impl Sequences {
    /// `count` sequences, and their outputs when each layer holds `tokens(step)` tokens: the CPU decodes in double
    /// precision.
    pub fn new(
        layers: &[Layer],
        steps: usize,
        count: usize,
        tokens: impl Fn(usize) -> usize,
    ) -> CudaResult<Self> {
        let queries: Vec<f32> = (0..steps * count * WIDTH).map(model::query).collect();
        let mut expected = vec![0.0; steps * LAYERS * count * WIDTH];
        for (number, query) in queries.chunks(WIDTH).enumerate() {
            let (step, sequence) = (number / count, number % count);
            let mut query: Vec<f64> = query.iter().map(|&x| f64::from(x)).collect();
            for (index, layer) in layers.iter().enumerate() {
                query = layer.attention(tokens(step), &query);
                let place = ((step * LAYERS + index) * count + sequence) * WIDTH;
                expected[place..place + WIDTH].copy_from_slice(&query);
            }
        }
        Ok(Self {
            count,
            queries: DeviceBuffer::from_slice(&queries)?,
            outputs: DeviceBuffer::zeroed(expected.len())?,
            expected,
            first: None,
        })
    }

    /// A sequence's query and output in a layer.
    pub fn at(
        &self,
        step: usize,
        layer: usize,
        sequence: usize,
    ) -> (DeviceSlice<f32>, DeviceSlice<f32>) {
        let of = |number: usize| number * WIDTH..(number + 1) * WIDTH;
        let number = (step * LAYERS + layer) * self.count + sequence;
        let query = match layer {
            0 => self.queries.index(of(step * self.count + sequence)),
            _ => self.outputs.index(of(number - self.count)),
        };
        (query, self.outputs.index(of(number)))
    }

    /// Makes every output of an earlier run unrecognisable.
    pub fn poison(&mut self) -> CudaResult<()> {
        self.outputs.set_8(0xFF)
    }

    /// Compares the outputs with the CPU's, and bit for bit with those of the first run.
    pub fn check(&mut self) -> anyhow::Result<Checked> {
        let outputs = self.outputs.as_host_vec()?;
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
