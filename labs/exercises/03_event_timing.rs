//! Two events tell how long a kernel takes: one is recorded before it, one behind it, and the driver subtracts their times.
//! This program says that the kernel takes no time at all. Find out which stream the events measure, and measure the kernel
//! without the copies around it.
//!
//! ```text
//! work |HHHHHHH s KKKKKKKKKK e DDDDDDD        s, e: the events
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::affine_rounds_x4; } // data[i] = a data[i] + b, `rounds` times

const ELEMENTS: usize = 1 << 15;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / 4 / THREADS; // each thread works on four elements
const ROUNDS: u32 = 65536;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let work = stream::non_blocking()?.named("work");
    let clock = stream::non_blocking()?.named("clock");
    let start = Event::new(EventFlags::DEFAULT)?;
    let end = Event::new(EventFlags::DEFAULT)?;

    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut input, 0);

    // SAFETY: the host waits for the stream before any of this memory is freed.
    unsafe {
        let mut data = DeviceBuffer::<f32>::uninitialized(ELEMENTS)?;
        data.async_copy_from(&input, &work)?;
        // TODO: an event takes the time at which its own stream reaches it.
        start.record(&clock)?;
        launch!(kernels.affine_rounds_x4<<<BLOCKS, THREADS, 0, work>>>(&mut data, 1.0, 0.125, ROUNDS))?;
        end.record(&clock)?;
        data.async_copy_to(&mut output, &work)?;
        work.synchronize()?;
        end.synchronize()?;
        labs::hand_in_time("kernel", end.elapsed(&start)?);
        labs::hand_in(&output)
    }
}
