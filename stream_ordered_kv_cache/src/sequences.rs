//! Sequences that attend to a cache: their queries and outputs on the device.

use crate::cache::{Kernels, LAYERS, PageAddresses, WIDTH};
use cuda_host::prelude::*;

/// Sequences that pass through all layers in each step.
pub struct Sequences {
    pub count: usize,
    /// By step and sequence, for the first layer.
    queries: DeviceBuffer<f32>,
    /// By step, layer and sequence. The outputs of a layer are the queries of the next.
    pub outputs: DeviceBuffer<f32>,
}

impl Sequences {
    pub fn new(queries: &[f32], count: usize) -> CudaResult<Self> {
        let outputs = LAYERS * queries.len();
        let queries = DeviceBuffer::from_slice(queries)?;
        Ok(Self { count, queries, outputs: DeviceBuffer::zeroed(outputs)? })
    }

    pub fn steps(&self) -> usize {
        self.queries.len() / (self.count * WIDTH)
    }

    /// A sequence's query and output in a layer.
    fn at(
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

    /// Attention of all sequences, one after the other, over the first `tokens` tokens of a layer.
    pub fn launch_attention(
        &self,
        kernels: &Kernels,
        (table, tokens): (&PageAddresses, usize),
        (step, layer): (usize, usize),
        stream: &Stream,
    ) -> CudaResult<()> {
        for sequence in 0..self.count {
            let (query, mut output) = self.at(step, layer, sequence);
            kernels.launch_attention(table, tokens, &query, &mut output, stream)?;
        }
        Ok(())
    }
}
