//! occupancy: how many kernels run at once when each wants much of a multiprocessor?
//!
//! Eight streams, a kernel in each, of one block for each multiprocessor. A block holds its place for a while and does
//! nothing else. Whether a second block fits beside it depends on what both take of the multiprocessor's threads, registers
//! and shared memory:
//!
//! ```text
//! small blocks          1 |KKKK|                two fit   1 |KKKK            |
//!                       2 |KKKK|                          2 |KKKK            |
//!                       3 |KKKK|                          3 |    KKKK        |
//! ```
//!
//! If n blocks fit (`cuOccupancyMaxActiveBlocksPerMultiprocessor`), the eight kernels take the time of ceil(8 / n) of them. The
//! streams are the same in all cases: times that did not follow n would prove this wrong.

use anyhow::Result;
use cuda_host::prelude::*;
use cust::function::Function;
use gpu_kernels::HELD_REGISTERS;

kernels! { pub struct Kernels; use gpu_kernels::{hold, hold_registers}; }

pub const STREAMS: usize = 8;
pub const HELD: u64 = 500_000; // ns, by the GPU's timer, that a block holds its place: long beside the launches

/// The kernels, and a number that each block stores: a grid in each stream, with a block for each multiprocessor.
pub struct Grids {
    pub kernels: Kernels,
    pub blocks: usize,
    values: DeviceBuffer<u32>,
    pub stored: DeviceBuffer<u32>,
}

impl Grids {
    pub fn new(blocks: usize) -> Result<Self> {
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        let values = DeviceBuffer::zeroed(HELD_REGISTERS)?;
        let stored = DeviceBuffer::zeroed(STREAMS * blocks)?;
        Ok(Self { kernels, blocks, values, stored })
    }

    /// Allows more shared memory than the 48 KiB that every launch may have (`cuFuncSetAttribute`).
    pub fn allow_shared(&self, bytes: u32) -> CudaResult<()> {
        self.kernels.hold.allow_dynamic_shared_bytes(bytes)
    }

    /// A kernel in each stream, whose blocks have this shape.
    pub fn launch(&self, threads: u32, shared_bytes: u32, streams: &[Stream]) -> Result<()> {
        let (kernel, blocks) = (&self.kernels.hold, self.blocks as u32);
        for (grid, stream) in streams.iter().enumerate() {
            let mut stored = self.stored.index(grid * self.blocks..(grid + 1) * self.blocks);
            // SAFETY: each block has an element, and the buffer outlives the run.
            unsafe {
                launch!(kernel<<<blocks, threads, shared_bytes, stream>>>(HELD, &mut stored))?
            };
        }
        Ok(())
    }

    /// A kernel in each stream, whose threads hold many registers.
    pub fn launch_registers(&self, threads: u32, streams: &[Stream]) -> Result<()> {
        let (kernel, blocks) = (&self.kernels.hold_registers, self.blocks as u32);
        for (grid, stream) in streams.iter().enumerate() {
            let mut stored = self.stored.index(grid * self.blocks..(grid + 1) * self.blocks);
            // SAFETY: as above.
            unsafe {
                launch!(kernel<<<blocks, threads, 0, stream>>>(HELD, &mut stored, &self.values))?
            };
        }
        Ok(())
    }
}

/// Blocks of this shape that fit on a multiprocessor, by what the kernel takes of it.
pub fn fit(kernel: &Function, threads: u32, shared_bytes: u32) -> CudaResult<u32> {
    kernel.max_active_blocks_per_multiprocessor(threads.into(), shared_bytes as usize)
}
