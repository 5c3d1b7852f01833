//! kernels: how many small kernels run at once?
//!
//! A fixed number of kernels, each of one block, far too small for the device, is dealt round-robin to S streams:
//!
//! ```text
//! S = 1   K0 K1 K2 K3 K4 K5 ..         S = 3   K0 K3 ..
//!                                              K1 K4 ..
//!                                              K2 K5 ..
//! ```
//!
//! On S streams the device can run S kernels at a time, until something else becomes scarce: here the rate at which
//! it starts kernels, one after the other. The bound is the time on one stream divided by S; the knee is where the
//! measured time leaves it. If streams made no difference, all numbers of streams would take the same time; if the
//! device started any number of kernels at once, as many streams as kernels would take the time of a single kernel.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::fma_chain; }

/// The streams, eight numbers for each kernel, and room for its results.
pub struct Jobs {
    kernels: Kernels,
    pub streams: Vec<Stream>,
    input: DeviceBuffer<f32>,
    pub output: DeviceBuffer<f32>,
    rounds: u32,
}

impl Jobs {
    pub fn new(streams: usize, input: &[f32], rounds: u32) -> Result<Self> {
        let streams = stream::non_blocking_numbered(streams)?;
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let input = DeviceBuffer::from_slice(input)?;
        let output = DeviceBuffer::zeroed(input.len())?;
        Ok(Self { kernels, streams, input, output, rounds })
    }

    /// Kernel `i` goes to stream `i % S`. All wait for `start`: the host issues every kernel before one begins.
    pub fn round_robin(&self, kernels: usize, streams: &[Stream], start: &Event) -> CudaResult<()> {
        for stream in streams {
            stream.wait(start)?;
        }
        for i in 0..kernels {
            self.launch(i, &streams[i % streams.len()])?;
        }
        Ok(())
    }

    /// One warp repeats a multiply-add on its numbers, `rounds` times.
    fn launch(&self, i: usize, stream: &Stream) -> CudaResult<()> {
        let [x, mut y] = [&self.input, &self.output].map(|all| all.index(8 * i..8 * i + 8));
        // SAFETY: both buffers outlive the run, and a kernel's numbers are its own.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, stream>>>(&x, &mut y, self.rounds)) }
    }
}
