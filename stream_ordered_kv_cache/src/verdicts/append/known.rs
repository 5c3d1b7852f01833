//! Decode steps with known results.

use crate::append::Decode;
use crate::cache::{Cache, LAYERS};
use crate::sequences::Sequences;
use crate::verdicts::model::Layer;
use crate::verdicts::outputs::{Outputs, queries};
use crate::verdicts::pages;
use examples_host::prelude::*;

/// Decode steps, the layers' caches on the CPU, and the expected results.
pub struct CheckedAppend {
    pub of: Decode,
    on_cpu: Vec<Layer>,
    outputs: Outputs,
}

impl CheckedAppend {
    pub fn new(prompt: usize, steps: usize, page_tokens: usize) -> anyhow::Result<Self> {
        let on_cpu: Vec<Layer> = (0..LAYERS).map(|n| Layer::new(n, prompt + steps)).collect();
        let queries = queries(steps, 1);
        let outputs = Outputs::new(&on_cpu, &queries, 1, |step| prompt + step);
        let sequence = Sequences::new(&queries, 1)?;
        let layers = on_cpu.iter().map(|layer| Cache::with_pages(layer.data(), page_tokens));
        let of = Decode::new(prompt, layers.collect::<Result<_, _>>()?, sequence)?;
        Ok(Self { of, on_cpu, outputs })
    }
}

impl Workload for CheckedAppend {
    fn poison(&mut self) -> anyhow::Result<()> {
        self.of.layers.iter_mut().try_for_each(pages::poison)?;
        Ok(self.of.sequence.outputs.set_8(0xFF)?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut checked = self.outputs.check(&self.of.sequence)?;
        for (cache, on_cpu) in self.of.layers.iter().zip(&self.on_cpu) {
            checked = checked.and(pages::check(cache, on_cpu, self.of.prompt + self.of.steps)?);
        }
        Ok(checked)
    }
}
