//! Batches arrive one after the other in page-locked memory and are copied to the device from there. The host fills two
//! buffers in turn, and never looks whether the copy out of a buffer is over. Here the result is right by luck. Wait for the
//! right copy; waiting for the whole stream would cost the overlap.
//!
//! ```text
//! host |fill 0|fill 1|w fill 2|w fill 3|
//! work |      HHHKKK HHHKKK   HHHKKK   HHHKKK DDD
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::event::{Event, EventFlags};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};

kernels! { use gpu_kernels::saxpy; } // y[i] = a x[i] + y[i]

const BATCHES: usize = 6;
const ELEMENTS: usize = 1 << 18;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let work = stream::non_blocking()?.named("work");
    let mut buffers = [LockedBuffer::new(&0f32, ELEMENTS)?, LockedBuffer::new(&0f32, ELEMENTS)?];
    let copied = [Event::new(EventFlags::DISABLE_TIMING)?, Event::new(EventFlags::DISABLE_TIMING)?];
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut sum = DeviceBuffer::<f32>::zeroed(ELEMENTS)?;
    // SAFETY: each batch is copied there before the kernel reads it.
    let mut batch = unsafe { DeviceBuffer::<f32>::uninitialized(ELEMENTS)? };
    cust::context::CurrentContext::synchronize()?;

    for number in 0..BATCHES {
        let buffer = number % 2;
        copied[buffer].synchronize()?;
        labs::fill(&mut buffers[buffer], number);
        // SAFETY: the host waits for the stream before any of this memory is freed.
        unsafe {
            batch.async_copy_from(&buffers[buffer], &work)?;
            copied[buffer].record(&work)?;
            launch!(kernels.saxpy<<<BLOCKS, THREADS, 0, work>>>(1.0, &batch, &mut sum))?;
        }
    }
    // SAFETY: as above.
    unsafe { sum.async_copy_to(&mut output, &work)? };
    work.synchronize()?;
    labs::hand_in(&output)
}
