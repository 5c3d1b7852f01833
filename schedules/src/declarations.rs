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
    streams: [Stream; 3],
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
            streams: stream::non_blocking_named(["copy in", "kernel", "copy out"])?,
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
}

/// The part.
pub fn run(part: &mut Part) -> Result<()> {
    part.predict(
        "Without its read of x the kernel waits for nothing, and works on what was there before.",
    );
    part.twins(&["copy of", "kernel `fma_tiles_unspecialised`"], |_| Batch::new(), program)?;
    part.take_away(
        "A derived schedule is as right as its declarations: test them under the race checker.",
    );
    Ok(())
}

fn program(which: Program, batch: &mut Batch) -> Result<Outcome> {
    let [copy_in, kernel, copy_out] = batch.streams.each_ref();
    let mut tasks = Scheduler::new(&[copy_in, kernel, copy_out]);
    let [x, y] = ["x", "y"].map(|name| Data::device(name, 0));
    let [input, output] = ["input", "output"].map(|name| Data::host(name, 0));
    let (from, to, fma) = (&mut batch.x, &mut batch.y, &batch.kernels.fma_tiles_unspecialised);
    // SAFETY: all memory outlives the tasks, for which the host waits; in the racy program bytes are read too early, which
    // are numbers too.
    tasks
        .task([input], [x], |stream| Ok(unsafe { from.async_copy_from(&batch.input, stream)? }))?;
    let reads = match which {
        Program::Racy => vec![],
        Program::Fixed => vec![x],
    };
    tasks.task(reads, [y], |stream| {
        // SAFETY: as above, and any grid covers all tiles.
        Ok(unsafe { launch!(fma<<<BLOCKS, THREADS, 0, stream>>>(&*from, &mut *to, ROUNDS))? })
    })?;
    // SAFETY: as above.
    tasks.task([y], [output], |stream| {
        Ok(unsafe { to.async_copy_to(&mut batch.output, stream)? })
    })?;
    copy_out.synchronize()?;
    copy_in.synchronize()?;
    let expected =
        |index| (0..ROUNDS).fold(DATA.f32(index), |x: f32, _| x.mul_add(FACTOR, SUMMAND));
    Ok(check::equal("the result", 0, &batch.output, expected))
}
