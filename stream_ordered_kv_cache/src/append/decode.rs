//! What is decoded: the layers' caches, the sequence that attends to them, and the events between the two.

use crate::cache::{Cache, Kernels};
use crate::model::{LAYERS, Layer};
use crate::sequences::Sequences;
use cust::event::{Event, EventFlags};
use examples_host::prelude::*;

/// Decode steps: a prompt in every layer's cache, and then token after token.
pub struct Decode {
    pub prompt: usize,
    pub steps: usize,
    pub layers: Vec<Cache>,
    /// By layer, recorded behind the latest append.
    pub written: Vec<Event>,
    /// Recorded behind the latest attention.
    pub computed: Event,
    pub sequence: Sequences,
    pub kernels: Kernels,
}

impl Decode {
    pub fn new(prompt: usize, steps: usize, page_tokens: usize) -> anyhow::Result<Self> {
        let on_cpu: Vec<Layer> = (0..LAYERS).map(|n| Layer::new(n, prompt + steps)).collect();
        let sequence = Sequences::new(&on_cpu, steps, 1, |step| prompt + step)?;
        let event = || Event::new(EventFlags::DISABLE_TIMING);
        let (mut layers, mut written) = (Vec::new(), Vec::new());
        for layer in on_cpu {
            layers.push(Cache::with_pages(layer, page_tokens)?);
            written.push(event()?);
        }
        let (computed, kernels) = (event()?, Kernels::load(gpu_kernels::SM_70)?);
        Ok(Self { prompt, steps, layers, written, computed, sequence, kernels })
    }
}

impl Workload for Decode {
    fn poison(&mut self) -> anyhow::Result<()> {
        self.layers.iter_mut().try_for_each(Cache::poison)?;
        Ok(self.sequence.poison()?)
    }

    fn check(&mut self) -> anyhow::Result<Checked> {
        let mut checked = self.sequence.check()?;
        for layer in &self.layers {
            checked = checked.and(layer.check(self.prompt + self.steps)?);
        }
        Ok(checked)
    }
}
