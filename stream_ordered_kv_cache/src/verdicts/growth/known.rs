//! Sequences, each with numbers of its own, and what must be in their pages.

use crate::cache::{Cache, LAYERS};
use crate::growth::{Growing, Growth, Sequence};
use crate::verdicts::model::Layer;
use crate::verdicts::pages;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::memory::DevicePointer;
use examples_host::prelude::*;

/// More tokens than any sequence has: each sequence has numbers of its own.
const APART: usize = 1 << 20;

/// A sequence, and its cache on the CPU, by layer.
pub struct CheckedGrowth {
    pub of: Sequence,
    on_cpu: Vec<Layer>,
}

impl CheckedGrowth {
    /// A sequence of `length` tokens that has none yet.
    pub fn new(number: usize, length: usize, page_tokens: usize) -> anyhow::Result<Self> {
        let (mut layers, mut on_cpu) = (Vec::new(), Vec::new());
        for layer in 0..LAYERS {
            let numbers = Layer::beginning_at(number * APART, layer, length);
            let cache = Cache::without_pages(numbers.data(), page_tokens)?;
            let entries = LockedBuffer::new(&DevicePointer::null(), length.div_ceil(page_tokens))?;
            layers.push(Growing { cache, entries });
            on_cpu.push(numbers);
        }
        CurrentContext::synchronize()?; // no other stream waits for the default stream's copies
        Ok(Self { of: Sequence { layers, tokens: 0, length }, on_cpu })
    }

    /// Pages of all layers.
    pub fn pages(&self) -> usize {
        self.of.layers.iter().map(|layer| layer.cache.pages.len()).sum()
    }

    /// Compares every page with the CPU's, once the stream has come so far.
    fn check(&self, append: &Stream) -> anyhow::Result<Checked> {
        append.synchronize()?;
        let mut checked = Checked::default();
        for (layer, on_cpu) in self.of.layers.iter().zip(&self.on_cpu) {
            checked = checked.and(pages::check(&layer.cache, on_cpu, self.of.tokens)?);
        }
        // compute-sanitizer does not take a synchronous copy for a wait of the host, and would see the pages freed during it.
        CurrentContext::synchronize()?;
        Ok(checked)
    }
}

/// Adds what the pages of these sequences hold to what has been checked.
pub fn add(
    checked: &mut Result<Checked, check::Mismatch>,
    sequences: &[CheckedGrowth],
    growth: &Growth,
) -> anyhow::Result<()> {
    let mut sequences = sequences.iter();
    sequences.try_for_each(|sequence| check::add(checked, sequence.check(&growth.append)))
}
