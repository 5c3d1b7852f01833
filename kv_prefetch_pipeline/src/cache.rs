//! A cache of keys and values in pages, one query for each head of each sequence, and what attention makes of them.

use anyhow::Result;
use cuda_host::kernels;
use cust::context::CurrentContext;
use cust::error::CudaResult;
use cust::memory::{CopyDestination, DeviceBuffer, DevicePointer};
use cust::stream::Stream;
use examples_host::prelude::*;
use gpu_kernels::{
    KV_CONSUMERS, KV_HEAD_DIM, KV_MAX_PAGES, KV_MAX_STAGES, KV_PAGE_TOKENS, KV_STAGE_BYTES,
    KV_THREADS,
};

kernels! { use gpu_kernels::{attention_direct, attention_prefetched, attention_staged}; }

pub const HEADS: usize = 4;
const DIM: usize = KV_HEAD_DIM as usize;
/// Elements of a head's keys in a page, and of its values.
const TILE: usize = KV_PAGE_TOKENS as usize * DIM;
const PAGE: usize = 2 * HEADS * TILE;
const KEYS_AND_VALUES: Seed = Seed::new(91);
const QUERIES: Seed = Seed::new(92);
/// Errors of sums of floats and of the approximate exponential. One token of another page would change an element by ten times as much.
const TOLERANCE: f32 = 1e-5;

/// How a page comes to the warps that compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Every warp loads its tokens into registers.
    Direct,
    /// All warps load a page into shared memory, and wait for each other.
    Staged,
    /// One thread issues bulk copies into so many stages.
    Prefetched(u32),
}

/// The pages of all sequences, their table, and the queries.
pub struct Cache {
    pub sequences: usize,
    /// Of each sequence.
    pub pages: usize,
    kernels: Kernels,
    pool: DeviceBuffer<f32>,
    copy: DeviceBuffer<f32>,
    table: DeviceBuffer<DevicePointer<f32>>,
    queries: DeviceBuffer<f32>,
    output: DeviceBuffer<f32>,
    expected: Vec<f32>,
}

impl Cache {
    /// A block for each multiprocessor: that is what its heads and sequences make. On a GPU each sequence has 4096 tokens; on a model
    /// fewer, as many as are soon interpreted.
    pub fn new(part: &Part) -> Result<Self> {
        let pages = part.by_times(KV_MAX_PAGES as usize, 32);
        let sequences = part.device().multiprocessors()? as usize / HEADS;
        let mut elements = vec![0.0; sequences * pages * PAGE];
        KEYS_AND_VALUES.fill_f32(0, &mut elements);
        let mut queries = vec![0.0; sequences * HEADS * DIM];
        QUERIES.fill_f32(0, &mut queries);
        let pool = DeviceBuffer::from_slice(&elements)?;
        let places = |page| place(page, sequences * pages) * PAGE;
        let addresses: Vec<_> = (0..sequences * pages)
            .map(|page| pool.index(places(page)..places(page) + PAGE).as_device_ptr())
            .collect();
        let row = |row: usize| {
            let (sequence, head) = (row / HEADS, row % HEADS);
            let pages = (0..pages).map(|page| {
                let first = places(sequence * pages + page) + head * TILE;
                let [keys, values] = [first, first + HEADS * TILE];
                (&elements[keys..keys + TILE], &elements[values..values + TILE])
            });
            attention(&queries[row * DIM..][..DIM], pages)
        };
        Ok(Self {
            sequences,
            pages,
            kernels: Kernels::load(gpu_kernels::SM_90)?,
            copy: DeviceBuffer::zeroed(pool.len() / 2)?,
            table: DeviceBuffer::from_slice(&addresses)?,
            output: DeviceBuffer::zeroed(queries.len())?,
            expected: (0..sequences * HEADS).flat_map(row).collect(),
            queries: DeviceBuffer::from_slice(&queries)?,
            pool,
        })
    }

    /// Bytes of all keys and values, each of which is read once.
    pub fn bytes(&self) -> usize {
        self.pool.len() * size_of::<f32>()
    }

    /// Threads that compute.
    pub fn threads(&self) -> usize {
        self.sequences * HEADS * KV_CONSUMERS as usize
    }

    /// Allows the kernel its stages (`cuFuncSetAttribute`): more than 48 KiB of shared memory are not given without asking.
    pub fn allow_stages(&self) -> CudaResult<()> {
        let bytes = KV_MAX_STAGES * KV_STAGE_BYTES;
        self.kernels.attention_prefetched.allow_dynamic_shared_bytes(bytes)
    }

