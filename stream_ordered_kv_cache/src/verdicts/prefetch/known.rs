//! A cache in host memory with known contents, and the result that attention must have.

use crate::cache::{LAYERS, page_len};
use crate::prefetch::{Decode, STEPS};
use crate::verdicts::model::Layer;
use crate::verdicts::outputs::{Outputs, queries};
use crate::verdicts::pages;
use examples_host::prelude::*;

/// Decode steps, and the expected results.
pub struct CheckedPrefetch {
    pub of: Decode,
    outputs: Outputs,
}

impl CheckedPrefetch {
    pub fn new(tokens: usize, page_tokens: usize, count: usize) -> anyhow::Result<Self> {
        let layers: Vec<Layer> = (0..LAYERS).map(|layer| Layer::new(layer, tokens)).collect();
        let queries = queries(STEPS, count);
        let mut of = Decode::new(tokens, page_tokens, &queries, count)?;
        for (layer, memory) in layers.iter().zip(&mut of.on_host) {
            for (page, memory) in memory.chunks_mut(page_len(page_tokens)).enumerate() {
                memory.copy_from_slice(&pages::page(layer, page, page_tokens, tokens));
            }
        }
        let outputs = Outputs::new(&layers, &queries, count, |_| tokens);
        Ok(Self { of, outputs })
    }
}

impl Workload for CheckedPrefetch {
    fn poison(&mut self) -> anyhow::Result<()> {
        for slot in &mut self.of.slots {
            slot.pages.set_8(0xFF)?;
        }
        Ok(self.of.sequences.outputs.set_8(0xFF)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        self.outputs.check(&self.of.sequences)
    }
}
