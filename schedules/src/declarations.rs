//! declarations: what becomes of a schedule when a declaration is wrong?
//!
//! A scheduler knows what is declared. Here the kernel's read of x is not declared, so that nothing conflicts with the copy
//! in, and no wait is derived:
//!
//! ```text
//! racy    task([], [y])    copy in |HHHHHHHH         fixed   task([x], [y])   copy in |HHHHHHHH
//!                          kernel  |KKKKKKKK                                  kernel  |        KKKKKKKK
//! ```
//!
//! No compiler and no scheduler sees what a kernel reads; the race checker does, since it looks at the bytes that each
//! operation has touched. So declarations are to be tested as code is. A racy program that is right, or one that is not
//! reported, would prove this wrong.

use crate::scheduler::{Data, Scheduler};
use anyhow::Result;
use cuda_host::prelude::*;
use cust::context::CurrentContext;

kernels! { use gpu_kernels::fma_tiles_unspecialised; }

pub const ROUNDS: u32 = 16;
/// A block for each multiprocessor of an H200.
const BLOCKS: u32 = 132;
const THREADS: u32 = gpu_kernels::CONSUMERS;
pub const ELEMENTS: usize = 1 << 18;

pub const X: Data = Data::device("x", 0);
pub const Y: Data = Data::device("y", 0);

/// A batch on its way through two buffers.
pub struct DeclaredBatch {
    input: LockedBuffer<f32>,
    pub output: LockedBuffer<f32>,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    kernels: Kernels,
}

impl DeclaredBatch {
    /// All device memory is full of NaNs.
    pub fn new(input: &[f32]) -> Result<Self> {
        let input = LockedBuffer::from_slice(input)?;
        let output = LockedBuffer::new(&f32::NAN, ELEMENTS)?;
        let (mut x, mut y) = (DeviceBuffer::zeroed(ELEMENTS)?, DeviceBuffer::zeroed(ELEMENTS)?);
        let kernels = Kernels::load(gpu_kernels::SM_70)?;
        x.set_8(0xFF)?;
        y.set_8(0xFF)?;
        CurrentContext::synchronize()?;
        Ok(Self { input, output, x, y, kernels })
    }

    /// The tasks of the batch. Each declares what it reads and writes, except the kernel's reads: those are `declared`.
    pub fn pass(&mut self, declared: &[Data], streams: &[&Stream]) -> Result<()> {
        let mut tasks = Scheduler::new(streams);
        let [input, output] = ["input", "output"].map(|name| Data::host(name, 0));
        tasks.task([input], [X], |stream| self.copy_in(stream))?;
        tasks.task(declared, [Y], |stream| self.compute(stream))?;
        tasks.task([Y], [output], |stream| self.copy_out(stream))?;
        Ok(streams.iter().try_for_each(|stream| stream.synchronize())?)
    }

    fn copy_in(&mut self, stream: &Stream) -> Result<()> {
        // SAFETY: the input is page-locked, and outlives the copy, for which the host waits.
        unsafe { self.x.async_copy_from(&self.input, stream)? };
        Ok(())
    }

    fn compute(&mut self, stream: &Stream) -> Result<()> {
        let (kernel, x, y) = (&self.kernels.fma_tiles_unspecialised, &self.x, &mut self.y);
        // SAFETY: the buffers outlive the kernel, and any grid covers all tiles. Bytes that are read too early are numbers too.
        unsafe { launch!(kernel<<<BLOCKS, THREADS, 0, stream>>>(x, y, ROUNDS))? };
        Ok(())
    }

    fn copy_out(&mut self, stream: &Stream) -> Result<()> {
        // SAFETY: the output is page-locked, outlives the copy, and is read behind it.
        unsafe { self.y.async_copy_to(&mut self.output, stream)? };
        Ok(())
    }
}
