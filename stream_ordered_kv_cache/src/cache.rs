//! A layer's cache on the device: pages of keys and values, the table of their addresses, and the two kernels that use it.

use crate::model::{HEAD_DIM, HEADS, Layer, SCALE, WIDTH, page_len};
use cuda_host::{kernels, launch};
use cust::error::CudaResult;
use cust::memory::{DeviceBuffer, DevicePointer, DeviceSlice};
use cust::stream::Stream;
use examples_host::prelude::{Checked, check};
use gpu_kernels::PAGED_ATTENTION_THREADS;
use std::ops::Range;

kernels! {
    /// Keys and values into pages, and attention over them.
    pub struct Kernels;
    use gpu_kernels::{append_kv, paged_attention};
}

/// Threads of a block that appends.
const THREADS: u32 = 256;

/// Where a layer's pages are.
pub struct Table {
    pub addresses: DeviceBuffer<DevicePointer<f32>>,
    /// Tokens of a page.
    pub page_tokens: usize,
}

impl Table {
    /// The table of these pages.
    pub fn new(
        pages: impl Iterator<Item = DevicePointer<f32>>,
        page_tokens: usize,
    ) -> CudaResult<Self> {
        let addresses: Vec<_> = pages.collect();
        Ok(Self { addresses: DeviceBuffer::from_slice(&addresses)?, page_tokens })
    }
}

/// A layer's cache, and the keys and values that are to be appended to it, on the device and on the CPU.
pub struct Cache {
    pub pages: Vec<DeviceBuffer<f32>>,
    pub table: Table,
    keys: DeviceBuffer<f32>,
    values: DeviceBuffer<f32>,
    on_cpu: Layer,
}

impl Cache {
    /// A cache without pages, and a table with room for all of them.
    pub fn without_pages(on_cpu: Layer, page_tokens: usize) -> CudaResult<Self> {
        let pages = on_cpu.tokens().div_ceil(page_tokens);
        Ok(Self {
            pages: Vec::new(),
            table: Table::new((0..pages).map(|_| DevicePointer::null()), page_tokens)?,
            keys: DeviceBuffer::from_slice(&on_cpu.keys)?,
            values: DeviceBuffer::from_slice(&on_cpu.values)?,
            on_cpu,
        })
    }

    /// A cache with pages for all tokens.
    pub fn with_pages(on_cpu: Layer, page_tokens: usize) -> CudaResult<Self> {
        let mut cache = Self::without_pages(on_cpu, page_tokens)?;
        for _ in 0..cache.table.addresses.len() {
            cache.pages.push(DeviceBuffer::zeroed(page_len(page_tokens))?);
        }
        let addresses = cache.pages.iter().map(|page| page.as_device_ptr());
        cache.table = Table::new(addresses, page_tokens)?;
        Ok(cache)
    }

    /// Writes these tokens' keys and values into their pages. One launch.
    pub fn append(
        &self,
        kernels: &Kernels,
        tokens: Range<usize>,
        stream: &Stream,
    ) -> CudaResult<()> {
        let elements = tokens.start * WIDTH..tokens.end * WIDTH;
        let (keys, values) = (self.keys.index(elements.clone()), self.values.index(elements));
        let (first, count) = (tokens.start as u32, tokens.len() as u32);
        let (pages, page_tokens) = (&self.table.addresses, self.table.page_tokens as u32);
        let blocks = (tokens.len() * WIDTH).div_ceil(THREADS as usize) as u32;
        // SAFETY: the table has pages for all tokens that are appended, and the grid a thread for every element.
        unsafe {
            launch!(kernels.append_kv<<<blocks, THREADS, 0, stream>>>(
                pages, first, count, &keys, &values, HEADS, HEAD_DIM, page_tokens
            ))
        }
    }

    /// Makes every token of an earlier run unrecognisable.
    pub fn poison(&mut self) -> CudaResult<()> {
        self.pages.iter_mut().try_for_each(|page| page.set_8(0xFF))
    }

    /// Compares the pages bit for bit with the CPU's first `tokens` tokens; where no token is, there must be poison.
    pub fn check(&self, tokens: usize) -> anyhow::Result<Checked> {
        let mut checked = Checked::default();
        for (page, buffer) in self.pages.iter().enumerate() {
            let expected = self.on_cpu.page(page, self.table.page_tokens, tokens);
            let (what, got) = (format!("page {page}"), buffer.as_host_vec()?);
            checked = checked.and(check::equal(&what, 0, &got, |at| expected[at])?);
        }
        Ok(checked)
    }
}

impl Kernels {
    /// Attention over the first `tokens` tokens. One launch, which waits for nothing but its stream.
    pub fn attend(
        &self,
        table: &Table,
        tokens: usize,
        query: &DeviceSlice<f32>,
        output: &mut DeviceSlice<f32>,
        stream: &Stream,
    ) -> CudaResult<()> {
        let (pages, page_tokens) = (&table.addresses, table.page_tokens as u32);
        let tokens = tokens as u32;
        // SAFETY: the table has pages for all tokens of its layer; query and output have an element for every head's.
        unsafe {
            launch!(self.paged_attention<<<HEADS, PAGED_ATTENTION_THREADS, 0, stream>>>(
                pages, tokens, query, output, HEADS, HEAD_DIM, page_tokens, SCALE
            ))
        }
    }
}
