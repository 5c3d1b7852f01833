//! Device buffers that belong to a stream: the compiler checks the order of their uses.
//!
//! A [`Buffer`] belongs to one [`OwnedStream`], and all its operations run there, in that stream's order. To be used in another
//! stream it is handed over: an event is recorded behind its last use, the other stream waits for the event, and the old
//! handle is gone. Nothing is checked while the program runs: the two calls are those that a correct program makes anyway.
//!
#![doc = include_str!("owned/programs.md")]

mod arguments;

pub use crate::owned::arguments::Of;
use cuda_host::kernel::{Kernel, KernelArguments, Signature};
use cuda_host::prelude::*;
use cust::function::{BlockSize, GridSize};
use cust::memory::DeviceCopy;
use cust::memory::bytemuck::Zeroable;
use std::marker::PhantomData;

/// A stream that the compiler tells from all others: `'s` is no other stream's.
#[derive(Clone, Copy)]
pub struct OwnedStream<'s> {
    stream: &'s cust::stream::Stream,
    // Neither longer nor shorter lifetimes are the same: the type is invariant.
    only: PhantomData<fn(&'s ()) -> &'s ()>,
}

/// Gives each of the streams a lifetime of its own.
pub fn streams<R>(
    streams: [&cust::stream::Stream; 3],
    body: impl for<'a, 'b, 'c> FnOnce(OwnedStream<'a>, OwnedStream<'b>, OwnedStream<'c>) -> R,
) -> R {
    let only = PhantomData;
    let [first, second, third] = streams.map(|stream| OwnedStream { stream, only });
    body(first, second, third)
}

/// Device memory that belongs to stream `'s`.
pub struct Buffer<'s, T: DeviceCopy> {
    data: DeviceBuffer<T>,
    event: Event,
    stream: OwnedStream<'s>,
}

/// Device memory that belongs to no stream, and the event behind its last use.
pub struct Released<T: DeviceCopy> {
    data: DeviceBuffer<T>,
    event: Event,
}

impl<T: DeviceCopy + Zeroable> Released<T> {
    /// Allocates room for `len` elements (`cuMemAlloc`) and zeroes them (`cuMemsetD8`, in the legacy stream).
    pub fn zeroed(len: usize) -> CudaResult<Self> {
        let data = DeviceBuffer::zeroed(len)?;
        let event = Event::new(EventFlags::DISABLE_TIMING)?;
        event.record(&stream::legacy())?;
        Ok(Self { data, event })
    }
}

impl<T: DeviceCopy> Released<T> {
    /// Gives the buffer to a stream, which waits for the buffer's last use (`cuStreamWaitEvent`).
    pub fn acquire(self, stream: OwnedStream<'_>) -> CudaResult<Buffer<'_, T>> {
        stream.stream.wait(&self.event)?;
        let Self { data, event } = self;
        Ok(Buffer { data, event, stream })
    }
}

impl<T: DeviceCopy> Buffer<'_, T> {
    /// Takes the buffer from its stream, behind what that has been given so far (`cuEventRecord`).
    pub fn release(self) -> CudaResult<Released<T>> {
        self.event.record(self.stream.stream)?;
        let Self { data, event, .. } = self;
        Ok(Released { data, event })
    }

    /// Hands the buffer to another stream, which waits for its last use in this one.
    pub fn hand_to(self, next: OwnedStream<'_>) -> CudaResult<Buffer<'_, T>> {
        self.release()?.acquire(next)
    }

    /// Copies `source` to the start of the buffer (`cuMemcpyHtoDAsync`).
    ///
    /// # Safety
    /// The source is neither freed nor changed before the copy has finished.
    pub unsafe fn copy_from(&mut self, source: &[T]) -> CudaResult<()> {
        let mut start = self.data.index(..source.len());
        // SAFETY: the caller's promise; the buffer belongs to the stream.
        unsafe { start.async_copy_from(source, self.stream.stream) }
    }

    /// Copies the start of the buffer to `destination` (`cuMemcpyDtoHAsync`).
    ///
    /// # Safety
    /// The destination is neither freed nor used before the copy has finished.
    pub unsafe fn copy_to(&self, destination: &mut [T]) -> CudaResult<()> {
        let start = self.data.index(..destination.len());
        // SAFETY: the caller's promise; the buffer belongs to the stream.
        unsafe { start.async_copy_to(destination, self.stream.stream) }
    }
}

impl<'s> OwnedStream<'s> {
    /// Enqueues a kernel (`cuLaunchKernel`). Its buffers are of this stream, or the program does not compile.
    ///
    /// # Safety
    /// The kernel stays inside its buffers with this grid.
    pub unsafe fn launch<S: Signature, A: KernelArguments<S::Parameters> + Of<'s>>(
        self,
        kernel: &Kernel<S>,
        grid: impl Into<GridSize>,
        block: impl Into<BlockSize>,
        arguments: A,
    ) -> CudaResult<()> {
        // SAFETY: the caller's promise; freeing a buffer waits for the device (`cuMemFree`).
        unsafe { kernel.launch(grid, block, 0, self.stream, arguments) }
    }
}
