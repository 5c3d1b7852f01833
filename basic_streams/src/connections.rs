//! connections: when do independent streams wait for each other?
//!
//! A device takes work from a limited number of hardware queues (`CUDA_DEVICE_MAX_CONNECTIONS`: 1 to 32, usually 8). When
//! there are more streams, several share a queue, and a queue is served in order: what is at its head and must wait
//! holds up everything behind it, also work of other streams that could run. Two kernels a and b in each of two streams,
//! issued depth-first through one queue:
//!
//! ```text
//! queue   a1 b1 a2 b2      b1 waits for a1, and a2 waits behind b1: a false dependency
//! stream 1   aaaa bbbb
//! stream 2        aaaa bbbb
//! ```
//!
//! With n streams on q queues depth-first takes ceil(n / q) + 1 kernels' time. Breadth-first (all a, then all b) takes 2.
//! The variable is read when a process first uses the device, so each value is tried in a process of its own. If depth-first
//! took two kernels' time on one queue as well, there would be no such queue.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::fma_chain; }

/// Multiply-adds of each kernel: some 105 µs on an H200, long beside what starting 80 kernels takes.
pub const ROUNDS: u32 = 45_000;

/// Eight numbers for each kernel, and room for its results.
pub struct Jobs {
    kernels: Kernels,
    input: DeviceBuffer<f32>,
    pub output: DeviceBuffer<f32>,
}

impl Jobs {
    pub fn new(input: &[f32]) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let input = DeviceBuffer::from_slice(input)?;
        let output = DeviceBuffer::zeroed(input.len())?;
        Ok(Self { kernels, input, output })
    }

    /// One kernel, which waits for `start`.
    pub fn one(&self, stream: &Stream, start: &Event) -> CudaResult<()> {
        stream.wait(start)?;
        self.launch(0, stream)
    }

    /// Both kernels of a stream, then those of the next. All wait for `start`: the host issues all before one begins.
    pub fn depth_first(&self, streams: &[Stream], start: &Event) -> CudaResult<()> {
        for stream in streams {
            stream.wait(start)?;
        }
        for (i, stream) in streams.iter().enumerate() {
            self.launch(i, stream)?;
            self.launch(streams.len() + i, stream)?;
        }
        Ok(())
    }

    /// The first kernels of all streams, then the second.
    pub fn breadth_first(&self, streams: &[Stream], start: &Event) -> CudaResult<()> {
        for stream in streams {
            stream.wait(start)?;
        }
        for (i, stream) in streams.iter().enumerate() {
            self.launch(i, stream)?;
        }
        for (i, stream) in streams.iter().enumerate() {
            self.launch(streams.len() + i, stream)?;
        }
        Ok(())
    }

    /// One warp repeats a multiply-add on its numbers.
    fn launch(&self, i: usize, stream: &Stream) -> CudaResult<()> {
        let [x, mut y] = [&self.input, &self.output].map(|all| all.index(8 * i..8 * i + 8));
        // SAFETY: both buffers outlive the run, and a kernel's numbers are its own.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, stream>>>(&x, &mut y, ROUNDS)) }
    }
}
