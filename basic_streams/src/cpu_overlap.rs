//! cpu-overlap: can the CPU work while the GPU does?
//!
//! A launch returns when the kernel has been handed to the device, not when it has run. So the CPU may do something
//! else before it waits:
//!
//! ```text
//! work after the wait      GPU kkkkkkkk              work while it runs   GPU kkkkkkkk
//!                          CPU         cccccccc                           CPU cccccccc
//! ```
//!
//! The first takes the sum, the second the longer of the two. If the launch blocked the host, both would take the sum.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::fma_chain; }

/// Multiply-adds of the kernel: about 1 ms on an H200.
pub const ROUNDS: u32 = 430_000;

/// Eight numbers for a kernel, and room for its results.
pub struct Job {
    kernels: Kernels,
    input: DeviceBuffer<f32>,
    pub output: DeviceBuffer<f32>,
}

impl Job {
    pub fn new(input: &[f32]) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let input = DeviceBuffer::from_slice(input)?;
        let output = DeviceBuffer::zeroed(input.len())?;
        Ok(Self { kernels, input, output })
    }

    pub fn after_wait(&mut self, stream: &Stream, cpu_work: impl FnOnce()) -> CudaResult<()> {
        self.launch(stream)?;
        stream.synchronize()?;
        cpu_work();
        Ok(())
    }

    pub fn while_running(&mut self, stream: &Stream, cpu_work: impl FnOnce()) -> CudaResult<()> {
        self.launch(stream)?;
        cpu_work();
        stream.synchronize()
    }

    /// One warp repeats a multiply-add on its numbers.
    pub fn launch(&mut self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both buffers outlive the run.
        unsafe {
            launch!(self.kernels.fma_chain<<<1, 32, 0, stream>>>(&self.input, &mut self.output, ROUNDS))
        }
    }
}
