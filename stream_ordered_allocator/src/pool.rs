//! pool: what does a memory pool hold, and which stream gets freed memory again?
//!
//! Asking the operating system for memory is what makes an allocation expensive. A pool asks for it once and keeps it:
//!
//! ```text
//! used       ____/‾‾‾‾\______________/‾‾‾‾\___________
//! reserved   ____/‾‾‾‾‾‾‾‾\__________/‾‾‾‾‾‾‾‾‾‾‾‾\___    threshold 0, then max
//!               alloc free wait     alloc free wait trim
//! ```
//!
//! Free memory above the release threshold goes back to the system when the host synchronises. The threshold is 0 at first:
//! a program that waits once per batch then pays for the memory of every batch again. Memory that one stream has freed goes
//! to another only if the pool may follow an order that exists (events), use a free that happens to be over, or make the
//! stream wait. Memory that stays in spite of threshold 0, goes in spite of the greatest, or crosses streams with no policy
//! that allows it would prove this wrong.

use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::memory::DevicePointer;

kernels! { use gpu_kernels::affine_rounds; }

pub const BUFFERS: usize = 3; // that live at the same time
pub const BYTES: usize = 64 << 20; // two such allocations do not fit into what a pool reserves for one
const BUSY: u32 = 1 << 18; // multiply-adds: half a millisecond or more, longer than any of the calls

pub fn allocate(
    pool: &MemoryPool,
    bytes: usize,
    stream: &Stream,
) -> CudaResult<Vec<DeviceBuffer<u8>>> {
    // SAFETY: what is used is used in the stream of the allocation, and written before it is read.
    (0..BUFFERS).map(|_| unsafe { pool.alloc_async(bytes, stream) }).collect() // cuMemAllocFromPoolAsync
}

/// Allocates, uses and frees memory in stream order, and waits.
pub fn batch(pool: &MemoryPool, bytes: usize, stream: &Stream) -> CudaResult<()> {
    let mut buffers = allocate(pool, bytes, stream)?;
    for buffer in &mut buffers {
        // SAFETY: the buffer is freed behind this, in the same stream.
        unsafe { buffer.set_8_async(0xFF, stream)? };
    }
    for buffer in buffers {
        buffer.drop_async(stream)?; //                                       cuMemFreeAsync
    }
    stream.synchronize()
}

/// A stream that frees memory, and another one that allocates.
pub struct TwoStreams {
    kernels: Kernels,
    pub first: Stream,
    pub second: Stream,
    event: Event,
    other: DeviceBuffer<f32>,
}

/// The addresses of the freed memory and of the next allocation.
pub type Next = (DevicePointer<u8>, CudaResult<DeviceBuffer<u8>>);

impl TwoStreams {
    pub fn new() -> anyhow::Result<Self> {
        let [first, second] = stream::non_blocking_named(["first", "second"])?;
        let event = Event::new(EventFlags::DISABLE_TIMING)?;
        let other = DeviceBuffer::zeroed(32)?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let scene = Self { kernels, first, second, event, other };
        CurrentContext::synchronize()?;
        scene.keep_busy(1)?; // a driver may load a kernel when it is first launched, and wait for the device
        Ok(scene)
    }

    /// The stream that freed the memory gets it again: whatever uses it then comes behind the free.
    pub fn same_stream(&self, pool: &MemoryPool) -> CudaResult<Next> {
        let freed = self.free(alloc(pool, &self.first)?)?;
        Ok((freed, alloc(pool, &self.first)))
    }

    /// The second stream waits for an event behind the free.
    pub fn behind_an_event(&self, pool: &MemoryPool) -> CudaResult<Next> {
        let freed = self.free(alloc(pool, &self.first)?)?;
        self.event.record(&self.first)?;
        self.second.wait(&self.event)?;
        Ok((freed, alloc(pool, &self.second)))
    }

    /// Nothing orders the second stream behind the free, but the free is over. The host does not wait: that would tell the pool.
    pub fn free_over(&self, pool: &MemoryPool) -> CudaResult<Next> {
        let freed = self.free(alloc(pool, &self.first)?)?;
        while !self.first.is_idle()? {} //                                   cuStreamQuery
        Ok((freed, alloc(pool, &self.second)))
    }

    /// The free is pending, and the pool, of which `memory` is a part, is full and must not grow.
    pub fn pool_full(&self, pool: &MemoryPool, memory: DeviceBuffer<u8>) -> CudaResult<Next> {
        let freed = self.free(memory)?;
        Ok((freed, alloc(pool, &self.second)))
    }

    /// Frees memory in the first stream, behind a kernel that takes long. Returns where it was.
    fn free(&self, memory: DeviceBuffer<u8>) -> CudaResult<DevicePointer<u8>> {
        let address = memory.as_device_ptr();
        self.keep_busy(BUSY)?;
        memory.drop_async(&self.first)?;
        Ok(address)
    }

    /// A kernel of one small block in the first stream, of this many dependent steps, 2 to 3 ns each.
    fn keep_busy(&self, steps: u32) -> CudaResult<()> {
        let (kernel, mut other, stream) =
            (&self.kernels.affine_rounds, self.other.index(..), &self.first);
        // SAFETY: the memory outlives the launch, and nothing else uses it.
        unsafe { launch!(kernel<<<1, 32, 0, stream>>>(&mut other, 1.0, 0.0, steps)) }
    }
}

pub fn alloc(pool: &MemoryPool, stream: &Stream) -> CudaResult<DeviceBuffer<u8>> {
    // SAFETY: nothing uses the memory.
    unsafe { pool.alloc_async(BYTES, stream) }
}
