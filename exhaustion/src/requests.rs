//! requests: what is lost when a request cannot be met?
//!
//! Nothing, if the program looks at the answer. A request for more memory than there is, or for a launch that the device
//! cannot make, is refused by the call itself, and the context works on:
//!
//! ```text
//! request  error        kernel   right
//! request  error        kernel   right
//! ```
//!
//! That distinguishes these errors from faults of kernels, which end the context. A request that is met, or a kernel that does
//! not work behind one, would prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::iota; }

/// A kernel, room for its 64 numbers, and a number of bytes that the device does not have.
pub struct Requests {
    kernels: Kernels,
    stream: Stream,
    numbers: DeviceBuffer<u32>,
    too_much: usize,
}

impl Requests {
    pub fn new(too_much: usize) -> Result<Self> {
        Ok(Self {
            kernels: Kernels::load(gpu_kernels::SM_70)?,
            stream: stream::non_blocking()?.named("stream"),
            numbers: DeviceBuffer::zeroed(64)?,
            too_much,
        })
    }

    /// More than the device has (`cuMemAlloc`).
    pub fn device_memory(&self) -> CudaResult<()> {
        // SAFETY: nothing is allocated.
        unsafe { DeviceBuffer::<u8>::uninitialized(self.too_much) }.map(drop)
    }

    /// The same in stream order (`cuMemAllocAsync`).
    pub fn memory_of_the_pool(&self) -> CudaResult<()> {
        // SAFETY: nothing is allocated.
        unsafe { DeviceBuffer::<u8>::uninitialized_async(self.too_much, &self.stream) }.map(drop)
    }

    /// A pebibyte of the host's memory (`cuMemAllocHost`).
    pub fn page_locked_memory(&self) -> CudaResult<()> {
        // SAFETY: nothing is allocated.
        unsafe { LockedBuffer::<u8>::uninitialized(1 << 50) }.map(drop)
    }

    /// 2048 threads, of which a block may have 1024.
    pub fn threads_of_a_block(&self) -> CudaResult<()> {
        let (stream, mut numbers) = (&self.stream, self.numbers.index(..));
        // SAFETY: nothing is launched.
        unsafe { launch!(self.kernels.iota<<<1, 2048, 0, stream>>>(&mut numbers, 0)) }
    }

    /// 65,536 blocks in y, of which a grid may have one less.
    pub fn blocks_of_a_grid(&self) -> CudaResult<()> {
        let (stream, mut numbers) = (&self.stream, self.numbers.index(..));
        // SAFETY: nothing is launched.
        unsafe { launch!(self.kernels.iota<<<(1, 65536), 32, 0, stream>>>(&mut numbers, 0)) }
    }

    /// More than 48 KiB without having asked for it (`cuFuncSetAttribute`).
    pub fn shared_memory(&self) -> CudaResult<()> {
        let (stream, mut numbers) = (&self.stream, self.numbers.index(..));
        // SAFETY: nothing is launched.
        unsafe { launch!(self.kernels.iota<<<1, 32, 49 << 10, stream>>>(&mut numbers, 0)) }
    }

    /// What a kernel behind such a request stores.
    pub fn numbers(&mut self, first: u32) -> Result<Vec<u32>> {
        self.numbers.set_8(0xFF)?;
        CurrentContext::synchronize()?;
        let (stream, mut numbers) = (&self.stream, self.numbers.index(..));
        // SAFETY: the buffer has an element for each thread.
        unsafe { launch!(self.kernels.iota<<<1, 64, 0, stream>>>(&mut numbers, first))? };
        stream.synchronize()?;
        Ok(self.numbers.as_host_vec()?)
    }
}
