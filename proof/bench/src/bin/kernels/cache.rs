//! The paged cache of keys and values.

use super::memory::Array;
use super::pair::{Agreement, Agreement::Bits, KernelPair};
use super::{Purpose, blocks, some};
use anyhow::Result;
use cust::device::Device;
use gpu_kernels::{Signature as _, kv_page_len};
use std::rc::Rc;

const HEAD_DIM: u32 = 128;
const PAGE_TOKENS: u32 = 16;
/// A compiler may fuse the products and sums of running means.
const FUSED: Agreement = Agreement::Share(1e-5);

pub fn pairs(_: Device, purpose: Purpose) -> Result<Vec<KernelPair>> {
    let mut pairs = Vec::new();
    for (heads, tokens) in purpose.choose([(8, 256), (32, 4096)], [(2, 50), (3, 129)]) {
        let cache = BenchCache::new(heads, tokens)?;
        let label = format!("{heads} heads, {tokens} tokens");
        pairs.push(cache.append(tokens)?.labelled(&label));
        pairs.push(cache.attend(tokens)?.labelled(&label));
    }
    some(pairs)
}

struct BenchCache {
    heads: u32,
    pages: Rc<Array>,
    table: Rc<Array>,
}

impl BenchCache {
    fn new(heads: u32, tokens: u32) -> Result<Self> {
        let (count, len) = (
            tokens.div_ceil(PAGE_TOKENS),
            kv_page_len(heads, HEAD_DIM, PAGE_TOKENS),
        );
        let pages = Array::numbers(count as usize * len, 1.0)?;
        let page = |number: u32| pages.address() + u64::from(number) * 4 * len as u64;
        let words = |address: u64| [address as u32, (address >> 32) as u32];
        let table = Array::new((0..count).map(page).flat_map(words).collect())?;
        Ok(Self {
            heads,
            pages,
            table,
        })
    }

    fn append(&self, tokens: u32) -> Result<KernelPair> {
        let elements = (tokens * self.heads * HEAD_DIM) as usize;
        let (keys, values) = (
            Array::numbers(elements, 2.0)?,
            Array::numbers(elements, 3.0)?,
        );
        let grid = [blocks(elements.div_ceil(256))?, 1, 1];
        Ok(KernelPair::new(gpu_kernels::append_kv::NAME, grid, 256)
            .reads(&self.table)
            .number(0)
            .number(tokens)
            .reads(&keys)
            .reads(&values)
            .number(self.heads)
            .number(HEAD_DIM)
            .number(PAGE_TOKENS)
            .leaves(&self.pages, Bits))
    }

    fn attend(&self, tokens: u32) -> Result<KernelPair> {
        let elements = (self.heads * HEAD_DIM) as usize;
        let queries = Array::numbers(elements, 1.0)?;
        let output = Array::unwritten(elements)?;
        let threads = gpu_kernels::PAGED_ATTENTION_THREADS;
        Ok(KernelPair::new(
            gpu_kernels::paged_attention::NAME,
            [self.heads, 1, 1],
            threads,
        )
        .reads(&self.table)
        .number(tokens)
        .reads(&queries)
        .writes(&output, FUSED)
        .number(self.heads)
        .number(HEAD_DIM)
        .number(PAGE_TOKENS)
        .float(0.088)
        .leaning_on(&self.pages))
    }
}
