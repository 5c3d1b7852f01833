//! default-stream: what do the default streams wait for?
//!
//! Three streams get three kernels each, and the legacy default stream (`CU_STREAM_LEGACY`, or handle 0) three as well: one
//! in every round, or all of them while the kernels of other host threads run:
//!
//! ```text
//! blocking streams    a kk    kk    kk           non-blocking streams   d kkkkkk
//!                     b kk    kk    kk                                  e kkkkkk
//!                     c kk    kk    kk                                  f kkkkkk
//!                legacy   LL    LL    LL                           legacy LLLLLL
//! ```
//!
//! The legacy stream waits for all blocking streams, and they for it; a stream created non-blocking is exempt. A program
//! that names no stream at all, on however many host threads, is on the legacy stream. The per-thread default streams (a
//! handle of their own, `CU_STREAM_PER_THREAD`) run beside each other, but are blocking streams: they do synchronise with
//! the legacy one. Kernels beside a legacy kernel where there must be none, or none where there may be some, would prove
//! this wrong.

use anyhow::Result;
use cuda_host::prelude::*;

kernels! { use gpu_kernels::fma_chain; }

pub const ROUNDS: usize = 3;
/// Multiply-adds of each kernel: about 0.5 ms on an H200, much longer than a host thread needs to start.
pub const MULTIPLY_ADDS: u32 = 200_000;

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

    /// In each round, a kernel for each of three streams and one for the legacy stream.
    pub fn rounds(&self, [a, b, c]: [&Stream; 3]) -> CudaResult<()> {
        let legacy = stream::legacy();
        for round in 0..ROUNDS {
            self.launch(4 * round, a)?;
            self.launch(4 * round + 1, b)?;
            self.launch(4 * round + 2, c)?;
            self.launch(4 * round + 3, &legacy)?;
        }
        Ok(())
    }

    /// Each of three host threads issues the kernels of one stream.
    pub fn of_thread(&self, thread: usize, stream: &Stream) -> CudaResult<()> {
        for round in 0..ROUNDS {
            self.launch(ROUNDS * thread + round, stream)?;
        }
        Ok(())
    }

    /// Meanwhile the legacy stream gets three kernels. Only the rules of that stream delay them.
    pub fn on_legacy(&self, legacy: &Stream) -> CudaResult<()> {
        for round in 0..ROUNDS {
            self.launch(ROUNDS * 3 + round, legacy)?;
        }
        legacy.synchronize()
    }

    /// One warp repeats a multiply-add on its numbers.
    fn launch(&self, i: usize, stream: &Stream) -> CudaResult<()> {
        let [x, mut y] = [&self.input, &self.output].map(|all| all.index(8 * i..8 * i + 8));
        // SAFETY: both buffers outlive the run, and a kernel's numbers are its own.
        unsafe { launch!(self.kernels.fma_chain<<<1, 32, 0, stream>>>(&x, &mut y, MULTIPLY_ADDS)) }
    }
}
