//! cost: what does an allocation in a loop cost, and where does a pool help?
//!
//! `cuMemAlloc` asks the operating system for memory, unless the driver still has some; `cuMemFree` waits for all work
//! that might use it, in every stream. The pool's calls do neither:
//!
//! ```text
//! cuMemAlloc  host   |alloc launch free........ alloc launch free........ |
//!             device |           KKKK                      KKKK           |
//! pool        host   |a launch f a launch f a launch f                    |
//!             device |    KKKK     KKKK       KKKK                        |
//! ```
//!
//! The calls are timed twice: first alone, then in a loop whose kernels work in the first 4 KiB of the memory, whatever its
//! size, in one stream and in eight. Beside it runs a loop whose memory was allocated once: what another loop takes
//! longer is the allocator's share of it.
//!
//! A pool that several streams share looks for memory that another stream has freed, unless its reuse policies forbid it.
//! That search can cost the host more than the rest of the call, so one variant forbids it. A pool that does not remove
//! nearly all of the cost of large allocations would prove this wrong. Small ones the driver caches itself: what a pool
//! saves there is printed and not claimed.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::{fill, saxpy}; }

pub const STEPS: usize = 128;
pub const BATCH: usize = 8; // steps between two waits of the host

pub fn malloc(elements: usize, stream: &Stream) -> Result<()> {
    // SAFETY: nothing uses the memory.
    let memory = unsafe { DeviceBuffer::<f32>::uninitialized(elements)? }; // cuMemAlloc
    stream.synchronize()?; // otherwise cuMemFree would wait, for every stream
    drop(memory); //                                                          cuMemFree
    Ok(())
}

pub fn pool(elements: usize, pool: &MemoryPool, stream: &Stream) -> Result<()> {
    // SAFETY: nothing uses the memory.
    let memory = unsafe { pool.alloc_async::<f32>(elements, stream)? }; //    cuMemAllocFromPoolAsync
    Ok(memory.drop_async(stream)?) //                                         cuMemFreeAsync
}

/// A pool with this release threshold whose freed memory may cross to other streams as these policies allow.
pub fn new_pool(threshold: u64, policies: &[Reuse]) -> Result<MemoryPool> {
    let pool = MemoryPool::new(CurrentContext::get_device()?)?; //            cuMemPoolCreate
    pool.set_release_threshold(threshold)?; //                                cuMemPoolSetAttribute
    pool.allow_only(policies)?; //                                            cuMemPoolSetAttribute
    Ok(pool)
}

/// A loop that needs scratch memory in each step, and works in the first `touched` elements of it.
pub struct Loop<'s> {
    kernels: Kernels,
    pub streams: &'s [Stream],
    pub results: DeviceBuffer<f32>,
    pub touched: usize,
}

impl<'s> Loop<'s> {
    pub fn new(streams: &'s [Stream], touched: usize) -> Result<Self> {
        // SAFETY: each run starts with a copy into it.
        let results = unsafe { DeviceBuffer::uninitialized(streams.len() * touched)? };
        Ok(Self { kernels: Kernels::load(gpu_kernels::SM_70)?, streams, results, touched })
    }

    pub fn malloc(&self, elements: usize) -> Result<()> {
        for (step, stream) in (0..STEPS).zip(self.streams.iter().cycle()) {
            // SAFETY: the step writes what it reads.
            let scratch = unsafe { DeviceBuffer::uninitialized(elements)? };
            self.work(step, &scratch, stream)?;
            stream.synchronize()?; // otherwise cuMemFree would wait, for every stream
            drop(scratch);
            self.wait_after(step)?;
        }
        Ok(())
    }

    pub fn pool(&self, elements: usize, pool: &MemoryPool) -> Result<()> {
        for (step, stream) in (0..STEPS).zip(self.streams.iter().cycle()) {
            // SAFETY: the step writes what it reads, in the stream of the allocation.
            let scratch = unsafe { pool.alloc_async(elements, stream)? };
            self.work(step, &scratch, stream)?;
            scratch.drop_async(stream)?;
            self.wait_after(step)?;
        }
        Ok(())
    }

    /// Memory that was allocated before, for each stream its own.
    pub fn once(&self, scratch: &[DeviceBuffer<f32>]) -> Result<()> {
        for (step, stream) in (0..STEPS).zip(self.streams.iter().cycle()) {
            self.work(step, &scratch[step % scratch.len()], stream)?;
            self.wait_after(step)?;
        }
        Ok(())
    }

    /// Fills the first of the scratch memory with a number, and adds half of it to the result of the stream.
    fn work(&self, step: usize, scratch: &DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
        let (len, of_stream) = (self.touched, step % self.streams.len());
        let mut result = self.results.index(of_stream * len..(of_stream + 1) * len);
        let mut scratch = scratch.index(..len);
        // SAFETY: both have as many elements, and outlive the launches in stream order.
        unsafe {
            launch!(self.kernels.fill<<<len.div_ceil(256) as u32, 256, 0, stream>>>(&mut scratch, (step + 1) as f32 / 64.0))?;
            launch!(self.kernels.saxpy<<<len.div_ceil(256) as u32, 256, 0, stream>>>(0.5, &scratch, &mut result))
        }
    }

    /// Waits for all streams after each batch of steps.
    fn wait_after(&self, step: usize) -> CudaResult<()> {
        match (step + 1) % BATCH {
            0 => self.streams.iter().try_for_each(Stream::synchronize),
            _ => Ok(()),
        }
    }
}
