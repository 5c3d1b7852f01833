//! A layer's cache on the device: pages from the pool, and the table of their addresses.

use crate::model::{HEAD_DIM, HEADS, SCALE, WIDTH};
use anyhow::ensure;
use examples_host::prelude::*;
use gpu_kernels::names;

kernels! {
    /// Keys and values into pages, and attention over them. The pages are reached through their table.
    pub unsafe struct Kernels {
        fn append_kv(
            pages: *const u64, first: u32, count: u32, keys: *const f32, values: *const f32,
            heads: u32, head_dim: u32, page_tokens: u32,
        ) = names::APPEND_KV;
        fn paged_attention(
            pages: *const u64, tokens: u32, queries: *const f32, output: *mut f32,
            heads: u32, head_dim: u32, page_tokens: u32, scale: f32,
        ) = names::PAGED_ATTENTION;
    }
}

/// The keys and values of some neighbouring tokens in one layer, `[token][head][element]`.
pub struct Tokens {
    pub keys: DeviceBuffer<f32>,
    pub values: DeviceBuffer<f32>,
}

/// One layer's pages. The stream that writes them and the one that reads them have a page table each, so that neither
/// waits for the other's.
pub struct Pages {
    pages: Vec<DeviceBuffer<f32>>,
    page_tokens: usize,
    to_write: DeviceBuffer<u64>,
    to_read: DeviceBuffer<u64>,
}

impl Pages {
    /// Room for `tokens` tokens, in pages that are `append`'s; `attention` has a table of them too.
    pub fn new(
        append: &Stream,
        attention: &Stream,
        tokens: usize,
        page_tokens: usize,
    ) -> Result<Self> {
        let pages: Vec<_> = (0..tokens.div_ceil(page_tokens))
            .map(|_| DeviceBuffer::from_pool(append, 2 * WIDTH * page_tokens))
            .collect::<Result<_>>()?;
        let mut addresses = HostBuffer::page_locked(append.device(), pages.len())?;
        for (address, page) in addresses.write()?.iter_mut().zip(&pages) {
            *address = page.address();
        }
        let table = |stream| {
            let mut table = DeviceBuffer::new(stream, pages.len())?;
            table.copy_from(&addresses)?;
            Ok::<_, Error>(table)
        };
        let (to_write, to_read) = (table(append)?, table(attention)?);
        Ok(Self {
            pages,
            page_tokens,
            to_write,
            to_read,
        })
    }

    /// Writes `count` tokens from token `first` on, in the appending stream.
    pub fn append(
        &mut self,
        kernels: &Kernels,
        first: usize,
        tokens: &Tokens,
    ) -> anyhow::Result<()> {
        let count = tokens.keys.len() / WIDTH;
        self.fits(first + count)?;
        Ok(kernels.append_kv(
            Grid::cover(count * WIDTH, 256),
            &self.to_write,
            first as u32,
            count as u32,
            &tokens.keys,
            &tokens.values,
            HEADS,
            HEAD_DIM,
            self.page_tokens as u32,
        )?)
    }

    /// Attention over the first `tokens` tokens, in the attending stream. Nothing here makes it wait for them.
    pub fn attend(
        &self,
        kernels: &Kernels,
        tokens: usize,
        query: &DeviceBuffer<f32>,
        output: &mut DeviceBuffer<f32>,
    ) -> anyhow::Result<()> {
        self.fits(tokens)?;
        Ok(kernels.paged_attention(
            Grid::new(HEADS, names::PAGED_ATTENTION_THREADS),
            &self.to_read,
            tokens as u32,
            query,
            output,
            HEADS,
            HEAD_DIM,
            self.page_tokens as u32,
            SCALE,
        )?)
    }

    /// Makes every token of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.pages.iter_mut().try_for_each(DeviceBuffer::poison)
    }

    /// The pages, for the check.
    pub fn pages(&self) -> &[DeviceBuffer<f32>] {
        &self.pages
    }

    fn fits(&self, tokens: usize) -> anyhow::Result<()> {
        let room = self.pages.len() * self.page_tokens;
        ensure!(tokens <= room, "{tokens} tokens in pages for {room}");
        Ok(())
    }
}
