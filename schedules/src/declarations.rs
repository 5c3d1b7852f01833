//! declarations: what becomes of a schedule when a declaration is wrong?
//!
//! A scheduler knows what it is told. Here the kernel's read of x is not declared, so that nothing conflicts with the copy
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
use cuda_host::{kernels, launch, prelude::*};
use cust::context::CurrentContext;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::Stream;
use examples_host::prelude::*;
use examples_host::twins::{Outcome, Program};
use gpu_kernels::{FACTOR, SUMMAND};

kernels! { use gpu_kernels::fma_tiles_unspecialised; }

const DATA: Seed = Seed::new(32);
const ROUNDS: u32 = 16;
/// A block for each multiprocessor of an H200.
const BLOCKS: u32 = 132;
const THREADS: u32 = gpu_kernels::CONSUMERS;
const ELEMENTS: usize = 1 << 18;

/// A batch on its way through two buffers.
struct Batch {
    input: LockedBuffer<f32>,
    output: LockedBuffer<f32>,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    kernels: Kernels,
}

impl Batch {
    /// A new batch. All device memory is full of NaNs.
    fn new() -> Result<Self> {
        let mut input = LockedBuffer::new(&0.0, ELEMENTS)?;
        DATA.fill_f32(0, &mut input);
        let mut batch = Self {
            input,
            output: LockedBuffer::new(&0.0, ELEMENTS)?,
            x: DeviceBuffer::zeroed(ELEMENTS)?,
            y: DeviceBuffer::zeroed(ELEMENTS)?,
            kernels: Kernels::load(gpu_kernels::SM_70)?,
        };
        batch.x.set_8(0xFF)?;
        batch.y.set_8(0xFF)?;
        check::poison(&mut batch.output);
        CurrentContext::synchronize()?;
        Ok(batch)
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

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    let streams = &stream::non_blocking_named(["copy in", "kernel", "copy out"])?;
    part.predict(
        "Without its read of x the kernel waits for nothing, and works on what was there before.",
    );
    let named = ["copy of", "kernel `fma_tiles_unspecialised`"];
    part.twins(&named, |_| Batch::new(), |which, batch| program(which, batch, streams))?;
    part.take_away(
        "A derived schedule is as right as its declarations: test them under the race checker.",
    );
    Ok(())
}

fn program(which: Program, batch: &mut Batch, streams: &[Stream; 3]) -> Result<Outcome> {
    let mut tasks = Scheduler::new(&streams.each_ref());
    let [x, y] = ["x", "y"].map(|name| Data::device(name, 0));
    let [input, output] = ["input", "output"].map(|name| Data::host(name, 0));
    let reads = match which {
        Program::Racy => vec![],
        Program::Fixed => vec![x],
    };
    tasks.task([input], [x], |stream| batch.copy_in(stream))?;
    tasks.task(reads, [y], |stream| batch.compute(stream))?;
    tasks.task([y], [output], |stream| batch.copy_out(stream))?;
    streams.iter().try_for_each(Stream::synchronize)?;
    let after = |x| (0..ROUNDS).fold(x, |x: f32, _| x.mul_add(FACTOR, SUMMAND));
    Ok(check::equal("the result", 0, &batch.output, |index| after(DATA.f32(index))))
}
