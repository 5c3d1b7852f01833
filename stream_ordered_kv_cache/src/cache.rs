//! A layer's cache on the device: pages of keys and values, the table of their addresses, and the two kernels that use it.

use crate::model::{HEAD_DIM, HEADS, Layer, SCALE, WIDTH};
use cuda_host::{kernels, launch};
use cust::error::CudaResult;
use cust::memory::{DeviceBuffer, DevicePointer, DeviceSlice};
use cust::stream::Stream;
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

/// The keys and values that are to be appended to a layer's cache, of all tokens, `[token][head][element]`.
pub struct Numbers {
    keys: DeviceBuffer<f32>,
    values: DeviceBuffer<f32>,
}

impl Numbers {
    /// Those of a layer.
    pub fn of(layer: &Layer) -> CudaResult<Self> {
        Ok(Self {
            keys: DeviceBuffer::from_slice(&layer.keys)?,
            values: DeviceBuffer::from_slice(&layer.values)?,
        })
    }
}

impl Kernels {
    /// Writes these tokens' keys and values into their pages. One launch.
    pub fn append(
        &self,
        table: &Table,
        tokens: Range<usize>,
        numbers: &Numbers,
        stream: &Stream,
    ) -> CudaResult<()> {
        let elements = tokens.start * WIDTH..tokens.end * WIDTH;
        let keys = numbers.keys.index(elements.clone());
        let values = numbers.values.index(elements);
        let (first, count) = (tokens.start as u32, tokens.len() as u32);
        let (pages, page_tokens) = (&table.addresses, table.page_tokens as u32);
        let blocks = (tokens.len() * WIDTH).div_ceil(THREADS as usize) as u32;
        // SAFETY: the table has pages for all tokens of its layer, and the grid a thread for every element.
        unsafe {
            launch!(self.append_kv<<<blocks, THREADS, 0, stream>>>(
                pages, first, count, &keys, &values, HEADS, HEAD_DIM, page_tokens
            ))
        }
    }

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
