//! residency: how many blocks may wait for each other?
//!
//! A block that waits keeps its place. If there are more blocks than places, some cannot begin until others end, and those
//! wait for the ones that have not begun:
//!
//! ```text
//! places  |BBBB|  as many blocks as places: all arrive at the barrier, all continue
//! places  |BBBB|B  one more: it waits for a place, and the others for it, for ever
//! ```
//!
//! A cooperative launch promises that all blocks are resident, and is refused when they cannot be
//! (`CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`). The number of places follows from what a block takes: threads, registers,
//! shared memory (`cuOccupancyMaxActiveBlocksPerMultiprocessor`). A launch with one block more that was accepted, or a
//! barrier that some block does not leave, would prove this wrong. A plain launch is refused nothing: never wait for other
//! blocks in one.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::relax_persistent; }

/// Barriers that all blocks go through.
pub const STEPS: u32 = 4;

/// A ring of ones, a thread for each. A step makes each a mean of itself and its neighbours: a one.
pub struct Ring {
    kernels: Kernels,
    pub x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    pub arrivals: DeviceBuffer<u32>,
}

impl Ring {
    pub fn new(elements: usize) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let x = DeviceBuffer::from_slice(&vec![1.0; elements])?;
        let y = DeviceBuffer::zeroed(elements)?;
        let arrivals = DeviceBuffer::zeroed(1)?;
        CurrentContext::synchronize()?; // the legacy stream fills the buffers
        Ok(Self { kernels, x, y, arrivals })
    }

    /// Places for such blocks on a multiprocessor (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
    pub fn places(&self, threads: u32, shared_bytes: u32) -> CudaResult<u32> {
        let kernel = self.kernels.relax_persistent.function();
        kernel.max_active_blocks_per_multiprocessor(threads.into(), shared_bytes as usize)
    }

    /// All blocks that the ring needs wait for each other after every step (`cuLaunchCooperativeKernel`).
    pub fn meet(&mut self, threads: u32, shared_bytes: u32, stream: &Stream) -> CudaResult<()> {
        let (kernel, len) = (&self.kernels.relax_persistent, self.x.len());
        let arguments = (&mut self.x, &mut self.y, len, &mut self.arrivals, STEPS);
        let blocks = len as u32 / threads;
        // SAFETY: the host waits before the buffers are used or freed, and no block has arrived yet.
        unsafe { kernel.launch_cooperative(blocks, threads, shared_bytes, stream, arguments)? };
        stream.synchronize()
    }
}
