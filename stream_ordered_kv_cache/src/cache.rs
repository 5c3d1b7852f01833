//! A layer's cache on the device: pages of keys and values, the table of their addresses, and the two kernels that use it.

use cuda_host::prelude::*;
use cust::memory::DevicePointer;
use gpu_kernels::PAGED_ATTENTION_THREADS;
use std::ops::Range;

kernels! { pub struct Kernels; use gpu_kernels::{append_kv, paged_attention}; }

pub const LAYERS: usize = 4;
pub const HEADS: u32 = 8; // of keys and values
pub const HEAD_DIM: u32 = 128; // elements of a head
/// Elements of a token's keys in a layer, of its values, of a query, and of an output.
pub const WIDTH: usize = HEADS as usize * HEAD_DIM as usize;
/// What multiplies the products of queries and keys.
pub const SCALE: f32 = 0.125;
const THREADS: u32 = 256; // of a block that appends

/// Elements of a page: keys and values of this many tokens.
pub fn page_len(page_tokens: usize) -> usize {
    2 * WIDTH * page_tokens
}

/// The steps and layers, in the order in which a model takes them.
pub fn in_order(steps: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..steps).flat_map(|step| (0..LAYERS).map(move |layer| (step, layer)))
}

/// Where a layer's pages are.
pub struct PageAddresses {
    pub addresses: DeviceBuffer<DevicePointer<f32>>,
    /// Tokens of a page.
    pub page_tokens: usize,
}

impl PageAddresses {
    /// The table of these pages.
    pub fn new(
        pages: impl Iterator<Item = DevicePointer<f32>>,
        page_tokens: usize,
    ) -> CudaResult<Self> {
        let addresses: Vec<_> = pages.collect();
        Ok(Self { addresses: DeviceBuffer::from_slice(&addresses)?, page_tokens })
    }
}

/// A layer's cache, and the keys and values that are to be appended to it.
pub struct Cache {
    pub pages: Vec<DeviceBuffer<f32>>,
    pub table: PageAddresses,
    keys: DeviceBuffer<f32>,
    values: DeviceBuffer<f32>,
}

impl Cache {
    /// A cache without pages, and a table with room for all of them.
    pub fn without_pages([keys, values]: [&[f32]; 2], page_tokens: usize) -> CudaResult<Self> {
        let pages = (keys.len() / WIDTH).div_ceil(page_tokens);
        let table = PageAddresses::new((0..pages).map(|_| DevicePointer::null()), page_tokens)?;
        let (keys, values) = (DeviceBuffer::from_slice(keys)?, DeviceBuffer::from_slice(values)?);
        Ok(Self { pages: Vec::new(), table, keys, values })
    }

    /// A cache with pages for all tokens.
    pub fn with_pages(keys_and_values: [&[f32]; 2], page_tokens: usize) -> CudaResult<Self> {
        let mut cache = Self::without_pages(keys_and_values, page_tokens)?;
        for _ in 0..cache.table.addresses.len() {
            cache.pages.push(DeviceBuffer::zeroed(page_len(page_tokens))?);
        }
        let addresses = cache.pages.iter().map(|page| page.as_device_ptr());
        cache.table = PageAddresses::new(addresses, page_tokens)?;
        Ok(cache)
    }

    /// Writes these tokens' keys and values into their pages.
    pub fn launch_append(
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
}

impl Kernels {
    /// Attention over the first `tokens` tokens.
    pub fn launch_attention(
        &self,
        table: &PageAddresses,
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
