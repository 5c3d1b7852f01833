//! A sequence, and its cache in all layers: made without pages, and compared with the CPU's.

use crate::cache::Cache;
use crate::model::{LAYERS, Layer};
use cust::context::CurrentContext;
use cust::memory::{DevicePointer, LockedBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;

/// More tokens than any sequence has: each sequence has numbers of its own.
const APART: usize = 1 << 20;

/// A sequence, and its cache in all layers.
pub struct Sequence {
    pub layers: Vec<Growing>,
    pub tokens: usize,
    pub length: usize,
}

/// One layer's cache, whose pages become more.
pub struct Growing {
    pub cache: Cache,
    /// The table's entries on the host. Each is written once, so that the host need not wait for the copy of the last.
    pub entries: LockedBuffer<DevicePointer<f32>>,
}

impl Sequence {
    /// A sequence of `length` tokens that has none yet.
    pub fn new(number: usize, length: usize, page_tokens: usize) -> anyhow::Result<Self> {
        let mut layers = Vec::new();
        for layer in 0..LAYERS {
            let on_cpu = Layer::beginning_at(number * APART, layer, length);
            let cache = Cache::without_pages(on_cpu, page_tokens)?;
            let entries = LockedBuffer::new(&DevicePointer::null(), length.div_ceil(page_tokens))?;
            layers.push(Growing { cache, entries });
        }
        CurrentContext::synchronize()?; // no other stream waits for the default stream's copies
        Ok(Self { layers, tokens: 0, length })
    }

    /// Pages of all layers.
    pub fn pages(&self) -> usize {
        self.layers.iter().map(|layer| layer.cache.pages.len()).sum()
    }

    /// Compares every page with the CPU's, once the stream has come so far.
    pub fn check(&self, append: &Stream) -> anyhow::Result<Checked> {
        append.synchronize()?;
        let mut checked = Checked::default();
        for layer in &self.layers {
            checked = checked.and(layer.cache.check(self.tokens)?);
        }
        // compute-sanitizer does not take a synchronous copy for a wait of the host, and would see the pages freed during it.
        CurrentContext::synchronize()?;
        Ok(checked)
    }
}
