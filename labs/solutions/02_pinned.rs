//! An asynchronous copy is asynchronous only from and to page-locked memory. From ordinary, pageable memory the driver
//! copies through a small buffer of its own: the call does not return before that is done, and the copy is slower.
//! Give the batch and its result page-locked memory.
//!
//! ```text
//! pageable  host |copy in...............|other work|copy out............|
//! pinned    host |enqueue|other work|wait|
//!           work |HHHHHKKDDDDD|
//! ```

use anyhow::Result;
use cuda_host::{kernels, launch, prelude::*};
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use std::time::Duration;

kernels! { use gpu_kernels::affine; } // data[i] = a data[i] + b

const ELEMENTS: usize = 1 << 20;
const THREADS: u32 = 256;
const BLOCKS: u32 = ELEMENTS as u32 / THREADS;

fn main() -> Result<()> {
    let _context = cust::quick_init()?;
    let kernels = Kernels::load(gpu_kernels::SM_70)?;
    let work = stream::non_blocking()?.named("work");

    let mut input = LockedBuffer::new(&0f32, ELEMENTS)?;
    let mut output = LockedBuffer::new(&0f32, ELEMENTS)?;
    labs::fill(&mut input, 0);

    // SAFETY: the host waits for the stream before any of this memory is freed.
    unsafe {
        let mut data = DeviceBuffer::<f32>::uninitialized(ELEMENTS)?;
        data.async_copy_from(&input, &work)?;
        launch!(kernels.affine<<<BLOCKS, THREADS, 0, work>>>(&mut data, 2.0, 1.0))?;
        labs::cpu_work(Duration::from_micros(20)); // the host has something else to do meanwhile
        data.async_copy_to(&mut output, &work)?;
        work.synchronize()?;
        labs::hand_in(&output)
    }
}
