//! lifetime: where to free memory that another stream still uses?
//!
//! A free in stream order takes effect when its own stream comes to it; what other streams do does not hold it up. The
//! writer's next allocation may get the memory at once. So something has to order the free behind the reader's kernel:
//!
//! ```text
//! an event         writer |alloc HHHH                                       free alloc  HHHH FFFF
//!                  reader |          other work other work other work  KKKK
//!
//! freed by reader  writer |alloc HHHH alloc  HHHH FFFF
//!                  reader |          other work other work other work  KKKK free
//! ```
//!
//! An event makes the writer wait for the reader, its next batch included. Better is to free the memory in the stream
//! that uses it last: then the host does not wait, and the pool finds other memory meanwhile. A result that is wrong, or a report of
//! the software GPU's race checker, would prove this wrong. (What happens with no order at all is shown by stream_hazards,
//! free-without-order.)

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;
use cust::memory::DevicePointer;

kernels! { use gpu_kernels::{affine_rounds, fill, saxpy}; }

pub const A: f32 = 2.0;
const OTHER_WORK: u32 = 1 << 18; // half a millisecond: longer than the writer needs to store its next batch

/// Two streams, what they share, and a pool.
pub struct LifetimeTest {
    kernels: Kernels,
    pub writer: Stream,
    pub reader: Stream,
    written: Event,
    read: Event,
    pool: MemoryPool,
    pub batch: LockedBuffer<f32>,
    pub next: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    pub sum: DeviceBuffer<f32>,
    pub other: DeviceBuffer<f32>,
}

/// Where the freed memory was, and where the next batch is.
pub type Places = [DevicePointer<f32>; 2];

impl LifetimeTest {
    pub fn new(elements: usize) -> Result<Self> {
        let [writer, reader] = stream::non_blocking_named(["writer", "reader"])?;
        let batch = LockedBuffer::new(&0.0, elements)?;
        let next = LockedBuffer::new(&0.0, elements)?;
        let written = Event::new(EventFlags::DISABLE_TIMING)?;
        let read = Event::new(EventFlags::DISABLE_TIMING)?;
        let pool = MemoryPool::new(CurrentContext::get_device()?)?;
        let output = LockedBuffer::new(&0.0, elements)?;
        // SAFETY: each run starts by filling both.
        let sum = unsafe { DeviceBuffer::uninitialized(elements)? };
        // SAFETY: as above.
        let other = unsafe { DeviceBuffer::uninitialized(32)? };
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        Ok(Self { kernels, writer, reader, written, read, pool, batch, next, output, sum, other })
    }

    /// The writer frees the memory, behind an event of the reader.
    pub fn free_behind_an_event(&mut self) -> Result<Places> {
        let memory = self.write_and_read()?;
        self.read.record(&self.reader)?;
        self.writer.wait(&self.read)?;
        let freed = memory.as_device_ptr();
        memory.drop_async(&self.writer)?;
        Ok([freed, self.write_next()?])
    }

    /// The reader frees the memory: its own order is enough.
    pub fn free_in_the_reader(&mut self) -> Result<Places> {
        let memory = self.write_and_read()?;
        let freed = memory.as_device_ptr();
        memory.drop_async(&self.reader)?;
        Ok([freed, self.write_next()?])
    }

    /// A batch that the writer stores, and the reader adds to its sum when it has done other work.
    fn write_and_read(&mut self) -> Result<DeviceBuffer<f32>> {
        let elements = self.output.len();
        let blocks = elements.div_ceil(256) as u32;
        // SAFETY: the reader waits for the writer, and the memory is freed behind both.
        unsafe {
            let mut memory = self.pool.alloc_async::<f32>(elements, &self.writer)?;
            memory.async_copy_from(&self.batch[..], &self.writer)?;
            self.written.record(&self.writer)?;
            self.reader.wait(&self.written)?;
            launch!(self.kernels.affine_rounds<<<1, 32, 0, self.reader>>>(&mut self.other, 1.0, 0.0, OTHER_WORK))?;
            launch!(self.kernels.saxpy<<<blocks, 256, 0, self.reader>>>(A, &memory, &mut self.sum))?;
            Ok(memory)
        }
    }

    /// The next batch, in other memory or the same. Returns where.
    fn write_next(&mut self) -> Result<DevicePointer<f32>> {
        let elements = self.output.len();
        let blocks = elements.div_ceil(256) as u32;
        // SAFETY: the memory is used in the stream of its allocation; the host reads the sum behind the wait.
        unsafe {
            let mut next = self.pool.alloc_async::<f32>(elements, &self.writer)?;
            let address = next.as_device_ptr();
            next.async_copy_from(&self.next[..], &self.writer)?;
            launch!(self.kernels.fill<<<blocks, 256, 0, self.writer>>>(&mut next, 1.0))?;
            next.drop_async(&self.writer)?;
            self.sum.async_copy_to(&mut self.output[..], &self.reader)?;
            self.reader.synchronize()?;
            Ok(address)
        }
    }
}