    /// Attention of all queries (`cuLaunchKernel`).
    pub fn attend(&mut self, way: Way, stream: &Stream) -> CudaResult<()> {
        let (grid, block) = ((HEADS as u32, self.sequences as u32), KV_CONSUMERS);
        let (kernels, scale) = (&self.kernels, scale());
        let table = self.table.as_device_ptr().cast();
        let arguments = (table, self.pages as u32, &self.queries, &mut self.output, scale);
        // SAFETY: the table has the grid's pages, the buffers its rows, and all outlive the run.
        unsafe {
            match way {
                Way::Direct => kernels.attention_direct.launch(grid, block, 0, stream, arguments),
                Way::Staged => kernels.attention_staged.launch(grid, block, 0, stream, arguments),
                Way::Prefetched(stages) => self.prefetch(stages, DevicePointer::null(), stream),
            }
        }
    }

    /// Attention with so many stages; the first block stamps the time of each page's issue and of its arrival.
    pub fn attend_stamped(&mut self, stages: u32, stream: &Stream) -> Result<Stamps> {
        let stamps = DeviceBuffer::from_slice(&vec![0u64; 2 * self.pages])?;
        // The copy is of the legacy stream, which a non-blocking one does not wait for.
        CurrentContext::synchronize()?;
        self.prefetch(stages, stamps.as_device_ptr(), stream)?;
        stream.synchronize()?;
        let stamps = stamps.as_host_vec()?;
        let (issued, come) = stamps.split_at(self.pages);
        Ok(Stamps { issued: issued.to_vec(), come: come.to_vec() })
    }

    fn prefetch(
        &mut self,
        stages: u32,
        stamps: DevicePointer<u64>,
        stream: &Stream,
    ) -> CudaResult<()> {
        let grid = (HEADS as u32, self.sequences as u32);
        let table = self.table.as_device_ptr().cast();
        let (pages, scale) = (self.pages as u32, scale());
        let arguments = (table, pages, &self.queries, &mut self.output, scale, stages, stamps);
        let (kernel, shared) = (&self.kernels.attention_prefetched, stages * KV_STAGE_BYTES);
        // SAFETY: as above; the stamps have two places for each page, or there are none.
        unsafe { kernel.launch(grid, KV_THREADS, shared, stream, arguments) }
    }

    /// Copies half of the cache within the device: as many bytes are read and written as attention reads.
    pub fn copy_half(&mut self, stream: &Stream) -> Result<()> {
        use cust::memory::AsyncCopyDestination;
        let half = self.pool.index(..self.copy.len());
        // SAFETY: both buffers outlive the run.
        unsafe { self.copy.async_copy_from(&half, stream)? };
        Ok(())
    }
}

/// The multiprocessor's clock when each page's copies were issued, and when they had come.
pub struct Stamps {
    pub issued: Vec<u64>,
    pub come: Vec<u64>,
}

impl Workload for Cache {
    fn poison(&mut self) -> Result<()> {
        Ok(self.output.set_8(0xFF)?)
    }

    fn check(&mut self) -> Result<Checked> {
        let mut found = vec![0.0; self.output.len()];
        self.output.copy_to(&mut found)?;
        let close = |got: &f32, expected: &f32| (got - expected).abs() <= TOLERANCE;
        Ok(check::matching("the output", 0, &found, |index| self.expected[index], close)?)
    }
}

/// Where in the pool a page lies: pages are allocated as sequences grow, so neighbours in a sequence are not neighbours in memory.
fn place(page: usize, pages: usize) -> usize {
    page * 7919 % pages
}

fn scale() -> f32 {
    1.0 / (DIM as f32).sqrt()
}

/// The mean of the values, weighted by the softmax of the scaled products of the query and the keys.
fn attention<'p>(query: &[f32], pages: impl Iterator<Item = (&'p [f32], &'p [f32])>) -> Vec<f32> {
    let (mut total, mut sums) = (0.0, vec![0.0; DIM]);
    for (keys, values) in pages {
        for (key, value) in keys.chunks(DIM).zip(values.chunks(DIM)) {
            let products = query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k));
            // Scores of such queries and keys are small: no maximum has to be taken off.
            let weight = (products.sum::<f64>() * f64::from(scale())).exp();
            total += weight;
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum += weight * f64::from(*value);
            }
        }
    }
    sums.into_iter().map(|sum| (sum / total) as f32).collect()
}
