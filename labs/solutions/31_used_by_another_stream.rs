//! A tensor's memory comes from a pool, in the order of the tensor's own stream, and goes back there when the tensor is dropped. A second
//! stream copies it out, and the pool knows nothing of that. PyTorch's `record_stream` tells it: a tensor keeps
//! the streams that use it too, and dropping it makes its own stream wait for their work until then.
//! Write `record_stream` and `drop`. The host must not wait there. The program records `copy out` before that stream copies.
//!
//! ```text
//! compute  |a KKK e    wf a KKK e    wf     a allocates, f frees, w waits for `copy out`
//! copy out |       DDDDD         DDDDD
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::error::CudaResult;
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;

kernels! { use gpu_kernels::fill; }

const STEPS: usize = 8;
const ELEMENTS: usize = 1 << 17;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;

/// Memory of a pool that belongs to a stream, and the other streams that use it.
struct Tensor<'a> {
    data: Option<DeviceBuffer<f32>>,
    own: &'a Stream,
    users: Vec<&'a Stream>,
}

impl<'a> Tensor<'a> {
    fn new(own: &'a Stream) -> Result<Self> {
        // SAFETY: a kernel writes the memory before anything reads it.
        let data = unsafe { DeviceBuffer::uninitialized_async(ELEMENTS, own)? };
        Ok(Self { data: Some(data), own, users: Vec::new() })
    }

    fn data(&mut self) -> &mut DeviceBuffer<f32> {
        self.data.as_mut().expect("a tensor has its memory until it is dropped")
    }

    /// This stream uses the memory too, until the tensor is dropped.
    fn record_stream(&mut self, user: &'a Stream) {
        self.users.push(user);
    }

    /// Gives the memory back in the order of its own stream, behind what the other streams have been given to do.
    fn free(&mut self) -> CudaResult<()> {
        for user in &self.users {
            let used = Event::new(EventFlags::DISABLE_TIMING)?;
            used.record(user)?;
            self.own.wait(&used)?;
        }
        self.data.take().map_or(Ok(()), |data| data.drop_async(self.own))
    }
}

impl Drop for Tensor<'_> {
    fn drop(&mut self) {
        self.free().expect("the driver takes the memory back");
    }
}

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let [compute, copy_out] = stream::non_blocking_named(["compute", "copy out"])?;
    let computed = Event::new(EventFlags::DISABLE_TIMING)?;
    let mut output = LockedBuffer::new(&0f32, STEPS * ELEMENTS)?;

    for step in 0..STEPS {
        let part = step * ELEMENTS..(step + 1) * ELEMENTS;
        let mut tensor = Tensor::new(&compute)?;
        tensor.record_stream(&copy_out);
        // SAFETY: the tensor's memory is freed behind both streams' work; the host waits for `copy out` before it reads.
        unsafe {
            launch!(kernels.fill<<<BLOCKS, THREADS, 0, compute>>>(tensor.data(), step as f32))?;
            computed.record(&compute)?;
            copy_out.wait(&computed)?;
            tensor.data().async_copy_to(&mut output[part], &copy_out)?;
        }
    }
    copy_out.synchronize()?;
    labs::hand_in(&output)
}
