//! stages: what does prefetching pages gain?
//!
//! A block attends with one head over one sequence's pages, 16 KiB of keys and values each, and computes a fraction of the time that
//! memory needs for them. There is one block on each multiprocessor, so that no other block uses its pauses:
//!
//! ```text
//! staged      memory  |LLL   LLL   LLL   |      prefetched,  memory  |LLLlllLLLlll|
//!             compute |   CC    CC    CC |      2 stages     compute |   CC cc CC |
//! ```
//!
//! Plain loads hold what they load in registers or wait for it; a bulk copy needs one instruction of one thread, and its bytes find
//! their way into shared memory themselves. With one stage it gains nothing: the stage is free only when the page has been used. What
//! must be on its way to keep memory busy is its bandwidth times its latency, about 4.8 TB/s times 0.8 µs = 3.8 MB on an H200, or
//! 29 KiB for each multiprocessor: 2 stages nearly do, 4 do.
//!
//! Stages beyond the 48 KiB of shared memory that every block may have must be requested. One stage that is as fast as four, outputs
//! that differ in a bit, or a time below that of a plain copy of as many bytes, would prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::memory::DevicePointer;
use gpu_kernels::{
    KV_CONSUMERS, KV_HEAD_DIM, KV_MAX_STAGES, KV_PAGE_TOKENS, KV_STAGE_BYTES, KV_THREADS,
};

kernels! { pub struct Kernels; use gpu_kernels::{attention_direct, attention_prefetched, attention_staged}; }

pub const HEADS: usize = 4;
/// Elements of a page: the keys of all heads and tokens, and their values.
pub const PAGE: usize = 2 * HEADS * (KV_PAGE_TOKENS * KV_HEAD_DIM) as usize;

/// A pool of pages, the addresses of each sequence's pages in it, and a query for each head of each sequence.
pub struct Attention {
    pub kernels: Kernels,
    pub grid: (u32, u32),
    pub pages: u32,
    pub scale: f32,
    pub pool: DeviceBuffer<f32>,
    pub table: DeviceBuffer<DevicePointer<f32>>,
    pub queries: DeviceBuffer<f32>,
    pub output: DeviceBuffer<f32>,
    copy: DeviceBuffer<f32>,
}

impl Attention {
    /// `order` says where in the pool each page of each sequence lies.
    pub fn new(pool: &[f32], order: &[usize], queries: &[f32]) -> Result<Self> {
        let sequences = queries.len() / HEADS / KV_HEAD_DIM as usize;
        let pages = (order.len() / sequences) as u32;
        let pool = DeviceBuffer::from_slice(pool)?;
        let kernels = Kernels::load(gpu_kernels::SM_90)?;
        let copy = DeviceBuffer::zeroed(pool.len() / 2)?;
        let address = |&page: &usize| pool.index(page * PAGE..(page + 1) * PAGE).as_device_ptr();
        let table = DeviceBuffer::from_slice(&order.iter().map(address).collect::<Vec<_>>())?;
        let output = DeviceBuffer::zeroed(queries.len())?;
        let queries = DeviceBuffer::from_slice(queries)?;
        let (grid, scale) = ((HEADS as u32, sequences as u32), 1.0 / (KV_HEAD_DIM as f32).sqrt());
        Ok(Self { kernels, grid, pages, scale, pool, table, queries, output, copy })
    }

    /// Every warp loads its tokens into registers.
    pub fn direct(&mut self, stream: &Stream) -> CudaResult<()> {
        let kernel = &self.kernels.attention_direct;
        // SAFETY: the table has the grid's pages, the buffers its rows, and all outlive the run.
        unsafe {
            launch!(kernel<<<self.grid, KV_CONSUMERS, 0, stream>>>(&self.table, self.pages, &self.queries, &mut self.output, self.scale))
        }
    }

    /// All warps load a page into shared memory, and wait for each other.
    pub fn staged(&mut self, stream: &Stream) -> CudaResult<()> {
        let kernel = &self.kernels.attention_staged;
        // SAFETY: as above.
        unsafe {
            launch!(kernel<<<self.grid, KV_CONSUMERS, 0, stream>>>(&self.table, self.pages, &self.queries, &mut self.output, self.scale))
        }
    }

    /// One thread issues bulk copies into so many stages. It takes no stamps.
    pub fn prefetched(&mut self, stages: u32, stream: &Stream) -> CudaResult<()> {
        let (kernel, none) = (&self.kernels.attention_prefetched, DevicePointer::<u64>::null());
        let shared = stages * KV_STAGE_BYTES;
        // SAFETY: as above.
        unsafe {
            launch!(kernel<<<self.grid, KV_THREADS, shared, stream>>>(&self.table, self.pages, &self.queries, &mut self.output, self.scale, stages, none))
        }
    }

    /// More than 48 KiB of shared memory are not given without asking.
    pub fn allow_stages(&self) -> CudaResult<()> {
        let kernel = &self.kernels.attention_prefetched;
        kernel.allow_dynamic_shared_bytes(KV_MAX_STAGES * KV_STAGE_BYTES) // cuFuncSetAttribute(…)
    }

    /// Copies half of the pool within the device: as many bytes are read and written as attention reads.
    pub fn copy_half(&mut self, stream: &Stream) -> CudaResult<()> {
        let half = self.pool.index(..self.copy.len());
        // SAFETY: both buffers outlive the run.
        unsafe { self.copy.async_copy_from(&half, stream) }
    }
}
