//! A layer's cache on the device: pages from the pool, and the table of their addresses.

use crate::model::{HEAD_DIM, HEADS, SCALE, WIDTH};
use anyhow::ensure;
use examples_host::prelude::*;

kernels! {
    /// Keys and values into pages, and attention over them. The pages are reached through their table.
    pub unsafe struct Kernels {
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters are plain numbers")]
        fn append_kv(
            pages: *const u64, first: u32, count: u32, keys: *const f32, values: *const f32,
            heads: u32, head_dim: u32, page_tokens: u32,
        ) = gpu_kernels::append_kv;
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters are plain numbers")]
        fn paged_attention(
            pages: *const u64, tokens: u32, queries: *const f32, output: *mut f32,
            heads: u32, head_dim: u32, page_tokens: u32, scale: f32,
        ) = gpu_kernels::paged_attention;
    }
}

impl Kernels {
    /// Writes tokens from token `first` on into the cache whose pages `table` lists, in the stream that the buffers
    /// belong to.
    pub fn append(
        &self,
        (table, page_tokens): (&DeviceBuffer<u64>, usize),
        first: usize,
        tokens: &Tokens,
    ) -> anyhow::Result<()> {
        let count = tokens.keys.len() / WIDTH;
        fits(first + count, table.len() * page_tokens)?;
        Ok(self.append_kv(
            Grid::cover(count * WIDTH, 256),
            table,
            first as u32,
            count as u32,
            &tokens.keys,
            &tokens.values,
            HEADS,
            HEAD_DIM,
            page_tokens as u32,
        )?)
    }

    /// Attention over the first `tokens` tokens of the cache whose pages `table` lists, in the stream that the buffers
    /// belong to. Nothing here makes it wait for the pages.
    pub fn attend(
        &self,
        (table, page_tokens): (&DeviceBuffer<u64>, usize),
        tokens: usize,
        query: &DeviceBuffer<f32>,
        output: &mut DeviceBuffer<f32>,
    ) -> anyhow::Result<()> {
        fits(tokens, table.len() * page_tokens)?;
        Ok(self.paged_attention(
            Grid::new(HEADS, gpu_kernels::PAGED_ATTENTION_THREADS),
            table,
            tokens as u32,
            query,
            output,
            HEADS,
            HEAD_DIM,
            page_tokens as u32,
            SCALE,
        )?)
    }
}

/// A page table on the device, for kernels of `stream`.
pub fn table(
    stream: &Stream,
    pages: impl ExactSizeIterator<Item = u64>,
) -> Result<DeviceBuffer<u64>> {
    let mut addresses = HostBuffer::page_locked(stream.device(), pages.len())?;
    for (entry, page) in addresses.write()?.iter_mut().zip(pages) {
        *entry = page;
    }
    let mut table = DeviceBuffer::new(stream, addresses.len())?;
    table.copy_from(&addresses)?;
    Ok(table)
}

fn fits(tokens: usize, room: usize) -> anyhow::Result<()> {
    ensure!(tokens <= room, "{tokens} tokens in pages for {room}");
    Ok(())
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
        let addresses = || pages.iter().map(DeviceBuffer::address);
        let (to_write, to_read) = (table(append, addresses())?, table(attention, addresses())?);
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
        kernels.append((&self.to_write, self.page_tokens), first, tokens)
    }

    /// Attention over the first `tokens` tokens, in the attending stream. Nothing here makes it wait for them.
    pub fn attend(
        &self,
        kernels: &Kernels,
        tokens: usize,
        query: &DeviceBuffer<f32>,
        output: &mut DeviceBuffer<f32>,
    ) -> anyhow::Result<()> {
        kernels.attend((&self.to_read, self.page_tokens), tokens, query, output)
    }

    /// Makes every token of an earlier run unrecognisable.
    pub fn poison(&mut self) -> Result<()> {
        self.pages.iter_mut().try_for_each(DeviceBuffer::poison)
    }

    /// The pages, for the check.
    pub fn pages(&self) -> &[DeviceBuffer<f32>] {
        &self.pages
    }
}
