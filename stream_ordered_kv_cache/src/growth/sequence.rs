//! A sequence whose cache grows page by page.

use crate::data::{cut, download};
use crate::model::{self, LAYERS, Layer, TOKEN_BYTES, WIDTH};
use crate::pages::{Kernels, Tokens};
use examples_host::memory_pool::MemoryPool;
use examples_host::prelude::*;
use std::time::Duration;

/// Bytes of a page.
pub fn page_bytes(page_tokens: usize) -> u64 {
    (TOKEN_BYTES * page_tokens) as u64
}

/// More tokens than any sequence has: each sequence has numbers of its own.
const APART: usize = 1 << 20;

/// A sequence, and its cache in all layers.
pub struct Sequence {
    append: Stream,
    layers: Vec<Growing>,
    /// Its first token's number.
    first: usize,
    tokens: usize,
    length: usize,
    page_tokens: usize,
    allocations: Vec<Duration>,
}

/// One layer's pages, which become more.
struct Growing {
    pages: Vec<DeviceBuffer<f32>>,
    table: DeviceBuffer<u64>,
    /// The table with one page, with two, and so on. Each is copied once, so that the host need not wait to write one.
    tables: Vec<HostBuffer<u64>>,
    /// The tokens to come.
    tokens: Vec<Tokens>,
}

impl Growing {
    fn new(
        append: &Stream,
        layer: usize,
        tokens: std::ops::Range<usize>,
        pages: usize,
    ) -> Result<Self> {
        let numbers = |of: fn(usize, usize) -> f32| {
            cut(append, tokens.len(), WIDTH, |token, index| {
                of(layer, (tokens.start + token) * WIDTH + index)
            })
        };
        let pairs = numbers(model::key)?.into_iter().zip(numbers(model::value)?);
        let tables = (0..pages).map(|_| HostBuffer::page_locked(append.device(), pages));
        Ok(Self {
            pages: Vec::new(),
            table: DeviceBuffer::new(append, pages)?,
            tables: tables.collect::<Result<_>>()?,
            tokens: pairs
                .map(|(keys, values)| Tokens { keys, values })
                .collect(),
        })
    }

    /// Takes one more page from the pool, in stream order, and sends the longer table. The memory is cleared, so that
    /// what an earlier sequence left cannot pass for a token.
    fn add_page(&mut self, append: &Stream, pool: &MemoryPool, len: usize) -> Result<Duration> {
        let begin = host_clock::now();
        let mut page = pool.allocate(append, len)?;
        let took = host_clock::now() - begin;
        page.poison()?;
        self.pages.push(page);
        let table = &mut self.tables[self.pages.len() - 1];
        let entries = table.write()?;
        entries.fill(0);
        for (entry, page) in entries.iter_mut().zip(&self.pages) {
            *entry = page.address();
        }
        self.table.copy_from(table)?;
        Ok(took)
    }
}

impl Sequence {
    /// A sequence of `length` tokens that has none yet.
    pub fn new(
        append: &Stream,
        number: usize,
        length: usize,
        page_tokens: usize,
    ) -> anyhow::Result<Self> {
        let first = number * APART;
        let tokens = first..first + length;
        let pages = length.div_ceil(page_tokens);
        let layers = (0..LAYERS).map(|layer| Growing::new(append, layer, tokens.clone(), pages));
        Ok(Self {
            append: append.clone(),
            layers: layers.collect::<Result<_>>()?,
            first,
            tokens: 0,
            length,
            page_tokens,
            allocations: Vec::new(),
        })
    }

    /// Appends tokens, one by one, up to a part of the length. Tokens that begin a page get one from the pool.
    pub fn grow_to(
        &mut self,
        part: usize,
        of: usize,
        pool: &MemoryPool,
        kernels: &Kernels,
    ) -> anyhow::Result<()> {
        let page_len = 2 * WIDTH * self.page_tokens;
        for token in self.tokens..self.length * part / of {
            for layer in &mut self.layers {
                if token.is_multiple_of(self.page_tokens) {
                    let took = layer.add_page(&self.append, pool, page_len)?;
                    self.allocations.push(took);
                }
                let table = (&layer.table, self.page_tokens);
                kernels.append(table, token, &layer.tokens[token])?;
            }
            self.tokens = token + 1;
        }
        Ok(())
    }

    /// Tokens in the cache.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Pages of all layers.
    pub fn pages(&self) -> usize {
        self.layers.iter().map(|layer| layer.pages.len()).sum()
    }

    /// What the calls took that allocated the pages.
    pub fn allocations(&self) -> impl Iterator<Item = Duration> {
        self.allocations.iter().copied()
    }

    /// Compares every page bit for bit with the CPU's cache; where no token is, there must be poison.
    pub fn check(&self) -> anyhow::Result<Checked> {
        let mut checked = Checked::default();
        for (number, layer) in self.layers.iter().enumerate() {
            let on_cpu = Layer::beginning_at(self.first, number, self.tokens);
            for (page, buffer) in layer.pages.iter().enumerate() {
                let expected = on_cpu.page(page, self.page_tokens, self.tokens);
                let what = format!("page {page} of layer {number}");
                let found = check::equal(&what, 0, &download(buffer)?, |at| expected[at])?;
                checked = checked.and(found);
            }
        }
        Ok(checked)
    }
}
